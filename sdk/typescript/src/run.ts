// One run of an agent: what it did, how far it is, what it achieved and what it cost.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

import type { Agent } from "./agent.js";
import type { Report } from "./errors.js";
import { addTokens, modelOf, tokensOf, usageOf, type Tokens } from "./usage.js";
import * as values from "./values.js";

const PROGRESS_EVERY_MS = 1000;
const USAGE_WINDOW_MS = 3_600_000; // then usage counts at a new time: prices may change in a long run

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/;

/** @internal */
export const storage = new AsyncLocalStorage<Run>();

/** The run whose function this code was called from. */
export const currentRun = (): Run | undefined => storage.getStore();

export type Level = "debug" | "info" | "warning" | "error" | "success";

export interface RunOptions {
    message?: string;
    /** A UUID, or its 32 digits alone, as a trace id is written. */
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
    links?: Iterable<string> | string;
    output?: object;
    /** file:line */
    source?: string;
}

export interface CompleteOptions {
    recordsProcessed?: number;
    output?: object;
    metadata?: values.Entries;
}

/** The parts of a figure. */
interface Split {
    slices?: Record<string, number>;
    points?: Record<string, number | string>[];
}

export interface Breakdown extends Split {
    by: string | string[];
}

/** Totals of one model; each report replaces the one before, because its time stays. */
interface UsageWindow {
    timestamp: string;
    began: number;
    tokens: Tokens;
}

/**
 * Opened by `agent.run()` or `agent.start()`. None of its methods throws, whatever it is given and
 * whatever the service says, and none waits for the service.
 */
export class Run {
    readonly id: string = randomUUID();
    private readonly began = performance.now();
    private readonly clockAtStart = Date.now();
    private readonly workflowRunId: string | undefined;
    private readonly kpis = new Map<string, number | string>();
    private readonly usage = new Map<string, UsageWindow>();
    private seq = 0;
    private closed = false;
    private progressAt = -Infinity;

    constructor(
        private readonly agent: Agent,
        given?: RunOptions,
    ) {
        const options = given ?? {};
        const id = UUID.exec(values.text(options.runId).toLowerCase());
        if (id !== null) this.id = id.slice(1).join("-");
        if (id === null && options.runId !== undefined && options.runId !== null) {
            const said = `expected a UUID, got '${values.name(options.runId)}'; a new one is used`;
            agent.mistake("runId", new TypeError(said));
        }
        const { workflowRunId: workflow } = options;
        this.workflowRunId = workflow === undefined ? undefined : values.name(workflow);
        this.event("started", options.message, { metadata: values.metadata(options.metadata) });
    }

    /** Whatever goes wrong in a report is told, and never thrown into the agent. */
    private guarded(method: string, work: () => void): void {
        try {
            work();
        } catch (error) {
            this.agent.mistake(`run.${method}()`, error);
        }
    }

    /**
     * The time of a report. One that is older than the last would be ignored, so the clock may be
     * set back during a run, and time goes on.
     */
    private now(): string {
        const passed = performance.now() - this.began;
        return new Date(Math.max(Date.now(), this.clockAtStart + passed)).toISOString();
    }

    /** Something happened. */
    step(message: string, options?: StepOptions): void {
        this.guarded("step", () => {
            const given = options ?? {};
            this.event("in_progress", message, {
                category: values.name(given.category ?? ""),
                level: values.text(given.level ?? "info", values.LEVEL_MAX),
                metrics: values.measurements(given.metrics),
                metadata: values.metadata(given.metadata),
                links: values.links(given.links),
                output: values.record(given.output),
                source: values.name(given.source ?? ""),
            });
        });
    }

    /** How far the run is; at most one report per second, and always the last one. */
    progress(done: number, total?: number, message = ""): void {
        this.guarded("progress", () => {
            const metrics = values.measurements({ done, total });
            const figures = Object.values(metrics);
            const finished = figures.length === 2 && figures[0]! >= figures[1]!;
            const now = performance.now();
            if (!finished && now - this.progressAt < PROGRESS_EVERY_MS) return;
            this.progressAt = now;
            this.step(message || figures.join(" of "), { category: "progress", metrics });
        });
    }

    /** Sets a business figure of this run, or adds to what it was. */
    kpi(key: string, value: number | string, options?: { add?: boolean }): void {
        this.guarded("kpi", () => {
            const named = values.name(key);
            let sent = typeof value === "string" ? values.text(value) : values.number(value);
            if (sent === undefined) {
                const got = values.name(value);
                throw new TypeError(`${named}: expected a number or a text, got ${got}`);
            }
            const known = this.kpis.get(named);
            if (options?.add && typeof sent === "number" && typeof known === "number") {
                sent = values.number(sent + known) ?? known;
            }
            this.kpis.set(named, sent);
            this.business({ metrics: { [named]: sent } });
        });
    }

    /**
     * Splits a figure: `slices` by one dimension ({ by: "country", slices: { DE: 3, FR: 1 } }), or
     * `points` by several ({ by: ["country", "kind"], points: [{ country: "DE", kind: "new", value: 3 }] }).
     * `by` may come before the others as well.
     */
    breakdown(metric: string, by: string | string[] | Breakdown, split?: Split): void {
        this.guarded("breakdown", () => {
            const whole = typeof by === "object" && by !== null && !Array.isArray(by);
            const { by: names, slices, points } = whole ? by : { by, ...split };
            if (!slices && !points) throw new TypeError("expected slices or points, got none");
            const row: Report = {
                metric: values.name(metric),
                by: Array.isArray(names) ? names.map(values.name) : values.name(names),
                points: values.items(points, values.SLICES_MAX).map(values.record),
            };
            if (slices) row["slices"] = values.measurements(slices, values.SLICES_MAX);
            this.business({ breakdowns: [row] });
        });
    }

    /**
     * Counts the tokens of a call: `run.llm(response)` or `run.llm(model, response.usage)`, with any
     * provider's response; or the four counts by name, where input tokens are those that were not
     * cached: `run.llm(model, { input_tokens: 9, output_tokens: 3 })`.
     */
    llm(model: unknown, usage?: unknown, calls = 1): void {
        this.guarded("llm", () => {
            const isName = typeof model === "string";
            const key = values.name(isName ? model : (modelOf(model) ?? "unknown"));
            const tokens = tokensOf(usage ?? (isName ? {} : usageOf(model)), calls);
            const window = this.window(key);
            addTokens(window.tokens, tokens);
            const totals = { ...window.tokens, input_includes_cache: false };
            this.report("llm", { model: key, timestamp: window.timestamp, ...totals });
        });
    }

    private window(model: string): UsageWindow {
        let window = this.usage.get(model);
        if (window === undefined || performance.now() - window.began >= USAGE_WINDOW_MS) {
            window = { timestamp: this.now(), began: performance.now(), tokens: tokensOf({}, 0) };
            this.usage.set(model, window);
        }
        return window;
    }

    /** Closes the run as completed. The end of `agent.run()` does it, without figures. */
    complete(message = "", options?: CompleteOptions): void {
        this.guarded("complete", () => {
            this.close("completed", message, {
                level: "success",
                records_processed: values.integer(options?.recordsProcessed),
                output: values.record(options?.output),
                metadata: values.metadata(options?.metadata),
            });
        });
    }

    /** Closes the run as failed. An Error adds its name and its stack. */
    fail(error: unknown, message = ""): void {
        this.guarded("fail", () => {
            const thrown = error instanceof Error ? error : undefined;
            const of = (name: "name" | "message" | "stack", otherwise: string): unknown =>
                values.attempt(() => thrown?.[name], undefined) ?? otherwise;
            this.close("failed", message, {
                level: "error",
                error_type: values.name(of("name", "Error")),
                error_message: values.text(thrown ? of("message", "") : error),
                output: thrown && { traceback: values.text(of("stack", "")) },
            });
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

    private event(event: string, message: unknown, fields: Report): void {
        const given = Object.entries(fields).filter(([, value]) => !isEmpty(value));
        this.agent.emit("events", {
            event_id: randomUUID(),
            ...this.identity(),
            event,
            timestamp: this.now(),
            seq: this.seq++,
            message: values.text(message ?? ""),
            ...Object.fromEntries(given),
        });
    }

    private business(content: Report): void {
        this.report("business", {
            timestamp: this.now(),
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
        if (this.workflowRunId !== undefined) identity["workflow_run_id"] = this.workflowRunId;
        return identity;
    }
}

function isEmpty(value: unknown): boolean {
    if (value === undefined || value === null || value === "") return true;
    return typeof value === "object" && Object.keys(value).length === 0;
}
