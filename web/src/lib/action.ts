// Changes that a person asks for: one at a time, and what went wrong with the last.

import { useRef, useState } from "preact/hooks";

import { ApiError } from "./api";

export interface Act {
    busy: boolean;
    error: ApiError | null;
    /** Whether it went well. A second call while one is under way does nothing. */
    act: (work: () => Promise<unknown>) => Promise<boolean>;
}

export function useAct(): Act {
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<ApiError | null>(null);
    const running = useRef(false);
    const act = async (work: () => Promise<unknown>) => {
        if (running.current) return false;
        running.current = true;
        setBusy(true);
        setError(null);
        try {
            await work();
            return true;
        } catch (problem) {
            setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
            return false;
        } finally {
            running.current = false;
            setBusy(false);
        }
    };
    return { busy, error, act };
}
