// One run: why it failed, when each part happened, its cost, metrics and events.

import type { RunNarrative } from "api";
import { useMemo, useState } from "preact/hooks";

import { RunCost } from "../features/cost/run_cost";
import { lanesOfEvents, lanesOfTimeline } from "../features/events/lanes";
import { LongErrors, LongNarrative, Narrative, RunErrors } from "../features/events/narrative";
import { Neighbours } from "../features/events/neighbours";
import { loadRun, useLaterEvents } from "../features/events/run_events";
import { RunFacts, RunFailure } from "../features/events/run_facts";
import { RunMetrics } from "../features/events/run_metrics";
import { RunStatus } from "../features/events/run_status";
import { SpanTree } from "../features/events/span_tree";
import { spansOf } from "../features/events/spans";
import { Waterfall } from "../features/events/waterfall";
import { RunKpis } from "../features/kpis/run_kpis";
import { call, isNotFound, urlOf } from "../lib/api";
import { count, plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import { Card, CopyButton, Empty, ErrorNote, Heading, NotFound, Skeleton } from "../ui";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";
const TIMELINE = "GET /api/v1/tenants/{slug}/runs/{run_id}/timeline";

/** The tree has the first spans of a long run; the next ones are loaded when they are wanted. */
function MissingSpans({ later }: { later: ReturnType<typeof useLaterEvents> }) {
    const { events, missing, more, error, busy, load } = later;
    if (missing === 0 && !error) return null;
    return (
        <div class="note" role="status">
            {error && <ErrorNote error={error} />}
            <p>
                The tree has the first {count(events.length)} events of this run;{" "}
                {plural(missing, "event")} {missing === 1 ? "is" : "are"} not in it
                {more ? "" : ", but in the timeline and the narrative"}.
            </p>
            {more && (
                <button type="button" disabled={busy} onClick={() => void load()}>
                    {busy ? "Loading…" : "Load more"}
                </button>
            )}
        </div>
    );
}

interface EventsProps {
    slug: string;
    data: RunNarrative;
}

/** All events are there. */
function WholeRun({ slug, data: { run, events } }: EventsProps) {
    const start = Date.parse(run.started_at);
    const spans = useMemo(() => spansOf(events), [events]);
    return (
        <>
            {spans.length > 0 && (
                <Card title="Spans">
                    <SpanTree roots={spans} />
                </Card>
            )}
            {spans.length === 0 && events.length > 1 && (
                <Card title="Timeline">
                    <Waterfall lanes={lanesOfEvents(events, start)} start={start} />
                </Card>
            )}
            <RunErrors events={events} run={run} />
            <RunKpis slug={slug} run_id={run.run_id} version={run.last_event_at} />
            <RunCost slug={slug} run={run} />
            <RunMetrics events={events} from={start} />
            <Narrative events={events} run={run} />
        </>
    );
}

/** The first events are there; the server sums up the run, and searches it. */
function LongRun({ slug, data }: EventsProps) {
    const { run } = data;
    const { run_id } = run;
    const start = Date.parse(run.started_at);
    const later = useLaterEvents(slug, run_id, data);
    const spans = useMemo(() => spansOf(later.events), [later.events]);
    const { data: timeline, error, reload } = useLiveQuery(
        run.status === "in_progress" ? slug : "",
        `${TIMELINE} ${slug} ${run_id}`,
        (signal) => call(TIMELINE, { path: { slug, run_id }, signal }),
        (change) => change.run_id === run_id,
    );
    return (
        <>
            {spans.length > 0 && (
                <Card title="Spans">
                    <MissingSpans later={later} />
                    <SpanTree roots={spans} />
                </Card>
            )}
            {error && <ErrorNote error={error} retry={reload} />}
            {timeline && (
                <Card title="Timeline">
                    <Waterfall
                        lanes={lanesOfTimeline(timeline, start)}
                        start={start}
                        others={timeline.other_events}
                    />
                </Card>
            )}
            <LongErrors slug={slug} run={run} timeline={timeline} />
            <RunKpis slug={slug} run_id={run_id} version={run.last_event_at} />
            <RunCost slug={slug} run={run} />
            <RunMetrics events={data.events} from={start} ofFirst={data.events.length} />
            <LongNarrative slug={slug} run={run} timeline={timeline} />
        </>
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

    if (loading) return <Skeleton rows={10} />;
    const runs = href(pathOf("t", slug, "runs"));
    if (data === undefined && isNotFound(error))
        return (
            <NotFound title="Run not found" back={{ label: "Go to the runs", href: runs }}>
                <p>
                    No run has this ID: <b dir="auto">{run_id}</b>. It may have been deleted by
                    retention.
                </p>
            </NotFound>
        );
    if (data === undefined)
        return (
            <>
                <Heading parent={{ label: "Runs", href: runs }} title="Run" />
                {error && <ErrorNote error={error} retry={reload} />}
            </>
        );
    const { run } = data;
    return (
        <>
            <Heading
                parent={{ label: "Runs", href: runs }}
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
            {data.next ? (
                <LongRun key={run_id} slug={slug} data={data} />
            ) : (
                <WholeRun slug={slug} data={data} />
            )}
            {data.damaged && (
                <Empty title={`${plural(data.damaged, "event")} left out`}>
                    The stored data does not match its checksum: it changed on the disk. The operator
                    finds out more with <code>muster check</code>.
                </Empty>
            )}
        </>
    );
}
