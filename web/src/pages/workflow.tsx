// One workflow: its runs in their order, and whether each step gives the next what it needs.

import type { Run, WorkflowLink } from "api";

import { call } from "../lib/api";
import { plural, span } from "../lib/format";
import { agentPage, runPage } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import type { PageProps } from "../app/pages";
import { CopyButton, ErrorNote, Heading, Live, Skeleton, Time } from "../ui/basics";
import { Chip, RunStatus } from "../ui/chip";

const WORKFLOW = "GET /api/v1/tenants/{slug}/workflows/{workflow_run_id}";

/** What an agent declared that it gives, against what the next declared that it needs. */
function Fit({ link }: { link: WorkflowLink }) {
    const from = link.from.agent_name;
    if (link.compatible === null)
        return <p class="muted">after {from}; nothing was declared to compare</p>;
    return (
        <p>
            <Chip tone={link.compatible ? "good" : "bad"}>
                {link.compatible ? `${from} gives all it needs` : `${from} does not give all`}
            </Chip>
            {link.missing.map((key) => (
                <span key={key} class="lack">
                    <code>{key}</code> is missing
                </span>
            ))}
            {link.mismatched.map((one) => (
                <span key={one.key} class="lack">
                    <code>{one.key}</code> is {one.output_type}, not {one.input_type}
                </span>
            ))}
        </p>
    );
}

function Step({ slug, run, links }: { slug: string; run: Run; links: WorkflowLink[] }) {
    return (
        <li class="step">
            {links.map((link) => (
                <Fit key={link.from.run_id} link={link} />
            ))}
            <div class="card">
                <header>
                    <h2>
                        <a href={agentPage(slug, run.agent_name)}>{run.agent_name}</a>
                    </h2>
                    <div class="aside">
                        <RunStatus status={run.status} />
                        {run.duration_ms !== null && span(run.duration_ms)}
                    </div>
                </header>
                <p class="muted">
                    <a href={runPage(slug, run.run_id)}>The run</a> started{" "}
                    <Time at={run.started_at} />, {plural(run.event_count, "event")}
                </p>
                {run.error_type && (
                    <p>
                        <span class="error-type">{run.error_type}</span> {run.error_message}
                    </p>
                )}
                {!run.error_type && run.message && <p>{run.message}</p>}
            </div>
        </li>
    );
}

export default function Workflow({ slug, params }: PageProps) {
    const workflow_run_id = params["workflow"] ?? "";
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${WORKFLOW} ${slug} ${workflow_run_id}`,
        (signal) => call(WORKFLOW, { path: { slug, workflow_run_id }, signal }),
        (news) => news.kind === "run",
    );
    return (
        <>
            <p class="crumbs">
                <a href={href(pathOf("t", slug, "runs"))}>Runs</a>
            </p>
            <Heading
                title={
                    <>
                        {workflow_run_id}
                        <CopyButton text={workflow_run_id} label="Copy the id" />
                        {data && <RunStatus status={data.status} />}
                    </>
                }
            >
                <Live />
            </Heading>
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={6} />}
            {data && (
                <ol class="workflow">
                    {data.runs.map((run) => (
                        <Step
                            key={run.run_id}
                            slug={slug}
                            run={run}
                            links={data.links.filter((link) => link.to.run_id === run.run_id)}
                        />
                    ))}
                </ol>
            )}
            {data?.truncated && <p class="note">These are the first runs; there are more.</p>}
        </>
    );
}
