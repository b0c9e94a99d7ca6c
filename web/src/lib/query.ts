// Data for a page: loaded when its key changes, again every so often, and kept for the way back.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { ApiError } from "./api";
import { connected, type News, useNews } from "./live";
import { useStore } from "./store";

export interface Loaded<T> {
    data: T | undefined;
    error: ApiError | undefined;
    loading: boolean; // for the first time under this key
    reload: () => void;
}

interface Options {
    every?: number; // milliseconds between loads while the page is looked at; 0: once
}

const KEPT_MAX = 60;
const kept = new Map<string, unknown>(); // oldest first

function keep(key: string, data: unknown) {
    kept.delete(key);
    kept.set(key, data);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}

/** Forgets everything: nobody is signed in any more. */
export function forgetAll() {
    kept.clear();
}

/** Something was changed: whoever shows this answer asks for it again. */
export function forget(key: string) {
    kept.delete(key);
    for (const then of [...(watchers.get(key) ?? [])]) then();
}

const watchers = new Map<string, Set<() => void>>();

function watch(key: string, then: () => void): () => void {
    const set = watchers.get(key) ?? new Set();
    watchers.set(key, set.add(then));
    return () => {
        set.delete(then);
        if (set.size === 0 && watchers.get(key) === set) watchers.delete(key);
    };
}

function asError(problem: unknown): ApiError {
    return problem instanceof ApiError ? problem : new ApiError(0, String(problem));
}

interface State<T> {
    key: string | null;
    data: T | undefined;
    error: ApiError | undefined;
}

function initial<T>(key: string | null): State<T> {
    return {
        key,
        data: key === null ? undefined : (kept.get(key) as T | undefined),
        error: undefined,
    };
}

/** `key` names what `load` brings; null: nothing yet. */
export function useQuery<T>(
    key: string | null,
    load: (signal: AbortSignal) => Promise<T>,
    { every = 0 }: Options = {},
): Loaded<T> {
    const [state, setState] = useState<State<T>>(() => initial(key));
    const [turn, setTurn] = useState(0);
    const loader = useRef(load);
    loader.current = load;
    const work = useRef({ busy: false, again: false });
    // What is under way is waited for, however often news come: else a slow answer would never do.
    const reload = useCallback(() => {
        if (work.current.busy) work.current.again = true;
        else setTurn((n) => n + 1);
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
                if (!abort.signal.aborted) keep(key, data);
                finish(() => ({ key, data, error: undefined }));
            },
            (problem: unknown) =>
                finish((was) => ({
                    key,
                    data: was.key === key ? was.data : undefined,
                    error: asError(problem),
                })),
        );
        return () => abort.abort();
    }, [key, turn]);

    useEffect(() => (key === null ? undefined : watch(key, reload)), [key, reload]);

    useEffect(() => {
        if (every <= 0 || key === null) return undefined;
        const look = () => document.visibilityState === "visible" && reload();
        const timer = setInterval(look, every);
        document.addEventListener("visibilitychange", look);
        return () => {
            clearInterval(timer);
            document.removeEventListener("visibilitychange", look);
        };
    }, [every, key, reload]);

    const now = state.key === key ? state : initial<T>(key);
    const loading = key !== null && now.data === undefined && now.error === undefined;
    return { data: now.data, error: now.error, loading, reload };
}

const WITH_NEWS_MS = 30_000;
const WITHOUT_NEWS_MS = 5_000;
const PAUSE_LEAST_MS = 1_000;
const PAUSE_MOST_MS = 30_000;
const PAUSE_PART = 10; // a load may take a tenth of the time

/** How long an answer is good for, however much happens: the dearer, the longer. Not the same for
 * everybody who looks, who would else all ask at once. */
export function pauseAfter(took_ms: number): number {
    const pause = Math.min(Math.max(took_ms * PAUSE_PART, PAUSE_LEAST_MS), PAUSE_MOST_MS);
    return pause * (1 + Math.random() / 4);
}

/** The same, again when something happened in the tenant that `wants` says yes to, and by the clock
 * while no news come, or every so often where news do not tell all; once without a slug. */
export function useLiveQuery<T>(
    slug: string,
    key: string | null,
    load: (signal: AbortSignal) => Promise<T>,
    wants: (news: News) => boolean = () => true,
    every = WITH_NEWS_MS,
): Loaded<T> {
    const open = useStore(connected);
    const next = useRef(0); // not before this
    const timer = useRef(0);
    const timed = async (signal: AbortSignal) => {
        const began = performance.now();
        try {
            return await load(signal);
        } finally {
            next.current = performance.now() + pauseAfter(performance.now() - began);
        }
    };
    const loaded = useQuery(key, timed, {
        every: slug === "" ? 0 : open ? every : Math.min(every, WITHOUT_NEWS_MS),
    });
    useEffect(() => () => clearTimeout(timer.current), []);
    useNews(slug, (news) => {
        if (timer.current !== 0 || !news.some((one) => one.kind === "all" || wants(one))) return;
        const wait = Math.max(0, next.current - performance.now());
        timer.current = setTimeout(() => {
            timer.current = 0;
            loaded.reload();
        }, wait) as unknown as number;
    });
    return loaded;
}
