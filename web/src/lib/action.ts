// A change that a person starts: one at a time, with its error.

import { useRef, useState } from "preact/hooks";

import { ApiError, asApiError } from "./api";

export interface Action {
    busy: boolean;
    error: ApiError | null;
    /** Resolves to whether it succeeded. A call while another is in progress does nothing. */
    perform: (work: () => Promise<unknown>) => Promise<boolean>;
}

export function useAction(): Action {
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<ApiError | null>(null);
    const running = useRef(false);
    const perform = async (work: () => Promise<unknown>) => {
        if (running.current) return false;
        running.current = true;
        setBusy(true);
        setError(null);
        try {
            await work();
            return true;
        } catch (problem) {
            setError(asApiError(problem));
            return false;
        } finally {
            running.current = false;
            setBusy(false);
        }
    };
    return { busy, error, perform };
}
