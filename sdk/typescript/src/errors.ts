// What the library throws, and what it passes to `onError`.

/** The base of everything this library throws. */
export class MusterError extends Error {
    override name = "MusterError";
}

/** The service could not be reached, or asked to be left alone for `retryAfter` seconds. */
export class Unavailable extends MusterError {
    override name = "Unavailable";
    constructor(
        message: string,
        readonly retryAfter = 0,
    ) {
        super(message);
    }
}

const SHOWN = 3; // rows of an error's detail that its text has

/** What is wrong and where, from the `detail` of an error: a text, or one row per value. */
export function sentence(detail: unknown): string {
    if (typeof detail === "string") return detail;
    if (!Array.isArray(detail)) return JSON.stringify(detail);
    const shown = (detail as Row[]).slice(0, SHOWN).map(({ loc = [], msg, input }) => {
        const got = JSON.stringify(input ?? null).slice(0, 100);
        return `${loc.slice(1).join(".") || "body"}: ${msg}, got ${got}`;
    });
    if (detail.length > SHOWN) shown.push(`and ${detail.length - SHOWN} more`);
    return shown.join("; ");
}

interface Row {
    loc?: (string | number)[];
    msg?: string;
    input?: unknown;
}

/** The service answered, and retrying the same request would not help. */
export class ApiError extends MusterError {
    override name = "ApiError";
    constructor(
        readonly status: number,
        readonly detail: unknown,
    ) {
        super(`${status}: ${sentence(detail)}`);
    }
}

/** The key, the workspace or the address is wrong (401, 403, 404, 405, or a redirect). */
export class Refused extends ApiError {
    override name = "Refused";
}

/**
 * Something that went wrong in the background. Reports are never retried after one of these, except
 * for `refused`, where they stay in the spool.
 *
 * `invalid`: the service did not accept the shape of a report; `rejected`: it understood a report
 * and declined it (disabled agent, agent cap); `dropped`: the spool was full, and its oldest
 * reports were deleted; `refused`: the key or the address is wrong, sending has stopped.
 */
export interface Problem {
    kind: "invalid" | "rejected" | "dropped" | "refused";
    detail: string;
    reports: Report[];
    count: number;
}

export type Report = Record<string, unknown>;
export type Tell = (problem: Problem) => void;
