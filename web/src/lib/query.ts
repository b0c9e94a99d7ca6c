// Data for a page: loaded when its key changes, again every so often, and kept for the way back.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { ApiError } from "./api";

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

/** Forgets everything: somebody else signs in. */
export function forgetAll() {
    kept.clear();
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
    const reload = useCallback(() => setTurn((n) => n + 1), []);

    useEffect(() => {
        if (key === null) return undefined;
        const abort = new AbortController();
        loader.current(abort.signal).then(
            (data) => {
                if (abort.signal.aborted) return;
                keep(key, data);
                setState({ key, data, error: undefined });
            },
            (problem: unknown) => {
                if (abort.signal.aborted) return;
                setState((was) => ({
                    key,
                    data: was.key === key ? was.data : undefined,
                    error: asError(problem),
                }));
            },
        );
        return () => abort.abort();
    }, [key, turn]);

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
