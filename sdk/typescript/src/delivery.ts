// How the reports of a chunk reach the service.
//
// Both functions remove lines from `chunk.lines` as soon as they are settled: stored, or declined
// for good. When they throw Unavailable or Refused, what is left is what has to be sent again.

import { ApiError, Refused, type Report, type Tell } from "./errors.js";
import type { Chunk } from "./spool.js";
import type { Transport } from "./transport.js";

const BATCH = "/api/v1/telemetry/batch";
const PATHS: Record<string, string> = {
    business: "/api/v1/telemetry/business",
    llm: "/api/v1/telemetry/llm",
};

export type Deliver = (transport: Transport, chunk: Chunk, tell: Tell) => Promise<number>;

/** A report, or undefined: the line was torn by a crash. */
function parsed(line: string): Report | undefined {
    try {
        const report: unknown = JSON.parse(line);
        return typeof report === "object" && report !== null ? (report as Report) : undefined;
    } catch {
        return undefined;
    }
}

/** The error, when the shape of a report caused it; else it is thrown again. */
function shapeError(error: unknown): ApiError {
    const ours = error instanceof ApiError && !(error instanceof Refused);
    if (ours && [400, 413, 422].includes(error.status)) return error;
    throw error;
}

function tellInvalid(tell: Tell, error: ApiError, reports: Report[]): void {
    const detail = `the service refused the shape of a report: ${error.message}`;
    tell({ kind: "invalid", detail, reports, count: reports.length });
}

/**
 * Sends the events in one batch, or in as many as it takes to leave out the bad ones; returns how
 * many the service has stored.
 */
export const deliverEvents: Deliver = async (transport, chunk, tell) => {
    let stored = 0;
    chunk.lines = chunk.lines.filter((line) => parsed(line));
    let size = chunk.lines.length;
    while (chunk.lines.length > 0) {
        const batch = chunk.lines.slice(0, size);
        try {
            const answer = await transport.call("POST", BATCH, {
                body: `{"events":[${batch.join()}]}`,
            });
            stored += batch.length - tellRejected(tell, batch, answer.body);
            chunk.lines.splice(0, size);
        } catch (caught) {
            const error = shapeError(caught);
            const bad = batch.length === 1 ? new Set([0]) : badEvents(error, batch.length);
            if (bad.size > 0) {
                tellInvalid(
                    tell,
                    error,
                    [...bad].sort((a, b) => a - b).map((i) => parsed(batch[i]!)!),
                );
                chunk.lines.splice(0, size, ...batch.filter((_, index) => !bad.has(index)));
            } else {
                size = Math.max(1, Math.floor(size / 2)); // too large, or no event is named
            }
        }
    }
    return stored;
};

/** The indexes of the events that a 422 names. */
function badEvents(error: ApiError, count: number): Set<number> {
    const found = new Set<number>();
    for (const item of Array.isArray(error.detail) ? (error.detail as { loc?: unknown[] }[]) : []) {
        const [, list, index] = item.loc ?? [];
        if (list === "events" && typeof index === "number" && index < count) found.add(index);
    }
    return found;
}

interface BatchVerdict {
    results?: { index: number; status: string; reason?: string }[];
}

function tellRejected(tell: Tell, batch: string[], body: string): number {
    const declined = new Map<string, Report[]>();
    for (const result of (JSON.parse(body) as BatchVerdict).results ?? []) {
        if (result.status !== "rejected") continue;
        const reason = result.reason ?? "no reason given";
        declined.set(reason, [...(declined.get(reason) ?? []), parsed(batch[result.index]!)!]);
    }
    let count = 0;
    for (const [reason, reports] of declined) {
        const detail = `the service declined reports: ${reason}`;
        tell({ kind: "rejected", detail, reports, count: reports.length });
        count += reports.length;
    }
    return count;
}

/** Sends business and LLM reports, merged as far as they can be; returns how many were stored. */
export const deliverReports: Deliver = async (transport, chunk, tell) => {
    let stored = 0;
    const merged = merge(chunk.lines);
    chunk.lines = merged.map((report) => JSON.stringify(report));
    for (const { channel, ...report } of merged) {
        try {
            const body = JSON.stringify(report);
            const answer = await transport.call("POST", PATHS[String(channel)]!, { body });
            const verdict = JSON.parse(answer.body) as Record<string, string>;
            if (verdict["status"] === "rejected") {
                const detail = `the service declined a report: ${verdict["detail"] ?? verdict["reason"]}`;
                tell({ kind: "rejected", detail, reports: [report], count: 1 });
            } else {
                stored++;
            }
        } catch (caught) {
            tellInvalid(tell, shapeError(caught), [report]);
        }
        chunk.lines.shift();
    }
    return stored;
};

/**
 * Fewer reports that say the same. An LLM report replaces the one of the same model and time,
 * because its counts are totals; business reports of one run add their keys up.
 */
function merge(lines: string[]): Report[] {
    const merged = new Map<string, Report>();
    for (const line of lines) {
        const report = parsed(line);
        if (report?.["channel"] === "llm") {
            const { run_id, model, timestamp } = report;
            merged.set(JSON.stringify(["llm", run_id, model, timestamp]), report);
        } else if (report?.["channel"] === "business") {
            const key = JSON.stringify(["business", report["run_id"]]);
            const older = merged.get(key);
            merged.set(key, older ? mergeBusiness(older, report) : report);
        }
    }
    return [...merged.values()];
}

interface Breakdown {
    metric: string;
    by: string | string[];
}

function mergeBusiness(older: Report, newer: Report): Report {
    const breakdowns = new Map<string, Breakdown>();
    for (const report of [older, newer]) {
        for (const each of report["breakdowns"] as Breakdown[]) {
            breakdowns.set(JSON.stringify([each.metric, [each.by].flat().sort()]), each);
        }
    }
    const metrics = { ...(older["metrics"] as object), ...(newer["metrics"] as object) };
    return { ...newer, metrics, breakdowns: [...breakdowns.values()] };
}
