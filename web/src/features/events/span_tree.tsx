// The spans of a run as a tree that folds: a bar for the duration of each, red where it failed. Of a
// large tree the rows near the window are drawn.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { duration, exactTime, plural } from "../../lib/format";
import { Icon } from "../../ui";
import { useRowWindow } from "../../ui/row_window";
import { rowsOf, type Span, type SpanRow } from "./spans";

const DRAWN_WHOLE = 200; // rows; of more, only those near the window are drawn
const INDENT_MAX = 12; // deeper levels are not moved further
const TICKS_MAX = 50; // of one span: closer log records could not be told apart

interface Scale {
    from: number;
    to: number;
}

function scaleOf(roots: Span[]): Scale {
    const waiting = [...roots];
    let from = Infinity;
    let to = -Infinity;
    for (let span = waiting.pop(); span; span = waiting.pop()) {
        from = Math.min(from, span.from);
        to = Math.max(to, span.from, span.to ?? span.from);
        for (const child of span.children) waiting.push(child);
    }
    return { from, to: Math.max(to, from + 1) };
}

function percent(time: number, { from, to }: Scale): string {
    return `${((time - from) / (to - from)) * 100}%`;
}

function describe(span: Span): string {
    const parts = [
        span.name,
        span.kind,
        span.failed && `failed: ${span.error || "no message"}`,
        `began ${exactTime(new Date(span.from).toISOString())}`,
        span.to === null ? "has not ended" : `took ${duration(span.to - span.from)}`,
        span.records.length > 0 && plural(span.records.length, "log record"),
    ];
    return parts.filter(Boolean).join("\n");
}

interface RowProps {
    row: SpanRow;
    scale: Scale;
    folded: boolean;
    current: boolean;
    onFold: () => void;
    onFocus: () => void;
}

/** Where its log records are: one place for those that are close to each other. */
function ticksOf({ records }: Span, { from, to }: Scale): number[] {
    const placeOf = (time: number) => Math.round(((time - from) / (to - from)) * TICKS_MAX * 4);
    const found = new Map<number, number>();
    for (const { timestamp } of records) {
        const at = Date.parse(timestamp);
        if (!found.has(placeOf(at))) found.set(placeOf(at), at);
    }
    const all = [...found.values()].sort((a, b) => a - b);
    const step = Math.ceil(all.length / TICKS_MAX);
    return all.filter((_, i) => i % step === 0);
}

function Bar({ span, scale }: { span: Span; scale: Scale }) {
    const left = percent(span.from, scale);
    const right = percent(span.to ?? scale.to, scale);
    return (
        <span class="lane" aria-hidden="true">
            <i
                class={span.to === null ? "bar open" : "bar"}
                style={{ left: `min(${left}, 100% - 3px)`, width: `max(3px, ${right} - ${left})` }}
            />
            {ticksOf(span, scale).map((at) => (
                <i key={at} class="tick" style={{ left: percent(at, scale) }} />
            ))}
        </span>
    );
}

function Row({ row, scale, folded, current, onFold, onFocus }: RowProps) {
    const { span, level } = row;
    const hasChildren = span.children.length > 0;
    return (
        <li
            role="treeitem"
            id={`span-${span.id}`}
            class={span.failed ? "bad" : ""}
            aria-level={level}
            aria-posinset={row.place}
            aria-setsize={row.siblings}
            {...(hasChildren && { "aria-expanded": !folded })}
            tabIndex={current ? 0 : -1}
            title={describe(span)}
            style={{ "--level": Math.min(level - 1, INDENT_MAX) }}
            onFocus={onFocus}
            onClick={hasChildren ? onFold : undefined}
        >
            <span class="name">
                <span class="fold">{hasChildren && <Icon name={folded ? "right" : "down"} />}</span>
                {span.failed && <Icon name="close" />}
                <span class="text" dir="auto">
                    {span.name || "(no name)"}
                </span>
                {span.failed && <span class="visually-hidden">failed</span>}
                {folded && <span class="muted">{plural(span.children.length, "child", "children")}</span>}
                {span.error && <code class="error-type">{span.error}</code>}
            </span>
            <Bar span={span} scale={scale} />
            <span class="value">
                {span.to === null ? "open" : duration(span.to - span.from)}
            </span>
        </li>
    );
}

/** As the arrow keys move in any tree: -1 stays. */
function target(rows: SpanRow[], at: number, key: string): number {
    const level = rows[at]?.level ?? 1;
    if (key === "ArrowDown") return Math.min(at + 1, rows.length - 1);
    if (key === "ArrowUp") return Math.max(at - 1, 0);
    if (key === "Home") return 0;
    if (key === "End") return rows.length - 1;
    if (key === "ArrowRight") return (rows[at + 1]?.level ?? 0) > level ? at + 1 : at;
    if (key !== "ArrowLeft") return -1;
    let above = at - 1;
    while (above >= 0 && (rows[above]?.level ?? 0) >= level) above--;
    return above;
}

/** The height of the rows that are drawn, and how many they are. */
function measure(holder: HTMLElement): { px: number; rows: number } {
    const drawn = [...holder.querySelectorAll<HTMLElement>('[role="treeitem"]')];
    return { px: drawn.reduce((sum, row) => sum + row.offsetHeight, 0), rows: drawn.length };
}

/** The places of the rows to draw: those near the window, and the one with the focus. */
function drawnOf(n: number, first: number, limit: number, at: number): number[] {
    if (n <= DRAWN_WHOLE) return Array.from({ length: n }, (_, i) => i);
    const start = Math.min(first, n - 1);
    const near = Array.from({ length: Math.min(limit, n - start) }, (_, i) => start + i);
    return near.includes(at) ? near : [...near, at].sort((a, b) => a - b);
}

const gap = (rows: number, rowPx: number, key: string) =>
    rows > 0 && <li key={key} role="none" style={{ height: `${Math.round(rows * rowPx)}px` }} />;

/** Focuses a row: at once, or when it is drawn, which the current one always is. */
function useFocus(list: { current: HTMLElement | null }) {
    const wanted = useRef("");
    const rowOf = (id: string) => list.current?.querySelector<HTMLElement>(`#span-${CSS.escape(id)}`);
    useLayoutEffect(() => {
        if (wanted.current === "") return;
        rowOf(wanted.current)?.focus();
        wanted.current = "";
    });
    return (id: string) => {
        const drawn = rowOf(id);
        if (drawn) drawn.focus();
        else wanted.current = id;
    };
}

export function SpanTree({ roots }: { roots: Span[] }) {
    const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
    const [current, setCurrent] = useState("");
    const list = useRef<HTMLUListElement>(null);
    const rows = useMemo(() => rowsOf(roots, folded), [roots, folded]);
    const scale = useMemo(() => scaleOf(roots), [roots]);
    const at = Math.max(0, rows.findIndex((row) => row.span.id === current));
    const { first, limit, rowPx } = useRowWindow(list, measure);
    const focus = useFocus(list);

    const fold = (id: string, wanted = !folded.has(id)) => {
        const next = new Set(folded);
        if (wanted) next.add(id);
        else next.delete(id);
        setFolded(next);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const span = rows[at]?.span;
        if (!span || event.altKey || event.ctrlKey || event.metaKey) return;
        const isFolded = folded.has(span.id);
        const hasChildren = span.children.length > 0;
        const to = target(rows, at, event.key);
        if (event.key === "Enter" || event.key === " ") hasChildren && fold(span.id);
        else if (event.key === "ArrowRight" && isFolded) fold(span.id, false);
        else if (event.key === "ArrowLeft" && hasChildren && !isFolded) fold(span.id, true);
        else if (to >= 0) {
            const { id } = rows[to]?.span ?? span;
            focus(id);
            setCurrent(id);
        } else if (event.key !== "ArrowLeft") return;
        event.preventDefault();
    };
    const drawn: ComponentChildren[] = [];
    let next = 0;
    for (const place of drawnOf(rows.length, first, limit, at)) {
        const row = rows[place];
        if (!row) continue;
        drawn.push(gap(place - next, rowPx, `before ${row.span.id}`));
        drawn.push(
            <Row
                key={row.span.id}
                row={row}
                scale={scale}
                folded={folded.has(row.span.id)}
                current={place === at}
                onFold={() => fold(row.span.id)}
                onFocus={() => setCurrent(row.span.id)}
            />,
        );
        next = place + 1;
    }
    return (
        <div class="spans">
            <ul role="tree" aria-label="Spans" ref={list} onKeyDown={onKeyDown}>
                {drawn}
                {gap(rows.length - next, rowPx, "after")}
            </ul>
        </div>
    );
}
