// One run: why it failed, when each part happened, its cost, metrics and events.

import { useState } from "preact/hooks";

import { RunCost } from "../features/cost/run_cost";
import { Narrative, RunErrors } from "../features/events/narrative";
import { Neighbours } from "../features/events/neighbours";
import { loadRun, useLaterEvents } from "../features/events/run_events";
import { RunFacts, RunFailure } from "../features/events/run_facts";
import { RunMetrics } from "../features/events/run_metrics";
import { RunStatus } from "../features/events/run_status";
import { SpanTree } from "../features/events/span_tree";
import { spansOf } from "../features/events/spans";
import { Waterfall } from "../features/events/waterfall";
import { RunKpis } from "../features/kpis/run_kpis";
import { urlOf } from "../lib/api";
import { plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import { Card, CopyButton, Empty, ErrorNote, Heading, Skeleton } from "../ui";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";

/** A long run is loaded whole only when that is wanted. */
function MissingEvents({ later }: { later: ReturnType<typeof useLaterEvents> }) {
    const { missing, error, busy, load } = later;
    if (missing === 0 && !error) return null;
    return (
        <div class="note" role="status">
            {error && <ErrorNote error={error} />}
            <p>
                {plural(missing, "event")} of this run {missing === 1 ? "is" : "are"} not loaded yet,
                and not in what follows.
            </p>
            <button type="button" disabled={busy} onClick={() => void load()}>
                {busy ? "Loading…" : "Load all events"}
            </button>
        </div>
    );
}

export default function Run({ slug, params }: PageProps) {
    const run_id = params["run_id"] ?? "";
    const [running, setRunning] = useState(true);
    const { data, error, loading, reload } = useLiveQuery(
        running ? slug : "", // a run that has ended seldom changes
        `${NARRATIVE} ${slug} ${run_id}`,
        async (signal) => {
            const answer = await loadRun(slug, run_id, signal);
            setRunning(answer.run.status === "in_progress");
            return answer;
        },
        (change) => change.run_id === run_id,
    );

    const later = useLaterEvents(slug, run_id, data);
    if (loading) return <Skeleton rows={10} />;
    if (data === undefined && error?.status === 404)
        return (
            <>
                <Heading
                    parent={{ label: "Runs", href: href(pathOf("t", slug, "runs")) }}
                    title="Run not found"
                />
                <p>No run has this ID: {run_id}. It may have been deleted by retention.</p>
            </>
        );
    if (data === undefined)
        return error ? <ErrorNote error={error} retry={reload} /> : <Empty title="No run" />;
    const { run } = data;
    const { events } = later;
    const from = Date.parse(run.started_at);
    const spans = spansOf(events);
    return (
        <>
            <Heading
                parent={{ label: "Runs", href: href(pathOf("t", slug, "runs")) }}
                title={
                    <>
                        <span dir="auto">{run.agent_name}</span> <RunStatus status={run.status} />
                    </>
                }
            >
                <Neighbours slug={slug} run={run} />
                <a class="button" href={urlOf(NARRATIVE, { slug, run_id })} target="_blank">
                    Raw JSON
                </a>
                <CopyButton text={location.href} label="Copy a link to this run" />
            </Heading>
            {error && <ErrorNote error={error} retry={reload} />}
            <RunFailure run={run} />
            <RunFacts slug={slug} run={run} />
            <MissingEvents later={later} />
            {spans.length > 0 && (
                <Card title="Spans">
                    <SpanTree roots={spans} />
                </Card>
            )}
            {spans.length === 0 && events.length > 1 && (
                <Card title="Timeline">
                    <Waterfall events={events} run={run} />
                </Card>
            )}
            <RunErrors events={events} run={run} />
            <RunKpis slug={slug} run_id={run_id} version={run.last_event_at} />
            <RunCost slug={slug} run={run} />
            <RunMetrics events={events} from={from} />
            <Narrative events={events} run={run} />
            {data.damaged && (
                <Empty title={`${plural(data.damaged, "event")} left out`}>
                    The stored data does not match its checksum: it changed on the disk. The operator
                    finds out more with <code>muster check</code>.
                </Empty>
            )}
        </>
    );
}
