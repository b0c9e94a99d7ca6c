// Business KPIs: a card each; the chosen one with its trend, its breakdown and what a unit costs.

import type { KpiTotal } from "api";

import { call } from "../lib/api";
import { change, cost, dollars, inUnit, percent, plural } from "../lib/format";
import { useLiveQuery, useQuery } from "../lib/query";
import { chosen, PERIODS } from "../lib/ranges";
import { setQuery } from "../lib/route";
import type { PageProps } from "../pages";
import { Empty, ErrorNote, Heading, Live, Select, Skeleton } from "../ui/basics";
import { Sparkline } from "../ui/chart";
import { KpiDetail } from "../ui/kpi_detail";
import { Export } from "../ui/export";
import { SearchField } from "../ui/search_field";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const SERIES = "GET /api/v1/tenants/{slug}/business/series";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

const idOf = (kpi: KpiTotal) => `${kpi.agent_name}/${kpi.key}`;
const nameOf = (kpi: KpiTotal) => kpi.label || kpi.key;

/** The change to the period before. Whether more is better, only the reader knows: no colours. */
function Change({ kpi }: { kpi: KpiTotal }) {
    const part = change(kpi.previous, kpi.value);
    if (part === null) return <span class="change muted">no period before</span>;
    const sign = part > 0 ? "▲" : part < 0 ? "▼" : "=";
    return (
        <span class="change" title={`${inUnit(kpi.previous, kpi.unit)} in the period before`}>
            {sign} {percent(Math.abs(part))}
        </span>
    );
}

function Trend({ slug, kpi, range }: { slug: string; kpi: KpiTotal; range: string }) {
    const { agent_name, key } = kpi;
    const { data } = useQuery(
        typeof kpi.value === "number" ? `${SERIES} ${slug} ${idOf(kpi)} ${range}` : null,
        (signal) =>
            call(SERIES, { path: { slug }, query: { agent_name, key, time_range: range }, signal }),
    );
    const values = (data?.points ?? [])
        .map((point) => point.value)
        .filter((value) => typeof value === "number");
    return (
        <Sparkline values={values} label={`Trend of ${nameOf(kpi)}`} fromZero={kpi.agg === "sum"} />
    );
}

/** What the models cost for one unit of it; only sums can be divided so. */
export function unitCost(kpi: KpiTotal, spent: number | undefined): string | null {
    if (spent === undefined || kpi.agg !== "sum" || typeof kpi.value !== "number" || kpi.value <= 0)
        return null;
    return dollars(spent / kpi.value);
}

function KpiCard(props: {
    slug: string;
    kpi: KpiTotal;
    range: string;
    chosen: boolean;
    spent: number | undefined;
}) {
    const { slug, kpi, range, spent } = props;
    const each = unitCost(kpi, spent);
    return (
        <button
            type="button"
            class="kpi"
            aria-pressed={props.chosen}
            onClick={() => setQuery({ kpi: props.chosen ? null : idOf(kpi), by: null })}
        >
            <span class="name" title={kpi.key}>
                {nameOf(kpi)}
            </span>
            <span class="of">{kpi.agent_name}</span>
            <span class="value">{inUnit(kpi.value, kpi.unit)}</span>
            <span class="notes">
                <Change kpi={kpi} />
                {each !== null && <span>{each} each</span>}
                {!kpi.declared && (
                    <span title="Reported, but not declared at registration">undeclared</span>
                )}
            </span>
            <Trend slug={slug} kpi={kpi} range={range} />
        </button>
    );
}

function NoKpis() {
    return (
        <Empty title="No KPIs yet">
            <p>
                Agents declare what they achieve with <code>business_kpis</code> when they register,
                and report it a run with <code>POST /api/v1/telemetry/business</code>.
            </p>
        </Empty>
    );
}

export default function Business({ slug, query }: PageProps) {
    const range = chosen(PERIODS, query.get("range"), "30d");
    const words = (query.get("q") ?? "").toLowerCase();
    const summary = useLiveQuery(slug, `${SUMMARY} ${slug} ${range}`, (signal) =>
        call(SUMMARY, { path: { slug }, query: { time_range: range }, signal }),
    );
    const usage = useQuery(`${USAGE} ${slug} ${range} agent`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, group_by: "agent" }, signal }),
    );
    const spent = new Map(
        usage.data?.groups
            .filter((one) => one.cost !== null)
            .map((one) => [one.agent_name, Number(one.cost)]),
    );
    const kpis = summary.data?.kpis ?? [];
    const shown = kpis.filter((kpi) =>
        `${nameOf(kpi)} ${kpi.key} ${kpi.agent_name}`.toLowerCase().includes(words),
    );
    const open = kpis.find((kpi) => idOf(kpi) === query.get("kpi"));
    return (
        <>
            <Heading title="Business">
                <Live />
                <Export slug={slug} what="business" range={range} />
            </Heading>
            <div class="filters">
                <Select
                    label="Period"
                    choices={PERIODS}
                    value={range}
                    onChange={(to) => setQuery({ range: to })}
                />
                <SearchField
                    label="KPI or agent"
                    placeholder="KPI or agent"
                    value={query.get("q") ?? ""}
                    onChange={(q) => setQuery({ q })}
                />
                {usage.data && kpis.length > 0 && (
                    <span class="aside muted">
                        {plural(kpis.length, "KPI")} · {cost(usage.data.total.cost)} spent on models
                    </span>
                )}
            </div>
            {summary.error && <ErrorNote error={summary.error} retry={summary.reload} />}
            {summary.loading && <Skeleton />}
            {open && (
                <KpiDetail
                    key={idOf(open)}
                    slug={slug}
                    kpi={open}
                    range={range}
                    query={query}
                    each={unitCost(open, spent.get(open.agent_name))}
                />
            )}
            <div class="kpis">
                {shown.map((kpi) => (
                    <KpiCard
                        key={idOf(kpi)}
                        slug={slug}
                        kpi={kpi}
                        range={range}
                        chosen={kpi === open}
                        spent={spent.get(kpi.agent_name)}
                    />
                ))}
            </div>
            {summary.data && kpis.length === 0 && <NoKpis />}
            {kpis.length > 0 && shown.length === 0 && <Empty title="No KPI fits" />}
        </>
    );
}
