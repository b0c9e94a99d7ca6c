// One request to the service and its answer.

import * as http from "node:http";
import * as https from "node:https";

import { ApiError, BudgetExceeded, Refused, Unavailable, sentence, type Report } from "./errors.js";
import type { KeyRing } from "./keys.js";
import { attempt } from "./values.js";

export const VERSION = "1.0.0";

const RETRYABLE = new Set([408, 425, 429]);
const MISDIRECTED = new Set([401, 403, 404, 405]); // of these, no report is the cause
const RETRY_AFTER_MAX_S = 3600;
const ANSWER_MAX_BYTES = 32 << 20;
const TICKS = 10; // of a timeout: work that blocks the process for long counts as one
const TICK_MAX_MS = 2 ** 31 - 1; // what a timer of Node.js can wait
const IDLE_MS = 30_000; // less than the service keeps an idle connection

/** An answer with any status. */
export class Answer {
    constructor(
        readonly status: number,
        readonly headers: { etag?: string | undefined; "retry-after"?: string | undefined },
        readonly body: string,
    ) {}

    /** Its JSON object. Throws Unavailable: something else than the service gave it. */
    record(): Report {
        try {
            const found: unknown = JSON.parse(this.body);
            if (typeof found === "object" && found && !Array.isArray(found)) return found as Report;
        } catch {
            // a proxy's page
        }
        throw new Unavailable(
            `${this.status}: not an answer of the service: ${this.body.slice(0, 200)}`,
        );
    }
}

export interface Request {
    body?: string;
    query?: Record<string, string>;
    headers?: Record<string, string>;
}

/** Seconds, from a number or a date; nothing sensible is nothing. */
export function retryAfter(value = ""): number {
    let seconds = value.trim() === "" ? 0 : Number(value);
    if (Number.isNaN(seconds)) seconds = (Date.parse(value) - Date.now()) / 1000;
    return seconds > 0 ? Math.min(seconds, RETRY_AFTER_MAX_S) : 0;
}

/** Throws for what is not 2xx or 304. */
export function checked(answer: Answer): Answer {
    const { status } = answer;
    if ((status >= 200 && status < 300) || status === 304) return answer;
    let detail: unknown;
    try {
        detail = answer.record()["detail"];
    } catch {
        // not the service's own
    }
    const own = detail !== undefined;
    detail ??= answer.body.slice(0, 200);
    if (RETRYABLE.has(status) || status >= 500) {
        const wait = retryAfter(answer.headers["retry-after"]);
        throw new Unavailable(`${status}: ${sentence(detail)}`, wait);
    }
    if (MISDIRECTED.has(status) || status < 400) throw new Refused(status, detail, own);
    throw new (status === 402 ? BudgetExceeded : ApiError)(status, detail, own);
}

/**
 * Speaks to the service with the key in use. One with an `ending` works in the background: it does
 * not keep the process alive, and what is under way ends with that signal.
 */
export class Transport {
    readonly url: string;
    private readonly pool: http.Agent;

    constructor(
        url: string,
        readonly keys: KeyRing,
        private readonly timeoutMs: number,
        private readonly ending?: AbortSignal,
    ) {
        const parts = attempt(() => new URL(url), undefined);
        if (parts === undefined || !/^https?:\/\/[^/]+/.test(url)) {
            throw new TypeError(`url: expected http://… or https://…, got '${url}'`);
        }
        this.url = url.replace(/\/+$/, "");
        const kind = url.startsWith("https:") ? https : http;
        this.pool = new kind.Agent({ keepAlive: true, timeout: IDLE_MS });
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
        const body = Buffer.from(request.body ?? "");
        const headers: http.OutgoingHttpHeaders = {
            ...request.headers,
            Authorization: `Bearer ${token}`,
            "User-Agent": `muster-node/${VERSION}`,
        };
        if (request.body !== undefined) {
            headers["Content-Type"] = "application/json";
            headers["Content-Length"] = body.length;
        }
        const url = this.url + path + query;
        try {
            return await this.once(url, { method, headers, agent: this.pool }, body);
        } catch (error) {
            if (error instanceof StaleConnection) {
                return this.once(url, { method, headers, agent: false }, body);
            }
            throw error;
        }
    }

    private once(url: string, options: https.RequestOptions, body: Buffer): Promise<Answer> {
        return new Promise((resolve, reject) => {
            if (this.ending?.aborted) return reject(new Unavailable(`${this.url}: ended`));
            const sent = (this.url.startsWith("https:") ? https : http).request(url, options);
            const end = (): unknown => sent.destroy(new Error("ended"));
            let ticks = TICKS;
            const tick = (): void => {
                const said = `no answer in ${this.timeoutMs / 1000} s`;
                if (--ticks === 0) sent.destroy(new Error(said));
            };
            const timer = setInterval(tick, Math.min(this.timeoutMs / TICKS, TICK_MAX_MS));
            const settle = (give: () => void): void => {
                clearInterval(timer);
                this.ending?.removeEventListener("abort", end);
                give();
            };
            const fail = (error: Error): void =>
                settle(() => reject(this.unavailable(error, sent)));
            if (this.ending) {
                timer.unref();
                this.ending.addEventListener("abort", end);
                sent.on("socket", (socket) => socket.unref());
            }
            sent.on("error", fail);
            sent.on("response", (answer) => {
                const parts: Buffer[] = [];
                let size = 0;
                answer.on("data", (part: Buffer) => {
                    parts.push(part);
                    size += part.length;
                    if (size > ANSWER_MAX_BYTES) sent.destroy(new Error("the answer is too large"));
                });
                answer.on("end", () => {
                    const text = Buffer.concat(parts).toString("utf8");
                    settle(() => resolve(new Answer(answer.statusCode ?? 0, answer.headers, text)));
                });
                answer.on("error", fail);
            });
            sent.end(body);
        });
    }

    private unavailable(error: NodeJS.ErrnoException, sent: http.ClientRequest): Error {
        const lost = error.code === "ECONNRESET" || error.code === "EPIPE";
        if (lost && sent.reusedSocket) return new StaleConnection(error.message);
        return new Unavailable(`${this.url}: ${error.message || error.code || "no connection"}`);
    }
}

/** A kept connection that the service had closed: the request goes out again, on a new one. */
class StaleConnection extends Unavailable {}
