// The steps of a workflow as a table: what each follows, and whether it gets what it needs.

import type { Run, Workflow, WorkflowLink } from "api";

import { duration } from "../../lib/format";
import { agentPage, runPage } from "../../lib/paths";
import { Chip, Table, Time } from "../../ui";
import { RunStatus } from "./run_status";
import { linkedRuns } from "./workflow_layout";

/** The declared outputs of the steps before compared with the declared inputs of this one. */
function Contract({ links, known }: { links: WorkflowLink[]; known: boolean }) {
    const [first] = links;
    if (first === undefined)
        return <span class="muted">{known ? "first step" : "not checked"}</span>;
    if (first.compatible === null)
        return <span class="muted">no inputs or outputs declared</span>;
    return (
        <span class="contract-check">
            <Chip tone={first.compatible ? "good" : "bad"}>
                {first.compatible ? "all inputs provided" : "missing inputs"}
            </Chip>
            {first.missing.map((key) => (
                <span key={key}>
                    <code dir="auto">{key}</code> is missing
                </span>
            ))}
            {first.mismatched.map((one) => (
                <span key={one.key}>
                    <code dir="auto">{one.key}</code> is <bdi>{one.output_type}</bdi>, not <bdi>{one.input_type}</bdi>
                </span>
            ))}
        </span>
    );
}

/** The steps that it follows, and what it takes from each. */
function Follows({ links }: { links: WorkflowLink[] }) {
    if (links.length === 0) return <span class="muted">–</span>;
    return (
        <ul class="follows">
            {links.map((link) => (
                <li key={link.from.run_id} dir="auto">
                    {link.from.agent_name}
                    {link.provides.length > 0 && (
                        <span class="muted"> ({link.provides.join(", ")})</span>
                    )}
                </li>
            ))}
        </ul>
    );
}

function Outcome({ run }: { run: Run }) {
    if (run.error_type)
        return (
            <span class="why">
                <code class="error-type" dir="auto">
                    {run.error_type}
                </code>{" "}
                <bdi>{run.error_message}</bdi>
            </span>
        );
    return <span class="why">{run.message}</span>;
}

export function WorkflowSteps({ slug, workflow }: { slug: string; workflow: Workflow }) {
    const links = new Map<string, WorkflowLink[]>();
    for (const link of workflow.links) {
        const known = links.get(link.to.run_id);
        if (known) known.push(link);
        else links.set(link.to.run_id, [link]);
    }
    const linksOf = (run: Run) => links.get(run.run_id) ?? [];
    const known = new Set(linkedRuns(workflow));
    return (
        <Table
            rows={workflow.runs}
            keyOf={(run) => run.run_id}
            columns={[
                {
                    title: "Agent",
                    class: "agent",
                    cell: (run) => <a href={agentPage(slug, run.agent_name)}>{run.agent_name}</a>,
                },
                { title: "Status", class: "fit", cell: (run) => <RunStatus status={run.status} /> },
                {
                    title: "Run",
                    class: "fit",
                    label: "started",
                    cell: (run) => (
                        <a href={runPage(slug, run.run_id)}>
                            <Time at={run.started_at} />
                        </a>
                    ),
                },
                {
                    title: "Duration",
                    class: "fit number",
                    label: "duration",
                    cell: (run) => (run.duration_ms === null ? "–" : duration(run.duration_ms)),
                },
                {
                    title: "Follows",
                    class: "grow",
                    label: "follows",
                    cell: (run) => <Follows links={linksOf(run)} />,
                },
                {
                    title: "Contract",
                    class: "grow",
                    label: "contract",
                    cell: (run) => <Contract links={linksOf(run)} known={known.has(run)} />,
                },
                { title: "Message", class: "words", cell: (run) => <Outcome run={run} /> },
            ]}
        />
    );
}
