// Counts per period as stacked columns, without a drawing library: for the first page that people
// open.

import { useRef, useState } from "preact/hooks";

import { count } from "../lib/format";
import type { Edges } from "../lib/ranges";
import { periodLabel, timeLabel, timeTicks } from "../lib/scale";
import { useStore } from "../lib/store";
import { zone } from "../lib/zone";
import {
    ChartTable,
    isPartial,
    Legend,
    MarkStatus,
    plotLabel,
    type ShownChart,
    Tooltip,
} from "./chart_parts";
import { type OnZoom, useMarking } from "./marking";

interface Props {
    label: string; // for screen readers
    times: number[]; // the start of each period, in seconds since 1970
    bucket: string; // the length of each
    edges: Edges;
    lines: { label: string; colour: string; values: number[] }[]; // not negative
    onZoom?: OnZoom;
}

const TICKS = 5;
const LABELS_MOST = 8; // on a telephone every other of them

/** 1, 2 or 5 with zeros: a whole step for at most TICKS ticks. */
export function tickStep(most: number): number {
    const power = 10 ** Math.floor(Math.log10(Math.max(most / TICKS, 1)));
    return ([1, 2, 5, 10].find((n) => (n * power) * TICKS >= most) ?? 10) * power;
}

function Axes({ most, times, bucket }: { most: number; times: number[]; bucket: string }) {
    const step = tickStep(most);
    const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
    const label = timeLabel(times, bucket);
    return (
        <div class="axes" aria-hidden="true">
            {ticks.map((tick) => (
                <span key={tick} class="tick" style={{ bottom: `${(tick / most) * 100}%` }}>
                    <small>{count(tick)}</small>
                </span>
            ))}
            {timeTicks(times, LABELS_MOST, bucket).map((time, i) => (
                <small
                    key={time}
                    class={i % 2 === 0 ? "when" : "when only-wide"}
                    style={{ left: `${((times.indexOf(time) + 0.5) / times.length) * 100}%` }}
                >
                    {label(time)}
                </small>
            ))}
        </div>
    );
}

export function StackChart({ label, times, bucket, edges, lines, onZoom }: Props) {
    const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
    const [at, setAt] = useState<number | null>(null);
    const plot = useRef<HTMLDivElement>(null);
    const marking = useMarking(times, bucket, onZoom);
    useStore(zone);
    const shown: ShownChart = {
        label,
        times,
        totals: true,
        edges,
        format: count,
        period: periodLabel(bucket),
        lines: lines.map((line) => ({ ...line, hidden: hidden.has(line.label) })),
    };
    const visible = shown.lines.filter((line) => !line.hidden);
    const totals = times.map((_, i) => visible.reduce((sum, line) => sum + (line.values[i] ?? 0), 0));
    const most = Math.max(...totals, 1);
    const room = plot.current?.clientWidth ?? 0;
    const { mark } = marking;
    const current = mark ? mark.at : at;
    const columnAt = (event: PointerEvent) => {
        const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
        const i = Math.floor(((event.clientX - left) / width) * times.length);
        return Math.max(0, Math.min(times.length - 1, i));
    };
    const toggle = (name: string) => {
        const next = new Set(hidden);
        if (!next.delete(name)) next.add(name);
        setHidden(next);
    };
    return (
        <figure class="chart" aria-label={label}>
            <div
                class="plot stack-plot"
                ref={plot}
                tabIndex={0}
                role="group"
                aria-label={plotLabel(label, onZoom !== undefined)}
                onKeyDown={marking.onKeyDown}
                onBlur={marking.clear}
            >
                <Axes most={most} times={times} bucket={bucket} />
                <div
                    class="columns-of"
                    onPointerDown={(event) => {
                        if (event.button !== 0) return;
                        event.currentTarget.setPointerCapture(event.pointerId);
                        marking.begin(columnAt(event), event.clientX);
                    }}
                    onPointerMove={(event) => {
                        setAt(columnAt(event));
                        marking.extend(columnAt(event), event.clientX);
                    }}
                    onPointerUp={marking.end}
                    onPointerCancel={marking.cancel}
                    onPointerLeave={() => setAt(null)}
                >
                    {times.map((time, i) => (
                        <span
                            key={time}
                            class={[
                                "column",
                                isPartial(shown, i) ? "so-far" : "",
                                mark && i >= mark.first && i <= mark.last ? "marked" : "",
                            ].join(" ")}
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
                {current !== null && (
                    <Tooltip
                        chart={shown}
                        at={current}
                        left={((current + 0.5) / times.length) * room}
                        room={room}
                    />
                )}
            </div>
            <MarkStatus chart={shown} mark={mark} />
            <Legend chart={shown} onToggle={toggle} />
            <ChartTable chart={shown} />
        </figure>
    );
}
