// Runs, newest first. Filters and the cursor are kept in the address.

import type { RunListItem } from "api";

import { useAgentNames } from "../features/agents/names";
import { NoRuns, RunTable } from "../features/events/run_list";
import { ExportMenu } from "../features/export/export_menu";
import { call, type Query } from "../lib/api";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { rangeInWords, RANGES } from "../lib/ranges";
import { setQuery } from "../lib/route";
import {
    Empty,
    ErrorNote,
    Heading,
    Live,
    Pager,
    SearchField,
    Segments,
    Select,
    Skeleton,
} from "../ui";

const RUNS = "GET /api/v1/tenants/{slug}/dashboard/runs";
const LIMIT = 50;

const STATUSES = [
    { value: "", label: "All" },
    { value: "failed", label: "Failed" },
    { value: "in_progress", label: "Running" },
    { value: "completed", label: "Completed" },
];
const SINCE = [...RANGES, { value: "all", label: "All time" }];

function queryOf(query: URLSearchParams): Query<typeof RUNS> {
    const since = chosen(SINCE, query.get("since"), "7d");
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

function Filters({ slug, wanted }: { slug: string; wanted: Query<typeof RUNS> }) {
    const agents = useAgentNames(slug);
    const change = (changes: Record<string, string | null>) =>
        setQuery({ ...changes, cursor: null });
    return (
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
                choices={SINCE}
                value={wanted.since ?? "all"}
                onChange={(since) => change({ since })}
            />
        </div>
    );
}

export default function Runs({ slug, query }: PageProps) {
    const wanted = queryOf(query);
    const older = wanted.cursor !== null;
    const range = wanted.since ?? "all";
    const { data, error, loading, reload } = useLiveQuery(
        older ? "" : slug, // older pages do not change
        `${RUNS} ${slug} ${JSON.stringify(wanted)}`,
        (signal) => call(RUNS, { path: { slug }, query: wanted, signal }),
        (change) =>
            change.kind === "run" &&
            (wanted.agent_name === null || wanted.agent_name === change.agent_name),
    );
    const empty = data?.runs.length === 0;
    return (
        <>
            <Heading title="Runs">
                {!older && <Live />}
                <ExportMenu
                    slug={slug}
                    content="events"
                    range={range}
                    description={`All events of ${rangeInWords(SINCE, range)}; the other filters do not apply.`}
                />
            </Heading>
            <Filters slug={slug} wanted={wanted} />
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={12} />}
            {data && !empty && <RunTable slug={slug} runs={data.runs} />}
            {empty &&
                (data.next === null ? (
                    <NoRuns query={query} />
                ) : (
                    <Empty title="No matches among the runs searched so far">
                        <p>Older runs may match; continue with Older.</p>
                    </Empty>
                ))}
            <Pager next={data?.next} />
        </>
    );
}
