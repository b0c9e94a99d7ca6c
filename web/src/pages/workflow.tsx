// One workflow: its runs as a graph and as a table, and whether each gets the inputs it needs.

import { RunStatus } from "../features/events/run_status";
import { WorkflowGraph } from "../features/events/workflow_graph";
import { WorkflowSteps } from "../features/events/workflow_steps";
import { call, isNotFound } from "../lib/api";
import { count, duration, plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { workflowRuns, workflowsPath } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { href } from "../lib/route";
import { CopyButton, Fact, Heading, Live, LoadState, NotFound, Time } from "../ui";

const WORKFLOW = "GET /api/v1/tenants/{slug}/workflows/{workflow_run_id}";

export default function Workflow({ slug, params }: PageProps) {
    const workflow_run_id = params["workflow"] ?? "";
    const workflow = useLiveQuery(
        slug,
        `${WORKFLOW} ${slug} ${workflow_run_id}`,
        (signal) => call(WORKFLOW, { path: { slug, workflow_run_id }, signal }),
        (change) => change.kind === "run",
    );
    const { data, error } = workflow;
    if (data === undefined && isNotFound(error))
        return (
            <NotFound
                title="Workflow not found"
                back={{ label: "Go to the workflows", href: href(workflowsPath(slug)) }}
            >
                <p>
                    No run belongs to the workflow <b dir="auto">{workflow_run_id}</b>. Its runs may have
                    been deleted by retention.
                </p>
            </NotFound>
        );
    return (
        <>
            <Heading
                parent={{ label: "Workflows", href: href(workflowsPath(slug)) }}
                title={
                    <>
                        <span dir="auto">{workflow_run_id}</span>
                        <CopyButton text={workflow_run_id} label="Copy the ID" />
                        {data && <RunStatus status={data.status} />}
                    </>
                }
            >
                <Live />
                <a class="button" href={workflowRuns(slug, workflow_run_id)}>
                    All runs
                </a>
            </Heading>
            <LoadState of={workflow} rows={6} />
            {data && (
                <>
                    <dl class="facts">
                        <Fact label="Started">
                            <Time at={data.started_at} />
                        </Fact>
                        <Fact label="Duration">
                            {data.ended_at
                                ? duration(Date.parse(data.ended_at) - Date.parse(data.started_at))
                                : "running"}
                        </Fact>
                        <Fact label="Runs">
                            <a href={workflowRuns(slug, workflow_run_id)}>
                                {plural(data.runs.length, "run")}
                                {data.truncated && " or more"}
                            </a>
                        </Fact>
                    </dl>
                    <WorkflowGraph slug={slug} workflow={data} />
                    <WorkflowSteps slug={slug} workflow={data} />
                </>
            )}
            {data?.truncated && (
                <p class="note">Only the first {count(data.runs.length)} runs are shown.</p>
            )}
            {data?.links_truncated && (
                <p class="note">
                    Only the first {count(data.links.length)} links between runs are shown. What later
                    runs follow, and whether they get their inputs, was not checked.
                </p>
            )}
        </>
    );
}
