// The spans of a run that came by OpenTelemetry, as the tree that their parents make.

import type { StoredEvent } from "api";

export interface Span {
    id: string;
    name: string;
    kind: string;
    from: number; // milliseconds since 1970
    to: number | null; // null: it has not ended
    failed: boolean;
    error: string;
    records: StoredEvent[]; // log records within it
    parent: string;
    children: Span[];
}

/** A span in the order of the tree. */
export interface SpanRow {
    span: Span;
    level: number; // from 1
    place: number; // among its siblings, from 1
    siblings: number;
}

function merge(span: Span | undefined, event: StoredEvent, id: string): Span {
    const at = Date.parse(event.timestamp);
    const merged = span ?? {
        id,
        name: event.message,
        kind: event.category,
        from: at,
        to: null,
        failed: false,
        error: "",
        records: [],
        parent: event.metadata["parent_span_id"] ?? "",
        children: [],
    };
    merged.from = Math.min(merged.from, at);
    if (event.event === "completed" || event.event === "failed") merged.to = at;
    else if (event.event === "in_progress" && event.duration_ms !== null)
        merged.to = at + event.duration_ms;
    if (event.event === "failed" || event.level === "error") {
        merged.failed = true;
        merged.error = event.error_type || event.error_message?.split("\n")[0] || "";
    }
    return merged;
}

/** Does following parents from this span end, and not in a circle? `known` keeps what was found, so
 * that no part of a deep tree is followed twice. */
function isRooted(span: Span, byId: Map<string, Span>, known: Map<string, boolean>): boolean {
    const seen = new Set<string>();
    let at: Span | undefined = span;
    while (at && !known.has(at.id) && !seen.has(at.id)) {
        seen.add(at.id);
        at = byId.get(at.parent);
    }
    const rooted = at === undefined || (known.get(at.id) ?? false);
    for (const id of seen) known.set(id, rooted);
    return rooted;
}

/** Spans whose parent is not in the run are roots too; children are in the order of their start. */
export function spansOf(events: StoredEvent[]): Span[] {
    const byId = new Map<string, Span>();
    for (const event of events) {
        const id = event.metadata["span_id"];
        if (id) byId.set(id, merge(byId.get(id), event, id));
    }
    for (const event of events)
        if (!event.metadata["span_id"])
            byId.get(event.metadata["parent_span_id"] ?? "")?.records.push(event);
    const roots: Span[] = [];
    const known = new Map<string, boolean>();
    for (const span of byId.values()) {
        const parent = isRooted(span, byId, known) ? byId.get(span.parent) : undefined;
        (parent ? parent.children : roots).push(span);
    }
    for (const list of [roots, ...[...byId.values()].map((span) => span.children)])
        list.sort((a, b) => a.from - b.from);
    return roots;
}

/** The rows that are seen while some spans are folded. Trees may be deep: no recursion. */
export function rowsOf(roots: Span[], folded: ReadonlySet<string>): SpanRow[] {
    const rows: SpanRow[] = [];
    const waiting: SpanRow[] = [];
    const add = (spans: Span[], level: number) => {
        for (let i = spans.length; i-- > 0; ) {
            const span = spans[i];
            if (span) waiting.push({ span, level, place: i + 1, siblings: spans.length });
        }
    };
    add(roots, 1);
    for (let row = waiting.pop(); row; row = waiting.pop()) {
        rows.push(row);
        if (!folded.has(row.span.id)) add(row.span.children, row.level + 1);
    }
    return rows;
}
