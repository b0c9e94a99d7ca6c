// Counts per period as stacked columns, without a drawing library: for the first page that people
// open.

import { useRef, useState } from "preact/hooks";

import { count } from "../lib/format";
import { periodLabel, stepOf, timeLabel, timeTicks } from "../lib/scale";
import { useStore } from "../lib/store";
import { zone } from "../lib/zone";
import { ChartTable, Legend, type ShownChart, Tooltip } from "./chart_parts";

interface Props {
    label: string; // for screen readers
    times: number[]; // the start of each period, in seconds since 1970; the last is not over
    cut?: boolean; // the first period began before what is shown
    lines: { label: string; colour: string; values: number[] }[]; // not negative
    /** Called with a part that was marked by dragging, in seconds since 1970. */
    onZoom?: (from: number, to: number) => void;
}

const TICKS = 4;
const LABELS_MOST = 8;

/** 1, 2 or 5 with zeros: a whole step for at most TICKS ticks. */
export function tickStep(most: number): number {
    const power = 10 ** Math.floor(Math.log10(Math.max(most / TICKS, 1)));
    return ([1, 2, 5, 10].find((n) => (n * power) * TICKS >= most) ?? 10) * power;
}

function Axes({ most, times }: { most: number; times: number[] }) {
    const step = tickStep(most);
    const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
    const label = timeLabel(times);
    const room = typeof innerWidth === "number" && innerWidth < 560 ? LABELS_MOST / 2 : LABELS_MOST;
    return (
        <div class="axes" aria-hidden="true">
            {ticks.map((tick) => (
                <span key={tick} class="tick" style={{ bottom: `${(tick / most) * 100}%` }}>
                    <small>{count(tick)}</small>
                </span>
            ))}
            {timeTicks(times, room).map((time) => (
                <small
                    key={time}
                    class="when"
                    style={{ left: `${((times.indexOf(time) + 0.5) / times.length) * 100}%` }}
                >
                    {label(time)}
                </small>
            ))}
        </div>
    );
}

/** Dragging over columns marks them; releasing the pointer hands over the time they span. */
function useMarking(times: readonly number[], onZoom: Props["onZoom"]) {
    const [marked, setMarked] = useState<[number, number] | null>(null);
    const end = () => {
        if (marked === null) return;
        const [from, to] = [Math.min(...marked), Math.max(...marked)];
        setMarked(null);
        if (to > from) onZoom?.(times[from] ?? 0, (times[to] ?? 0) + stepOf(times));
    };
    return {
        isMarked: (i: number) =>
            marked !== null && i >= Math.min(...marked) && i <= Math.max(...marked),
        begin: (i: number) => onZoom && setMarked([i, i]),
        extend: (i: number) => marked !== null && setMarked([marked[0], i]),
        end,
        leave: () => setMarked(null),
    };
}

export function StackChart({ label, times, cut = false, lines, onZoom }: Props) {
    const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
    const [at, setAt] = useState<number | null>(null);
    const plot = useRef<HTMLDivElement>(null);
    const marking = useMarking(times, onZoom);
    useStore(zone);
    const shown: ShownChart = {
        label,
        times,
        totals: true,
        unfinished: true,
        cut,
        format: count,
        period: periodLabel(times),
        lines: lines.map((line) => ({ ...line, hidden: hidden.has(line.label) })),
    };
    const visible = shown.lines.filter((line) => !line.hidden);
    const totals = times.map((_, i) => visible.reduce((sum, line) => sum + (line.values[i] ?? 0), 0));
    const most = Math.max(...totals, 1);
    const room = plot.current?.clientWidth ?? 0;
    const toggle = (name: string) => {
        const next = new Set(hidden);
        if (!next.delete(name)) next.add(name);
        setHidden(next);
    };
    return (
        <figure class="chart" aria-label={label}>
            <div class="plot stack-plot" ref={plot}>
                <Axes most={most} times={times} />
                <div
                    class="columns-of"
                    onPointerUp={marking.end}
                    onPointerLeave={() => {
                        setAt(null);
                        marking.leave();
                    }}
                >
                    {times.map((time, i) => (
                        <span
                            key={time}
                            class={[
                                "column",
                                i === times.length - 1 || (cut && i === 0) ? "so-far" : "",
                                marking.isMarked(i) ? "marked" : "",
                            ].join(" ")}
                            onPointerDown={() => marking.begin(i)}
                            onPointerEnter={() => {
                                setAt(i);
                                marking.extend(i);
                            }}
                        >
                            {visible.map((line) => (
                                <b
                                    key={line.label}
                                    style={{
                                        height: `${((line.values[i] ?? 0) / most) * 100}%`,
                                        backgroundColor: `var(${line.colour})`,
                                    }}
                                />
                            ))}
                        </span>
                    ))}
                </div>
                {at !== null && (
                    <Tooltip
                        chart={shown}
                        at={at}
                        left={((at + 0.5) / times.length) * room}
                        room={room}
                    />
                )}
            </div>
            <Legend chart={shown} onToggle={toggle} />
            <ChartTable chart={shown} />
        </figure>
    );
}
