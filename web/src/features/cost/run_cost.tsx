// The tokens that a run used, and their cost.

import type { Run } from "api";

import { call } from "../../lib/api";
import { cost } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote } from "../../ui";
import { UsageTable } from "./usage_table";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const MARGIN_MS = 86_400_000; // agents' clocks differ, and some report usage much later

function rangeOf(run: Run): string {
    const from = Date.parse(run.started_at) - MARGIN_MS;
    const to = Date.parse(run.ended_at ?? run.last_event_at) + MARGIN_MS;
    return `${new Date(from).toISOString()}/${new Date(to).toISOString()}`;
}

function useRunUsage(slug: string, run: Run) {
    const range = rangeOf(run);
    const { run_id } = run;
    return useQuery(`${USAGE} ${slug} ${run_id} ${range}`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, run_id }, signal }),
    );
}

/** What it spent; undefined until that is known. */
export const useRunSpending = (slug: string, run: Run) => useRunUsage(slug, run).data;

export function RunCost({ slug, run }: { slug: string; run: Run }) {
    const { data, error } = useRunUsage(slug, run);
    if (!error && (!data || data.groups.length === 0)) return null;
    const total = data && data.groups.length > 1 ? data.total : null;
    return (
        <Card
            title="Tokens and cost"
            aside={
                total && (
                    <span>
                        {cost(total.cost)}
                        {total.partial && " for models with a price"}
                    </span>
                )
            }
        >
            {error && <ErrorNote error={error} />}
            {data && <UsageTable flat groups={data.groups} />}
        </Card>
    );
}
