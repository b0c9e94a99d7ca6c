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
    const shown = (detail as (Row | null)[]).slice(0, SHOWN).map((row) => {
        const { loc, msg, input } = row ?? {};
        const place = Array.isArray(loc) ? loc.slice(1).join(".") : "";
        return `${place || "body"}: ${msg}, got ${JSON.stringify(input ?? null).slice(0, 100)}`;
    });
    if (detail.length > SHOWN) shown.push(`and ${detail.length - SHOWN} more`);
    return shown.join("; ");
}

interface Row {
    loc?: unknown;
    msg?: unknown;
    input?: unknown;
}

/**
 * The service answered, and retrying the same request would not help. `own`: the answer has the
 * form of the service's; else something in between may have given it.
 */
export class ApiError extends MusterError {
    override name = "ApiError";
    constructor(
        readonly status: number,
        readonly detail: unknown,
        readonly own = true,
    ) {
        super(`${status}: ${sentence(detail)}`);
    }
}

/** The key, the workspace or the address is wrong (401, 403, 404, 405, or a redirect). */
export class Refused extends ApiError {
    override name = "Refused";
}

/**
 * A hard budget is exceeded: the agent must not call a model (402). Its text says until when; reports
 * are accepted as ever.
 */
export class BudgetExceeded extends ApiError {
    override name = "BudgetExceeded";
}

/**
 * Something that went wrong in the background. Reports are never retried after one of these, except
 * for `refused`, where they stay in the spool.
 *
 * `invalid`: a report that the service did not accept, or that could not be made of what a method
 * was given; `rejected`: the service understood a report and declined it (disabled agent, agent
 * cap); `dropped`: the spool was full, and its oldest reports were deleted; `refused`: the key or
 * the address is wrong: reports wait, and are tried every two minutes.
 */
export interface Problem {
    kind: "invalid" | "rejected" | "dropped" | "refused";
    detail: string;
    reports: Report[];
    count: number;
}

export type Report = Record<string, unknown>;
export type Tell = (problem: Problem) => void;
export type Warn = (text: string) => void;
