// News of a tenant as they happen, over one stream that all parts of the page share.
//
// The browser opens the stream again by itself when it breaks, and tells the service the last news
// it had. Whoever watches is also told after a reconnect, since something may have been missed.
// A page that nobody looks at lets go of its stream: a browser opens six connections to a host, and
// six open tabs would leave none for anything else.

import { useEffect, useRef } from "preact/hooks";

import { urlOf } from "./api";
import { makeStore } from "./store";

/** What has changed; "all": nobody knows, it may be anything. */
export interface News {
    kind: "run" | "agent" | "alert" | "all";
    agent_name?: string | null;
    run_id?: string | null;
}

type Listener = (news: News[]) => void;

const RETRY_MS = 20_000;
const GATHER_MS = 200; // news come in crowds

/** Is the stream open? While it is not, pages ask more often. */
export const connected = makeStore(false);

let slugNow = "";
let source: EventSource | null = null;
let gathered: News[] = [];
let timer = 0;
let retry = 0;
const listeners = new Set<Listener>();

function tell(one: News) {
    gathered.push(one);
    if (timer !== 0) return;
    timer = setTimeout(() => {
        const news = gathered;
        timer = 0;
        gathered = [];
        for (const then of [...listeners]) then(news);
    }, GATHER_MS) as unknown as number;
}

function close() {
    source?.close();
    source = null;
    clearTimeout(retry);
    connected.set(false);
}

function read(kind: News["kind"], event: MessageEvent): News {
    try {
        return { ...(JSON.parse(String(event.data)) as object), kind };
    } catch {
        return { kind: "all" };
    }
}

function open(slug: string) {
    close();
    slugNow = slug;
    const opened = new EventSource(urlOf("GET /api/v1/tenants/{slug}/stream", { slug }));
    source = opened;
    opened.onopen = () => {
        connected.set(true);
        tell({ kind: "all" });
    };
    opened.onerror = () => {
        connected.set(false);
        // It tries again by itself, but not when it was refused: too many listen, or we are out.
        if (opened.readyState === EventSource.CLOSED && source === opened)
            retry = setTimeout(() => open(slug), RETRY_MS) as unknown as number;
    };
    for (const kind of ["run", "agent", "alert"] as const)
        opened.addEventListener(kind, (event) => tell(read(kind, event)));
    for (const name of ["reset", "tick"])
        opened.addEventListener(name, () => tell({ kind: "all" }));
}

document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") close();
    else if (source === null && listeners.size > 0) open(slugNow);
});

/** Calls back when something happened in the tenant; not without a slug. */
export function useNews(slug: string, then: Listener) {
    const current = useRef(then);
    current.current = then;
    useEffect(() => {
        if (slug === "") return undefined;
        const listener: Listener = (news) => current.current(news);
        listeners.add(listener);
        if (source === null || slugNow !== slug) open(slug);
        return () => {
            listeners.delete(listener);
            if (listeners.size === 0) close();
        };
    }, [slug]);
}
