// One workflow: its runs in order, and whether each step provides what the next one needs.

import { RunStatus } from "../features/events/run_status";
import { WorkflowStep } from "../features/events/workflow_steps";
import { call } from "../lib/api";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import { CopyButton, Heading, Live, LoadState } from "../ui";

const WORKFLOW = "GET /api/v1/tenants/{slug}/workflows/{workflow_run_id}";

export default function Workflow({ slug, params }: PageProps) {
    const workflow_run_id = params["workflow"] ?? "";
    const workflow = useLiveQuery(
        slug,
        `${WORKFLOW} ${slug} ${workflow_run_id}`,
        (signal) => call(WORKFLOW, { path: { slug, workflow_run_id }, signal }),
        (change) => change.kind === "run",
    );
    const { data } = workflow;
    return (
        <>
            <Heading
                parent={{ label: "Runs", href: href(pathOf("t", slug, "runs")) }}
                title={
                    <>
                        {workflow_run_id}
                        <CopyButton text={workflow_run_id} label="Copy the ID" />
                        {data && <RunStatus status={data.status} />}
                    </>
                }
            >
                <Live />
            </Heading>
            <LoadState of={workflow} rows={6} />
            {data && (
                <ol class="workflow">
                    {data.runs.map((run) => (
                        <WorkflowStep
                            key={run.run_id}
                            slug={slug}
                            run={run}
                            links={data.links.filter((link) => link.to.run_id === run.run_id)}
                        />
                    ))}
                </ol>
            )}
            {data?.truncated && <p class="note">Only the first runs are shown; there are more.</p>}
        </>
    );
}
