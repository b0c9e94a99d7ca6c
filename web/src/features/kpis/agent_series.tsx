// The KPIs of one agent over time, one small chart each.

import type { KpiTotal } from "api";

import { call } from "../../lib/api";
import { inUnit } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { edgesOf, rangeOfSeconds } from "../../lib/ranges";
import { href, pathOf, setQuery } from "../../lib/route";
import { Card, ErrorNote } from "../../ui";
import { Chart } from "../../ui/chart";
import { idOf, nameOf } from "./names";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const SERIES = "GET /api/v1/tenants/{slug}/business/series";
const CHARTS_MAX = 6;

interface Props {
    slug: string;
    range: string;
}

function KpiChart({ slug, kpi, range }: Props & { kpi: KpiTotal }) {
    const { agent_name, key } = kpi;
    const { data, at } = useLiveQuery(
        slug,
        `${SERIES} ${slug} ${idOf(kpi)} ${range} `,
        (signal) =>
            call(SERIES, { path: { slug }, query: { agent_name, key, time_range: range }, signal }),
        (change) => change.agent_name === agent_name,
    );
    const points = (data?.points ?? []).filter((point) => typeof point.value === "number");
    if (data === undefined || points.length === 0) return null;
    const times = points.map((point) => Date.parse(point.t) / 1000);
    return (
        <Card
            title={nameOf(kpi)}
            aside={
                <a href={href(pathOf("t", slug, "business"), { kpi: idOf(kpi), range })}>
                    {inUnit(kpi.value, kpi.unit)}
                </a>
            }
        >
            <Chart
                label={`${nameOf(kpi)} by ${data.bucket}`}
                kind={kpi.agg === "sum" ? "bars" : "line"}
                edges={edgesOf(range, times, data.bucket, at)}
                times={times}
                bucket={data.bucket}
                lines={[{ label: nameOf(kpi), values: points.map((point) => point.value as number) }]}
                format={(value) => inUnit(value, kpi.unit)}
                height={160}
                onZoom={(from, to) => setQuery({ range: rangeOfSeconds(from, to) })}
            />
        </Card>
    );
}

export function AgentSeries({ slug, agent_name, range }: Props & { agent_name: string }) {
    const { data, error } = useLiveQuery(
        slug,
        `${SUMMARY} ${slug} ${range}`,
        (signal) => call(SUMMARY, { path: { slug }, query: { time_range: range }, signal }),
        (change) => change.agent_name === agent_name,
    );
    const kpis = (data?.kpis ?? []).filter((one) => one.agent_name === agent_name);
    if (error && !data) return <ErrorNote error={error} />;
    return (
        <>
            <div class="columns">
                {kpis.slice(0, CHARTS_MAX).map((kpi) => (
                    <KpiChart key={kpi.key} slug={slug} kpi={kpi} range={range} />
                ))}
            </div>
            {kpis.length > CHARTS_MAX && (
                <p class="hint">
                    The first {CHARTS_MAX} of {kpis.length} KPIs are drawn;{" "}
                    <a href={href(pathOf("t", slug, "business"), { q: agent_name })}>see them all</a>.
                </p>
            )}
        </>
    );
}
