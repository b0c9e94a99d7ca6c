// Loading, failed, empty, live: the states of what a page shows.

import type { ComponentChildren } from "preact";

import { type ApiError, reachable } from "../lib/api";
import { connected } from "../lib/live";
import { inOneUnit } from "../lib/format";
import { type Loaded, useAgeOfShown } from "../lib/query";
import { useStore } from "../lib/store";

const HINTS: Record<number, string> = {
    404: "The link may be outdated, or its target was deleted.",
};

const SERVER_FAILED = 500; // from here on the log has more, under the request's id

export function ErrorNote({ error, retry }: { error: ApiError; retry?: () => void }) {
    return (
        <div class="note bad" role="alert">
            <p>
                <strong>{error.message}</strong> {HINTS[error.status] ?? ""}
                {error.requestId && error.status >= SERVER_FAILED && (
                    <span class="muted"> Request {error.requestId}</span>
                )}
            </p>
            {retry && (
                <button type="button" onClick={retry}>
                    Try again
                </button>
            )}
        </div>
    );
}

/** Says that there is nothing here, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
    return (
        <div class="empty">
            <h2>{title}</h2>
            {children}
        </div>
    );
}

/** Grey bars during the first load. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
    return (
        <div class="skeleton" role="status" aria-label="Loading">
            {Array.from({ length: rows }, (_, i) => (
                <div key={i} />
            ))}
        </div>
    );
}

/** The error of a query, or a skeleton of `rows` during its first load; nothing beside data. */
export function LoadState({ of, rows }: { of: Loaded<unknown>; rows: number }) {
    return (
        <>
            {of.error && <ErrorNote error={of.error} retry={of.reload} />}
            {of.data === undefined && !of.error && <Skeleton rows={rows} />}
        </>
    );
}

const UPDATES = {
    live: ["Live", "Updates arrive live"],
    slow: ["Refreshing", "Updates are fetched every few seconds"],
    away: ["Not connected", "The service cannot be reached; it is asked again every few seconds"],
} as const;

const OLD_MS = 5_000;

/** Says whether updates arrive live, by polling, or not at all, and the age of what is shown. */
export function Live() {
    const open = useStore(connected);
    const there = useStore(reachable);
    const age = useAgeOfShown();
    const old = age > OLD_MS;
    const now = !open && !there ? "away" : open && !old ? "live" : "slow";
    const [text, title] = UPDATES[now];
    return (
        <span class={`live ${now}`} title={title}>
            <i class="dot" />
            {(now === "away" || !old) && <span>{text}</span>}
            {old && <span>as of {inOneUnit(Math.floor(age / 1000))} ago</span>}
        </span>
    );
}
