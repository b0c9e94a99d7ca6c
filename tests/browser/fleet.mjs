// The events of a small fleet: enough to fill every page.

import { randomUUID } from "node:crypto";

const PHASES = ["fetch", "parse", "model", "store"];

export function event(tenant, run, kind, at, more = {}) {
    return {
        event_id: randomUUID(),
        client_id: tenant.slug,
        agent_name: run.agent,
        agent_version: "1.4.0",
        run_id: run.id,
        event: kind,
        timestamp: new Date(run.from + at).toISOString(),
        ...more,
    };
}

/** A start, two steps per phase, and an end. */
export function eventsOf(tenant, run) {
    const events = [event(tenant, run, "started", 0, { message: "Woke up by schedule" })];
    let at = 0;
    for (const [i, category] of PHASES.entries())
        for (let step = 0; step < 2; step++) {
            at += run.length / 9;
            events.push(
                event(tenant, run, "in_progress", at, {
                    seq: events.length,
                    category,
                    message: `${category}: step ${step + 1}`,
                    source: `${category}.py:${10 + i}`,
                    metrics: { rows: 10 * (i + 1) + step },
                    metadata: { host: "worker-3" },
                }),
            );
        }
    if (run.status === "failed")
        events.push(
            event(tenant, run, "failed", run.length, {
                seq: events.length,
                error_type: "UpstreamTimeout",
                error_message: "The model gave no answer\n  at ask (model.py:12)",
                output: { attempts: [{ n: 1, ms: 812 }], model: { name: "small" } },
                links: ["https://runbooks.example.org/timeout"],
            }),
        );
    else if (run.status === "completed")
        events.push(
            event(tenant, run, "completed", run.length, {
                seq: events.length,
                duration_ms: run.length,
                records_processed: 42,
                message: "Stored 42 invoices",
            }),
        );
    return events;
}

/** Runs of one agent, newest first; every fifth failed. */
export function runsOf(agent, n, now = Date.now()) {
    return Array.from({ length: n }, (_, i) => ({
        agent,
        id: randomUUID(),
        from: now - (i + 1) * 600_000,
        length: 9_000 + 700 * i,
        status: i % 5 === 3 ? "failed" : "completed",
    }));
}

export async function sendRuns(server, tenant, runs) {
    const events = runs.flatMap((run) => eventsOf(tenant, run));
    for (let i = 0; i < events.length; i += 500)
        await server.send(tenant, "/api/v1/telemetry/batch", { events: events.slice(i, i + 500) });
}
