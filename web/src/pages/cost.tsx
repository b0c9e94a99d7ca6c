// Tokens and their cost: by day and model, by agent, version and run, and models without a price.

import type { UsageGroup } from "api";

import { Budgets, useDailyBudget } from "../features/cost/budgets";
import { UnpricedModels, UsageTotals } from "../features/cost/totals";
import { formatOf, MEASURES, UsageChart, valueOf } from "../features/cost/usage_chart";
import { USAGE_TABLES, UsageTable } from "../features/cost/usage_table";
import { ExportMenu } from "../features/export/export_menu";
import { call } from "../lib/api";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { activityOf } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { chosenRange, PERIODS, rangeInWords } from "../lib/ranges";
import { href, setQuery } from "../lib/route";
import { Card, Empty, Heading, Live, LoadState, PeriodSelect, Segments } from "../ui";
import { Bars } from "../ui/figures";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const TOP = 10;
const LISTED = 100; // runs or versions

function useUsage(slug: string, range: string, group_by: string) {
    return useLiveQuery(slug, `${USAGE} ${slug} ${range} ${group_by}`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, group_by }, signal }),
    );
}

interface GroupsProps {
    slug: string;
    range: string;
    by: string;
    models: UsageGroup[];
}

/** Runs and versions are read when they are wanted: that reads every report of the period. */
function Others({ slug, range, by }: Omit<GroupsProps, "models">) {
    const usage = useUsage(slug, range, by);
    if (usage.error || !usage.data) return <LoadState of={usage} rows={6} />;
    return (
        <>
            <UsageTable groups={usage.data.groups.slice(0, LISTED)} slug={slug} by={by} />
            {usage.data.groups.length > LISTED && (
                <p class="muted">The {LISTED} that cost the most. The export has all.</p>
            )}
        </>
    );
}

function Groups({ slug, range, by, models }: GroupsProps) {
    return (
        <>
            <div class="filters">
                <Segments
                    label="Table"
                    choices={USAGE_TABLES}
                    value={by}
                    onChange={(to) => setQuery({ by: to })}
                />
            </div>
            {by === "model" ? (
                <UsageTable groups={models} />
            ) : (
                <Others key={by} slug={slug} range={range} by={by} />
            )}
        </>
    );
}

export default function Cost({ slug, query }: PageProps) {
    const range = chosenRange(PERIODS, query.get("range"), "30d");
    const by = chosen(USAGE_TABLES, query.get("by"), "model");
    const measure = chosen(MEASURES, query.get("measure"), "cost");
    const models = useUsage(slug, range, "model");
    const days = useUsage(slug, range, "day,model");
    const agents = useUsage(slug, range, "agent");
    const budget = useDailyBudget(slug);
    const format = formatOf(measure);
    const top = (agents.data?.groups ?? [])
        .map((one) => ({
            label: one.agent_name ?? "",
            value: valueOf(one, measure),
            href: activityOf(slug, one.agent_name ?? "", range),
            note:
                measure === "cost" && one.cost === null
                    ? "no price"
                    : format(valueOf(one, measure)),
        }))
        .sort((a, b) => b.value - a.value)
        .slice(0, TOP);
    return (
        <>
            <Heading title="Cost">
                <Live />
                <ExportMenu
                    slug={slug}
                    content="llm"
                    range={range}
                    description={`Tokens, cost and price of each report of ${rangeInWords(PERIODS, range)}.`}
                />
            </Heading>
            <div class="filters">
                <PeriodSelect choices={PERIODS} value={range} />
                <Segments
                    label="Measure"
                    choices={MEASURES}
                    value={measure}
                    onChange={(to) => setQuery({ measure: to })}
                />
            </div>
            <LoadState of={models} rows={8} />
            {models.data?.groups.length === 0 && (
                <Empty title="No tokens in this period">
                    <p>
                        Agents report the tokens of each model that a run used with{" "}
                        <code>POST /api/v1/telemetry/llm</code>.
                    </p>
                </Empty>
            )}
            {models.data && models.data.groups.length > 0 && (
                <>
                    <UnpricedModels slug={slug} models={models.data.unpriced} />
                    <UsageTotals total={models.data.total} />
                    <Budgets slug={slug} />
                    <UsageChart
                        groups={days.data?.groups ?? []}
                        range={range}
                        at={days.at}
                        measure={measure}
                        truncated={days.data?.truncated ?? false}
                        budget={budget}
                    />
                    <Card title="Top agents">
                        <Bars rows={top} format={format} />
                    </Card>
                    <Groups slug={slug} range={range} by={by} models={models.data.groups} />
                    <p class="muted after">
                        Costs are tokens at the prices of the{" "}
                        <a href={href(`/t/${slug}/settings`, { tab: "prices" })}>price list</a>,
                        which says where each price comes from.
                    </p>
                </>
            )}
        </>
    );
}
