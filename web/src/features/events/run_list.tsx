// A page of runs, and the empty list.

import type { RunListItem } from "api";

import { count, duration } from "../../lib/format";
import { runPage } from "../../lib/paths";
import { setQuery } from "../../lib/route";
import { Empty, Table, Time } from "../../ui";
import { RunStatus } from "./run_status";

/** The error of a failed run, else the run's message. */
function Message({ run }: { run: RunListItem }) {
    if (run.status !== "failed") return <>{run.message}</>;
    return (
        <>
            {run.error_type && <code class="error-type">{run.error_type}</code>}
            {run.error_message ?? run.message}
        </>
    );
}

/** The duration, with a bar relative to the longest of the page. */
function Duration({ ms, longest }: { ms: number | null; longest: number }) {
    const width = longest > 0 ? (Math.max(ms ?? 0, 0) / longest) * 100 : 0;
    return (
        <>
            {ms === null ? <span class="muted">–</span> : duration(ms)}
            <span class="meter">
                <i style={{ width: `${width}%` }} />
            </span>
        </>
    );
}

const orDash = (value: number | null) =>
    value === null ? <span class="muted">–</span> : count(value);

export function RunTable({ slug, runs }: { slug: string; runs: RunListItem[] }) {
    const longest = Math.max(...runs.map((run) => run.duration_ms ?? 0));
    return (
        <Table
            rows={runs}
            keyOf={(run) => run.run_id}
            columns={[
                { title: "Status", class: "fit", cell: (run) => <RunStatus status={run.status} /> },
                {
                    title: "Agent",
                    class: "agent",
                    cell: (run) => (
                        <a href={runPage(slug, run.run_id)} class="row-link">
                            {run.agent_name}
                        </a>
                    ),
                },
                { title: "Started", class: "fit", cell: (run) => <Time at={run.started_at} /> },
                {
                    title: "Duration",
                    class: "fit number",
                    cell: (run) => <Duration ms={run.duration_ms} longest={longest} />,
                },
                {
                    title: "Records",
                    class: "fit number wide",
                    cell: (run) => orDash(run.records_processed),
                },
                {
                    title: "Events",
                    class: "fit number wide",
                    cell: (run) => count(run.event_count),
                },
                { title: "Message", class: "words", cell: (run) => <Message run={run} /> },
            ]}
        />
    );
}

const NO_FILTERS = { status: null, agent_name: null, workflow_run_id: null, cursor: null };

export function NoRuns({ query }: { query: URLSearchParams }) {
    const filtered = ["status", "agent_name", "workflow_run_id", "since"].some((name) =>
        query.get(name),
    );
    if (filtered)
        return (
            <Empty title="No runs match these filters">
                <button type="button" onClick={() => setQuery({ ...NO_FILTERS, since: "all" })}>
                    Show all runs
                </button>
            </Empty>
        );
    return (
        <Empty title="No runs in the last 7 days">
            <p>
                A run appears with its first event: <code>POST /api/v1/telemetry</code> with a
                workspace key.
            </p>
            <button type="button" onClick={() => setQuery({ since: "all" })}>
                Show all time
            </button>
        </Empty>
    );
}
