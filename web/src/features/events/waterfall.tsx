// When each category of a run was active: a tick per event, a bar from its first event to its last,
// and a pale bar on to the next event of the run, because most events report that a step begins.

import type { Run, StoredEvent } from "api";

import { duration, exactTime } from "../../lib/format";
import { toneOfEvent } from "./event_row";

const LANES_MAX = 24;
const TICKS_MAX = 400; // per lane

interface Lane {
    name: string;
    events: StoredEvent[];
    from: number;
    to: number; // its last event
    until: number; // the next event of another lane
    bad: boolean;
}

function lanesOf(events: StoredEvent[]): Lane[] {
    const lanes = new Map<string, Lane>();
    for (const event of events) {
        const name = event.category || "run";
        const at = Date.parse(event.timestamp);
        const lane = lanes.get(name) ?? { name, events: [], from: at, to: at, until: at, bad: false };
        lane.events.push(event);
        lane.from = Math.min(lane.from, at);
        lane.to = Math.max(lane.to, at);
        lane.bad ||= toneOfEvent(event) === "bad";
        lanes.set(name, lane);
    }
    const times = events.map((event) => Date.parse(event.timestamp)).sort((a, b) => a - b);
    for (const lane of lanes.values())
        lane.until = times.find((time) => time > lane.to) ?? lane.to;
    return [...lanes.values()].sort((a, b) => a.from - b.from);
}

export function Waterfall({ events, run }: { events: StoredEvent[]; run: Run }) {
    const lanes = lanesOf(events);
    const from = Math.min(Date.parse(run.started_at), ...lanes.map((lane) => lane.from));
    const to = Math.max(from + 1, ...lanes.map((lane) => lane.to));
    const at = (time: number) => `${((time - from) / (to - from)) * 100}%`;
    const steps = [0, 0.25, 0.5, 0.75, 1];
    return (
        <div class="waterfall">
            <div class="scale" aria-hidden="true">
                {steps.map((step) => (
                    <span key={step} style={{ left: `${step * 100}%` }}>
                        {step === 0 ? "0" : duration((to - from) * step)}
                    </span>
                ))}
            </div>
            <ul>
                {lanes.slice(0, LANES_MAX).map((lane) => (
                    <li key={lane.name} class={lane.bad ? "bad" : ""}>
                        <span class="name" title={lane.name}>
                            {lane.name}
                        </span>
                        <span class="lane">
                            <i
                                class="bar"
                                style={{
                                    left: at(lane.from),
                                    width: `max(3px, calc(${at(lane.to)} - ${at(lane.from)}))`,
                                }}
                            />
                            {lane.until > lane.to && (
                                <i
                                    class="tail"
                                    style={{
                                        left: at(lane.to),
                                        width: `calc(${at(lane.until)} - ${at(lane.to)})`,
                                    }}
                                    title="until the next event"
                                />
                            )}
                            {lane.events.slice(0, TICKS_MAX).map((event, i) => (
                                <i
                                    key={i}
                                    class={`tick ${toneOfEvent(event)}`}
                                    style={{ left: at(Date.parse(event.timestamp)) }}
                                    title={`${event.message || event.event}\n${exactTime(event.timestamp)}`}
                                />
                            ))}
                        </span>
                        <span class="value">
                            {lane.until === lane.from
                                ? "1 event"
                                : duration(lane.until - lane.from)}
                        </span>
                    </li>
                ))}
            </ul>
            {lanes.length > LANES_MAX && (
                <p class="muted">and {lanes.length - LANES_MAX} more categories</p>
            )}
        </div>
    );
}
