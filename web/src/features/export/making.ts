// The state of a file that is being made for the user, one at a time.

import { useEffect, useRef, useState } from "preact/hooks";

import { type ApiError, asApiError } from "../../lib/api";

type Make = (signal: AbortSignal, onProgress: (n: number) => void) => Promise<void>;

/** `progress` is null while nothing is being made. Leaving the page stops it. */
export function useMaking(make: Make) {
    const [progress, setProgress] = useState<number | null>(null);
    const [error, setError] = useState<ApiError | null>(null);
    const abort = useRef<AbortController | null>(null);
    useEffect(() => () => abort.current?.abort(), []);
    const start = async () => {
        const control = new AbortController();
        abort.current = control;
        setError(null);
        setProgress(0);
        try {
            await make(control.signal, setProgress);
        } catch (problem) {
            if (!control.signal.aborted) setError(asApiError(problem));
        } finally {
            setProgress(null);
        }
    };
    const stop = () => abort.current?.abort();
    return { progress, error, start, stop };
}
