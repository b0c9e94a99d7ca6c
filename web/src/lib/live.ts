// News of a tenant as they happen, over one stream that all parts of the page share.
//
// The browser opens the stream again by itself when it breaks, and tells the service the last news
// it had. Whoever watches is also told after a reconnect, since something may have been missed.

import { useEffect, useRef } from "preact/hooks";

import { makeStore } from "./store";

type Listener = () => void;

const PAUSE_MS = 1_000; // news come in crowds: tell of them once a second

/** Is the stream open? While it is not, pages ask more often. */
export const connected = makeStore(false);

let slugNow = "";
let source: EventSource | null = null;
let timer = 0;
const listeners = new Set<Listener>();

function tell() {
    if (timer !== 0) return;
    timer = setTimeout(() => {
        timer = 0;
        for (const then of [...listeners]) then();
    }, PAUSE_MS) as unknown as number;
}

function close() {
    source?.close();
    source = null;
    connected.set(false);
}

/** Names of the news are the service's; each of them is a reason to look again. */
const NAMES = ["message", "run", "agent", "alert", "business", "llm", "reset"];

function open(slug: string) {
    close();
    slugNow = slug;
    source = new EventSource(`/api/v1/tenants/${encodeURIComponent(slug)}/stream`);
    source.onopen = () => {
        connected.set(true);
        tell();
    };
    source.onerror = () => connected.set(false);
    for (const name of NAMES) source.addEventListener(name, tell);
}

/** Calls back, at most once a second, when something happened in the tenant. */
export function useNews(slug: string, then: Listener) {
    const current = useRef(then);
    current.current = then;
    useEffect(() => {
        if (slug === "") return undefined;
        const listener = () => document.visibilityState === "visible" && current.current();
        listeners.add(listener);
        if (source === null || slugNow !== slug || source.readyState === EventSource.CLOSED)
            open(slug);
        return () => {
            listeners.delete(listener);
            if (listeners.size === 0) close();
        };
    }, [slug]);
}
