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

/** The service answered, and retrying the same request would not help. */
export class ApiError extends MusterError {
    override name = "ApiError";
    constructor(
        readonly status: number,
        readonly detail: unknown,
    ) {
        super(`${status}: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`);
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
