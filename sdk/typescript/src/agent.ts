// The agent: registers, opens runs, pulls what it must use, and owns the background sender.

import { hostname } from "node:os";

import { declared, type Field, type KPI, type Param } from "./declare.js";
import { ApiError, Refused, Unavailable, type Problem, type Report } from "./errors.js";
import { KeyRing } from "./keys.js";
import { Pulls } from "./pulls.js";
import { Run, currentRun, storage, type RunOptions } from "./run.js";
import { Errand, Lane, Sender } from "./sender.js";
import { MemorySpool, Spool, type Queue } from "./spool.js";
import { openState } from "./state.js";
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
        for (const one of [...open]) void one.close();
    });
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
    private readonly pulls: Pulls;
    private readonly sender: Sender;
    private readonly runs = new Set<Run>();
    private readonly warn: (text: string) => void;
    private readonly registration: Report;
    private rotateAt: number;
    private invalid = 0;
    private rejected = 0;

    constructor(
        name: string,
        private readonly options: AgentOptions = {},
    ) {
        const write = options.log ?? ((text: string) => console.warn(text));
        this.warn = (text) => write(`muster: ${text}`);
        this.enabled = ["", "0", undefined].includes(process.env["MUSTER_DISABLED"]);
        if (typeof name !== "string" || name.trim() === "") {
            throw new TypeError(`name: expected the agent's name, got ${JSON.stringify(name)}`);
        }
        this.name = values.name(name);
        this.version = values.name(options.version ?? "");
        this.tenant = this.setting("tenant", options.tenant);
        const url = this.setting("url", options.url) || "http://127.0.0.1";
        this.state = this.enabled ? openState(options.stateDir, url, this.tenant, name) : undefined;
        this.keys = new KeyRing(this.setting("token", options.token), this.state);
        this.transport = new Transport(url, this.keys, (options.timeout ?? 10) * 1000);
        this.pulls = new Pulls(this.transport, this.name, this.state, this.warn);
        this.rotateAt = performance.now() + (options.rotateEvery ?? Infinity) * 1000;
        this.registration = this.declare();
        this.sender = this.newSender();
        if (!this.enabled) return;
        this.sender.wake();
        closeAtExit(this);
    }

    private setting(name: "url" | "token" | "tenant", given: string | undefined): string {
        const variable = `MUSTER_${name.toUpperCase()}`;
        const value = given || process.env[variable] || "";
        if (value === "" && this.enabled) {
            throw new TypeError(
                `${name} is missing: pass ${name} or set ${variable}` +
                    " (or MUSTER_DISABLED=1 to report nothing)",
            );
        }
        return value;
    }

    private newSender(): Sender {
        if (this.enabled && this.state === undefined) {
            this.warn("no folder to write to: a crash loses reports (set stateDir)");
        }
        const lanes = [Lane.events(this.queue("events")), Lane.reports(this.queue("reports"))];
        const sender = new Sender(this.transport, lanes, this.tell, this.warn);
        if (this.keys.path !== undefined) sender.errands.unshift(new Errand(() => this.tendKey()));
        sender.errands.push(new Errand(() => this.registerOnce(), true));
        const { heartbeat } = this.options;
        if (heartbeat !== undefined) {
            sender.errands.push(new Errand(() => this.heartbeat().then(() => heartbeat * 1000)));
        }
        return sender;
    }

    private queue(name: string): Queue {
        const size = this.options.spoolMaxBytes ?? 64 << 20;
        return this.state === undefined ? new MemorySpool(size) : new Spool(this.state, name, size);
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
     * is set or known; without it, null is returned or Unavailable thrown.
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
        const body = JSON.stringify(this.registration);
        const answer = await this.transport.call("POST", "/api/v1/agents/register", { body });
        const { warnings } = JSON.parse(answer.body) as { warnings: string[] };
        for (const warning of warnings) this.warn(`registration of ${this.name}: ${warning}`);
        return warnings;
    }

    private async registerOnce(): Promise<undefined> {
        try {
            await this.register();
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
        const client_id = values.name(`${this.name}@${hostname()}:${process.pid}`);
        await this.transport.call("POST", "/api/v1/heartbeat", { query: { client_id } });
    }

    /**
     * Replaces the key by a new one, which is on disk before it is used. False: another process
     * that shares the state folder did it.
     */
    async rotateKey(): Promise<boolean> {
        const rotated = await this.keys.rotate(async (old) => {
            const path = "/api/v1/agents/refresh-key";
            const answer = checked(await this.transport.exchange("POST", path, old));
            return (JSON.parse(answer.body) as { token: string }).token;
        });
        await this.transport.call("GET", "/api/v1/limits"); // a key that was used is not replaced
        return rotated;
    }

    private async tendKey(): Promise<number> {
        if (this.keys.unfinished || performance.now() >= this.rotateAt) {
            await this.rotateKey();
            this.rotateAt = performance.now() + (this.options.rotateEvery ?? Infinity) * 1000;
        }
        return KEY_EVERY_MS;
    }

    /** @internal */
    emit(lane: "events" | "reports", body: Report): void {
        if (!this.enabled) return;
        try {
            const { dropped } = this.sender.counters();
            if (dropped > 0 && (body["event"] === "completed" || body["event"] === "failed")) {
                body["metadata"] = {
                    ...(body["metadata"] ?? {}),
                    "muster.dropped": String(dropped),
                };
            }
            const { queue, full } = this.sender.lanes[lane === "events" ? 0 : 1]!;
            const waiting = queue.append(JSON.stringify(body));
            if (waiting === 1 || waiting === full) this.sender.wake();
        } catch (error) {
            this.warn(`a report could not be kept: ${String(error)}`); // must not break the agent
        }
    }

    private readonly tell = (problem: Problem): void => {
        if (problem.kind === "rejected") this.rejected += problem.count;
        if (problem.kind === "invalid") this.invalid += problem.count;
        this.warn(problem.detail);
        try {
            this.options.onError?.(problem);
        } catch (error) {
            this.warn(`onError failed: ${String(error)}`);
        }
    };

    /** Counters of this process. */
    get stats() {
        return { ...this.sender.counters(), invalid: this.invalid, rejected: this.rejected };
    }

    /** Sends what waits; whether everything was sent within `timeout` seconds. */
    async flush(timeout = 10): Promise<boolean> {
        return !this.enabled || this.sender.flush(timeout * 1000);
    }

    /**
     * Flushes and ends the background work; what could not be sent stays in the spool. A process
     * that runs out of work does this by itself; `process.exit()` leaves it to the next start.
     */
    async close(timeout = this.options.exitTimeout ?? 5): Promise<boolean> {
        open.delete(this);
        return !this.enabled || this.sender.close(timeout * 1000);
    }
}
