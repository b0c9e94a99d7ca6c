// Business KPIs: a card each; the chosen one with its trend, its breakdown and what a unit costs.

import type { KpiTotal } from "api";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { call } from "../lib/api";
import { change, cost, count, each, inUnit, percent, plural } from "../lib/format";
import { useLiveQuery, useQuery } from "../lib/query";
import { chosen, PERIODS, wordsOf } from "../lib/ranges";
import { setQuery } from "../lib/route";
import type { PageProps } from "../app/pages";
import { Empty, ErrorNote, Heading, Live, Select, Skeleton } from "../ui/basics";
import { Sparkline } from "../ui/chart";
import { KpiDetail } from "../features/kpis/kpi_detail";
import { Export } from "../features/export/export_menu";
import { SearchField } from "../ui/search_field";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const SERIES = "GET /api/v1/tenants/{slug}/business/series";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

const SHOWN_FIRST = 60;

const idOf = (kpi: KpiTotal) => `${kpi.agent_name}/${kpi.key}`;
const nameOf = (kpi: KpiTotal) => kpi.label || kpi.key;

/** The change to the period before. Whether more is better, only the reader knows: no colours. */
function Change({ kpi }: { kpi: KpiTotal }) {
    const part = change(kpi.previous, kpi.value);
    if (part === null) return <span class="change muted">nothing to compare</span>;
    const sign = part > 0 ? "▲" : part < 0 ? "▼" : "=";
    return (
        <span class="change" title={`${inUnit(kpi.previous, kpi.unit)} in the period before`}>
            {sign} {percent(Math.abs(part))}
        </span>
    );
}

/** Was the element ever on the screen? There may be thousands of KPIs, and each trend is a request. */
function useSeen(element: RefObject<HTMLElement | null>): boolean {
    const [seen, setSeen] = useState(false);
    useEffect(() => {
        const watch = new IntersectionObserver((entries) => {
            if (!entries.some((one) => one.isIntersecting)) return;
            watch.disconnect();
            setSeen(true);
        });
        if (element.current) watch.observe(element.current);
        return () => watch.disconnect();
    }, [element]);
    return seen;
}

/** Small lines say more with few points. */
const bucketOf = (range: string) => (["24h", "today"].includes(range) ? "hour" : "day");

interface TrendProps {
    slug: string;
    kpi: KpiTotal;
    range: string;
    wanted: boolean;
}

function Trend({ slug, kpi, range, wanted }: TrendProps) {
    const { agent_name, key } = kpi;
    const { data, reload } = useQuery(
        wanted && typeof kpi.value === "number" ? `${SERIES} ${slug} ${idOf(kpi)} ${range}` : null,
        (signal) =>
            call(SERIES, {
                path: { slug },
                query: { agent_name, key, time_range: range, bucket: bucketOf(range) },
                signal,
            }),
    );
    const reports = useRef(kpi.reports);
    useEffect(() => {
        if (reports.current !== kpi.reports) reload(); // the number moved on; so did its trend
        reports.current = kpi.reports;
    }, [kpi.reports]);
    const values = (data?.points ?? [])
        .map((point) => point.value)
        .filter((value) => typeof value === "number");
    return (
        <Sparkline values={values} label={`Trend of ${nameOf(kpi)}`} fromZero={kpi.agg === "sum"} />
    );
}

/** What the models cost for one unit of it; only sums can be divided so. */
function unitCost(kpi: KpiTotal, spent: number | undefined): string | null {
    if (spent === undefined || kpi.agg !== "sum" || typeof kpi.value !== "number" || kpi.value <= 0)
        return null;
    return each(spent / kpi.value);
}

function KpiCard(props: {
    slug: string;
    kpi: KpiTotal;
    range: string;
    chosen: boolean;
    spent: number | undefined;
}) {
    const { slug, kpi, range, spent } = props;
    const costs = unitCost(kpi, spent);
    const card = useRef<HTMLButtonElement>(null);
    const seen = useSeen(card);
    return (
        <button
            ref={card}
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
                {costs !== null && <span>{costs}</span>}
                {!kpi.declared && (
                    <span title="Reported, but not declared at registration">undeclared</span>
                )}
            </span>
            <Trend slug={slug} kpi={kpi} range={range} wanted={seen} />
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
    const range = chosen(PERIODS, query.get("range"), "7d");
    const words = (query.get("q") ?? "").toLowerCase();
    const [most, setMost] = useState(SHOWN_FIRST);
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
                <Export
                    slug={slug}
                    what="business"
                    range={range}
                    words={`All values and breakdowns of ${wordsOf(PERIODS, range)}.`}
                />
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
                {usage.error && <ErrorNote error={usage.error} retry={usage.reload} />}
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
                {shown.slice(0, most).map((kpi) => (
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
            {shown.length > most && (
                <div class="pager">
                    <button type="button" onClick={() => setMost(most + 5 * SHOWN_FIRST)}>
                        Show more of {count(shown.length - most)}
                    </button>
                </div>
            )}
            {summary.data?.truncated && (
                <p class="note">These are the first KPIs by agent and key; there are more.</p>
            )}
            {summary.data && kpis.length === 0 && <NoKpis />}
            {kpis.length > 0 && shown.length === 0 && <Empty title="No KPI fits" />}
        </>
    );
}
