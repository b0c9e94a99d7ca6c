// A run at a glance, and why it failed.

import type { Run } from "api";

import { useNow } from "../../lib/clock";
import { count, duration } from "../../lib/format";
import { agentPage, workflowPage } from "../../lib/paths";
import { Copyable, CopyButton, Fact, Time } from "../../ui";

export function RunFacts({ slug, run }: { slug: string; run: Run }) {
    const running = run.status === "in_progress";
    const now = useNow();
    const ms = running ? now - Date.parse(run.started_at) : run.duration_ms;
    return (
        <dl class="facts">
            <Fact label="Agent">
                <a href={agentPage(slug, run.agent_name)} dir="auto">
                    {run.agent_name}
                </a>
                {run.agent_version && <span class="muted" dir="auto"> {run.agent_version}</span>}
            </Fact>
            <Fact label="Started">
                <Time at={run.started_at} />
            </Fact>
            <Fact label={running ? "Running for" : "Duration"}>
                {ms === null ? "–" : duration(ms)}
            </Fact>
            <Fact label="Records">
                {run.records_processed === null ? "–" : count(run.records_processed)}
            </Fact>
            <Fact label="Events">{count(run.event_count)}</Fact>
            {running && (
                <Fact label="Last event">
                    <Time at={run.last_event_at} />
                </Fact>
            )}
            {run.workflow_run_id && (
                <Fact label="Workflow">
                    <a href={workflowPage(slug, run.workflow_run_id)} dir="auto">
                        {run.workflow_run_id}
                    </a>
                </Fact>
            )}
            <Fact label="Run ID">
                <Copyable text={run.run_id} />
            </Fact>
        </dl>
    );
}

export function RunFailure({ run }: { run: Run }) {
    if (run.status !== "failed") return null;
    const text = run.error_message ?? run.message;
    return (
        <section class="failure" aria-label="Why it failed">
            <header>
                <strong dir="auto">{run.error_type ?? "Failed"}</strong>
                {text && <CopyButton text={text} label="Copy the message" />}
            </header>
            {text && <pre dir="auto">{text}</pre>}
        </section>
    );
}
