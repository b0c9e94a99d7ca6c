// The steps of a workflow, and whether each step's outputs fit the next one's inputs.

import type { Run, WorkflowLink } from "api";

import { duration, plural } from "../../lib/format";
import { agentPage, runPage } from "../../lib/paths";
import { Card, Chip, Time } from "../../ui";
import { RunStatus } from "./run_status";

/** The declared outputs of one agent compared with the declared inputs of the next. */
function ContractCheck({ link }: { link: WorkflowLink }) {
    const from = link.from.agent_name;
    if (link.compatible === null)
        return <p class="muted">after {from}; no inputs or outputs declared</p>;
    return (
        <p>
            <Chip tone={link.compatible ? "good" : "bad"}>
                {link.compatible ? `${from} provides all inputs` : `${from}: missing inputs`}
            </Chip>
            {link.missing.map((key) => (
                <span key={key}>
                    <code>{key}</code> is missing
                </span>
            ))}
            {link.mismatched.map((one) => (
                <span key={one.key}>
                    <code>{one.key}</code> is {one.output_type}, not {one.input_type}
                </span>
            ))}
        </p>
    );
}

interface StepProps {
    slug: string;
    run: Run;
    links: WorkflowLink[]; // from the steps before it
}

export function WorkflowStep({ slug, run, links }: StepProps) {
    return (
        <li class="step">
            {links.map((link) => (
                <ContractCheck key={link.from.run_id} link={link} />
            ))}
            <Card
                title={<a href={agentPage(slug, run.agent_name)}>{run.agent_name}</a>}
                aside={
                    <>
                        <RunStatus status={run.status} />
                        {run.duration_ms !== null && duration(run.duration_ms)}
                    </>
                }
            >
                <p class="muted">
                    <a href={runPage(slug, run.run_id)}>Run</a> started <Time at={run.started_at} />
                    , {plural(run.event_count, "event")}
                </p>
                {run.error_type && (
                    <p class="why" dir="auto">
                        <span class="error-type">{run.error_type}</span> {run.error_message}
                    </p>
                )}
                {!run.error_type && run.message && <p class="why" dir="auto">{run.message}</p>}
            </Card>
        </li>
    );
}
