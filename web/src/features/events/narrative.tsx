// The events of a run: those that explain a failure, and all of them, by category or in order. Those
// of a long run are searched and filtered by the server.

import type { Run, RunTimeline, StoredEvent } from "api";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { count, plural } from "../../lib/format";
import { setQuery, useRoute } from "../../lib/route";
import { Card, SearchField, Segments, Select } from "../../ui";
import { EventList } from "./event_list";
import { EventPages } from "./event_pages";
import { hasDetails, isTold } from "./event_row";
import type { EventFilter } from "./run_events";

const VIEWS = [
    { value: "category", label: "By category" },
    { value: "order", label: "In order" },
];

const LEVELS = [
    { value: "", label: "All levels" },
    { value: "warning", label: "Warnings and errors" },
    { value: "error", label: "Errors" },
];

const FEW = 20; // errors of a long run that are shown at once

interface Props {
    events: StoredEvent[];
    run: Run;
}

interface LongProps {
    slug: string;
    run: Run;
    timeline: RunTimeline | undefined;
}

const isWarning = (event: StoredEvent) => ["warning", "warn"].includes(event.level.toLowerCase());

function isError(event: StoredEvent): boolean {
    return event.event === "failed" || ["error", "critical"].includes(event.level.toLowerCase());
}

function matches(event: StoredEvent, level: string, text: string): boolean {
    if (level === "error" && !isError(event)) return false;
    if (level === "warning" && !isError(event) && !isWarning(event)) return false;
    if (text === "") return true;
    const texts = [event.message, event.error_type, event.error_message, event.category, event.source];
    return texts.some((one) => one?.toLowerCase().includes(text));
}

/** The events with errors, but for one that only repeats why the run failed. */
export function RunErrors({ events, run }: Props) {
    const errors = events.filter(
        (event) => isError(event) && (!isTold(event, run) || hasDetails(event, true)),
    );
    if (errors.length === 0) return null;
    return (
        <Card title="Errors" aside={plural(errors.length, "event")} class="errors">
            <EventList events={errors} run={run} />
        </Card>
    );
}

/** The same for a long run. */
export function LongErrors({ slug, run, timeline }: LongProps) {
    const errors = timeline?.errors ?? 0;
    const [wanted, setWanted] = useState<boolean | null>(null);
    const open = wanted ?? errors <= FEW;
    if (errors === 0) return null;
    return (
        <Card
            title="Errors"
            aside={
                <button
                    type="button"
                    class="more"
                    aria-expanded={open}
                    onClick={() => setWanted(!open)}
                >
                    {open ? "Hide" : `Show ${plural(errors, "event")}`}
                </button>
            }
            class="errors"
        >
            {open && <EventPages slug={slug} run={run} filter={{ level: "error" }} total={errors} />}
        </Card>
    );
}

interface Group {
    name: string;
    events: StoredEvent[];
}

/** Categories in the order of their first event. */
function groupsOf(events: StoredEvent[]): Group[] {
    const groups = new Map<string, StoredEvent[]>();
    for (const event of events) {
        const name = event.category || (event.event === "in_progress" ? "" : event.event);
        const group = groups.get(name);
        if (group) group.push(event);
        else groups.set(name, [event]);
    }
    return [...groups].map(([name, members]) => ({ name, events: members }));
}

function Groups({ events, run }: Props) {
    return (
        <>
            {groupsOf(events).map((group) => (
                <section class="group" key={group.name}>
                    <h3>
                        <span dir="auto">{group.name || "No category"}</span>{" "}
                        <span class="muted">{group.events.length}</span>
                    </h3>
                    <EventList events={group.events} run={run} />
                </section>
            ))}
        </>
    );
}

interface LaneProps {
    slug: string;
    run: Run;
    lane: RunTimeline["lanes"][number];
    filter: EventFilter;
}

/** A category of a long run; its events are loaded when it is opened. */
function LongGroup({ slug, run, lane, filter }: LaneProps) {
    const [open, setOpen] = useState(false);
    const filtered = Object.keys(filter).length > 0;
    return (
        <section class="group">
            <h3>
                <span dir="auto">{lane.category || "No category"}</span>{" "}
                <span class="muted">{count(lane.events)}</span>{" "}
                <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
                    {open ? "Hide" : "Show"}
                    <span class="visually-hidden"> {lane.category || "events without a category"}</span>
                </button>
            </h3>
            {open && (
                <EventPages
                    slug={slug}
                    run={run}
                    filter={{ ...filter, category: lane.category }}
                    total={filtered ? undefined : lane.events}
                />
            )}
        </section>
    );
}

/** How many events have the level, if that is all that is asked for and the server knows it. */
function knownTotal(run: Run, filter: EventFilter, timeline: RunTimeline | undefined) {
    if (filter.q !== undefined || timeline?.events !== run.event_count) return undefined;
    return timeline.errors + (filter.level === "warning" ? timeline.warnings : 0);
}

interface FrameProps {
    view: string;
    usual: string; // the view that the address leaves out
    filters: boolean;
    status?: ComponentChildren;
    children: ComponentChildren;
}

/** The view and its filters are kept in the address. */
function Frame({ view, usual, filters, status, children }: FrameProps) {
    const { query } = useRoute();
    return (
        <Card
            title="Narrative"
            aside={
                <Segments
                    label="Order"
                    choices={VIEWS}
                    value={view}
                    onChange={(to) => setQuery({ view: to === usual ? null : to })}
                />
            }
        >
            {filters && (
                <div class="filters">
                    <SearchField
                        label="Search events"
                        placeholder="Message, category or source"
                        value={query.get("find") ?? ""}
                        onChange={(to) => setQuery({ find: to }, { typed: true })}
                    />
                    <Select
                        label="Level"
                        choices={LEVELS}
                        value={query.get("level") ?? ""}
                        onChange={(to) => setQuery({ level: to })}
                    />
                    {status}
                </div>
            )}
            {children}
        </Card>
    );
}

export function Narrative({ events, run }: Props) {
    const { query } = useRoute();
    const view = query.get("view") === "order" ? "order" : "category";
    const level = query.get("level") ?? "";
    const find = query.get("find") ?? "";
    const shown = events.filter((event) => matches(event, level, find.toLowerCase()));
    const props = { events: shown, run };
    const key = `${view} ${level} ${find}`; // another list begins at its top
    return (
        <Frame
            view={view}
            usual="category"
            filters={events.length > 1}
            status={
                <span class="muted" role="status">
                    {shown.length < events.length &&
                        `${count(shown.length)} of ${plural(events.length, "event")}`}
                </span>
            }
        >
            {view === "order" ? <EventList key={key} {...props} /> : <Groups key={key} {...props} />}
        </Frame>
    );
}

export function LongNarrative({ slug, run, timeline }: LongProps) {
    const { query } = useRoute();
    const view = query.get("view") === "category" ? "category" : "order";
    const level = query.get("level");
    const q = (query.get("find") ?? "").slice(0, 64);
    const filter: EventFilter = {
        ...(q !== "" && { q }),
        ...((level === "warning" || level === "error") && { level }),
    };
    return (
        <Frame view={view} usual="order" filters>
            {view === "order" ? (
                <EventPages
                    slug={slug}
                    run={run}
                    filter={filter}
                    total={filter.level && knownTotal(run, filter, timeline)}
                />
            ) : (
                timeline?.lanes.map((lane) => (
                    <LongGroup key={lane.category} slug={slug} run={run} lane={lane} filter={filter} />
                ))
            )}
            {view === "category" && (timeline?.other_events ?? 0) > 0 && (
                <p class="muted">
                    and {plural(timeline?.other_events ?? 0, "event")} of more categories: search for
                    theirs, or look at all events in order.
                </p>
            )}
        </Frame>
    );
}
