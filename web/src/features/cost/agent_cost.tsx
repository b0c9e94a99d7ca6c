// What the models of one agent cost per day.

import { call } from "../../lib/api";
import { cost } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { ErrorNote } from "../../ui";
import { useDailyBudget } from "./budgets";
import { UsageChart } from "./usage_chart";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

interface Props {
    slug: string;
    agent_name: string;
    range: string;
}

export function AgentCost({ slug, agent_name, range }: Props) {
    const query = { time_range: range, agent_name, group_by: "day,model" };
    const { data, at, error } = useLiveQuery(
        slug,
        `${USAGE} ${slug} ${agent_name} ${range} days`,
        (signal) => call(USAGE, { path: { slug }, query, signal }),
        (change) => change.agent_name === agent_name,
    );
    const budget = useDailyBudget(slug, agent_name);
    if (error && !data) return <ErrorNote error={error} />;
    if (!data || data.groups.length === 0) return null;
    if (data.total.cost === null)
        return <p class="hint">Its models have no price, so what they cost is unknown.</p>;
    return (
        <UsageChart
            groups={data.groups}
            range={range}
            at={at}
            measure="cost"
            truncated={data.truncated}
            budget={budget}
            aside={`${cost(data.total.cost)} in all${data.total.partial ? ", without models that have no price" : ""}`}
        />
    );
}
