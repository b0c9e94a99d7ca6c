// What a chart shows, in numbers: its axes, its stacks and its colours. Nothing here draws.

import { clockInZone, day, dayInZone, momentInZone } from "./format";
import { endOfPeriod } from "./ranges";

const DAY_S = 86_400;
const [TINY, HUGE] = [1e-12, 1e15]; // sizes that can be drawn as they are
const MARGIN = 0.06;

export type Values = readonly (number | null)[];

function sizeOf(lines: readonly Values[]): number {
    let most = 0;
    for (const values of lines) for (const value of values) most = Math.max(most, Math.abs(value ?? 0));
    return most;
}

/** Values are divided by this to be drawn: sums of the hugest would not be numbers any more, and the
 * axis would find no ticks. */
export function divisorOf(lines: readonly Values[]): number {
    const size = sizeOf(lines);
    return size === 0 || (size > TINY && size < HUGE) ? 1 : 10 ** Math.floor(Math.log10(size));
}

/** From the lowest to the highest value, and always with zero: a bar or an area is as long as its
 * value, and a small change of a large value looks small. */
export function valueRange(low: number | null, high: number | null): [number, number] {
    const from = Math.min(low ?? 0, 0);
    const to = Math.max(high ?? 0, 0);
    if (from === to) return [0, 1];
    const margin = (to - from) * MARGIN;
    return [from < 0 ? from - margin : 0, to > 0 ? to + margin : 0];
}

/** Between the labels of an axis of counts: in halves, 2.5 would be written as 3. */
export const WHOLE_STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

/** Sums from zero: positive values upwards, negative ones downwards. */
export function stacked(lines: readonly Values[]): number[][] {
    const up: number[] = [];
    const down: number[] = [];
    return lines.map((values) =>
        values.map((value, i) => {
            const sums = (value ?? 0) < 0 ? down : up;
            return (sums[i] = (sums[i] ?? 0) + (value ?? 0));
        }),
    );
}

/** The end of a period, in seconds. */
export const endOf = (seconds: number, bucket: string) => endOfPeriod(seconds, bucket) / 1000;

/** Are the periods shorter than a day, the service's days being those of UTC? */
const isShort = (bucket: string) => endOf(0, bucket) < DAY_S;

/** From one period to the next, as they are drawn; the shortest way, because some may be missing. A
 * single one has its own length. */
export function stepOf(times: readonly number[], bucket: string): number {
    let step = Infinity;
    for (let i = 1; i < times.length; i++) step = Math.min(step, (times[i] ?? 0) - (times[i - 1] ?? 0));
    return Number.isFinite(step) && step > 0 ? step : endOf(0, bucket);
}

/** Periods by their places: from the first to the last; `at` is where the person is. */
export interface Mark {
    first: number;
    last: number;
    at: number;
}

/** The place of the period that holds a time; the first one for what is before it. */
function placeAt(times: readonly number[], seconds: number): number {
    let place = times.length - 1;
    while (place > 0 && (times[place] ?? 0) > seconds) place--;
    return place;
}

/** What was marked from one time to another, in the periods that a chart has now: a live chart gets
 * new ones and loses old ones. Null: it has lost all of it. */
export function markOf(times: readonly number[], from: number, at: number, bucket: string): Mark | null {
    const [low, high] = [Math.min(from, at), Math.max(from, at)];
    const end = endOf(times[times.length - 1] ?? 0, bucket);
    if (times.length === 0 || high < (times[0] ?? 0) || low >= end) return null;
    return { first: placeAt(times, low), last: placeAt(times, high), at: placeAt(times, at) };
}

const every = <T>(list: readonly T[], n: number) => list.filter((_, i) => i % n === 0);

/** Where an axis of periods has labels: at periods that exist, each label different, `most` at the
 * most. Periods shorter than a day are labelled in the zone that the person chose. */
export function timeTicks(times: readonly number[], most: number, bucket: string): number[] {
    const room = Math.max(1, Math.floor(most));
    if (times.length < 2 || !isShort(bucket))
        return every(times, Math.ceil(times.length / room));
    const label = timeLabel(times, bucket);
    const texts = times.map(label);
    if (isLong(times)) {
        const days = times.filter((_, i) => i > 0 && texts[i] !== texts[i - 1]);
        return days.length > 0 ? every(days, Math.ceil(days.length / room)) : times.slice(0, 1);
    }
    const hourOf = (i: number) => Number(texts[i]?.slice(0, 2));
    const each =
        [1, 2, 3, 6, 12, 24].find((n) => times.filter((_, i) => hourOf(i) % n === 0).length <= room) ??
        24;
    const hours = times.filter((_, i) => hourOf(i) % each === 0 && texts.indexOf(texts[i] ?? "") === i);
    return hours.length > 0 && hours.length <= room ? hours : times.slice(0, 1);
}

const isLong = (times: readonly number[]) =>
    (times[times.length - 1] ?? 0) - (times[0] ?? 0) > 2 * DAY_S;

/** A tick: the day for ranges of several days, else the hour. */
export function timeLabel(times: readonly number[], bucket: string): (seconds: number) => string {
    return (seconds) => {
        const text = new Date(seconds * 1000).toISOString();
        if (!isShort(bucket)) return day(text);
        return isLong(times) ? dayInZone(text) : clockInZone(text);
    };
}

/** A period in full: "9 Nov 2026", or "9 Nov 2026, 14:00 UTC" when it is shorter than a day. */
export function periodLabel(bucket: string): (seconds: number) => string {
    return (seconds) => {
        const text = new Date(seconds * 1000).toISOString();
        return isShort(bucket) ? momentInZone(text) : `${day(text)} ${text.slice(0, 4)}`;
    };
}

/** Labels without those that repeat the one before. */
export const distinct = (labels: readonly string[]) =>
    labels.map((label, i) => (i > 0 && label === labels[i - 1] ? "" : label));

/** A slot of a palette for each name: the same whatever is measured, and different ones while there
 * are enough. */
export function slotsOf(names: readonly string[], slots: number): Map<string, number> {
    const found = new Map<string, number>();
    const taken = new Set<number>();
    for (const name of names) {
        let hash = 0;
        for (const char of name) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 65_521;
        let slot = hash % slots;
        while (taken.size < slots && taken.has(slot)) slot = (slot + 1) % slots;
        taken.add(slot);
        found.set(name, slot);
    }
    return found;
}
