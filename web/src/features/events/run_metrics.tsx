// The metrics of a run's events: a chart for each with several points, a figure for the others.

import type { StoredEvent } from "api";

import { compact, count, duration, number } from "../../lib/format";
import { Card, Fact } from "../../ui";
import { Chart } from "../../ui/chart";

const CHARTS_MAX = 12;

interface Metric {
    name: string;
    times: number[]; // seconds since the run began
    values: number[];
}

function metricsOf(events: StoredEvent[], from: number): Metric[] {
    const found = new Map<string, Metric>();
    for (const event of events) {
        for (const [name, value] of Object.entries(event.metrics)) {
            const metric = found.get(name) ?? { name, times: [], values: [] };
            metric.times.push((Date.parse(event.timestamp) - from) / 1000);
            metric.values.push(value);
            found.set(name, metric);
        }
    }
    return [...found.values()].sort((a, b) => b.values.length - a.values.length);
}

/** uPlot needs ascending times; events are ordered by seq. */
function sorted(metric: Metric): { times: number[]; values: number[] } {
    const order = metric.times
        .map((_, i) => i)
        .sort((a, b) => (metric.times[a] ?? 0) - (metric.times[b] ?? 0));
    return {
        times: order.map((i) => metric.times[i] ?? 0),
        values: order.map((i) => metric.values[i] ?? 0),
    };
}

interface Props {
    events: StoredEvent[];
    from: number; // when the run started
    ofFirst?: number; // of a long run: how many of its events these are
}

export function RunMetrics({ events, from, ofFirst }: Props) {
    const metrics = metricsOf(events, from);
    if (metrics.length === 0) return null;
    const charts = metrics.filter((metric) => new Set(metric.times).size > 1).slice(0, CHARTS_MAX);
    const figures = metrics.filter((metric) => !charts.includes(metric));
    return (
        <Card title="Metrics" aside={ofFirst && `of the first ${count(ofFirst)} events`}>
            <div class="small-charts">
                {charts.map((metric) => {
                    const { times, values } = sorted(metric);
                    return (
                        <Chart
                            key={metric.name}
                            label={`${metric.name} over the run`}
                            times={times}
                            lines={[{ label: metric.name, values }]}
                            format={compact}
                            formatTime={(seconds) => duration(seconds * 1000)}
                            height={140}
                        />
                    );
                })}
            </div>
            {figures.length > 0 && (
                <dl class="figures">
                    {figures.map((metric) => (
                        <Fact key={metric.name} label={metric.name}>
                            {number(metric.values[metric.values.length - 1] ?? 0)}
                        </Fact>
                    ))}
                </dl>
            )}
        </Card>
    );
}
