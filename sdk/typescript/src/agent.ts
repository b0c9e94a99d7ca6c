// The agent: registers, opens runs, pulls what it must use, and owns the background sender.

import { hostname } from "node:os";

import { declared, type Field, type KPI, type Param } from "./declare.js";
import { LINE_MAX, fitted, marked } from "./delivery.js";
import { ApiError, Refused, Unavailable, type Problem, type Report } from "./errors.js";
import { KeyRing } from "./keys.js";
import { Pulls } from "./pulls.js";
import { Run, currentRun, storage, type RunOptions } from "./run.js";
import { Errand, Lane, Sender } from "./sender.js";
import { Spool } from "./spool.js";
import { openState, type State } from "./state.js";
import { Transport, checked } from "./transport.js";
import * as values from "./values.js";

const KEY_EVERY_MS = 10_000; // between looks at whether the key must be rotated

export interface AgentOptions {
    /** Else MUSTER_URL. */
    url?: string;
    /** Else MUSTER_TOKEN. */
    token?: string;
    /** The workspace's slug; else MUSTER_TENANT. */
    tenant?: string;
    version?: string;
    description?: string;
    kpis?: Iterable<string | KPI>;
    /** Seconds between runs; an agent that is silent for longer raises an alert. */
    interval?: number;
    inputs?: Iterable<string | Field>;
    outputs?: Iterable<string | Field>;
    config?: Iterable<string | Param>;
    configVersion?: number;
    telemetryDoc?: string;
    /** Seconds between heartbeats; none without it. */
    heartbeat?: number;
    /** Seconds between rotations of the key; none without it. */
    rotateEvery?: number;
    /** Called with what was lost or declined; it is written to the log as well. */
    onError?: (problem: Problem) => void;
    /** Receives the library's own messages; console.warn without it. */
    log?: (text: string) => void;
    stateDir?: string;
    spoolMaxBytes?: number;
    /** Seconds that the end of the process may wait for reports to be sent. */
    exitTimeout?: number;
    /** Seconds for one request. */
    timeout?: number;
}

export interface Policy {
    mode: "allowlist" | "denylist" | "deny_all" | "allow_all";
    allow: string[];
    deny: string[];
    version: number;
}

export interface AgentDocument {
    format: "text" | "markdown" | "json" | "yaml";
    document: string;
    version: number;
}

/** Agents that are not closed yet. */
const open = new Set<Agent>();
let listens = false;

/** One listener for all agents: Node.js warns of a leak when a process has more than ten. */
function closeAtExit(agent: Agent): void {
    open.add(agent);
    if (listens) return;
    listens = true;
    process.on("beforeExit", () => {
        for (const one of [...open]) one.close().catch(() => {});
    });
}

/** Seconds, given as a number or as text, in ms. */
function inMs(what: string, seconds: unknown, otherwise: number): number {
    if (seconds === undefined || seconds === null) return otherwise * 1000;
    const given = values.number(seconds);
    if (given === undefined || given < 0) {
        throw new TypeError(`${what}: expected seconds, got ${values.name(seconds)}`);
    }
    return given * 1000;
}

/**
 * One agent in this process. Registration, reports and heartbeats happen in the background: none of
 * them blocks, and none throws when the service is away. With MUSTER_DISABLED=1 nothing is sent and
 * nothing is kept.
 */
export class Agent {
    readonly name: string;
    readonly version: string;
    readonly tenant: string;
    readonly enabled: boolean;
    /** The folder of this agent's spool, key and last known answers. */
    readonly state: string | undefined;
    readonly keys: KeyRing;
    private readonly transport: Transport;
    private readonly background: Transport;
    private readonly pulls: Pulls;
    private readonly sender: Sender;
    private readonly runs = new Set<Run>();
    private readonly warn: (text: string) => void;
    private readonly registration: Report;
    private readonly ending = new AbortController();
    private readonly rotateEveryMs: number;
    private readonly exitTimeoutMs: number;
    private rotateAt: number;
    private readonly mistakes = new Set<string>(); // that are in the log
    private invalid = 0;
    private rejected = 0;

    constructor(
        name: string,
        private readonly options: AgentOptions = {},
    ) {
        const write = options.log ?? ((text: string) => console.warn(text));
        this.warn = (text) => values.attempt(() => write(`muster: ${text}`), undefined);
        this.enabled = ["", "0", undefined].includes(process.env["MUSTER_DISABLED"]);
        if (typeof name !== "string" || name.trim() === "") {
            throw new TypeError(`name: expected the agent's name, got ${JSON.stringify(name)}`);
        }
        this.name = values.name(name);
        this.version = values.name(options.version ?? "");
        this.tenant = this.setting("tenant", options.tenant);
        const url = this.setting("url", options.url) || "http://127.0.0.1";
        const state = this.enabled
            ? openState(options.stateDir, url, this.tenant, name)
            : undefined;
        this.state = state?.folder;
        this.keys = new KeyRing(this.setting("token", options.token), state);
        const timeoutMs = inMs("timeout", options.timeout, 10);
        this.transport = new Transport(url, this.keys, timeoutMs);
        this.background = new Transport(url, this.keys, timeoutMs, this.ending.signal);
        this.pulls = new Pulls(this.transport, this.name, state, this.warn);
        this.rotateEveryMs = inMs("rotateEvery", options.rotateEvery, Infinity);
        this.rotateAt = performance.now() + this.rotateEveryMs;
        this.exitTimeoutMs = inMs("exitTimeout", options.exitTimeout, 5);
        this.registration = this.declare();
        this.sender = this.newSender(state);
        if (!this.enabled) return;
        this.sender.wake();
        closeAtExit(this);
    }

    private setting(name: "url" | "token" | "tenant", given: string | undefined): string {
        const variable = `MUSTER_${name.toUpperCase()}`;
        const value = String(given || process.env[variable] || "").trim();
        if (value === "" && this.enabled) {
            throw new TypeError(
                `${name} is missing: pass ${name} or set ${variable}` +
                    " (or MUSTER_DISABLED=1 to report nothing)",
            );
        }
        return value;
    }

    private newSender(state: State | undefined): Sender {
        const folder = state?.writable ? state.folder : undefined;
        if (this.enabled && folder === undefined) {
            this.warn("no folder to write to: a crash loses reports (set stateDir)");
        }
        const size = this.options.spoolMaxBytes ?? 64 << 20;
        const queue = (name: string): Spool => new Spool(folder, name, size, this.warn);
        const lanes = [Lane.events(queue("events")), Lane.reports(queue("reports"))];
        const sender = new Sender(this.background, this.ending, lanes, this.tell, this.warn);
        if (this.keys.canRotate) sender.errands.unshift(new Errand(() => this.tendKey()));
        sender.errands.push(new Errand(() => this.registerOnce(), true));
        const everyMs = inMs("heartbeat", this.options.heartbeat, Infinity);
        if (everyMs < Infinity) {
            sender.errands.push(new Errand(() => this.beat(this.background).then(() => everyMs)));
        }
        return sender;
    }

    /**
     * Runs `work` as a run: it opens with `started` and closes with `completed`, or with `failed`
     * when `work` throws, which is thrown again.
     */
    async run<T>(work: (run: Run) => T | Promise<T>, options?: RunOptions): Promise<T> {
        const run = this.start(options);
        try {
            const result = await storage.run(run, () => work(run));
            run.complete();
            return result;
        } catch (error) {
            run.fail(error);
            throw error;
        }
    }

    /** Opens a run that the caller closes, with `complete` or `fail`. */
    start(options?: RunOptions): Run {
        const run = new Run(this, options);
        this.runs.add(run);
        return run;
    }

    /** The function, with each of its calls as a run. */
    task<A extends unknown[], T>(
        work: (...args: A) => T | Promise<T>,
        options?: RunOptions,
    ): (...args: A) => Promise<T> {
        return (...args) => this.run(() => work(...args), { message: work.name, ...options });
    }

    /** The run this code is in, else the only open one. */
    current(): Run | undefined {
        const run = currentRun();
        if (run !== undefined && this.runs.has(run)) return run;
        return this.runs.size === 1 ? [...this.runs][0] : undefined;
    }

    /** @internal */
    forget(run: Run): void {
        this.runs.delete(run);
    }

    /**
     * The LLM model to use; while the service is away, the last known one. `fallback` when no model
     * is set or known; without it, null is returned or Unavailable thrown. BudgetExceeded is thrown
     * while a hard budget stops the agent, also with a fallback.
     */
    async model(fallback?: string | null): Promise<string | null> {
        const answer = await this.pull(
            "model",
            fallback === undefined ? undefined : { model: fallback },
        );
        return (answer as { model: string | null }).model ?? fallback ?? null;
    }

    /** Which commands the agent may run. */
    async policy(fallback?: Policy): Promise<Policy> {
        return (await this.pull("command-policy", fallback)) as Policy;
    }

    /** The document; `fallback`, or null, when the agent has none. */
    async document(fallback?: AgentDocument | null): Promise<AgentDocument | null> {
        const answer = (await this.pull("document", fallback)) as AgentDocument | null;
        return answer ?? fallback ?? null;
    }

    /**
     * The values of the declared parameters, secrets resolved; needs the agent's own key. With
     * `keep: false` they stay off the disk and are always transferred.
     */
    async config(
        fallback?: Record<string, unknown>,
        options: { keep?: boolean } = {},
    ): Promise<Record<string, unknown>> {
        return (await this.pull("config", fallback, options.keep)) as Record<string, unknown>;
    }

    private async pull(kind: string, fallback: unknown, keep = true): Promise<unknown> {
        try {
            if (!this.enabled) throw new Unavailable("MUSTER_DISABLED is set");
            return await this.pulls.get(kind, keep);
        } catch (error) {
            if (!(error instanceof Unavailable) || fallback === undefined) throw error;
            return fallback;
        }
    }

    /**
     * Registers now and waits for it; returns the service's warnings. Without this, it happens in
     * the background.
     */
    async register(): Promise<string[]> {
        return this.registerBy(this.transport);
    }

    private async registerBy(transport: Transport): Promise<string[]> {
        const body = JSON.stringify(this.registration);
        const answer = await transport.call("POST", "/api/v1/agents/register", { body });
        const warnings = answer.record()["warnings"];
        if (!Array.isArray(warnings)) {
            throw new Unavailable(`not an answer of the service: ${answer.body.slice(0, 200)}`);
        }
        for (const warning of warnings) this.warn(`registration of ${this.name}: ${warning}`);
        return warnings as string[];
    }

    private async registerOnce(): Promise<undefined> {
        try {
            await this.registerBy(this.background);
        } catch (error) {
            if (!(error instanceof ApiError) || error instanceof Refused) throw error;
            const detail = `the service refused the registration of ${this.name}: ${error.message}`;
            this.tell({ kind: "invalid", detail, reports: [this.registration], count: 1 });
        }
    }

    /** What the agent declares about itself. */
    private declare(): Report {
        const { options } = this;
        return {
            agent_name: this.name,
            agent_version: this.version,
            description: options.description ?? "",
            telemetry_doc: options.telemetryDoc ?? "",
            business_kpis: declared("kpis", options.kpis),
            interval_seconds: options.interval ?? null,
            inputs: declared("inputs", options.inputs),
            outputs: declared("outputs", options.outputs),
            config_schema: {
                version: options.configVersion ?? 1,
                params: declared("config", options.config),
            },
        };
    }

    /** Says now that this process is alive. The option `heartbeat` does it in the background. */
    async heartbeat(): Promise<void> {
        await this.beat(this.transport);
    }

    private async beat(transport: Transport): Promise<void> {
        const client_id = values.name(`${this.name}@${hostname()}:${process.pid}`);
        await transport.call("POST", "/api/v1/heartbeat", { query: { client_id } });
    }

    /**
     * Replaces the key by a new one, which is on disk before it is used. False: another process
     * that shares the state folder did it.
     */
    async rotateKey(): Promise<boolean> {
        return this.rotateBy(this.transport);
    }

    private async rotateBy(transport: Transport): Promise<boolean> {
        const rotated = await this.keys.rotate(async (old) => {
            const path = "/api/v1/agents/refresh-key";
            const answer = checked(await transport.exchange("POST", path, old)).record();
            if (typeof answer["token"] !== "string") throw new Unavailable("no key in the answer");
            return answer["token"];
        });
        await transport.call("GET", "/api/v1/limits"); // a key that was used is not replaced
        return rotated;
    }

    private async tendKey(): Promise<number> {
        if (this.keys.unfinished || performance.now() >= this.rotateAt) {
            await this.rotateBy(this.background);
            this.rotateAt = performance.now() + this.rotateEveryMs;
        }
        return Math.min(KEY_EVERY_MS, Math.max(0, this.rotateAt - performance.now()));
    }

    /** @internal */
    emit(lane: "events" | "reports", body: Report): void {
        if (!this.enabled) return;
        try {
            const { queue, full, lostTold } = this.sender.lanes[lane === "events" ? 0 : 1]!;
            const waiting = queue.append(this.line(lane, body));
            const lost = queue.lost > lostTold; // which has to be told
            if (waiting === 1 || waiting === full || lost) this.sender.wake();
        } catch (error) {
            this.mistake("a report", error); // must not break the agent
        }
    }

    private line(lane: "events" | "reports", body: Report): string {
        if (lane === "reports") {
            const line = JSON.stringify(body);
            const size = Buffer.byteLength(line);
            if (size > LINE_MAX) throw new RangeError(`${size} bytes are too many for a report`);
            return line;
        }
        const { dropped } = this.sender.counters();
        const closes = body["event"] === "completed" || body["event"] === "failed";
        return fitted(dropped > 0 && closes ? marked(body, "muster.dropped", `${dropped}`) : body);
    }

    /** @internal What was given cannot be reported: in the log once per kind, told each time. */
    mistake(where: string, error: unknown): void {
        const name = error instanceof Error ? error.name : "Error";
        const detail = `${where}: ${values.text(error)}`;
        this.problem({ kind: "invalid", detail, reports: [], count: 1 }, `${where} ${name}`);
    }

    private readonly tell = (problem: Problem): void => this.problem(problem);

    /** One that may come often has a name, under which it is in the log once. */
    private problem(problem: Problem, name?: string): void {
        if (problem.kind === "rejected") this.rejected += problem.count;
        if (problem.kind === "invalid") this.invalid += problem.count;
        if (name === undefined || !this.mistakes.has(name)) this.warn(problem.detail);
        if (name !== undefined) this.mistakes.add(name);
        try {
            this.options.onError?.(problem);
        } catch (error) {
            this.warn(`onError failed: ${values.text(error)}`);
        }
    }

    /** Counters of this process. */
    get stats() {
        return { ...this.sender.counters(), invalid: this.invalid, rejected: this.rejected };
    }

    /** Sends what waits; whether everything was sent within `timeout` seconds. */
    async flush(timeout = 10): Promise<boolean> {
        return !this.enabled || this.sender.flush(inMs("timeout", timeout, 10));
    }

    /**
     * Flushes and ends the background work; what could not be sent stays in the spool. A process
     * that runs out of work does this by itself; `process.exit()` leaves it to the next start.
     */
    async close(timeout?: number): Promise<boolean> {
        open.delete(this);
        const ms = inMs("timeout", timeout ?? this.exitTimeoutMs / 1000, 5);
        return !this.enabled || this.sender.close(ms);
    }
}
