// Small figures without axes: a line, and bars beside their names.

import { type Edges, edgesInWords } from "../lib/ranges";

interface SparklineProps {
    values: number[];
    label: string;
    edges?: Edges | undefined; // if the values are of periods
}

/** A small line with its area, from zero; it is dashed to a value that is only a part. */
export function Sparkline({ values, label, edges }: SparklineProps) {
    if (values.length < 2) return <svg class="sparkline" viewBox="0 0 100 28" aria-hidden="true" />;
    const most = Math.max(...values.map(Math.abs)) || 1;
    const parts = values.map((value) => value / most); // the hugest values have no sum
    const low = Math.min(...parts, 0);
    const high = Math.max(...parts, 0);
    const y = (part: number) => 26 - (high === low ? 0 : (part - low) / (high - low)) * 24;
    const x = (i: number) => (i / (values.length - 1)) * 100;
    const last = values.length - 1;
    const through = (from: number, to: number) =>
        parts
            .slice(from, to + 1)
            .map((part, i) => `${i === 0 ? "M" : "L"}${x(from + i).toFixed(2)} ${y(part).toFixed(2)}`)
            .join("");
    const begin = edges?.first ? 1 : 0;
    const end = edges && (edges.unfinished || edges.last) ? last - 1 : last;
    const words = edges && edgesInWords(edges, values.length);
    const zero = y(0).toFixed(2);
    return (
        <svg
            class="sparkline"
            viewBox="0 0 100 28"
            preserveAspectRatio="none"
            role="img"
            aria-label={words ? `${label}; ${words}` : label}
        >
            <path class="area" d={`${through(0, last)}L100 ${zero}L0 ${zero}Z`} />
            <path d={through(begin, end)} />
            <path class="so-far" d={through(0, begin) + through(Math.max(begin, end), last)} />
        </svg>
    );
}

interface BarsProps {
    rows: { label: string; value: number; href?: string; note?: string }[];
    format: (value: number) => string;
}

/** One row with a bar per value; negative values go to the other side of zero. */
export function Bars({ rows, format }: BarsProps) {
    const most = Math.max(...rows.map((row) => Math.abs(row.value)), 0) || 1;
    const part = (value: number) => value / most;
    const low = Math.min(...rows.map((row) => part(row.value)), 0);
    const high = Math.max(...rows.map((row) => part(row.value)), 0);
    const length = high - low || 1;
    return (
        <ul class="bars">
            {rows.map((row) => {
                const from = Math.min(part(row.value), 0);
                const size = Math.abs(part(row.value));
                return (
                    <li key={row.label}>
                        <span class="name" title={row.label} dir="auto">
                            {row.href ? <a href={row.href}>{row.label}</a> : row.label}
                        </span>
                        <span class="track">
                            <i
                                class={row.value < 0 ? "below" : ""}
                                style={{
                                    marginLeft: `${((from - low) / length) * 100}%`,
                                    width: `${(size / length) * 100}%`,
                                }}
                            />
                        </span>
                        <span class="value">{row.note ?? format(row.value)}</span>
                    </li>
                );
            })}
        </ul>
    );
}
