// When each category of a run was active: ticks where events are, a bar from its first event to its
// last, and a pale bar on to the next event of the run, because most events report that a step begins.

import { count, duration, exactTime, plural } from "../../lib/format";
import { Icon } from "../../ui";
import { type Lane, spanOf, type Tick } from "./lanes";

const LANES_MAX = 24;

function titleOf(tick: Tick): string {
    const more = tick.count > 1 ? ` and ${count(tick.count - 1)} more` : "";
    const text = tick.text === "" ? plural(tick.count, "event") : `${tick.text}${more}`;
    return `${text}\n${exactTime(new Date(tick.at).toISOString())}`;
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

function LaneRow({ lane, at }: { lane: Lane; at: (time: number) => string }) {
    return (
        <li class={lane.bad ? "bad" : ""}>
            <span class="name" title={lane.name} dir="auto">
                {lane.bad && <Icon name="close" />}
                {lane.bad && <span class="visually-hidden">with an error: </span>}
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
                {lane.ticks.map((tick, i) => (
                    <i
                        key={i}
                        class={`tick ${tick.tone}`}
                        style={{ left: at(tick.at) }}
                        title={titleOf(tick)}
                    />
                ))}
            </span>
            <span class="value">
                {lane.until === lane.from ? "1 event" : duration(lane.until - lane.from)}
            </span>
        </li>
    );
}

interface Props {
    lanes: Lane[];
    start: number; // when the run started
    others?: number; // events of categories that have no lane
}

export function Waterfall({ lanes, start, others = 0 }: Props) {
    const { from, to } = spanOf(lanes, start);
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
                    <LaneRow key={lane.name} lane={lane} at={at} />
                ))}
            </ul>
            <WaterfallLegend />
            {lanes.length > LANES_MAX && (
                <p class="muted">and {lanes.length - LANES_MAX} more categories</p>
            )}
            {others > 0 && <p class="muted">and {plural(others, "event")} of more categories</p>}
        </div>
    );
}
