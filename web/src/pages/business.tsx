// Business KPIs: one card each; the selected one with its series, breakdown and cost per unit.

import { useState } from "preact/hooks";

import { ExportMenu } from "../features/export/export_menu";
import { KpiCard, unitCost } from "../features/kpis/kpi_card";
import { KpiDetail } from "../features/kpis/kpi_detail";
import { idOf, nameOf } from "../features/kpis/names";
import { call } from "../lib/api";
import { cost, plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { chosenRange, PERIODS, rangeInWords } from "../lib/ranges";
import { setQuery } from "../lib/route";
import {
    Empty,
    ErrorNote,
    Heading,
    Live,
    LoadState,
    PeriodSelect,
    SearchField,
    ShowMore,
} from "../ui";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

const SHOWN_FIRST = 60;

function NoKpis() {
    return (
        <Empty title="No KPIs yet">
            <p>
                Agents declare their KPIs with <code>business_kpis</code> when they register, and
                report values per run with <code>POST /api/v1/telemetry/business</code>.
            </p>
        </Empty>
    );
}

export default function Business({ slug, query }: PageProps) {
    const range = chosenRange(PERIODS, query.get("range"), "7d");
    const search = (query.get("q") ?? "").toLowerCase();
    const [limit, setLimit] = useState(SHOWN_FIRST);
    const summary = useLiveQuery(slug, `${SUMMARY} ${slug} ${range}`, (signal) =>
        call(SUMMARY, { path: { slug }, query: { time_range: range }, signal }),
    );
    const usage = useLiveQuery(slug, `${USAGE} ${slug} ${range} agent`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, group_by: "agent" }, signal }),
    );
    const spent = new Map(
        usage.data?.groups
            .filter((one) => one.cost !== null)
            .map((one) => [one.agent_name, Number(one.cost)]),
    );
    const kpis = summary.data?.kpis ?? [];
    const shown = kpis.filter((kpi) =>
        `${nameOf(kpi)} ${kpi.key} ${kpi.agent_name}`.toLowerCase().includes(search),
    );
    const compared = kpis.some((kpi) => kpi.previous !== null);
    const wanted = query.get("kpi");
    const selected = kpis.find((kpi) => idOf(kpi) === wanted);
    return (
        <>
            <Heading title="Business">
                <Live />
                <ExportMenu
                    slug={slug}
                    content="business"
                    range={range}
                    description={`All values and breakdowns of ${rangeInWords(PERIODS, range)}.`}
                />
            </Heading>
            <div class="filters">
                <PeriodSelect choices={PERIODS} value={range} />
                <SearchField
                    label="KPI or agent"
                    placeholder="KPI or agent"
                    value={query.get("q") ?? ""}
                    onChange={(q) => setQuery({ q }, { typed: true })}
                />
                {usage.error && <ErrorNote error={usage.error} retry={usage.reload} />}
                {usage.data && kpis.length > 0 && (
                    <span class="aside muted">
                        {plural(kpis.length, "KPI")} · {cost(usage.data.total.cost)} spent on models
                        {!compared && " · no change is shown: the period before has no values"}
                    </span>
                )}
            </div>
            <LoadState of={summary} rows={6} />
            {summary.data && wanted && !selected && (
                <div class="note" role="alert">
                    <p>
                        <strong>KPI not found.</strong> No agent declares <b dir="auto">{wanted}</b>, or
                        it has no values in this period.
                    </p>
                    <button type="button" onClick={() => setQuery({ kpi: null })}>
                        Show all KPIs
                    </button>
                </div>
            )}
            {selected && (
                <KpiDetail
                    key={idOf(selected)}
                    slug={slug}
                    kpi={selected}
                    range={range}
                    query={query}
                    unitCost={unitCost(selected, spent.get(selected.agent_name))}
                />
            )}
            <div class="kpis">
                {shown.slice(0, limit).map((kpi) => (
                    <KpiCard
                        key={idOf(kpi)}
                        slug={slug}
                        kpi={kpi}
                        range={range}
                        selected={kpi === selected}
                        spent={spent.get(kpi.agent_name)}
                        compared={compared}
                    />
                ))}
            </div>
            <ShowMore
                shown={limit}
                total={shown.length}
                onMore={() => setLimit(limit + 5 * SHOWN_FIRST)}
            />
            {summary.data?.truncated && (
                <p class="note">Only the first KPIs by agent and key are shown; there are more.</p>
            )}
            {summary.data && kpis.length === 0 && <NoKpis />}
            {kpis.length > 0 && shown.length === 0 && <Empty title="No KPIs match" />}
        </>
    );
}
