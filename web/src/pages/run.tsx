// One run: what happened, what went wrong first, when, and what it measured.

import { useState } from "preact/hooks";

import type { Run as RunType, StoredEvent } from "api";
import { call } from "../lib/api";
import { useNow } from "../lib/clock";
import { count, plural, span } from "../lib/format";
import { agentPage, workflowPage } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { href, pathOf, setQuery } from "../lib/route";
import type { PageProps } from "../app/pages";
import {
    Card,
    CopyButton,
    Copyable,
    Empty,
    ErrorNote,
    Heading,
    Segments,
    Skeleton,
    Time,
} from "../ui/basics";
import { EventRow } from "../features/events/event_row";
import { RunCost } from "../features/cost/run_cost";
import { RunMetrics } from "../features/events/run_metrics";
import { RunStatus } from "../ui/chip";
import { Waterfall } from "../features/events/waterfall";

const NARRATIVE = "GET /api/v1/tenants/{slug}/runs/{run_id}/events";
const SHOWN_FIRST = 200;

const VIEWS = [
    { value: "category", label: "By category" },
    { value: "order", label: "In order" },
];

/** Events that somebody who looks for the cause wants to see first. */
function isTrouble(event: StoredEvent): boolean {
    return event.event === "failed" || ["error", "critical"].includes(event.level.toLowerCase());
}

interface Group {
    name: string;
    events: StoredEvent[];
}

/** Categories in the order of their first event. */
function grouped(events: StoredEvent[]): Group[] {
    const groups = new Map<string, StoredEvent[]>();
    for (const event of events) {
        const name = event.category || (event.event === "in_progress" ? "" : event.event);
        const group = groups.get(name);
        if (group) group.push(event);
        else groups.set(name, [event]);
    }
    return [...groups].map(([name, of]) => ({ name, events: of }));
}

function Facts({ slug, run }: { slug: string; run: RunType }) {
    const open = run.status === "in_progress";
    const now = useNow();
    return (
        <dl class="facts">
            <div>
                <dt>Agent</dt>
                <dd>
                    <a href={agentPage(slug, run.agent_name)}>{run.agent_name}</a>
                    {run.agent_version && <span class="muted"> {run.agent_version}</span>}
                </dd>
            </div>
            <div>
                <dt>Started</dt>
                <dd>
                    <Time at={run.started_at} />
                </dd>
            </div>
            <div>
                <dt>{open ? "Running for" : "Duration"}</dt>
                <dd>
                    {open
                        ? span(now - Date.parse(run.started_at))
                        : run.duration_ms === null
                          ? "–"
                          : span(run.duration_ms)}
                </dd>
            </div>
            <div>
                <dt>Records</dt>
                <dd>{run.records_processed === null ? "–" : count(run.records_processed)}</dd>
            </div>
            <div>
                <dt>Events</dt>
                <dd>{count(run.event_count)}</dd>
            </div>
            {open && (
                <div>
                    <dt>Last event</dt>
                    <dd>
                        <Time at={run.last_event_at} />
                    </dd>
                </div>
            )}
            {run.workflow_run_id && (
                <div>
                    <dt>Workflow</dt>
                    <dd>
                        <a href={workflowPage(slug, run.workflow_run_id)}>{run.workflow_run_id}</a>
                    </dd>
                </div>
            )}
            <div>
                <dt>Run id</dt>
                <dd>
                    <Copyable text={run.run_id} />
                </dd>
            </div>
        </dl>
    );
}

function Failure({ run }: { run: RunType }) {
    if (run.status !== "failed") return null;
    const text = run.error_message ?? run.message;
    return (
        <section class="failure" aria-label="Why it failed">
            <header>
                <strong>{run.error_type ?? "Failed"}</strong>
                {text && <CopyButton text={text} label="Copy the message" />}
            </header>
            {text && <pre>{text}</pre>}
        </section>
    );
}

function Events({ events, from }: { events: StoredEvent[]; from: number }) {
    const [shown, setShown] = useState(SHOWN_FIRST);
    return (
        <>
            <ol class="events">
                {events.slice(0, shown).map((event, i) => (
                    <EventRow key={event.event_id || i} event={event} from={from} />
                ))}
            </ol>
            {shown < events.length && (
                <button type="button" class="more" onClick={() => setShown(shown + 1000)}>
                    Show {count(Math.min(1000, events.length - shown))} more of{" "}
                    {count(events.length - shown)}
                </button>
            )}
        </>
    );
}

function Narrative({ events, from, view }: { events: StoredEvent[]; from: number; view: string }) {
    if (view === "order") return <Events events={events} from={from} />;
    return (
        <>
            {grouped(events).map((group) => (
                <section class="group" key={group.name}>
                    <h3>
                        {group.name || "Without a category"}{" "}
                        <span class="muted">{group.events.length}</span>
                    </h3>
                    <Events events={group.events} from={from} />
                </section>
            ))}
        </>
    );
}

export default function Run({ slug, params, query }: PageProps) {
    const run_id = params["run_id"] ?? "";
    const [open, setOpen] = useState(true);
    const { data, error, loading, reload } = useLiveQuery(
        open ? slug : "", // one that is over seldom changes
        `${NARRATIVE} ${slug} ${run_id}`,
        async (signal) => {
            const answer = await call(NARRATIVE, { path: { slug, run_id }, signal });
            setOpen(answer.run.status === "in_progress");
            return answer;
        },
        (news) => news.run_id === run_id,
    );
    const view = query.get("view") === "order" ? "order" : "category";

    if (loading) return <Skeleton rows={10} />;
    if (data === undefined)
        return error ? <ErrorNote error={error} retry={reload} /> : <Empty title="Nothing here" />;
    const { run, events } = data;
    const from = Date.parse(run.started_at);
    const trouble = events.filter(isTrouble);
    return (
        <>
            <p class="crumbs">
                <a href={href(pathOf("t", slug, "runs"))}>Runs</a>
            </p>
            <Heading
                title={
                    <>
                        {run.agent_name} <RunStatus status={run.status} />
                    </>
                }
            >
                <CopyButton text={location.href} label="Copy a link to this run" />
            </Heading>
            {error && <ErrorNote error={error} retry={reload} />}
            <Failure run={run} />
            <Facts slug={slug} run={run} />
            {events.length > 1 && (
                <Card title="Timeline">
                    <Waterfall events={events} run={run} />
                </Card>
            )}
            {trouble.length > 0 && (
                <Card title="Errors" aside={plural(trouble.length, "event")} class="trouble">
                    <Events events={trouble} from={from} />
                </Card>
            )}
            <RunCost slug={slug} run={run} />
            <RunMetrics events={events} from={from} />
            <Card
                title="Narrative"
                aside={
                    <Segments
                        label="Order"
                        choices={VIEWS}
                        value={view}
                        onChange={(to) => setQuery({ view: to === "order" ? to : null })}
                    />
                }
            >
                <Narrative events={events} from={from} view={view} />
            </Card>
        </>
    );
}
