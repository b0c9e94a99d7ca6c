// A page of runs, and the empty list.

import type { RunListItem } from "api";

import { useNow } from "../../lib/clock";
import { compact, cost, count, duration } from "../../lib/format";
import { runPage } from "../../lib/paths";
import { ALL_TIME } from "../../lib/ranges";
import { setQuery } from "../../lib/route";
import { Empty, type Sorting, Table, Time } from "../../ui";
import { RunStatus } from "./run_status";

/** The error of a failed run, else the run's message. */
function Message({ run }: { run: RunListItem }) {
    if (run.status !== "failed") return <>{run.message}</>;
    return (
        <>
            {run.error_type && (
                <code class="error-type" dir="auto">
                    {run.error_type}
                </code>
            )}
            <bdi>{run.error_message ?? run.message}</bdi>
        </>
    );
}

/** The duration, or for how long it has been running; with a bar relative to the longest of the
 * page. */
function Duration({ run, longest }: { run: RunListItem; longest: number }) {
    const now = useNow();
    const running = run.status === "in_progress";
    const ms = running ? Math.max(now - Date.parse(run.started_at), 0) : run.duration_ms;
    const width = longest > 0 ? Math.min(Math.max(ms ?? 0, 0) / longest, 1) * 100 : 0;
    return (
        <>
            {ms === null ? (
                <span class="muted">–</span>
            ) : (
                <span class={running ? "muted" : ""} title={running ? "Running until now" : ""}>
                    {duration(ms)}
                </span>
            )}
            <span class="meter" title="Compared with the longest run of this page">
                <i style={{ width: `${width}%` }} />
            </span>
        </>
    );
}

const orDash = (value: number | null) =>
    value === null ? <span class="muted">–</span> : count(value);

/** A run without usage has neither tokens nor a cost. */
const ofUsage = (run: RunListItem, text: string) =>
    run.tokens === undefined ? <span class="muted">–</span> : text;

/** Columns that the service sorts by, and their names in its API. */
export const ORDERS = {
    Started: "started",
    Duration: "duration",
    Records: "records",
    Events: "events",
    Status: "status",
    Agent: "agent",
    Version: "version",
    Message: "error", // of the runs that failed
    Tokens: "tokens",
    Cost: "cost",
} as const;

interface Props {
    slug: string;
    runs: RunListItem[];
    sorting: Sorting | null; // null: the newest first
    onSort: (to: Sorting | null) => void;
}

export function RunTable({ slug, runs, sorting, onSort }: Props) {
    const longest = Math.max(...runs.map((run) => run.duration_ms ?? 0));
    return (
        <Table
            rows={runs}
            keyOf={(run) => run.run_id}
            order={{ sorting, columns: Object.keys(ORDERS), onSort }}
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
                    cell: (run) => <Duration run={run} longest={longest} />,
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
                {
                    title: "Tokens",
                    class: "fit number wide",
                    label: "tokens",
                    cell: (run) => ofUsage(run, compact(run.tokens ?? 0)),
                },
                {
                    title: "Cost",
                    class: "fit number wide",
                    label: "cost",
                    cell: (run) => ofUsage(run, cost(run.cost ?? null)),
                },
                {
                    title: "Version",
                    class: "fit wide version",
                    cell: (run) => run.agent_version || <span class="muted">–</span>,
                },
                { title: "Message", class: "words", cell: (run) => <Message run={run} /> },
            ]}
        />
    );
}

const FILTERS = ["status", "agent_name", "workflow_run_id", "version", "error_type", "untyped", "q"];
const NO_FILTERS = Object.fromEntries([...FILTERS, "cursor"].map((name) => [name, null]));

interface NoRunsProps {
    query: URLSearchParams;
    since: string; // a choice, or a range
    period: string; // the same inside a sentence
}

export function NoRuns({ query, since, period }: NoRunsProps) {
    const filtered = [...FILTERS, "since"].some((name) => query.get(name));
    const text = query.get("q");
    if (filtered)
        return (
            <Empty title="No runs match these filters">
                {text ? (
                    <p>
                        Searched for <b dir="auto">{text}</b> in runs of {period}: in the agent's name,
                        the error, the message of the end, and that of the last step, or the title
                        as long as no step has one. Earlier steps are not searched.
                    </p>
                ) : (
                    <p>Searched in runs of {period}.</p>
                )}
                <p>
                    {since !== ALL_TIME && (
                        <button
                            type="button"
                            onClick={() => setQuery({ since: ALL_TIME, cursor: null })}
                        >
                            {text ? "Search all time" : "Show all time"}
                        </button>
                    )}{" "}
                    <button
                        type="button"
                        onClick={() => setQuery({ ...NO_FILTERS, since: ALL_TIME })}
                    >
                        Show all runs
                    </button>
                </p>
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
