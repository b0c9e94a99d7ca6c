// When each category of a run was active: ticks where events are, a bar from its first event to its
// last, and a pale bar on to the next event of the run, because most events report that a step begins.
// Events closer than a tick is wide share one, so that a long run is drawn whole.

import type { Run, StoredEvent } from "api";

import { count, duration, exactTime } from "../../lib/format";
import { toneOfEvent } from "./event_row";

const LANES_MAX = 24;
const BINS = 400; // of the time of the run: more could not be told apart

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

interface Tick {
    bin: number;
    worst: StoredEvent; // the first bad one, else the first
    count: number;
}

function ticksOf(events: StoredEvent[], from: number, to: number): Tick[] {
    const ticks = new Map<number, Tick>();
    for (const event of events) {
        const part = (Date.parse(event.timestamp) - from) / (to - from);
        const bin = Math.min(Math.floor(part * BINS), BINS - 1);
        const tick = ticks.get(bin);
        if (tick === undefined) ticks.set(bin, { bin, worst: event, count: 1 });
        else {
            tick.count++;
            if (toneOfEvent(event) === "bad" && toneOfEvent(tick.worst) !== "bad") tick.worst = event;
        }
    }
    return [...ticks.values()];
}

function Ticks({ events, from, to }: { events: StoredEvent[]; from: number; to: number }) {
    const exact = events.length <= BINS;
    const at = (tick: Tick) =>
        exact && tick.count === 1
            ? (Date.parse(tick.worst.timestamp) - from) / (to - from)
            : tick.bin / BINS;
    return (
        <>
            {ticksOf(events, from, to).map((tick) => {
                const more = tick.count > 1 ? ` and ${count(tick.count - 1)} more` : "";
                const text = `${tick.worst.message || tick.worst.event}${more}`;
                return (
                    <i
                        key={tick.bin}
                        class={`tick ${toneOfEvent(tick.worst)}`}
                        style={{ left: `${at(tick) * 100}%` }}
                        title={`${text}\n${exactTime(tick.worst.timestamp)}`}
                    />
                );
            })}
        </>
    );
}

function WaterfallLegend() {
    return (
        <p class="legend" aria-label="Legend">
            <span>
                <i class="bar" /> first to last event
            </span>
            <span>
                <i class="tail" /> until the next event of the run
            </span>
            <span>
                <i class="bar bad" /> with an error
            </span>
        </p>
    );
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
                        <span class="name" title={lane.name} dir="auto">
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
                            <Ticks events={lane.events} from={from} to={to} />
                        </span>
                        <span class="value">
                            {lane.until === lane.from
                                ? "1 event"
                                : duration(lane.until - lane.from)}
                        </span>
                    </li>
                ))}
            </ul>
            <WaterfallLegend />
            {lanes.length > LANES_MAX && (
                <p class="muted">and {lanes.length - LANES_MAX} more categories</p>
            )}
        </div>
    );
}
