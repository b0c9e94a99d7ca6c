// The events of a run: the first ones at once, those of a long run in pages when they are wanted.

import type { RunNarrative, StoredEvent } from "api";
import { useEffect, useRef, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";
const FIRST = 2_000; // events; few runs have more
const PAGE = 10_000;

export const loadRun = (slug: string, run_id: string, signal: AbortSignal) =>
    call(NARRATIVE, { path: { slug, run_id }, query: { limit: FIRST }, signal });

/** What follows `data`, page by page. */
export function useLaterEvents(slug: string, run_id: string, data: RunNarrative | undefined) {
    const [later, setLater] = useState<StoredEvent[]>([]);
    const action = useAction();
    const gone = useRef(new AbortController());
    useEffect(() => {
        gone.current = new AbortController();
        setLater([]);
        return () => gone.current.abort();
    }, [slug, run_id]);
    const load = () =>
        action.perform(async () => {
            const { signal } = gone.current;
            let cursor = data?.next ?? null;
            let events: StoredEvent[] = [];
            while (cursor !== null) {
                const query: { limit: number; cursor: string } = { limit: PAGE, cursor };
                const page: RunNarrative = await call(NARRATIVE, {
                    path: { slug, run_id },
                    query,
                    signal,
                });
                events = [...events, ...page.events];
                setLater(events);
                cursor = page.next ?? null;
            }
        });
    const events = [...(data?.events ?? []), ...(data?.next ? later : [])];
    const missing = Math.max(0, (data?.run.event_count ?? 0) - events.length - (data?.damaged ?? 0));
    return { events, missing, load, busy: action.busy, error: action.error };
}
