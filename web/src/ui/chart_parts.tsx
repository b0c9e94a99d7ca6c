// What is around a plot: the tooltip at the pointer, the legend that filters, and the table with
// the same values for those who do not see or point.

import { useState } from "preact/hooks";

import { count } from "../lib/format";
import { type Edges, edgesInWords } from "../lib/ranges";
import type { Mark } from "../lib/scale";
import { forcedColours, swatchOf } from "./patterns";

export interface ShownLine {
    label: string;
    values: readonly (number | null)[];
    colour: string; // a CSS variable
    hidden: boolean;
}

/** A value that should not be passed. */
export interface Limit {
    label: string;
    value: number;
}

export interface ShownChart {
    label: string;
    lines: ShownLine[];
    times: readonly number[];
    totals: boolean; // the lines add up
    edges?: Edges | undefined; // of charts with periods
    limit?: Limit | undefined;
    format: (value: number) => string;
    period: (seconds: number) => string;
}

const ROWS_MAX = 1000;

/** Are only some of a period's values in the chart? */
export function isPartial({ times, edges }: Pick<ShownChart, "times" | "edges">, at: number): boolean {
    if (edges === undefined) return false;
    const last = at === times.length - 1 && (edges.unfinished || edges.last);
    return last || (at === 0 && edges.first);
}

function periodAt(chart: ShownChart, at: number): string {
    const text = chart.period(chart.times[at] ?? 0);
    if (chart.edges?.unfinished && at === chart.times.length - 1) return `${text}, so far`;
    return isPartial(chart, at) ? `${text}, in part` : text;
}

const sumAt = (lines: ShownLine[], at: number) =>
    lines.reduce((sum, line) => sum + (line.values[at] ?? 0), 0);

/** The colour of a line; with its pattern where colours are forced. */
function Swatch({ chart, line }: { chart: ShownChart; line: ShownLine }) {
    const colour = `var(${line.colour})`;
    const place = chart.lines.indexOf(line);
    return <i style={{ background: forcedColours() ? swatchOf(place, colour) : colour }} />;
}

interface TooltipProps {
    chart: ShownChart;
    at: number;
    left: number; // pixels from the left of the plot
    room: number; // the plot's width
}

export function Tooltip({ chart, at, left, room }: TooltipProps) {
    const lines = chart.lines.filter((line) => !line.hidden && (line.values[at] ?? null) !== null);
    const side = left > room / 2 ? { right: `${room - left + 12}px` } : { left: `${left + 12}px` };
    return (
        <div class="tooltip" style={side} aria-hidden="true">
            <strong>{periodAt(chart, at)}</strong>
            {lines.map((line) => (
                <span key={line.label}>
                    <Swatch chart={chart} line={line} />
                    <span class="name" dir="auto">{line.label}</span>
                    <b>{chart.format(line.values[at] ?? 0)}</b>
                </span>
            ))}
            {lines.length === 0 && <span>No value</span>}
            {chart.totals && lines.length > 1 && (
                <span class="total">
                    <span class="name">Total</span>
                    <b>{chart.format(sumAt(lines, at))}</b>
                </span>
            )}
        </div>
    );
}

/** What the keyboard of a plot does, for those who cannot see it. */
export const plotLabel = (label: string, zooms: boolean) =>
    `Plot of ${label}. Arrow keys move along it${
        zooms ? ", with Shift they mark several; Enter shows what is marked" : ""
    }.`;

/** The period where the person is, and what is marked, for screen readers. */
export function MarkStatus({ chart, mark }: { chart: ShownChart; mark: Mark | null }) {
    const lines = chart.lines.filter((line) => !line.hidden);
    const values = lines.map(({ label, values }) => {
        const value = (mark && values[mark.at]) ?? null;
        return `${label} ${value === null ? "no value" : chart.format(value)}`;
    });
    return (
        <p class="visually-hidden" role="status" dir="auto">
            {mark && `${periodAt(chart, mark.at)}: ${values.join(", ")}`}
            {mark &&
                mark.last > mark.first &&
                `. Marked: ${periodAt(chart, mark.first)} to ${periodAt(chart, mark.last)}`}
        </p>
    );
}

interface LegendProps {
    chart: ShownChart;
    onToggle: (label: string) => void;
}

/** Names and colours; with several lines each is a button that hides its line. */
export function Legend({ chart, onToggle }: LegendProps) {
    const several = chart.lines.length > 1;
    const striped = chart.edges && edgesInWords(chart.edges, chart.times.length); // what stripes mean
    return (
        <div class="legend">
            {chart.lines.map((line) => {
                const name = (
                    <>
                        <Swatch chart={chart} line={line} />
                        <span dir="auto">{line.label}</span>
                    </>
                );
                return several ? (
                    <button
                        key={line.label}
                        type="button"
                        aria-pressed={!line.hidden}
                        title={line.hidden ? "Show" : "Hide"}
                        onClick={() => onToggle(line.label)}
                    >
                        {name}
                    </button>
                ) : (
                    <span key={line.label}>{name}</span>
                );
            })}
            {chart.limit && (
                <span class="limit">
                    <i /> {chart.limit.label}: {chart.format(chart.limit.value)}
                </span>
            )}
            {striped && (
                <span class="so-far">
                    <i /> {striped}
                </span>
            )}
        </div>
    );
}

export function ChartTable({ chart }: { chart: ShownChart }) {
    const [open, setOpen] = useState(false);
    const totals = chart.totals && chart.lines.length > 1;
    const first = Math.max(0, chart.times.length - ROWS_MAX);
    const rows = chart.times.map((_, at) => at).slice(first).reverse();
    return (
        <details class="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                Table<span class="visually-hidden"> of {chart.label}</span>
            </summary>
            {open && (
                <div class="scroll" tabIndex={0} role="region" aria-label={chart.label}>
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">Period</th>
                                {chart.lines.map((line) => (
                                    <th key={line.label} scope="col" dir="auto">
                                        {line.label}
                                    </th>
                                ))}
                                {totals && <th scope="col">Total</th>}
                            </tr>
                        </thead>
                        <tbody>
                            {rows.map((at) => (
                                <tr key={at}>
                                    <th scope="row">{periodAt(chart, at)}</th>
                                    {chart.lines.map((line) => (
                                        <td key={line.label}>
                                            {(line.values[at] ?? null) === null
                                                ? "–"
                                                : chart.format(line.values[at] ?? 0)}
                                        </td>
                                    ))}
                                    {totals && <td>{chart.format(sumAt(chart.lines, at))}</td>}
                                </tr>
                            ))}
                        </tbody>
                    </table>
                    {first > 0 && <p class="hint">Only the newest {count(ROWS_MAX)} are listed.</p>}
                </div>
            )}
        </details>
    );
}
