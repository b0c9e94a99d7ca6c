// News of a tenant as they happen, over one stream that all parts of the page share.
//
// The browser opens the stream again by itself when it breaks, and tells the service the last news
// it had. Whoever watches is also told after a reconnect, since something may have been missed.

import { useEffect, useRef } from "preact/hooks";

import { urlOf } from "./api";
import { makeStore } from "./store";

type Listener = () => void;

const RETRY_MS = 20_000;
const PAUSE_MS = 1_000; // news come in crowds: tell of them once a second

/** Is the stream open? While it is not, pages ask more often. */
export const connected = makeStore(false);

let slugNow = "";
let source: EventSource | null = null;
let timer = 0;
let retry = 0;
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
    clearTimeout(retry);
    connected.set(false);
}

/** Each of these is a reason to look again; "reset" says that some were missed. */
const NEWS = ["run", "agent", "alert", "reset", "tick"];

function open(slug: string) {
    close();
    slugNow = slug;
    const opened = new EventSource(urlOf("GET /api/v1/tenants/{slug}/stream", { slug }));
    source = opened;
    opened.onopen = () => {
        connected.set(true);
        tell();
    };
    opened.onerror = () => {
        connected.set(false);
        // It tries again by itself, but not when it was refused: too many listen, or we are out.
        if (opened.readyState === EventSource.CLOSED && source === opened)
            retry = setTimeout(() => open(slug), RETRY_MS) as unknown as number;
    };
    for (const name of NEWS) opened.addEventListener(name, tell);
}

/** Calls back, at most once a second, when something happened in the tenant. */
export function useNews(slug: string, then: Listener) {
    const current = useRef(then);
    current.current = then;
    useEffect(() => {
        if (slug === "") return undefined;
        const listener = () => document.visibilityState === "visible" && current.current();
        listeners.add(listener);
        if (source === null || slugNow !== slug) open(slug);
        return () => {
            listeners.delete(listener);
            if (listeners.size === 0) close();
        };
    }, [slug]);
}
