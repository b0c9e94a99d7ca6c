// Data for a page: loaded when its key changes, reloaded on a timer, and cached for the way back.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { answeredAt } from "./answered";
import { ApiError, asApiError, forgetAnswers, setOnWritten } from "./api";
import { connected, type LiveChange, useChanges } from "./live";
import { bytesOf } from "./sizes";
import { useStore } from "./store";

export interface Loaded<T> {
    data: T | undefined;
    error: ApiError | undefined;
    at: number; // when the service answered with the data, by its clock; 0: there is no data
    loading: boolean; // for the first time under this key
    reload: () => void;
}

interface Options {
    everyMs?: number; // between loads while the page is visible; 0: load once
}

interface Answered<T> {
    data: T | undefined;
    at: number;
}

const CACHE_MAX = 60;
const cache = new Map<string, Answered<unknown>>(); // least recently loaded first

function cachePut(key: string, answer: Answered<unknown>) {
    cache.delete(key);
    cache.set(key, answer);
    const [oldest] = cache.keys();
    if (cache.size > CACHE_MAX && oldest !== undefined) cache.delete(oldest);
}

/** After signing out: the next person must not see this one's data. */
export function clearCache() {
    cache.clear();
    forgetAnswers();
}

const subscribers = new Set<() => void>(); // the queries that are shown

/** What a person changes on one page is read on all others: a write may concern any answer below its
 * path and, as a default or a count, many beside it. They are few, and unchanged ones are not sent
 * again. */
setOnWritten(() => {
    cache.clear();
    for (const reload of [...subscribers]) reload();
});

interface State<T> extends Answered<T> {
    key: string | null;
    error: ApiError | undefined;
}

function initial<T>(key: string | null): State<T> {
    const known = key === null ? undefined : (cache.get(key) as Answered<T> | undefined);
    return { key, data: known?.data, at: known?.at ?? 0, error: undefined };
}

/** `key` identifies what `load` returns; null: do not load yet. */
export function useQuery<T>(
    key: string | null,
    load: (signal: AbortSignal) => Promise<T>,
    { everyMs = 0 }: Options = {},
): Loaded<T> {
    const [state, setState] = useState<State<T>>(() => initial(key));
    const [turn, setTurn] = useState(0);
    const loader = useRef(load);
    loader.current = load;
    const work = useRef({ busy: false, again: false });
    // A load in progress is never restarted: with frequent changes a slow one would never finish.
    const reload = useCallback(() => {
        if (work.current.busy) work.current.again = true;
        else {
            work.current.busy = true;
            setTurn((n) => n + 1);
        }
    }, []);

    useEffect(() => {
        if (key === null) return undefined;
        const abort = new AbortController();
        const finish = (next: (was: State<T>) => State<T>) => {
            if (abort.signal.aborted) return;
            setState(next);
            work.current.busy = false;
            if (work.current.again) setTurn((n) => n + 1);
            work.current.again = false;
        };
        work.current = { busy: true, again: false };
        loader.current(abort.signal).then(
            (data) => {
                const at = answeredAt(abort.signal);
                if (!abort.signal.aborted && !work.current.again) cachePut(key, { data, at });
                finish(() => ({ key, data, at, error: undefined }));
            },
            (problem: unknown) =>
                finish((was) => ({
                    ...(was.key === key ? was : { key, data: undefined, at: 0 }),
                    error: asApiError(problem),
                })),
        );
        return () => abort.abort();
    }, [key, turn]);

    useEffect(() => {
        if (key === null) return undefined;
        subscribers.add(reload);
        return () => void subscribers.delete(reload);
    }, [key, reload]);

    useEffect(() => {
        if (everyMs <= 0 || key === null) return undefined;
        const poll = () => document.visibilityState === "visible" && reload();
        const timer = setInterval(poll, everyMs);
        document.addEventListener("visibilitychange", poll);
        return () => {
            clearInterval(timer);
            document.removeEventListener("visibilitychange", poll);
        };
    }, [everyMs, key, reload]);

    const now = state.key === key ? state : initial<T>(key);
    const loading = key !== null && now.data === undefined && now.error === undefined;
    return { data: now.data, at: now.at, error: now.error, loading, reload };
}

const POLL_CONNECTED_MS = 30_000;
const POLL_DISCONNECTED_MS = 5_000;
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
const PAUSE_FACTOR = 10; // loading takes at most a tenth of the time
const BYTES_PER_MS = 0.7; // of one query: 42 kB a minute, however much changes

/** How long an answer is shown before the next load, however much changes: the slower and the larger
 * the load, the longer. Jittered, so that all open pages do not ask at once. */
function pauseAfter(tookMs: number, bytes: number): number {
    const least = Math.max(tookMs * PAUSE_FACTOR, bytes / BYTES_PER_MS, PAUSE_MIN_MS);
    const pause = Math.min(least, PAUSE_MAX_MS);
    return pause * (1 + Math.random() / 4);
}

/** Like useQuery, but reloads when a change in the tenant satisfies `wants`, and on a timer: slowly
 * while the stream is open, fast while it is not. Without a slug it loads once. */
export function useLiveQuery<T>(
    slug: string,
    key: string | null,
    load: (signal: AbortSignal) => Promise<T>,
    wants: (change: LiveChange) => boolean = () => true,
    everyMs = POLL_CONNECTED_MS,
): Loaded<T> {
    const open = useStore(connected);
    const notBefore = useRef(0);
    const timer = useRef(0);
    const timed = async (signal: AbortSignal) => {
        const began = performance.now();
        try {
            return await load(signal);
        } finally {
            const pause = pauseAfter(performance.now() - began, bytesOf(signal));
            notBefore.current = performance.now() + pause;
        }
    };
    const loaded = useQuery(key, timed, {
        everyMs: slug === "" ? 0 : open ? everyMs : Math.min(everyMs, POLL_DISCONNECTED_MS),
    });
    useEffect(() => () => clearTimeout(timer.current), []);
    useChanges(slug, (changes) => {
        if (timer.current !== 0 || !changes.some((one) => one.kind === "all" || wants(one)))
            return;
        const wait = Math.max(0, notBefore.current - performance.now());
        timer.current = setTimeout(() => {
            timer.current = 0;
            loaded.reload();
        }, wait) as unknown as number;
    });
    return loaded;
}
