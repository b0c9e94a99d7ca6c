// Runs, newest first. Filters and the place in the list stand in the address.

import type { RunListItem } from "api";
import { call, type Query } from "../lib/api";
import { count, span } from "../lib/format";
import { useAgentNames } from "../features/agents/names";
import { useLiveQuery } from "../lib/query";
import { chosen, RANGES, wordsOf } from "../lib/ranges";
import { href, pathOf, setQuery } from "../lib/route";
import type { PageProps } from "../app/pages";
import { Empty, ErrorNote, Heading, Live, Segments, Select, Skeleton, Time } from "../ui/basics";
import { Export } from "../features/export/export_menu";
import { Pager } from "../ui/pager";
import { SearchField } from "../ui/search_field";
import { RunStatus } from "../ui/chip";

const LIST = "GET /api/v1/tenants/{slug}/dashboard/runs";
const LIMIT = 50;

const STATUSES = [
    { value: "", label: "All" },
    { value: "failed", label: "Failed" },
    { value: "in_progress", label: "Running" },
    { value: "completed", label: "Completed" },
];
const SPANS = [...RANGES, { value: "all", label: "All time" }];

function queryOf(query: URLSearchParams): Query<typeof LIST> {
    const since = chosen(SPANS, query.get("since"), "7d");
    const status = chosen(STATUSES, query.get("status"), "");
    return {
        limit: LIMIT,
        since: since === "all" ? null : since,
        status: status === "" ? null : (status as RunListItem["status"]),
        agent_name: query.get("agent_name"),
        workflow_run_id: query.get("workflow_run_id"),
        cursor: query.get("cursor"),
    };
}

/** The first line of an error or message is enough for a list. */
function Words({ run }: { run: RunListItem }) {
    const error = run.status === "failed" ? (run.error_message ?? run.message) : null;
    return (
        <>
            {run.status === "failed" && run.error_type && (
                <code class="error-type">{run.error_type}</code>
            )}
            {error !== null ? error : run.message}
        </>
    );
}

function Row({ slug, run, longest }: { slug: string; run: RunListItem; longest: number }) {
    const to = href(pathOf("t", slug, "runs", run.run_id));
    return (
        <tr>
            <td class="fit">
                <RunStatus status={run.status} />
            </td>
            <td class="agent">
                <a href={to} class="row-link">
                    {run.agent_name}
                </a>
            </td>
            <td class="fit">
                <Time at={run.started_at} />
            </td>
            <td class="fit number">
                {run.duration_ms === null ? <span class="muted">–</span> : span(run.duration_ms)}
                <span class="meter">
                    <i
                        style={{
                            width: `${longest > 0 ? (Math.max(run.duration_ms ?? 0, 0) / longest) * 100 : 0}%`,
                        }}
                    />
                </span>
            </td>
            <td class="fit number wide">
                {run.records_processed === null ? (
                    <span class="muted">–</span>
                ) : (
                    count(run.records_processed)
                )}
            </td>
            <td class="fit number wide">{count(run.event_count)}</td>
            <td class="words">
                <Words run={run} />
            </td>
        </tr>
    );
}

function Table({ slug, runs }: { slug: string; runs: RunListItem[] }) {
    const longest = Math.max(...runs.map((run) => run.duration_ms ?? 0));
    return (
        <table class="list">
            <thead>
                <tr>
                    <th>Status</th>
                    <th>Agent</th>
                    <th>Started</th>
                    <th class="number">Duration</th>
                    <th class="number wide">Records</th>
                    <th class="number wide">Events</th>
                    <th class="words">Message</th>
                </tr>
            </thead>
            <tbody>
                {runs.map((run) => (
                    <Row key={run.run_id} slug={slug} run={run} longest={longest} />
                ))}
            </tbody>
        </table>
    );
}

function Nothing({ query }: { query: URLSearchParams }) {
    const filtered = ["status", "agent_name", "workflow_run_id", "since"].some((name) =>
        query.get(name),
    );
    return filtered ? (
        <Empty title="No run fits these filters">
            <button
                type="button"
                onClick={() =>
                    setQuery({
                        status: null,
                        agent_name: null,
                        workflow_run_id: null,
                        since: "all",
                        cursor: null,
                    })
                }
            >
                Show all runs
            </button>
        </Empty>
    ) : (
        <Empty title="No runs in the last 7 days">
            <p>
                A run appears with its first event: <code>POST /api/v1/telemetry</code> with a
                workspace key.
            </p>
            <button type="button" onClick={() => setQuery({ since: "all" })}>
                Look at all time
            </button>
        </Empty>
    );
}

export default function Runs({ slug, query }: PageProps) {
    const wanted = queryOf(query);
    const older = wanted.cursor !== null;
    const { data, error, loading, reload } = useLiveQuery(
        older ? "" : slug, // older pages stay as they are
        `${LIST} ${slug} ${JSON.stringify(wanted)}`,
        (signal) => call(LIST, { path: { slug }, query: wanted, signal }),
        (news) =>
            news.kind === "run" &&
            (wanted.agent_name === null || wanted.agent_name === news.agent_name),
    );
    const agents = useAgentNames(slug);
    const change = (changes: Record<string, string | null>) =>
        setQuery({ ...changes, cursor: null });
    return (
        <>
            <Heading title="Runs">
                {!older && <Live />}
                <Export
                    slug={slug}
                    what="events"
                    range={wanted.since ?? "all"}
                    words={`All events of ${wordsOf(SPANS, wanted.since ?? "all")}; the other filters do not count.`}
                />
            </Heading>
            <div class="filters">
                <Segments
                    label="Status"
                    choices={STATUSES}
                    value={wanted.status ?? ""}
                    onChange={(status) => change({ status })}
                />
                <SearchField
                    label="Agent"
                    placeholder="Agent"
                    known={agents}
                    value={wanted.agent_name ?? ""}
                    onChange={(agent_name) => change({ agent_name })}
                />
                <SearchField
                    label="Workflow run"
                    placeholder="Workflow run"
                    value={wanted.workflow_run_id ?? ""}
                    onChange={(id) => change({ workflow_run_id: id })}
                />
                <Select
                    label="Started in"
                    choices={SPANS}
                    value={wanted.since ?? "all"}
                    onChange={(since) => change({ since })}
                />
            </div>
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={12} />}
            {data && data.runs.length > 0 && <Table slug={slug} runs={data.runs} />}
            {data && data.runs.length === 0 && data.next !== null && (
                <Empty title="None among the runs looked at so far">
                    <p>Older runs may fit: go on with Older.</p>
                </Empty>
            )}
            {data && data.runs.length === 0 && data.next === null && <Nothing query={query} />}
            <Pager next={data?.next} />
        </>
    );
}
