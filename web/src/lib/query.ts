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
    askedAt: number; // when it was asked for the data, by the browser's clock
    loading: boolean; // for the first time under this key
    reload: () => void;
}

interface Options {
    everyMs?: number; // between loads while the page is visible; 0: load once
}

interface Answered<T> {
    data: T | undefined;
    at: number;
    askedAt: number;
}

const NOTHING = { data: undefined, at: 0, askedAt: 0 };
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
    return { key, ...(known ?? NOTHING), error: undefined };
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
        const askedAt = Date.now();
        loader.current(abort.signal).then(
            (data) => {
                const answer = { data, at: answeredAt(abort.signal), askedAt };
                if (!abort.signal.aborted && !work.current.again) cachePut(key, answer);
                finish(() => ({ key, ...answer, error: undefined }));
            },
            (problem: unknown) =>
                finish((was) => ({
                    ...(was.key === key ? was : { key, ...NOTHING }),
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
    return { data: now.data, at: now.at, askedAt: now.askedAt, error: now.error, loading, reload };
}

const POLL_CONNECTED_MS = 30_000;
const POLL_DISCONNECTED_MS = 5_000;
const PAUSE_MIN_MS = 1_000;
const PAUSE_FACTOR = 10; // loading takes at most a tenth of the time
const SLOW_MAX_MS = 30_000;
const BYTES_PER_MS = 0.7; // of one query: 42 kB a minute, however much changes
const LARGE_MAX_MS = 10_000; // but no answer is so large that it is not asked for again

/** How long an answer is shown before the next load, however much changes: the slower and the larger
 * the load, the longer. Jittered, so that all open pages do not ask at once. */
function pauseAfter(tookMs: number, bytes: number): number {
    const slow = Math.min(tookMs * PAUSE_FACTOR, SLOW_MAX_MS);
    const large = Math.min(bytes / BYTES_PER_MS, LARGE_MAX_MS);
    return Math.max(slow, large, PAUSE_MIN_MS) * (1 + Math.random() / 4);
}

/** What a live query shows, in times of the browser's clock. */
interface Shown {
    askedAt: number; // 0: nothing is shown
    changedAt: number; // when the stream last told of a change that the query wants
}

const shown = new Set<{ current: Shown }>();

/** For how long what is shown may have been outdated, in milliseconds: while the stream is open, an
 * answer is that of now until it tells of a change. */
function ageOfShown(): number {
    const asked = [...shown]
        .map((one) => one.current)
        .filter((one) => one.askedAt > 0 && (!connected.get() || one.changedAt >= one.askedAt))
        .map((one) => one.askedAt);
    return asked.length === 0 ? 0 : Date.now() - Math.min(...asked);
}

/** The same for a component to show. */
export function useAgeOfShown(): number {
    const [age, setAge] = useState(0);
    useEffect(() => {
        const timer = setInterval(() => setAge(ageOfShown()), 1_000);
        return () => clearInterval(timer);
    }, []);
    return age;
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
    const known = useRef<Shown>({ askedAt: 0, changedAt: 0 });
    known.current.askedAt = loaded.askedAt;
    useEffect(() => {
        if (slug === "") return undefined;
        shown.add(known);
        return () => void shown.delete(known);
    }, [slug]);
    useEffect(() => () => clearTimeout(timer.current), []);
    useChanges(slug, (changes) => {
        if (!changes.some((one) => one.kind === "all" || wants(one))) return;
        known.current.changedAt = Date.now();
        if (timer.current !== 0) return;
        const wait = Math.max(0, notBefore.current - performance.now());
        timer.current = setTimeout(() => {
            timer.current = 0;
            loaded.reload();
        }, wait) as unknown as number;
    });
    return loaded;
}
