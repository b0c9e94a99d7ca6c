// Cost or tokens per day, stacked by model.

import type { UsageGroup } from "api";

import { compact, dollars } from "../../lib/format";
import { rangeOfSeconds } from "../../lib/ranges";
import { setQuery } from "../../lib/route";
import { slotsOf } from "../../lib/scale";
import { Card } from "../../ui";
import { Chart, type Line } from "../../ui/chart";
import type { Limit } from "../../ui/chart_parts";
import { tokensOf } from "./usage_table";

const LINES_MAX = 7;
const DAY_S = 86_400;
const OTHERS = "--c8";

export const MEASURES = [
    { value: "cost", label: "Cost" },
    { value: "tokens", label: "Tokens" },
];

export const valueOf = (group: UsageGroup, measure: string) =>
    measure === "tokens" ? tokensOf(group) : Number(group.cost ?? 0);

export const formatOf = (measure: string) => (measure === "tokens" ? compact : dollars);

const dayOf = (group: UsageGroup) => Date.parse(group.day ?? "") / 1000;

/** All days from the first to the last, with or without usage. */
function daysOf(groups: UsageGroup[]): number[] {
    const times = groups.map(dayOf).filter((time) => !Number.isNaN(time));
    if (times.length === 0) return [];
    const days: number[] = [];
    for (let at = Math.min(...times); at <= Math.max(...times); at += DAY_S) days.push(at);
    return days;
}

/** Models with any value, the largest first. */
function modelsOf(groups: UsageGroup[], measure: string): string[] {
    const totals = new Map<string, number>();
    for (const one of groups)
        totals.set(one.model ?? "", (totals.get(one.model ?? "") ?? 0) + valueOf(one, measure));
    return [...totals]
        .filter(([, sum]) => sum > 0)
        .sort((a, b) => b[1] - a[1])
        .map(([model]) => model);
}

/** One line per model; those beyond the palette share one. A model's colour does not depend on what
 * is measured. */
function linesOf(groups: UsageGroup[], days: number[], measure: string): Line[] {
    const models = modelsOf(groups, measure);
    const colours = slotsOf(modelsOf(groups, "tokens"), LINES_MAX);
    const named = models.length > LINES_MAX ? models.slice(0, LINES_MAX) : models;
    const lines = new Map<string, number[]>();
    for (const one of groups) {
        const model = one.model ?? "";
        if (!models.includes(model)) continue;
        const label = named.includes(model) ? model : "others";
        const values = lines.get(label) ?? days.map(() => 0);
        const at = days.indexOf(dayOf(one));
        values[at] = (values[at] ?? 0) + valueOf(one, measure);
        lines.set(label, values);
    }
    return [...named, "others"]
        .filter((label) => lines.has(label))
        .map((label) => ({
            label,
            values: lines.get(label) ?? [],
            colour: label === "others" ? OTHERS : `--c${(colours.get(label) ?? 0) + 1}`,
        }));
}

interface Props {
    groups: UsageGroup[]; // by day and model
    measure: string;
    truncated: boolean;
    budget: Limit | undefined; // per day
}

export function UsageChart({ groups, measure, truncated, budget }: Props) {
    const days = daysOf(groups);
    if (days.length === 0) return null;
    const title = measure === "tokens" ? "Tokens per day by model" : "Cost per day by model";
    return (
        <Card title={title}>
            <Chart
                label={`${title}, stacked`}
                kind="stack"
                times={days}
                unfinished={(days[days.length - 1] ?? 0) + DAY_S > Date.now() / 1000}
                lines={linesOf(groups, days, measure)}
                format={formatOf(measure)}
                height={260}
                limit={measure === "cost" ? budget : undefined}
                onZoom={(from, to) => setQuery({ range: rangeOfSeconds(from, to) })}
            />
            {truncated && (
                <p class="hint">
                    Too much data for one chart: the smallest values are missing. Choose a shorter
                    period.
                </p>
            )}
        </Card>
    );
}
