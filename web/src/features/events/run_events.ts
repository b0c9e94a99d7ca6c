// The events of a run: the first ones at once, those of a long run in pages when they are wanted.

import type { Run, RunNarrative, StoredEvent } from "api";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";
const FIRST = 1_000; // events; few runs have more
const TREE_PAGE = 2_000;
const TREE_MAX = 20_000; // events of a tree of spans
const LIST_PAGE = 100;

export const loadRun = (slug: string, run_id: string, signal: AbortSignal, limit = FIRST) =>
    call(NARRATIVE, { path: { slug, run_id }, query: { limit }, signal });

interface LaterEvents {
    events: StoredEvent[]; // before the last page
    last: { cursor: string; events: StoredEvent[] };
    next: string | null;
    damaged: number; // left out of the pages before the last, and of the last one
    lastDamaged: number;
}

/** What follows `data`, one page at each call of `load`, and not more than a page can work with. The
 * last page of a run that goes on is asked for again: its new events follow there. */
export function useLaterEvents(slug: string, run_id: string, data: RunNarrative) {
    const [later, setLater] = useState<LaterEvents>();
    const action = useAction();
    const gone = useRef(new AbortController());
    useEffect(() => {
        gone.current = new AbortController();
        setLater(undefined);
        return () => gone.current.abort();
    }, [slug, run_id]);
    const events = useMemo(
        () => [...data.events, ...(later ? [...later.events, ...later.last.events] : [])],
        [data.events, later],
    );
    const damaged = (data.damaged ?? 0) + (later ? later.damaged + later.lastDamaged : 0);
    const missing = Math.max(0, data.run.event_count - events.length - damaged);
    const again = later !== undefined && later.next === null && missing > 0;
    const cursor = later ? (again ? later.last.cursor : later.next) : (data.next ?? null);
    const load = () =>
        action.perform(async () => {
            if (cursor === null) return;
            const page = await call(NARRATIVE, {
                path: { slug, run_id },
                query: { limit: TREE_PAGE, cursor },
                signal: gone.current.signal,
            });
            const before = later && !again ? later.last.events : [];
            setLater({
                events: [...(later?.events ?? []), ...before],
                last: { cursor, events: page.events },
                next: page.next ?? null,
                damaged: (later?.damaged ?? 0) + (later && !again ? later.lastDamaged : 0),
                lastDamaged: page.damaged ?? 0,
            });
        });
    const full = events.length >= TREE_MAX;
    const asked = useRef(-1); // how many events the run had when its last page was asked for again
    useEffect(() => {
        if (!again || full || action.busy || asked.current === data.run.event_count) return;
        asked.current = data.run.event_count;
        void load();
    }, [again, action.busy, data.run.event_count]);
    return { events, missing, load, more: cursor !== null && !full, busy: action.busy, error: action.error };
}

/** What is left out is not asked for. */
export interface EventFilter {
    q?: string;
    level?: "warning" | "error";
    category?: string;
}

interface EventPage {
    cursor: string | null; // with which it was asked for
    events: StoredEvent[];
    next: string | null;
}

/** The events that match, page by page from one end of the run. New events follow the last page;
 * from the end they appear as long as no earlier ones are shown. */
export function useEventPages(slug: string, run: Run, filter: EventFilter, fromEnd: boolean) {
    const [pages, setPages] = useState<EventPage[]>([]);
    const action = useAction();
    const gone = useRef(new AbortController());
    useEffect(() => {
        gone.current = new AbortController();
        return () => gone.current.abort();
    }, []);
    const add = (kept: EventPage[], cursor: string | null) =>
        action.perform(async () => {
            const { signal } = gone.current;
            const query = {
                ...filter,
                limit: LIST_PAGE,
                ...(fromEnd && { from_end: true }),
                ...(cursor !== null && { cursor }),
            };
            const path = { slug, run_id: run.run_id };
            const page = await call(NARRATIVE, { path, query, signal });
            setPages([...kept, { cursor, events: page.events, next: page.next ?? null }]);
        });
    const last = pages[pages.length - 1];
    const asked = useRef(-1); // how many events the run had when new ones were asked for
    useEffect(() => {
        if (action.busy || asked.current === run.event_count) return;
        asked.current = run.event_count;
        if (last === undefined || (fromEnd && pages.length === 1)) void add([], null);
        else if (!fromEnd && last.next === null) void add(pages.slice(0, -1), last.cursor);
    }, [run.event_count, action.busy]);
    const next = last === undefined ? null : last.next;
    const load = () => (last === undefined ? add([], null) : add(pages, last.next));
    return { pages, next, load, busy: action.busy, error: action.error };
}
