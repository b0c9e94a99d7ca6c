// Changes in a tenant as they happen, over one stream that all parts of the page share.
//
// The browser reopens a broken stream by itself and sends the id of the last event it received.
// Listeners are also called after a reconnect, because events may have been missed. A hidden tab
// closes its stream: browsers open six connections to a host, so six tabs would block each other.

import { useEffect, useRef } from "preact/hooks";

import { isServiceThere, urlOf } from "./api";
import { makeStore } from "./store";

/** What changed; "all": unknown, it may be anything. */
export interface LiveChange {
    kind: "run" | "agent" | "alert" | "all";
    agent_name?: string | null;
    run_id?: string | null;
}

type Listener = (changes: LiveChange[]) => void;

const RETRY_MS = 20_000;
const BATCH_MS = 200; // changes come in bursts

/** Is the stream open? While it is not, pages poll more often. */
export const connected = makeStore(false);

let currentSlug = "";
let source: EventSource | null = null;
let batch: LiveChange[] = [];
let batchTimer = 0;
let retryTimer = 0;
let opens = 0; // of the current slug
const listeners = new Set<Listener>();

function publish(change: LiveChange) {
    batch.push(change);
    if (batchTimer !== 0) return;
    batchTimer = setTimeout(() => {
        const changes = batch;
        batchTimer = 0;
        batch = [];
        for (const listener of [...listeners]) listener(changes);
    }, BATCH_MS) as unknown as number;
}

function close() {
    source?.close();
    source = null;
    clearTimeout(retryTimer);
    connected.set(false);
}

function parse(kind: LiveChange["kind"], event: MessageEvent): LiveChange {
    try {
        return { ...(JSON.parse(String(event.data)) as object), kind };
    } catch {
        return { kind: "all" };
    }
}

function open(slug: string) {
    close();
    if (slug !== currentSlug) opens = 0;
    currentSlug = slug;
    const opened = new EventSource(urlOf("GET /api/v1/tenants/{slug}/stream", { slug }));
    source = opened;
    opened.onopen = () => {
        connected.set(true);
        // At the first time, the page has loaded everything some milliseconds ago. What changed
        // since then is loaded with the next change, or by the timer of each query.
        if (opens++ > 0) publish({ kind: "all" });
    };
    opened.onerror = () => {
        connected.set(false);
        void isServiceThere(); // known at once, not with the next load
        // The browser retries, unless the request was refused: too many streams, or signed out.
        if (opened.readyState === EventSource.CLOSED && source === opened)
            retryTimer = setTimeout(() => open(slug), RETRY_MS) as unknown as number;
    };
    for (const kind of ["run", "agent", "alert"] as const)
        opened.addEventListener(kind, (event) => publish(parse(kind, event)));
    for (const name of ["reset", "tick"])
        opened.addEventListener(name, () => publish({ kind: "all" }));
}

document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") close();
    else if (source === null && listeners.size > 0) open(currentSlug);
});

/** Calls back when something changed in the tenant; never without a slug. */
export function useChanges(slug: string, callback: Listener) {
    const current = useRef(callback);
    current.current = callback;
    useEffect(() => {
        if (slug === "") return undefined;
        const listener: Listener = (changes) => current.current(changes);
        listeners.add(listener);
        if (source === null || currentSlug !== slug) open(slug);
        return () => {
            listeners.delete(listener);
            if (listeners.size === 0) close();
        };
    }, [slug]);
}
