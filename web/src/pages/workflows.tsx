// Workflows: the latest first, with their agents and how they ended.

import { RunStatus } from "../features/events/run_status";
import { call } from "../lib/api";
import { count, duration, exactTime } from "../lib/format";
import type { PageProps } from "../lib/page";
import { workflowPage, workflowRuns } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { ALL_TIME, chosenRange, isCustom, RANGES } from "../lib/ranges";
import { Empty, ErrorNote, Heading, Live, PeriodSelect, Skeleton, Table, Time } from "../ui";

const WORKFLOWS = "GET /api/v1/tenants/{slug}/workflows";
const SINCE = [...RANGES, { value: ALL_TIME, label: "All time" }];
const LIMIT = 100;

/** A number of runs: for a truncated workflow only a lower bound is known. */
const counted = (n: number, truncated: boolean) => (truncated ? `${count(n)} or more` : count(n));

export default function Workflows({ slug, query }: PageProps) {
    const range = chosenRange(SINCE, query.get("since"), "7d");
    const [from, to] = isCustom(range) ? range.split("/") : [range, null];
    const wanted = { since: range === ALL_TIME ? null : from, until: to, limit: LIMIT };
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${WORKFLOWS} ${slug} ${JSON.stringify(wanted)}`,
        (signal) => call(WORKFLOWS, { path: { slug }, query: wanted, signal }),
        (change) => change.kind === "run",
    );
    const rows = data?.workflows ?? [];
    return (
        <>
            <Heading title="Workflows">
                <Live />
            </Heading>
            <div class="filters">
                <PeriodSelect label="Active in" name="since" choices={SINCE} value={range} />
            </div>
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={8} />}
            {rows.length > 0 && (
                <Table
                    rows={rows}
                    keyOf={(one) => one.workflow_run_id}
                    columns={[
                        {
                            title: "Status",
                            class: "fit",
                            by: (one) => one.status,
                            cell: (one) => <RunStatus status={one.status} />,
                        },
                        {
                            title: "Workflow",
                            class: "agent",
                            by: (one) => one.workflow_run_id,
                            cell: (one) => (
                                <a
                                    class="row-link"
                                    dir="auto"
                                    href={workflowPage(slug, one.workflow_run_id)}
                                >
                                    {one.workflow_run_id}
                                </a>
                            ),
                        },
                        {
                            title: "Started",
                            class: "fit",
                            by: (one) => Date.parse(one.started_at),
                            cell: (one) => <Time at={one.started_at} />,
                        },
                        {
                            title: "Duration",
                            class: "fit number",
                            label: "duration",
                            cell: (one) =>
                                one.ended_at ? (
                                    duration(Date.parse(one.ended_at) - Date.parse(one.started_at))
                                ) : (
                                    <span class="muted">running</span>
                                ),
                        },
                        {
                            title: "Runs",
                            class: "fit number",
                            label: "runs",
                            by: (one) => one.runs,
                            cell: (one) => (
                                <a href={workflowRuns(slug, one.workflow_run_id)}>
                                    {counted(one.runs, one.truncated)}
                                </a>
                            ),
                        },
                        {
                            title: "Failed",
                            class: "fit number",
                            label: "failed",
                            by: (one) => one.failed,
                            cell: (one) => (
                                <a href={workflowRuns(slug, one.workflow_run_id, { status: "failed" })}>
                                    {counted(one.failed, one.truncated)}
                                </a>
                            ),
                        },
                        {
                            title: "Agents",
                            class: "words",
                            cell: (one) => one.agents.join(", "),
                        },
                    ]}
                />
            )}
            {rows.some((one) => one.truncated) && (
                <p class="note">
                    Of a workflow with 1,000 runs or more, status, end, failed runs and agents are those
                    of its newest 1,000.
                </p>
            )}
            {data && rows.length === 0 && (
                <Empty title="No workflows in this period">
                    <p>
                        Runs that send the same <code>workflow_run_id</code> make up a workflow: give
                        the ID to each agent that continues the work of another.
                    </p>
                </Empty>
            )}
            {data?.more && <p class="note">The latest {count(LIMIT)} are listed; there are more.</p>}
            {data?.examined_since && (
                <p class="note">
                    Found among the newest 10,000 runs: those since {exactTime(data.examined_since)}.
                    Choose an earlier period for others.
                </p>
            )}
        </>
    );
}
