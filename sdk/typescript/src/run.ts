// One run of an agent: what it did, how far it is, what it achieved and what it cost.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

import type { Agent } from "./agent.js";
import type { Report } from "./errors.js";
import { addTokens, modelOf, tokensOf, usageOf, type Tokens } from "./usage.js";
import * as values from "./values.js";

const PROGRESS_EVERY_MS = 1000;
const USAGE_WINDOW_MS = 3_600_000; // then usage counts at a new time: prices may change in a long run

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** @internal */
export const storage = new AsyncLocalStorage<Run>();

/** The run whose function this code was called from. */
export const currentRun = (): Run | undefined => storage.getStore();

export type Level = "debug" | "info" | "warning" | "error" | "success";

export interface RunOptions {
    message?: string;
    runId?: string;
    workflowRunId?: string;
    metadata?: values.Entries;
}

export interface StepOptions {
    /** Groups steps. */
    category?: string;
    level?: Level;
    /** Numbers for charts. */
    metrics?: values.Entries;
    metadata?: values.Entries;
    links?: Iterable<string>;
    output?: object;
    /** file:line */
    source?: string;
}

export interface CompleteOptions {
    recordsProcessed?: number;
    output?: object;
    metadata?: values.Entries;
}

/** Totals of one model; each report replaces the one before, because its time stays. */
interface UsageWindow {
    timestamp: string;
    began: number;
    tokens: Tokens;
}

/** Opened by `agent.run()` or `agent.start()`. None of its methods throws because of the service. */
export class Run {
    readonly id: string;
    private readonly began = performance.now();
    private readonly workflowRunId: string | undefined;
    private readonly kpis = new Map<string, number | string>();
    private readonly usage = new Map<string, UsageWindow>();
    private seq = 0;
    private closed = false;
    private progressAt = -Infinity;

    constructor(
        private readonly agent: Agent,
        options: RunOptions = {},
    ) {
        if (options.runId !== undefined && !UUID.test(options.runId)) {
            throw new TypeError(`runId: expected a UUID, got '${options.runId}'`);
        }
        this.id = options.runId ?? randomUUID();
        this.workflowRunId = options.workflowRunId;
        this.event("started", options.message, { metadata: values.metadata(options.metadata) });
    }

    /** Something happened. */
    step(message: string, options: StepOptions = {}): void {
        this.event("in_progress", message, {
            category: values.name(options.category ?? ""),
            level: values.text(options.level ?? "info", values.LEVEL_MAX),
            metrics: values.measurements(options.metrics),
            metadata: values.metadata(options.metadata),
            links: values.links(options.links),
            output: options.output && values.plain(options.output),
            source: values.name(options.source ?? ""),
        });
    }

    /** How far the run is; at most one report per second, and always the last one. */
    progress(done: number, total?: number, message = ""): void {
        const finished = total !== undefined && done >= total;
        const now = performance.now();
        if (!finished && now - this.progressAt < PROGRESS_EVERY_MS) return;
        this.progressAt = now;
        const said = message || (total === undefined ? `${done}` : `${done} of ${total}`);
        this.step(said, { category: "progress", metrics: { done, total } });
    }

    /** Sets a business figure of this run, or adds to what it was. */
    kpi(key: string, value: number | string, options: { add?: boolean } = {}): void {
        const known = this.kpis.get(values.name(key));
        let sent = typeof value === "string" ? values.text(value) : values.number(value);
        if (sent === undefined) return;
        if (options.add && typeof sent === "number" && typeof known === "number") sent += known;
        this.kpis.set(values.name(key), sent);
        this.business({ metrics: { [values.name(key)]: sent } });
    }

    /**
     * Splits a figure: `slices` by one dimension ({ DE: 3, FR: 1 }), or `points` by several
     * ([{ country: "DE", kind: "new", value: 3 }]).
     */
    breakdown(
        metric: string,
        by: string | string[],
        split: { slices?: Record<string, number>; points?: Record<string, number | string>[] },
    ): void {
        const row: Report = {
            metric: values.name(metric),
            by: Array.isArray(by) ? by.map(values.name) : values.name(by),
            points: (split.points ?? []).slice(0, 1000).map((point) => values.plain(point)),
        };
        if (split.slices) row["slices"] = values.measurements(split.slices, 1000);
        this.business({ breakdowns: [row] });
    }

    /**
     * Counts the tokens of a call: `run.llm(response)` or `run.llm(model, response.usage)`, with any
     * provider's response; or the four counts by name, where input tokens are those that were not
     * cached: `run.llm(model, { input_tokens: 9, output_tokens: 3 })`.
     */
    llm(model: unknown, usage?: unknown, calls = 1): void {
        const named = typeof model === "string" ? model : (modelOf(model) ?? "unknown");
        const tokens = tokensOf(usage ?? (typeof model === "string" ? {} : usageOf(model)), calls);
        const key = values.name(named);
        const window = this.window(key);
        addTokens(window.tokens, tokens);
        this.report("llm", { model: key, timestamp: window.timestamp, ...window.tokens });
    }

    private window(model: string): UsageWindow {
        let window = this.usage.get(model);
        if (window === undefined || performance.now() - window.began >= USAGE_WINDOW_MS) {
            window = { timestamp: values.now(), began: performance.now(), tokens: tokensOf({}, 0) };
            this.usage.set(model, window);
        }
        return window;
    }

    /** Closes the run as completed. The end of `agent.run()` does it, without figures. */
    complete(message = "", options: CompleteOptions = {}): void {
        this.close("completed", message, {
            level: "success",
            records_processed: values.integer(options.recordsProcessed),
            output: options.output && values.plain(options.output),
            metadata: values.metadata(options.metadata),
        });
    }

    /** Closes the run as failed. An Error adds its name and its stack. */
    fail(error: unknown, message = ""): void {
        const thrown = error instanceof Error ? error : undefined;
        this.close("failed", message, {
            level: "error",
            error_type: values.name(thrown?.name ?? "Error"),
            error_message: values.text(thrown ? thrown.message : error),
            output: thrown && { traceback: values.text(thrown.stack ?? "") },
        });
    }

    private close(event: string, message: string, fields: Report): void {
        if (this.closed) return;
        this.closed = true;
        this.agent.forget(this);
        this.event(event, message, {
            duration_ms: Math.round(performance.now() - this.began),
            ...fields,
        });
    }

    private event(event: string, message: string | undefined, fields: Report): void {
        const given = Object.entries(fields).filter(([, value]) => !isEmpty(value));
        this.agent.emit("events", {
            event_id: randomUUID(),
            ...this.identity(),
            event,
            timestamp: values.now(),
            seq: this.seq++,
            message: values.text(message ?? ""),
            ...Object.fromEntries(given),
        });
    }

    private business(content: Report): void {
        this.report("business", {
            timestamp: values.now(),
            metrics: {},
            breakdowns: [],
            ...content,
        });
    }

    private report(channel: string, content: Report): void {
        this.agent.emit("reports", { channel, ...this.identity(), ...content });
    }

    private identity(): Report {
        const { name, version, tenant } = this.agent;
        const identity: Report = {
            agent_name: name,
            agent_version: version,
            client_id: tenant,
            run_id: this.id,
        };
        if (this.workflowRunId !== undefined) {
            identity["workflow_run_id"] = values.name(this.workflowRunId);
        }
        return identity;
    }
}

function isEmpty(value: unknown): boolean {
    if (value === undefined || value === null || value === "") return true;
    return typeof value === "object" && Object.keys(value).length === 0;
}
