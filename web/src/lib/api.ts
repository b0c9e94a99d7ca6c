// The API client, typed by docs/openapi.json: call("GET /api/v1/tenants", {}).

import type { Operations, ValidationError } from "api";

import { noteTime } from "./answered";
import { countBytes } from "./sizes";
import { makeStore } from "./store";

export type Operation = keyof Operations;

type Part<Name extends string, T> = keyof T extends never
    ? { [K in Name]?: T }
    : { [K in Name]: T };
type Body<T> = T extends undefined ? { body?: undefined } : { body: T };
export type Query<O extends Operation> = Operations[O]["query"];
export type Input<O extends Operation> = Part<"path", Operations[O]["path"]> &
    Body<Operations[O]["body"]> & { query?: Query<O>; signal?: AbortSignal | undefined };
export type Answer<O extends Operation> = Operations[O]["answer"];

/** A failed request, with a message for the person at the screen. */
export class ApiError extends Error {
    constructor(
        readonly status: number,
        message: string,
        readonly problems: ValidationError[] = [],
        readonly requestId: string | null = null,
    ) {
        super(message);
    }

    static ofProblems(status: number, problems: ValidationError[], id: string | null): ApiError {
        return new ApiError(status, problems.map(problemOf).join("; "), problems, id);
    }
}

/** Is what the path of the request names not there? An ID that cannot be one is refused as such. */
export const isNotFound = (error: ApiError | undefined) =>
    error?.status === 404 ||
    (error?.status === 422 && error.problems.some((one) => one.loc[0] === "path"));

/** An error of one field that is found before anything is sent. */
export function fieldError(name: string, msg: string): ApiError {
    return ApiError.ofProblems(422, [{ loc: ["body", name], msg, type: "value_error" }], null);
}

export function asApiError(problem: unknown): ApiError {
    return problem instanceof ApiError ? problem : new ApiError(0, String(problem));
}

const NOT_MODIFIED = 304;

let csrf: string | null = null;
let onSignedOut: () => void = () => {};

/** The session's CSRF token, sent with every request but GET. */
export function setCsrf(token: string | null) {
    csrf = token;
}

/** Calls back when a request is answered 401: the session has ended. */
export function setOnSignedOut(callback: () => void) {
    onSignedOut = callback;
}

let onWritten: () => void = () => {};

/** Calls back when a request that changes something has succeeded. */
export function setOnWritten(callback: () => void) {
    onWritten = callback;
}

/** A browser resolves "." and ".." in a URL, also when they are escaped; the service takes a
 * semicolon after them away. */
function segmentOf(value: string): string {
    return value === "." || value === ".." ? `${value};` : encodeURIComponent(value);
}

/** The URL of an operation, for downloads and streams. */
export function urlOf(operation: Operation, path: object, query: object = {}): string {
    const template = operation.slice(operation.indexOf(" ") + 1);
    const values = path as Record<string, string>;
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) =>
        segmentOf(values[name] ?? ""),
    );
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
    const text = search.toString();
    return text === "" ? filled : `${filled}?${text}`;
}

/** Where in the request it is: "kpis.0.below". */
export function pathOfProblem(one: ValidationError): string {
    return one.loc.slice(1).join(".");
}

/** What is wrong, for the person who typed it. */
export function sentenceOf(one: ValidationError): string {
    return one.msg.replace(/^Value error, /, "");
}

function problemOf(one: ValidationError): string {
    const where = one.loc.slice(1).join(" › ");
    return where === "" ? sentenceOf(one) : `${where}: ${sentenceOf(one)}`;
}

async function errorOf(reply: Response): Promise<ApiError> {
    const id = reply.headers.get("X-Request-Id");
    let detail: unknown;
    try {
        detail = ((await reply.json()) as { detail?: unknown }).detail;
    } catch {
        detail = undefined; // answered by a proxy in between
    }
    if (Array.isArray(detail)) {
        return ApiError.ofProblems(reply.status, detail as ValidationError[], id);
    }
    const text = typeof detail === "string" ? detail : `The service answered ${reply.status}`;
    return new ApiError(reply.status, text, [], id);
}

/** Did the last request get an answer of the service? */
export const reachable = makeStore(true);

const OF_A_PROXY = [502, 504]; // which got none

async function send(url: string, init: RequestInit): Promise<Response> {
    try {
        const reply = await fetch(url, init);
        reachable.set(!OF_A_PROXY.includes(reply.status));
        return reply;
    } catch (problem) {
        if (init.signal?.aborted) throw problem;
        reachable.set(false);
        throw new ApiError(0, "The service cannot be reached. Is it running?");
    }
}

/** Does the service answer at all? */
export async function isServiceThere(): Promise<boolean> {
    try {
        await send("/livez", { cache: "no-store" });
        return true;
    } catch {
        return false;
    }
}

const ASK_AGAIN_MS = 2_000;

/** Asks until the service answers; false: `stop` came before. */
export async function awaitService(stop: AbortSignal): Promise<boolean> {
    while (!stop.aborted) {
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
        if (!stop.aborted && (await isServiceThere())) return !stop.aborted;
    }
    return false;
}

/** The last answers with a tag. Asked for again, an unchanged one is not sent again. They are kept
 * here and not by the browser, which would keep them on disk. */
const tagged = new Map<string, { tag: string; answer: unknown }>();
const TAGGED_MAX = 40;

export function forgetAnswers() {
    tagged.clear();
}

function remember(url: string, tag: string, answer: unknown) {
    tagged.delete(url);
    tagged.set(url, { tag, answer });
    const [oldest] = tagged.keys();
    if (tagged.size > TAGGED_MAX && oldest !== undefined) tagged.delete(oldest);
}

async function answerOf(reply: Response, url: string): Promise<unknown> {
    const known = tagged.get(url);
    if (reply.status === NOT_MODIFIED && known) return known.answer;
    const answer: unknown = await reply.json();
    const tag = reply.headers.get("ETag");
    if (tag !== null) remember(url, tag, answer);
    return answer;
}

export async function call<O extends Operation>(operation: O, input: Input<O>): Promise<Answer<O>> {
    const method = operation.slice(0, operation.indexOf(" "));
    const given = input as { path?: object; query?: object; body?: unknown; signal?: AbortSignal };
    const headers: Record<string, string> = { Accept: "application/json" };
    const init: RequestInit = { method, headers, credentials: "same-origin" };

    if (given.signal) init.signal = given.signal;
    if (given.body !== undefined) {
        headers["Content-Type"] = "application/json";
        init.body = JSON.stringify(given.body);
    }
    if (method !== "GET" && csrf !== null) headers["X-CSRF-Token"] = csrf;
    const url = urlOf(operation, given.path ?? {}, given.query);
    const known = method === "GET" ? tagged.get(url) : undefined;
    if (known) headers["If-None-Match"] = known.tag;
    const reply = await send(url, init);
    countBytes(given.signal, reply);
    noteTime(given.signal, reply);
    if (reply.ok || (reply.status === NOT_MODIFIED && known)) {
        const answer = (await answerOf(reply, url)) as Answer<O>;
        if (method !== "GET") onWritten();
        return answer;
    }
    const error = await errorOf(reply);
    if (reply.status === 401 && !operation.includes("/auth/")) onSignedOut();
    throw error;
}

/** Downloads a file and reports progress in bytes. */
export async function download(
    url: string,
    signal: AbortSignal,
    onProgress: (bytes: number) => void,
): Promise<Blob> {
    const reply = await send(url, { credentials: "same-origin", signal });
    if (reply.status === 401) onSignedOut();
    if (!reply.ok || reply.body === null) throw await errorOf(reply);
    const reader = reply.body.getReader();
    const parts: BlobPart[] = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return new Blob(parts, { type: reply.headers.get("Content-Type") ?? "" });
        parts.push(value as BlobPart);
        size += value.byteLength;
        onProgress(size);
    }
}
