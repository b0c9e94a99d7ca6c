// One run: why it failed, when each part happened, its cost, metrics and events.

import { useState } from "preact/hooks";

import { RunCost } from "../features/cost/run_cost";
import { Narrative, RunErrors } from "../features/events/narrative";
import { RunFacts, RunFailure } from "../features/events/run_facts";
import { RunMetrics } from "../features/events/run_metrics";
import { RunStatus } from "../features/events/run_status";
import { SpanTree } from "../features/events/span_tree";
import { spansOf } from "../features/events/spans";
import { Waterfall } from "../features/events/waterfall";
import { call } from "../lib/api";
import { plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import { Card, CopyButton, Empty, ErrorNote, Heading, Skeleton } from "../ui";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";

export default function Run({ slug, params }: PageProps) {
    const run_id = params["run_id"] ?? "";
    const [running, setRunning] = useState(true);
    const { data, error, loading, reload } = useLiveQuery(
        running ? slug : "", // a run that has ended seldom changes
        `${NARRATIVE} ${slug} ${run_id}`,
        async (signal) => {
            const answer = await call(NARRATIVE, { path: { slug, run_id }, signal });
            setRunning(answer.run.status === "in_progress");
            return answer;
        },
        (change) => change.run_id === run_id,
    );

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
    const { run, events } = data;
    const from = Date.parse(run.started_at);
    const spans = spansOf(events);
    return (
        <>
            <Heading
                parent={{ label: "Runs", href: href(pathOf("t", slug, "runs")) }}
                title={
                    <>
                        {run.agent_name} <RunStatus status={run.status} />
                    </>
                }
            >
                <CopyButton text={location.href} label="Copy a link to this run" />
            </Heading>
            {error && <ErrorNote error={error} retry={reload} />}
            <RunFailure run={run} />
            <RunFacts slug={slug} run={run} />
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
            <RunErrors events={events} from={from} />
            <RunCost slug={slug} run={run} />
            <RunMetrics events={events} from={from} />
            <Narrative events={events} from={from} />
            {data.damaged && (
                <Empty title={`${plural(data.damaged, "event")} left out`}>
                    The stored data does not match its checksum: it changed on the disk. The operator
                    finds out more with <code>muster check</code>.
                </Empty>
            )}
            {data.next && (
                <Empty title={`Only the first ${events.length} events are shown`}>
                    This run is too large to show at once. To read all of it:{" "}
                    <code>
                        muster export events --tenant {slug} --run {run_id}
                    </code>
                </Empty>
            )}
        </>
    );
}
