// Charts over time, drawn by uPlot, which is loaded with the first chart.

import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";

import { day } from "../lib/format";
import { onColoursChange } from "../lib/theme";

export interface Line {
    label: string;
    values: (number | null)[];
    colour?: string; // a CSS variable; the palette's by default
}

interface Props {
    label: string; // for screen readers
    times: number[]; // seconds since 1970
    lines: Line[];
    kind?: "line" | "bars" | "stack";
    format: (value: number) => string;
    formatTime?: (seconds: number) => string;
    height?: number;
}

const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

function colourOf(line: { colour?: string }, i: number): string {
    return line.colour ?? PALETTE[i % PALETTE.length] ?? "--c1";
}

const DAY_S = 86_400;

const FILL_OPACITY = 0.11;

/** What a variable's light-dark() resolves to, as "rgb(…)": a canvas cannot resolve it. */
function resolved(variable: string): string {
    const probe = document.createElement("i");
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}

const faint = (rgb: string) => rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${FILL_OPACITY})`);

/** Sums from the bottom up; those of the last line are the totals. */
function stacked(lines: Line[]): (number | null)[][] {
    const sums: number[] = [];
    return lines.map((line) =>
        line.values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))),
    );
}

/** Days for ranges of several days, else hours; in UTC, like the API's buckets. */
function axisTime(times: number[]): (seconds: number) => string {
    const length = (times[times.length - 1] ?? 0) - (times[0] ?? 0);
    return (seconds) => {
        const text = new Date(seconds * 1000).toISOString();
        return length > 2 * DAY_S ? day(text) : text.slice(11, 16);
    };
}

type Uplot = typeof uPlot;

function seriesOf(u: Uplot, props: Props): uPlot.Series[] {
    const bars = props.kind === "bars" || props.kind === "stack";
    return props.lines.map((line, i) => {
        const colour = resolved(colourOf(line, i));
        return {
            label: line.label,
            stroke: colour,
            width: bars ? 0 : 1.75,
            spanGaps: true,
            points: { show: !bars && props.times.length < 40, size: 5, fill: colour },
            ...(bars
                ? {
                      fill: colour,
                      paths: u.paths.bars!({
                          size: [0.72, 48],
                          radius: props.kind === "bars" ? 0.12 : 0,
                      }),
                  }
                : props.lines.length === 1
                  ? { fill: faint(colour) }
                  : {}),
        };
    });
}

function optionsOf(
    u: Uplot,
    props: Props,
    width: number,
    onHover: (at: number | null) => void,
): uPlot.Options {
    const grid = { stroke: resolved("--line"), width: 1 };
    const axis = {
        stroke: resolved("--muted"),
        grid,
        ticks: { show: false },
        font: "11px system-ui, sans-serif",
    };
    const series = seriesOf(u, props);
    if (props.kind === "stack") series.reverse(); // the tallest is drawn first
    const bars = props.kind === "bars" || props.kind === "stack";
    const step = props.times.length > 1 ? (props.times[1] ?? 0) - (props.times[0] ?? 0) : DAY_S;
    return {
        width,
        height: props.height ?? 220,
        legend: { show: false },
        padding: [8, 12, 0, 0],
        cursor: { y: false, points: { show: !bars }, drag: { x: false, y: false } },
        tzDate: (seconds) => u.tzDate(new Date(seconds * 1000), "UTC"),
        scales: {
            x: {
                range: (_, from, to) =>
                    bars ? [from - step / 2, to + step / 2] : [from, to === from ? to + 1 : to],
            },
            y: {
                range: (_, low, high) =>
                    u.rangeNum(
                        Math.min(low ?? 0, 0),
                        high === low ? (high ?? 0) + 1 : (high ?? 1),
                        0.08,
                        true,
                    ),
            },
        },
        axes: [
            {
                ...axis,
                grid: { show: false },
                size: 28,
                space: 64,
                values: (_, at) => at.map(props.formatTime ?? axisTime(props.times)),
            },
            {
                ...axis,
                size: 56,
                space: 30,
                values: (_, at) => at.map((value) => props.format(value)),
            },
        ],
        series: [{}, ...series],
        hooks: { setCursor: [(chart) => onHover(chart.cursor.idx ?? null)] },
    };
}

/** The lines' names, with their values at the pointer. */
function Legend({ props, at }: { props: Props; at: number | null }) {
    const time = at === null ? undefined : props.times[at];
    const when =
        time === undefined
            ? ""
            : props.formatTime
              ? props.formatTime(time)
              : new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
    return (
        <div class="legend">
            {props.lines.map((line, i) => {
                const value = at === null ? null : line.values[at];
                return (
                    <span key={line.label}>
                        <i style={{ background: `var(${colourOf(line, i)})` }} />
                        {line.label}
                        {value !== null && value !== undefined && <b>{props.format(value)}</b>}
                    </span>
                );
            })}
            <span class="when">{when}</span>
        </div>
    );
}

export function Chart(props: Props) {
    const holder = useRef<HTMLDivElement>(null);
    const [at, setAt] = useState<number | null>(null);
    const shown = useRef(props);
    shown.current = props;
    const shape = JSON.stringify([props.times, props.lines, props.kind, props.height]);

    useEffect(() => {
        let chart: uPlot | undefined;
        let gone = false;
        const draw = async () => {
            const { default: u } = await import("uplot");
            const element = holder.current;
            if (gone || element === null) return;
            chart?.destroy();
            const now = shown.current;
            const values =
                now.kind === "stack"
                    ? stacked(now.lines).reverse()
                    : now.lines.map((line) => line.values);
            chart = new u(
                optionsOf(u, now, element.clientWidth, setAt),
                [now.times, ...values],
                element,
            );
        };
        void draw();
        const stopColours = onColoursChange(() => setTimeout(draw));
        const size = new ResizeObserver(() => {
            const width = holder.current?.clientWidth ?? 0;
            if (chart && width > 0 && width !== chart.width)
                chart.setSize({ width, height: chart.height });
        });
        if (holder.current) size.observe(holder.current);
        return () => {
            gone = true;
            chart?.destroy();
            stopColours();
            size.disconnect();
        };
    }, [shape]);

    return (
        <figure class="chart" aria-label={props.label}>
            <div class="plot" ref={holder} style={{ minHeight: `${props.height ?? 220}px` }} />
            <Legend props={props} at={at} />
        </figure>
    );
}

/** A small line without axes. */
export function Sparkline(props: { values: number[]; label: string; fromZero?: boolean }) {
    const { values, label } = props;
    if (values.length < 2) return <svg class="sparkline" viewBox="0 0 100 28" aria-hidden="true" />;
    const low = props.fromZero ? Math.min(...values, 0) : Math.min(...values);
    const high = Math.max(...values);
    const y = (value: number) => 26 - (high === low ? 0.5 : (value - low) / (high - low)) * 24;
    const x = (i: number) => (i / (values.length - 1)) * 100;
    const line = values
        .map((value, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(2)} ${y(value).toFixed(2)}`)
        .join("");
    return (
        <svg
            class="sparkline"
            viewBox="0 0 100 28"
            preserveAspectRatio="none"
            role="img"
            aria-label={label}
        >
            <path class="area" d={`${line}L100 28L0 28Z`} />
            <path d={line} />
        </svg>
    );
}

/** One row with a bar per value. */
export function Bars(props: {
    rows: { label: string; value: number; href?: string; note?: string }[];
    format: (value: number) => string;
}) {
    const most = Math.max(...props.rows.map((row) => Math.abs(row.value)), 0);
    return (
        <ul class="bars">
            {props.rows.map((row) => (
                <li key={row.label}>
                    <span class="name" title={row.label}>
                        {row.href ? <a href={row.href}>{row.label}</a> : row.label}
                    </span>
                    <span class="track">
                        <i
                            style={{
                                width: `${most === 0 ? 0 : (Math.abs(row.value) / most) * 100}%`,
                            }}
                        />
                    </span>
                    <span class="value">{row.note ?? props.format(row.value)}</span>
                </li>
            ))}
        </ul>
    );
}
