// The spans of a run as a tree that folds: a bar for the duration of each, red where it failed.

import { useRef, useState } from "preact/hooks";

import { count, duration, exactTime, plural } from "../../lib/format";
import { Icon } from "../../ui";
import { rowsOf, type Span, type SpanRow } from "./spans";

const SHOWN_FIRST = 300;
const SHOWN_STEP = 1_000;
const INDENT_MAX = 12; // deeper levels are not moved further

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
        to = Math.max(to, span.to ?? span.from, ...span.children.map((child) => child.from));
        waiting.push(...span.children);
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

function Bar({ span, scale }: { span: Span; scale: Scale }) {
    const left = percent(span.from, scale);
    const right = percent(span.to ?? scale.to, scale);
    return (
        <span class="lane" aria-hidden="true">
            <i
                class={span.to === null ? "bar open" : "bar"}
                style={{ left: `min(${left}, 100% - 3px)`, width: `max(3px, ${right} - ${left})` }}
            />
            {span.records.map((record, i) => (
                <i
                    key={i}
                    class="tick"
                    style={{ left: percent(Date.parse(record.timestamp), scale) }}
                />
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

export function SpanTree({ roots }: { roots: Span[] }) {
    const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
    const [shown, setShown] = useState(SHOWN_FIRST);
    const [current, setCurrent] = useState("");
    const list = useRef<HTMLUListElement>(null);
    const all = rowsOf(roots, folded);
    const rows = all.slice(0, shown);
    const scale = scaleOf(roots);
    const at = Math.max(0, rows.findIndex((row) => row.span.id === current));

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
        else if (to >= 0) (list.current?.children[to] as HTMLElement | undefined)?.focus();
        else if (event.key !== "ArrowLeft") return;
        event.preventDefault();
    };
    return (
        <div class="spans">
            <ul role="tree" aria-label="Spans" ref={list} onKeyDown={onKeyDown}>
                {rows.map((row, i) => (
                    <Row
                        key={row.span.id}
                        row={row}
                        scale={scale}
                        folded={folded.has(row.span.id)}
                        current={i === at}
                        onFold={() => fold(row.span.id)}
                        onFocus={() => setCurrent(row.span.id)}
                    />
                ))}
            </ul>
            {all.length > shown && (
                <button type="button" class="more" onClick={() => setShown(shown + SHOWN_STEP)}>
                    Show {count(Math.min(SHOWN_STEP, all.length - shown))} more (
                    {count(all.length - shown)} left)
                </button>
            )}
        </div>
    );
}
