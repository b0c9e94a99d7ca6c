// When each category of a run was active, as lanes with ticks where events are. Events closer than a
// tick is wide share one, so that a long run is drawn whole.

import type { RunTimeline, StoredEvent } from "api";

import type { Tone } from "../../ui";
import { toneOfEvent } from "./event_row";

const BINS = 400; // of the time of the run: more could not be told apart
const TICKS_MAX = 2_000; // of all lanes
const BINS_MIN = 50;

export interface Tick {
    at: number;
    count: number; // its events
    tone: Tone; // of the worst
    text: string; // what the worst says
}

export interface Lane {
    name: string;
    ticks: Tick[]; // in the order of their time
    from: number;
    to: number; // its last event
    until: number; // the next event of another lane
    bad: boolean;
}

/** Ticks that fall into the same part of the time become one, at the place of the first. */
function binned(ticks: Tick[], from: number, to: number, bins: number): Tick[] {
    const found = new Map<number, Tick>();
    for (const tick of ticks) {
        const bin = Math.min(Math.floor(((tick.at - from) / (to - from)) * bins), bins - 1);
        const one = found.get(bin);
        if (one === undefined) found.set(bin, { ...tick });
        else {
            one.count += tick.count;
            if (tick.tone === "bad" && one.tone !== "bad")
                [one.tone, one.text] = [tick.tone, tick.text];
        }
    }
    return [...found.values()];
}

/** The time that all lanes share: at least a millisecond. */
export function spanOf(lanes: Lane[], start: number): { from: number; to: number } {
    const from = Math.min(start, ...lanes.map((lane) => lane.from));
    return { from, to: Math.max(from + 1, ...lanes.map((lane) => lane.to)) };
}

/** Few enough ticks, and how long each lane goes on until something else happens. */
function finished(lanes: Lane[], start: number): Lane[] {
    const { from, to } = spanOf(lanes, start);
    const bins = Math.max(BINS_MIN, Math.min(BINS, Math.floor(TICKS_MAX / lanes.length)));
    const times = lanes.flatMap((lane) => lane.ticks.map((tick) => tick.at)).sort((a, b) => a - b);
    return lanes
        .map((lane) => ({
            ...lane,
            until: times.find((time) => time > lane.to) ?? lane.to,
            ticks: lane.ticks.length > bins ? binned(lane.ticks, from, to, bins) : lane.ticks,
        }))
        .sort((a, b) => a.from - b.from);
}

/** Of a run whose events are all there. */
export function lanesOfEvents(events: StoredEvent[], start: number): Lane[] {
    const lanes = new Map<string, Lane>();
    for (const event of events) {
        const name = event.category || "run";
        const at = Date.parse(event.timestamp);
        const tone = toneOfEvent(event);
        const lane = lanes.get(name) ?? { name, ticks: [], from: at, to: at, until: at, bad: false };
        lane.ticks.push({ at, count: 1, tone, text: event.message || event.event });
        lane.from = Math.min(lane.from, at);
        lane.to = Math.max(lane.to, at);
        lane.bad ||= tone === "bad";
        lanes.set(name, lane);
    }
    return finished([...lanes.values()], start);
}

/** Of a long run, as the server sums it up. */
export function lanesOfTimeline(timeline: RunTimeline, start: number): Lane[] {
    const lanes = timeline.lanes.map((lane) => ({
        name: lane.category || "run",
        ticks: lane.ticks.map((tick) => ({
            at: Date.parse(tick.at),
            count: tick.events,
            tone: (tick.errors > 0 ? "bad" : "busy") as Tone,
            text: "",
        })),
        from: Date.parse(lane.first_at),
        to: Date.parse(lane.last_at),
        until: 0,
        bad: lane.errors > 0,
    }));
    return finished(lanes, start);
}
