// One request to the service and its answer.

import { ApiError, Refused, Unavailable, sentence } from "./errors.js";
import type { KeyRing } from "./keys.js";

export const VERSION = "0.1.0";

const RETRYABLE = new Set([408, 425, 429]);
const MISDIRECTED = new Set([401, 403, 404, 405]); // of these, no report is the cause

export interface Answer {
    status: number;
    headers: Headers;
    body: string;
}

export interface Request {
    body?: string;
    query?: Record<string, string>;
    headers?: Record<string, string>;
}

/** Seconds, from a number or a date. */
export function retryAfter(headers: Headers): number {
    const value = headers.get("Retry-After") ?? "";
    const seconds = value.trim() === "" ? 0 : Number(value);
    if (!Number.isNaN(seconds)) return Math.max(0, seconds);
    const date = Date.parse(value);
    return Number.isNaN(date) ? 0 : Math.max(0, (date - Date.now()) / 1000);
}

function detailOf(answer: Answer): unknown {
    try {
        return (JSON.parse(answer.body) as { detail: unknown }).detail;
    } catch {
        return answer.body.slice(0, 200);
    }
}

/** Throws for what is not 2xx or 304. */
export function checked(answer: Answer): Answer {
    const { status } = answer;
    if ((status >= 200 && status < 300) || status === 304) return answer;
    const detail = detailOf(answer);
    if (RETRYABLE.has(status) || status >= 500) {
        throw new Unavailable(`${status}: ${sentence(detail)}`, retryAfter(answer.headers));
    }
    if (MISDIRECTED.has(status) || status < 400) throw new Refused(status, detail);
    throw new ApiError(status, detail);
}

/** Speaks to the service with the key in use. */
export class Transport {
    readonly url: string;

    constructor(
        url: string,
        readonly keys: KeyRing,
        private readonly timeoutMs: number,
    ) {
        if (!/^https?:\/\/[^/]+/.test(url)) {
            throw new TypeError(`url: expected http://… or https://…, got '${url}'`);
        }
        this.url = url.replace(/\/+$/, "");
    }

    /**
     * The answer, when it is 2xx or 304. Throws Unavailable when it is worth trying again, Refused
     * when the key or the address is wrong, and ApiError for every other 4xx.
     */
    async call(method: string, path: string, request: Request = {}): Promise<Answer> {
        const { keys } = this;
        const token = keys.token;
        let answer = await this.exchange(method, path, token, request);
        if (answer.status === 401 && (keys.token !== token || keys.reload() || keys.fallBack())) {
            answer = await this.exchange(method, path, keys.token, request);
        }
        return checked(answer);
    }

    /** Any answer with any status. Throws Unavailable when there was none. */
    async exchange(
        method: string,
        path: string,
        token: string,
        request: Request = {},
    ): Promise<Answer> {
        const query = request.query ? `?${new URLSearchParams(request.query)}` : "";
        const headers: Record<string, string> = {
            ...request.headers,
            Authorization: `Bearer ${token}`,
            "User-Agent": `muster-node/${VERSION}`,
        };
        if (request.body !== undefined) headers["Content-Type"] = "application/json";
        try {
            const answer = await fetch(this.url + path + query, {
                method,
                headers,
                body: request.body,
                redirect: "manual", // a redirect would carry the key to another address
                signal: AbortSignal.timeout(this.timeoutMs),
            });
            return { status: answer.status, headers: answer.headers, body: await answer.text() };
        } catch (error) {
            const cause = (error as { cause?: unknown }).cause ?? error;
            throw new Unavailable(`${this.url}: ${cause instanceof Error ? cause.message : cause}`);
        }
    }
}
