// One KPI in detail: its series in a chosen bucket, and its breakdown.

import type { KpiTotal } from "api";
import { useEffect, useRef, useState } from "preact/hooks";

import { call } from "../../lib/api";
import { count, inUnit } from "../../lib/format";
import type { LiveChange } from "../../lib/live";
import { useLiveQuery } from "../../lib/query";
import { edgesOf, rangeOfSeconds } from "../../lib/ranges";
import { href, pathOf, setQuery } from "../../lib/route";
import {
    Card,
    Empty,
    ErrorNote,
    Fact,
    IconButton,
    Segments,
    Select,
    ShowMore,
    Skeleton,
} from "../../ui";
import { Chart } from "../../ui/chart";
import { Bars } from "../../ui/figures";
import { KpiReports } from "./kpi_reports";
import { idOf, nameOf } from "./names";

const SERIES = "GET /api/v1/tenants/{slug}/business/series";
const BREAKDOWN = "GET /api/v1/tenants/{slug}/business/breakdown";
const BARS_FIRST = 12;

const BUCKETS = [
    { value: "", label: "Bucket: automatic" },
    { value: "hour", label: "By hour" },
    { value: "day", label: "By day" },
    { value: "week", label: "By week" },
    { value: "month", label: "By month" },
];
// a map: names that agents send, such as "__proto__", are not in it
const AGGREGATIONS = new Map<string, string>([
    ["sum", "Sum"],
    ["last", "Last value"],
    ["avg", "Average"],
    ["max", "Maximum"],
]);

interface Props {
    slug: string;
    kpi: KpiTotal;
    range: string;
    query: URLSearchParams;
    unitCost: string | null;
}

function Series({ slug, kpi, range, query }: Props) {
    const bucket = query.get("bucket") ?? "";
    const { agent_name, key } = kpi;
    const { data, at, error, loading } = useLiveQuery(
        slug,
        `${SERIES} ${slug} ${idOf(kpi)} ${range} ${bucket}`,
        (signal) =>
            call(SERIES, {
                path: { slug },
                query: { agent_name, key, time_range: range, bucket: (bucket || null) as never },
                signal,
            }),
        (change) => change.agent_name === agent_name,
    );
    if (error && !data) return <ErrorNote error={error} />;
    if (loading || data === undefined) return <Skeleton rows={5} />;
    const points = data.points.filter((point) => typeof point.value === "number");
    if (points.length === 0) return <Empty title="No numbers in this period" />;
    const bars = kpi.agg === "sum";
    const times = points.map((point) => Date.parse(point.t) / 1000);
    return (
        <Chart
            label={`${nameOf(kpi)} by ${data.bucket}`}
            kind={bars ? "bars" : "line"}
            edges={edgesOf(range, times, data.bucket, at)}
            times={times}
            bucket={data.bucket}
            lines={[
                {
                    label: `${nameOf(kpi)}, by ${data.bucket}`,
                    values: points.map((point) => point.value as number),
                },
            ]}
            format={(value) => inUnit(value, kpi.unit)}
            height={240}
            onZoom={(from, to) => setQuery({ range: rangeOfSeconds(from, to) })}
        />
    );
}

/** Loads the names of the dimensions first, then the chosen one. */
function Breakdown({ slug, kpi, range, query }: Props) {
    const { agent_name, key } = kpi;
    const load = (by: string | null, signal: AbortSignal) =>
        call(BREAKDOWN, {
            path: { slug },
            query: { metric: key, by, agent_name, time_range: range },
            signal,
        });
    const name = `${BREAKDOWN} ${slug} ${idOf(kpi)} ${range}`;
    const follows = (change: LiveChange) => change.agent_name === agent_name;
    const known = useLiveQuery(slug, name, (signal) => load(null, signal), follows);
    const names = known.data?.dimensions ?? [];
    const wanted = query.get("by");
    const by = wanted !== null && names.includes(wanted) ? wanted : names[0];
    const { data, error, loading } = useLiveQuery(
        slug,
        by === undefined ? null : `${name} ${by}`,
        (signal) => load(by ?? null, signal),
        follows,
    );
    const [shown, setShown] = useState(BARS_FIRST);
    if (known.error && !known.data) return <ErrorNote error={known.error} />;
    if (by === undefined) return null;
    const rows = (data?.rows ?? []).slice(0, shown).map((row) => ({
        label: Object.values(row.dimensions).join(" · "),
        value: row.value,
    }));
    return (
        <div class="breakdown">
            <header>
                <h3>By</h3>
                <Segments
                    label="Dimension"
                    choices={names.map((value) => ({ value, label: value }))}
                    value={by}
                    onChange={(to) => setQuery({ by: to })}
                />
            </header>
            {error && <ErrorNote error={error} />}
            {loading && <Skeleton rows={3} />}
            {rows.length > 0 && <Bars rows={rows} format={(value) => inUnit(value, kpi.unit)} />}
            {data && (
                <ShowMore
                    shown={shown}
                    total={data.rows.length}
                    onMore={() => setShown(shown + 10 * BARS_FIRST)}
                />
            )}
        </div>
    );
}

export function KpiDetail(props: Props) {
    const { slug, kpi, range, query, unitCost } = props;
    const shown = Object.fromEntries(query);
    const listed = query.get("reports") === "true";
    const top = useRef<HTMLDivElement>(null);
    useEffect(() => top.current?.scrollIntoView({ block: "nearest" }), []);
    return (
        <div ref={top}>
            <Card
                title={nameOf(kpi)}
                class="kpi-detail"
                aside={
                    <>
                        <Select
                            label="Bucket"
                            choices={BUCKETS}
                            value={query.get("bucket") ?? ""}
                            onChange={(bucket) => setQuery({ bucket })}
                        />
                        <IconButton
                            icon="close"
                            label="Close"
                            onClick={() => setQuery({ kpi: null, by: null, bucket: null, reports: null })}
                        />
                    </>
                }
            >
                <dl class="facts">
                    <Fact label="Agent">{kpi.agent_name}</Fact>
                    <Fact label={AGGREGATIONS.get(kpi.agg ?? "last") ?? kpi.agg ?? ""}>
                        {inUnit(kpi.value, kpi.unit)}
                    </Fact>
                    <Fact label="Previous period">{inUnit(kpi.previous, kpi.unit)}</Fact>
                    <Fact label="Runs that reported it">
                        <a href={href(pathOf("t", slug, "business"), { ...shown, reports: !listed || null })}>
                            {count(kpi.reports)}
                        </a>
                    </Fact>
                    {unitCost && <Fact label="Model cost">{unitCost}</Fact>}
                </dl>
                <Series {...props} />
                <Breakdown {...props} />
            </Card>
            {listed && <KpiReports slug={slug} kpi={kpi} range={range} />}
        </div>
    );
}
