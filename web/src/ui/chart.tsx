// Charts over time, drawn by uPlot, which is loaded with the first chart.

import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";

import { count } from "../lib/format";
import type { Edges } from "../lib/ranges";
import {
    distinct,
    divisorOf,
    type Mark,
    periodLabel,
    stacked,
    stepOf,
    timeLabel,
    timeTicks,
    valueRange,
    type Values,
    WHOLE_STEPS,
} from "../lib/scale";
import { useStore } from "../lib/store";
import { onColoursChange } from "../lib/theme";
import { zone } from "../lib/zone";
import {
    ChartTable,
    isPartial,
    Legend,
    type Limit,
    MarkStatus,
    plotLabel,
    type ShownChart,
    Tooltip,
} from "./chart_parts";
import { type OnZoom, useMarking } from "./marking";
import { dashOf, fillOf, forcedColours } from "./patterns";

export interface Line {
    label: string;
    values: (number | null)[];
    colour?: string; // a CSS variable; the palette's by default
}

interface Props {
    label: string; // for screen readers
    times: number[]; // the start of each period, in seconds since 1970
    lines: Line[];
    kind?: "line" | "bars" | "stack";
    bucket?: string; // the length of periods; a day by default
    edges?: Edges; // of periods
    format: (value: number) => string;
    formatTime?: (seconds: number) => string; // for times that are not periods
    height?: number;
    limit?: Limit | undefined; // a line across, such as a budget
    onZoom?: OnZoom;
}

const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const HEIGHT = 220;
const TICK_PX = 72; // the room of a label on the axis of time
const DIGIT_PX = 6.5; // of a label on the other axis
const SIDE_PX = 12; // beside a plot
const FILL_OPACITY = 0.11;
const HATCH_PX = 6;

const isBars = (props: Pick<Props, "kind">) => props.kind === "bars" || props.kind === "stack";

const bucketOf = ({ bucket }: { bucket?: string | undefined }) => bucket ?? "day";

/** What a variable's light-dark() resolves to, as "rgb(…)": a canvas cannot resolve it. */
function resolved(variable: string): string {
    const probe = document.createElement("i");
    probe.style.color = `var(${variable})`;
    probe.style.setProperty("forced-color-adjust", "none");
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}

const faint = (rgb: string) => rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${FILL_OPACITY})`);

function shownOf(props: Props, hidden: ReadonlySet<string>): ShownChart {
    return {
        label: props.label,
        times: props.times,
        totals: props.kind === "stack",
        edges: props.edges,
        format: props.format,
        period: props.formatTime ?? periodLabel(bucketOf(props)),
        limit: props.limit,
        lines: props.lines.map((line, i) => ({
            label: line.label,
            values: line.values,
            colour: line.colour ?? PALETTE[i % PALETTE.length] ?? "--c1",
            hidden: hidden.has(line.label),
        })),
    };
}

type Uplot = typeof uPlot;

function seriesOf(u: Uplot, props: Props, shown: ShownChart): uPlot.Series[] {
    const bars = isBars(props);
    const lines = shown.lines.filter((line) => !line.hidden);
    const forced = forcedColours();
    return lines.map((line) => {
        const colour = resolved(line.colour);
        const place = shown.lines.indexOf(line);
        const fill = forced ? fillOf(place, colour) : colour;
        return {
            label: line.label,
            stroke: colour,
            width: bars ? (forced ? 1 : 0) : 1.75,
            spanGaps: true,
            ...(forced && !bars && { dash: dashOf(place) }),
            points: { show: !bars && props.times.length < 40, size: 5, fill: colour },
            ...(bars
                ? {
                      fill: () => fill,
                      paths: u.paths.bars!({
                          size: [0.72, 48],
                          radius: props.kind === "bars" ? 0.12 : 0,
                      }),
                  }
                : lines.length === 1
                  ? { fill: faint(colour), fillTo: 0 }
                  : {}),
        };
    });
}

/** Stripes over a period of which only a part is in the chart: over its bar, or the lines to it. */
function hatch(chart: uPlot, { times, ...props }: Props, at: number, colour: string) {
    const time = times[at] ?? 0;
    const half = stepOf(times, bucketOf(props)) / 2;
    const bars = isBars(props);
    const [before, after] = bars ? [] : [times[at - 1], times[at + 1]];
    const from = chart.valToPos(before ?? time - half, "x", true);
    const to = chart.valToPos(after ?? time + half, "x", true);
    const { left, top, width, height } = chart.bbox;
    const { ctx } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(Math.max(from, left), top, Math.min(to, left + width) - Math.max(from, left), height);
    ctx.clip();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.beginPath();
    const lean = bars ? height : 0; // a line that is as steep as its stripes would vanish
    for (let x = from - lean; x < to; x += HATCH_PX * devicePixelRatio) {
        ctx.moveTo(x, top + height);
        ctx.lineTo(x + lean, top);
    }
    ctx.stroke();
    ctx.restore();
}

/** A dashed line at a value. */
function rule(chart: uPlot, value: number, colour: string) {
    const { left, width } = chart.bbox;
    const y = Math.round(chart.valToPos(value, "y", true));
    const { ctx } = chart;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.restore();
}

function axesOf(props: Props, divisor: number): uPlot.Axis[] {
    const axis = {
        stroke: resolved("--muted"),
        grid: { stroke: resolved("--line"), width: 1 },
        ticks: { show: false },
        font: "11px system-ui, sans-serif",
    };
    const label = props.formatTime ?? timeLabel(props.times, bucketOf(props));
    return [
        {
            ...axis,
            grid: { show: false },
            size: 28,
            space: TICK_PX,
            ...(props.formatTime
                ? {}
                : {
                      splits: ({ bbox }) =>
                          timeTicks(props.times, bbox.width / devicePixelRatio / TICK_PX, bucketOf(props)),
                  }),
            values: (_, at) => distinct(at.map(label)),
        },
        {
            ...axis,
            size: (_, values) =>
                Math.max(32, ...(values ?? []).map((text) => text.length * DIGIT_PX + 14)),
            space: 30,
            ...(props.format === count && { incrs: WHOLE_STEPS }),
            values: (_, at) => distinct(at.map((value) => props.format(value * divisor))),
        },
    ];
}

/** Beside a plot whose last point is at its edge: half of that point's label stands out. */
function edgeOf({ times, formatTime, bucket }: Props): number {
    const label = (formatTime ?? timeLabel(times, bucketOf({ bucket })))(times[times.length - 1] ?? 0);
    return Math.max(SIDE_PX, (label.length * DIGIT_PX) / 2 + 2);
}

interface Pointer {
    at: number;
    left: number;
    room: number;
}

function optionsOf(
    u: Uplot,
    props: Props,
    shown: ShownChart,
    divisor: number,
    onPointer: (pointer: Pointer | null) => void,
): Omit<uPlot.Options, "width"> {
    const series = seriesOf(u, props, shown);
    if (props.kind === "stack") series.reverse(); // the tallest is drawn first
    const half = props.formatTime ? 0.5 : stepOf(props.times, bucketOf(props)) / 2;
    const around = isBars(props) || props.times.length === 1;
    // not what uPlot gives: it adds a day to a single time
    const [begin = 0, end = 0] = [props.times[0], props.times[props.times.length - 1]];
    const [surface, bad] = [resolved("--surface"), resolved("--bad")];
    const limit = props.limit && props.limit.value / divisor;
    return {
        height: props.height ?? HEIGHT,
        legend: { show: false },
        padding: [8, around ? SIDE_PX : edgeOf(props), 0, 0],
        cursor: {
            y: false,
            points: { show: !isBars(props) },
            drag: { x: false, y: false }, // a plot that is drawn again would forget it
        },
        tzDate: (seconds) => u.tzDate(new Date(seconds * 1000), "UTC"),
        scales: {
            x: { range: (_, from, to) => (around ? [begin - half, end + half] : [from, to]) },
            y: { range: (_, low, high) => valueRange(low, Math.max(high ?? 0, limit ?? 0)) },
        },
        axes: axesOf(props, divisor),
        series: [{}, ...series],
        hooks: {
            draw: [
                (chart) =>
                    props.times.forEach(
                        (_, at) => isPartial(props, at) && hatch(chart, props, at, surface),
                    ),
                (chart) => limit !== undefined && rule(chart, limit, bad),
            ],
            setCursor: [
                (chart) => {
                    const at = chart.cursor.idx ?? null;
                    const left = chart.over.offsetLeft + (chart.cursor.left ?? 0);
                    onPointer(at === null ? null : { at, left, room: chart.width });
                },
            ],
        },
    };
}

/** The drawn values: stacked where they add up, the last line first. */
function drawnOf(props: Props, shown: ShownChart, divisor: number): Values[] {
    const lines = shown.lines
        .filter((line) => !line.hidden)
        .map(({ values }) => values.map((value) => (value === null ? null : value / divisor)));
    return props.kind === "stack" ? stacked(lines).reverse() : lines;
}

/** Where a period is, in pixels from the left of the plot. */
const leftOf = (chart: uPlot, times: number[], at: number) =>
    chart.over.offsetLeft + chart.valToPos(times[at] ?? 0, "x");

/** The part that is marked, from the middle of its first period to that of its last. */
function MarkBox({ chart, times, mark }: { chart: uPlot; times: number[]; mark: Mark }) {
    const [from, to] = [leftOf(chart, times, mark.first), leftOf(chart, times, mark.last)];
    const { offsetTop, clientHeight } = chart.over;
    const box = { left: from - 1, width: to - from + 2, top: offsetTop, height: clientHeight };
    return <div class="marked-part" style={box} />;
}

/** What a mouse marks, and a finger, which scrolls up and down. Captured: the plot may be drawn again
 * meanwhile, and the pointer leave it. */
function pointers(drawn: { current: uPlot | null }, marking: ReturnType<typeof useMarking>) {
    const by = (act: (at: number, x: number) => void) => (event: PointerEvent) => {
        const chart = drawn.current;
        if (chart === null) return;
        act(chart.posToIdx(event.clientX - chart.over.getBoundingClientRect().left), event.clientX);
    };
    const begin = by(marking.begin);
    return {
        onPointerDown: (event: PointerEvent) => {
            if (event.button !== 0 || !drawn.current?.over.contains(event.target as Node)) return;
            (event.currentTarget as Element).setPointerCapture(event.pointerId);
            begin(event);
        },
        onPointerMove: by(marking.extend),
        onPointerUp: marking.end,
        onPointerCancel: marking.cancel,
    };
}

export function Chart(props: Props) {
    const holder = useRef<HTMLDivElement>(null);
    const drawn = useRef<uPlot | null>(null);
    const [pointer, setPointer] = useState<Pointer | null>(null);
    const marking = useMarking(props.times, bucketOf(props), props.onZoom);
    const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
    const shown = shownOf(props, hidden);
    const current = useRef({ props, shown });
    current.current = { props, shown };
    const shape = JSON.stringify([
        ...[props.times, props.lines, props.kind, props.height, props.edges],
        props.limit,
        [...hidden],
        useStore(zone),
    ]);

    useEffect(() => {
        let chart: uPlot | undefined;
        let gone = false;
        const draw = async () => {
            const { default: u } = await import("uplot");
            const element = holder.current;
            if (gone || element === null) return;
            chart?.destroy();
            const { props, shown } = current.current;
            const divisor = divisorOf(shown.lines.map((line) => line.values));
            chart = new u(
                {
                    ...optionsOf(u, props, shown, divisor, setPointer),
                    width: element.clientWidth,
                },
                [props.times, ...drawnOf(props, shown, divisor)] as uPlot.AlignedData,
                element,
            );
            drawn.current = chart;
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
            drawn.current = null;
            chart?.destroy();
            stopColours();
            size.disconnect();
        };
    }, [shape]);

    const toggle = (label: string) => {
        const next = new Set(hidden);
        if (!next.delete(label)) next.add(label);
        setHidden(next);
    };
    const { mark } = marking;
    const plot = drawn.current;
    const spot =
        mark && plot
            ? { at: mark.at, left: leftOf(plot, props.times, mark.at), room: plot.width }
            : pointer;
    return (
        <figure class="chart" aria-label={props.label}>
            <div
                class="plot"
                style={{ minHeight: `${props.height ?? HEIGHT}px` }}
                tabIndex={0}
                role="group"
                aria-label={plotLabel(props.label, props.onZoom !== undefined)}
                onKeyDown={marking.onKeyDown}
                onBlur={marking.clear}
                {...(props.onZoom && pointers(drawn, marking))}
            >
                <div ref={holder} />
                {mark && plot && <MarkBox chart={plot} times={props.times} mark={mark} />}
                {spot && <Tooltip chart={shown} {...spot} />}
            </div>
            <MarkStatus chart={shown} mark={mark} />
            <Legend chart={shown} onToggle={toggle} />
            <ChartTable chart={shown} />
        </figure>
    );
}
