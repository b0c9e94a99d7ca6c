// The runs of one agent over time: how many, how many failed, and how long they took.

import type { RunPeriod, RunTotals } from "api";

import { call } from "../../lib/api";
import { count, duration, percent } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { countedPeriods, countedRange, edgesOf, rangeOfSeconds } from "../../lib/ranges";
import { href, pathOf, setQuery } from "../../lib/route";
import { Card, Empty, LoadState } from "../../ui";
import { Chart } from "../../ui/chart";
import { Bars } from "../../ui/figures";

const TOTALS = "GET /api/v1/tenants/{slug}/dashboard/totals";

interface Props {
    slug: string;
    agent_name: string;
    range: string;
}

const zoom = (from: number, to: number) => setQuery({ range: rangeOfSeconds(from, to) });

interface ChartsProps {
    totals: RunTotals;
    at: number; // when the service answered with them
    range: string;
}

function RunCharts({ totals, at, range }: ChartsProps) {
    const { bucket, counted_since } = totals;
    const periods = countedPeriods(totals);
    const times = periods.map((period) => Date.parse(period.t) / 1000);
    const edges = edgesOf(range, times, bucket, at, counted_since);
    const line = (label: string, colour: string, name: keyof RunPeriod) => ({
        label,
        colour,
        values: periods.map((period) => period[name] as number | null),
    });
    const failed = periods.reduce((sum, one) => sum + one.failed, 0);
    const ended = periods.reduce((sum, one) => sum + one.failed + one.completed, 0);
    return (
        <>
            <Card
                title={`Runs per ${bucket}`}
                aside={
                    ended > 0 && `${count(failed)} of ${count(ended)} failed (${percent(failed / ended)})`
                }
            >
                <Chart
                    label={`Runs per ${bucket} by status`}
                    kind="stack"
                    edges={edges}
                    times={times}
                    bucket={bucket}
                    lines={[
                        line("Failed", "--bad", "failed"),
                        line("Completed", "--c2", "completed"),
                        line("Running", "--busy", "in_progress"),
                    ]}
                    format={count}
                    onZoom={zoom}
                />
            </Card>
            <Card title={`Duration per ${bucket}`}>
                <Chart
                    label={`Duration of runs per ${bucket}`}
                    edges={edges}
                    times={times}
                    bucket={bucket}
                    lines={[line("p50", "--c1", "p50_ms"), line("p95", "--c3", "p95_ms")]}
                    format={duration}
                    onZoom={zoom}
                />
            </Card>
        </>
    );
}

export function AgentRuns({ slug, agent_name, range }: Props) {
    const totals = useLiveQuery(
        slug,
        `${TOTALS} ${slug} ${agent_name} ${range}`,
        (signal) => call(TOTALS, { path: { slug }, query: { time_range: range, agent_name }, signal }),
        (change) => change.kind === "run" && change.agent_name === agent_name,
    );
    const { data } = totals;
    const runs = (data?.periods ?? []).some((one) => one.completed + one.failed + one.in_progress > 0);
    return (
        <>
            <LoadState of={totals} rows={8} />
            {data && !runs && <Empty title="No runs in this period" />}
            {data && runs && <RunCharts totals={data} at={totals.at} range={range} />}
            {data?.truncated && <p class="hint">Only the newest 20,000 runs are counted.</p>}
            {data && data.errors.length > 0 && (
                <Card title="Errors">
                    <Bars
                        rows={data.errors.map((one) => ({
                            label: one.error_type || "no error type",
                            value: one.runs,
                            href: href(pathOf("t", slug, "runs"), {
                                since: countedRange(range, data.counted_since, Date.now()),
                                status: "failed",
                                agent_name,
                                error_type: one.error_type,
                                untyped: one.error_type === "" || null,
                            }),
                        }))}
                        format={count}
                    />
                </Card>
            )}
        </>
    );
}
