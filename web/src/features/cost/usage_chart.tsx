// Cost or tokens per day, stacked by model.

import type { UsageGroup } from "api";

import { compact, dollars } from "../../lib/format";
import { edgesOf, rangeOfSeconds } from "../../lib/ranges";
import { setQuery, useRoute } from "../../lib/route";
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

/** A chart has as many models as the palette has colours: this is the place of the first, so that the
 * given one is among them. */
function firstOf(models: string[], model: string | null): number {
    return Math.floor(Math.max(models.indexOf(model ?? ""), 0) / LINES_MAX) * LINES_MAX;
}

/** A colour for each of the named models, which does not depend on what is measured. */
function coloursOf(groups: UsageGroup[], named: string[]): Map<string, number> {
    const all = modelsOf(groups, "tokens");
    const slots = slotsOf(all, LINES_MAX);
    const colours = new Map<string, number>();
    for (const model of all.filter((one) => named.includes(one))) {
        let slot = slots.get(model) ?? 0;
        while ([...colours.values()].includes(slot)) slot = (slot + 1) % LINES_MAX;
        colours.set(model, slot);
    }
    return colours;
}

/** One line per model from the first on; those beyond the palette share one. */
function linesOf(groups: UsageGroup[], days: number[], measure: string, first: number): Line[] {
    const models = modelsOf(groups, measure).slice(first);
    const named = models.slice(0, LINES_MAX);
    const colours = coloursOf(groups, named);
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
    range: string;
    at: number; // when the service answered with them
    measure: string;
    truncated: boolean;
    budget: Limit | undefined; // per day
    aside?: string;
}

/** Models beyond the palette, some at a time. */
function OtherModels({ models, first }: { models: string[]; first: number }) {
    if (models.length <= LINES_MAX) return null;
    const end = Math.min(first + LINES_MAX, models.length);
    const left = models.length - end;
    return (
        <p class="buttons after">
            <span role="status">
                Models {first + 1} to {end} of {models.length}, the largest first
            </span>
            {first > 0 && (
                <button type="button" onClick={() => setQuery({ model: null })}>
                    Show the largest
                </button>
            )}
            {left > 0 && (
                <button type="button" onClick={() => setQuery({ model: models[end] ?? null })}>
                    Show the next {Math.min(left, LINES_MAX)}
                </button>
            )}
        </p>
    );
}

export function UsageChart({ groups, range, at, measure, truncated, budget, aside }: Props) {
    const wanted = useRoute().query.get("model"); // to be shown; null: the largest
    const days = daysOf(groups);
    const models = modelsOf(groups, measure);
    const first = firstOf(models, wanted);
    if (days.length === 0) return null;
    const title = measure === "tokens" ? "Tokens per day by model" : "Cost per day by model";
    return (
        <Card title={title} aside={aside}>
            <Chart
                label={`${title}, stacked`}
                kind="stack"
                times={days}
                edges={edgesOf(range, days, "day", at)}
                lines={linesOf(groups, days, measure, first)}
                format={formatOf(measure)}
                height={260}
                limit={measure === "cost" && first === 0 ? budget : undefined}
                onZoom={(from, to) => setQuery({ range: rangeOfSeconds(from, to) })}
            />
            <OtherModels models={models} first={first} />
            {truncated && (
                <p class="hint">
                    Too much data for one chart: the smallest values are missing. Choose a shorter
                    period.
                </p>
            )}
        </Card>
    );
}
