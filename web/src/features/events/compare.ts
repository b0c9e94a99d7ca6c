// Two runs side by side, in numbers: nothing here draws.

import type { RunNarrative, StoredEvent } from "api";

export interface Difference {
    name: string;
    a: string | number | null;
    b: string | number | null;
}

const OUTPUT_MAX = 500; // members that are compared

/** In the order of the first list, then what only the second one has. */
function join<T extends string | number>(a: Map<string, T>, b: Map<string, T>): Difference[] {
    return [...new Set([...a.keys(), ...b.keys()])].map((name) => ({
        name,
        a: a.get(name) ?? null,
        b: b.get(name) ?? null,
    }));
}

function stepCounts(events: StoredEvent[]): Map<string, number> {
    const found = new Map<string, number>();
    for (const { category, event } of events) {
        const name = category || event;
        found.set(name, (found.get(name) ?? 0) + 1);
    }
    return found;
}

/** The last value of each metric. */
function lastMetrics(events: StoredEvent[]): Map<string, number> {
    return new Map(events.flatMap((event) => Object.entries(event.metrics)));
}

function flatten(value: unknown, path: string, into: Map<string, string>) {
    if (into.size >= OUTPUT_MAX) return;
    if (value !== null && typeof value === "object")
        for (const [key, of] of Object.entries(value))
            flatten(of, path === "" ? key : `${path}.${key}`, into);
    else into.set(path, JSON.stringify(value));
}

/** The last output, as paths and their values. */
function lastOutput(events: StoredEvent[]): Map<string, string> {
    const found = new Map<string, string>();
    const last = [...events].reverse().find((event) => event.output !== null);
    flatten(last?.output ?? {}, "", found);
    return found;
}

export const compareSteps = (a: RunNarrative, b: RunNarrative) =>
    join(stepCounts(a.events), stepCounts(b.events));

export const compareMetrics = (a: RunNarrative, b: RunNarrative) =>
    join(lastMetrics(a.events), lastMetrics(b.events));

/** Only what differs. */
export const compareOutputs = (a: RunNarrative, b: RunNarrative) =>
    join(lastOutput(a.events), lastOutput(b.events)).filter((one) => one.a !== one.b);
