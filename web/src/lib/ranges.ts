// Time ranges that people choose from.

import type { RunTotals } from "api";

import { type Choice, labelOf } from "./choices";
import { exactTime } from "./format";

const DAYS: readonly Choice[] = [
    { value: "24h", label: "Last 24 hours" },
    { value: "7d", label: "Last 7 days" },
    { value: "30d", label: "Last 30 days" },
    { value: "90d", label: "Last 90 days" },
];

export const ALL_TIME = "all";

export const RANGES: readonly Choice[] = [{ value: "1h", label: "Last hour" }, ...DAYS];

/** Ranges that totals are computed over. */
export const PERIODS: readonly Choice[] = [
    ...DAYS,
    { value: "today", label: "Today (UTC)" },
    { value: "this_month", label: "This month" },
    { value: "last_month", label: "Last month" },
];

const DAY_MS = 86_400_000;
const SPAN = /^(\d+)([hd])$/;

/** From one time to another, in milliseconds. */
export type Bounds = [from: number, to: number];

const startOfDay = (at: number) => Math.floor(at / DAY_MS) * DAY_MS;

function startOfMonth(at: number, back: number): number {
    const date = new Date(at);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back);
}

/** A custom range: "<date-time>/<date-time>". Null: not a range. */
function customBounds(range: string): Bounds | null {
    const [from = "", to = "", ...more] = range.split("/");
    const bounds: Bounds = [Date.parse(from), Date.parse(to)];
    return more.length === 0 && bounds[0] < bounds[1] ? bounds : null;
}

export const isCustom = (range: string) => customBounds(range) !== null;

export const rangeBetween = ([from, to]: Bounds) =>
    `${new Date(from).toISOString()}/${new Date(to).toISOString()}`;

/** For what was marked in a chart, in seconds. */
export const rangeOfSeconds = (from: number, to: number) => rangeBetween([from * 1000, to * 1000]);

/** What the range is now; days and months are UTC, as the service counts them. */
export function boundsOf(range: string, now: number): Bounds {
    const custom = customBounds(range);
    if (custom !== null) return custom;
    const [, n = "30", unit = "d"] = SPAN.exec(range) ?? [];
    switch (range) {
        case "today":
            return [startOfDay(now), now];
        case "this_month":
            return [startOfMonth(now, 0), now];
        case "last_month":
            return [startOfMonth(now, 1), startOfMonth(now, 0)];
        default:
            return [now - Number(n) * (unit === "h" ? DAY_MS / 24 : DAY_MS), now];
    }
}

const PERIOD_MS: Record<string, number> = {
    minute: 60_000,
    hour: DAY_MS / 24,
    day: DAY_MS,
    week: 7 * DAY_MS,
};

/** When the period that begins at this time is over, in milliseconds. */
export function endOfPeriod(seconds: number, bucket: string): number {
    const from = new Date(seconds * 1000);
    if (bucket === "month") return from.setUTCMonth(from.getUTCMonth() + 1);
    return from.getTime() + (PERIOD_MS[bucket] ?? DAY_MS);
}

/** Which of the outer periods of a chart have only a part of their values. */
export interface Edges {
    first: boolean; // it began before the range
    last: boolean; // it ended after the range
    unfinished: boolean; // the last one is not over: its value will change
}

/** Of periods that begin at these times, in seconds, as a range showed them when the service answered
 * with their values; `since`: only what is not older was counted. */
export function edgesOf(
    range: string,
    times: readonly number[],
    bucket: string,
    answeredAt: number,
    since: string | null = null,
): Edges {
    const [begins, to] = boundsOf(range, answeredAt);
    const from = since === null ? begins : Math.max(begins, Date.parse(since));
    const [begin = from / 1000] = times;
    const end = endOfPeriod(times[times.length - 1] ?? 0, bucket);
    const unfinished = end > answeredAt && to >= answeredAt;
    return { first: begin * 1000 < from, last: !unfinished && to < end, unfinished };
}

/** What is said of the first and the last of a number of periods; null: they are whole. */
export function edgesInWords({ first, last, unfinished }: Edges, periods: number): string | null {
    if (periods < 2) return unfinished ? "not over yet" : first || last ? "counted in part" : null;
    if (first && last) return "first and last counted in part";
    const words = [
        first && "first counted in part",
        last && "last counted in part",
        unfinished && "last not over yet",
    ].filter(Boolean);
    return words.length > 0 ? words.join(", ") : null;
}

/** The periods of totals of which anything was counted. */
export const countedPeriods = ({ periods, bucket, counted_since }: RunTotals) =>
    periods.filter(
        ({ t }) =>
            counted_since === null ||
            endOfPeriod(Date.parse(t) / 1000, bucket) > Date.parse(counted_since),
    );

/** A range as the list of runs knows it: "today" and months by their bounds. */
export const listedRange = (range: string, now: number) =>
    SPAN.test(range) || isCustom(range) ? range : rangeBetween(boundsOf(range, now));

/** From a time to just after another, for lists of exactly the runs that were counted. The times are
 * those of the service, which may be finer than a millisecond. */
export const rangeThrough = (from: string, last: string) =>
    `${from}/${new Date(Date.parse(last) + 1).toISOString()}`;

/** The part of a range whose runs were counted, as the list of runs knows it; all of it unless they
 * were counted since a time. */
export const countedRange = (range: string, since: string | null, now: number) =>
    since === null
        ? listedRange(range, now)
        : `${since}/${new Date(boundsOf(range, now)[1]).toISOString()}`;

/** The range of the same length that ends where this one begins. */
export function rangeBefore(range: string, now: number): string {
    const [from, to] = boundsOf(range, now);
    return rangeBetween([from - (to - from), from]);
}

/** The range in the address: one of the choices, or a custom one. */
export function chosenRange(choices: readonly Choice[], value: string | null, otherwise: string) {
    if (value !== null && isCustom(value)) return value;
    return choices.some((one) => one.value === value) ? (value as string) : otherwise;
}

/** "9 Nov 2026, 10:00:00 UTC – …" */
export function customInWords(range: string): string {
    const [from, to] = customBounds(range) ?? [0, 0];
    const text = (at: number) => exactTime(new Date(at).toISOString());
    return `${text(from)} – ${text(to)}`;
}

/** "the last 7 days": the label of a choice inside a sentence. */
export function rangeInWords(choices: readonly Choice[], value: string): string {
    if (isCustom(value)) return customInWords(value);
    const label = labelOf(choices, value);
    return label
        .replace(/^Last/, "the last")
        .replace(/^(All|This|Today)/, (word) => word.toLowerCase());
}
