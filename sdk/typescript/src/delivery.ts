// How the reports of a chunk reach the service.
//
// Both functions remove lines from `chunk.lines` as soon as they are settled: stored, or declined
// for good. When they throw Unavailable or Refused, what is left is what has to be sent again.

import { ApiError, Refused, type Report, type Tell } from "./errors.js";
import type { Chunk } from "./spool.js";
import type { Transport } from "./transport.js";
import * as values from "./values.js";

const BATCH = "/api/v1/telemetry/batch";
const PATHS: Record<string, string> = {
    business: "/api/v1/telemetry/business",
    llm: "/api/v1/telemetry/llm",
};
/** Bytes of one report; the service takes five times as much in a request. */
export const LINE_MAX = 1 << 20;
const PIECES_MAX = 100; // KPIs, and breakdowns, that the service takes in one report
const CUT = "muster.cut"; // in the metadata of an event: what it has lost on its way
const BARE = new Set(
    (
        "event_id agent_name agent_version client_id run_id workflow_run_id event timestamp seq " +
        "level duration_ms error_type"
    ).split(" "),
);

export type Deliver = (transport: Transport, chunk: Chunk, tell: Tell) => Promise<number>;

/** The event with a mark in its metadata, for which there is always room. */
export function marked(event: Report, key: string, value: string): Report {
    const others = Object.entries(event["metadata"] ?? {}).slice(0, values.ENTRIES_MAX - 2);
    return { ...event, metadata: { ...Object.fromEntries(others), [key]: value } };
}

/** An event as a line; too large a one without what makes it so. */
export function fitted(event: Report): string {
    let line = JSON.stringify(event);
    if (Buffer.byteLength(line) > LINE_MAX) {
        const { output, ...slim } = event;
        const size = Buffer.byteLength(JSON.stringify(output ?? {}));
        line = JSON.stringify(marked(slim, CUT, `output of ${size} bytes left out`));
    }
    const size = Buffer.byteLength(line);
    return size > LINE_MAX ? JSON.stringify(bare(event, `${size} bytes left out`)) : line;
}

/** What must arrive of an event, so that its run does not stay open. */
function bare(event: Report, why: string): Report {
    const kept = Object.entries(event).filter(([key]) => BARE.has(key));
    return { ...Object.fromEntries(kept), metadata: { [CUT]: values.text(why, 200) } };
}

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
    if (reports.length === 0) return;
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
            stored += batch.length - tellRejected(tell, batch, answer.record());
            chunk.lines.splice(0, batch.length);
        } catch (caught) {
            const error = shapeError(caught);
            const bad = batch.length === 1 ? new Set([0]) : badEvents(error, batch.length);
            if (bad.size > 0) {
                chunk.lines.splice(0, batch.length, ...without(batch, bad, error, tell));
            } else {
                size = Math.max(1, Math.floor(size / 2)); // too large, or no event is named
            }
        }
    }
    return stored;
};

/** The batch without its bad events. One that closes its run stays, bare, for one more time. */
function without(batch: string[], bad: Set<number>, error: ApiError, tell: Tell): string[] {
    const told: Report[] = [];
    const kept = batch.flatMap((line, index) => {
        if (!bad.has(index)) return [line];
        const event = parsed(line)!;
        const closes = event["event"] === "completed" || event["event"] === "failed";
        const isBare = Object.keys(event).every((key) => BARE.has(key) || key === "metadata");
        if (!closes || !isBare) told.push(event);
        return closes && !isBare ? [JSON.stringify(bare(event, error.message))] : [];
    });
    tellInvalid(tell, error, told);
    return kept;
}

/** The indexes of the events that a 422 names. */
function badEvents(error: ApiError, count: number): Set<number> {
    const found = new Set<number>();
    for (const item of Array.isArray(error.detail) ? (error.detail as { loc?: unknown }[]) : []) {
        const [, list, index] = Array.isArray(item?.loc) ? (item.loc as unknown[]) : [];
        if (list === "events" && typeof index === "number" && index < count) found.add(index);
    }
    return found;
}

function tellRejected(tell: Tell, batch: string[], verdict: Report): number {
    const declined = new Map<string, Report[]>();
    const { results } = verdict;
    for (const result of Array.isArray(results) ? (results as Report[]) : []) {
        const report = parsed(batch[Number(result["index"])] ?? "");
        if (result["status"] !== "rejected" || report === undefined) continue;
        const reason = String(result["reason"] ?? "no reason given");
        declined.set(reason, [...(declined.get(reason) ?? []), report]);
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
    chunk.lines = merge(chunk.lines)
        .flatMap(portions)
        .map((report) => JSON.stringify(report));
    while (chunk.lines.length > 0) {
        const whole = parsed(chunk.lines[0]!)!;
        const { channel, ...report } = whole;
        try {
            const body = JSON.stringify(report);
            const answer = await transport.call("POST", PATHS[String(channel)]!, { body });
            const verdict = answer.record();
            if (verdict["status"] === "rejected") {
                const reason = String(verdict["detail"] ?? verdict["reason"]);
                const detail = `the service declined a report: ${reason}`;
                tell({ kind: "rejected", detail, reports: [report], count: 1 });
            } else {
                stored++;
            }
        } catch (caught) {
            const error = shapeError(caught);
            const halves = halved(whole).map((half) => JSON.stringify(half));
            if (halves.length > 0) {
                chunk.lines.splice(0, 1, ...halves);
                continue;
            }
            tellInvalid(tell, error, [report]);
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

const breakdownsOf = (report: Report): Breakdown[] => report["breakdowns"] as Breakdown[];

function mergeBusiness(older: Report, newer: Report): Report {
    const breakdowns = new Map<string, Breakdown>();
    for (const each of [...breakdownsOf(older), ...breakdownsOf(newer)]) {
        breakdowns.set(JSON.stringify([each.metric, [each.by].flat().sort()]), each);
    }
    const metrics = { ...(older["metrics"] as object), ...(newer["metrics"] as object) };
    return { ...newer, metrics, breakdowns: [...breakdowns.values()] };
}

/** A business report as one for each KPI and breakdown. */
function piecesOf(report: Report): Report[] {
    if (report["channel"] !== "business") return [report];
    const alone = { ...report, metrics: {}, breakdowns: [] };
    const kpis = Object.entries(report["metrics"] as object);
    return [
        ...kpis.map(([key, value]) => ({ ...alone, metrics: { [key]: value as unknown } })),
        ...breakdownsOf(report).map((each) => ({ ...alone, breakdowns: [each] })),
    ];
}

/** The report in as many as the service's limit asks for. */
function portions(report: Report): Report[] {
    const pieces = piecesOf(report);
    if (pieces.length <= PIECES_MAX) return [report];
    const found: Report[] = [];
    for (let at = 0; at < pieces.length; at += PIECES_MAX) {
        found.push(pieces.slice(at, at + PIECES_MAX).reduce(mergeBusiness));
    }
    return found;
}

/** A refused report in two halves, one of which may be fine; none: it is a single one. */
function halved(report: Report): Report[] {
    const pieces = piecesOf(report);
    const middle = Math.floor(pieces.length / 2);
    if (middle === 0) return [];
    const halves = [pieces.slice(0, middle), pieces.slice(middle)];
    return halves.map((half) => half.reduce(mergeBusiness));
}
