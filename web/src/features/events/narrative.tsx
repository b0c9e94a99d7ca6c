// The events of a run: those that explain a failure, and all of them, by category or in order.

import type { Run, StoredEvent } from "api";
import { useState } from "preact/hooks";

import { count, plural } from "../../lib/format";
import { setQuery, useRoute } from "../../lib/route";
import { Card, SearchField, Segments, Select } from "../../ui";
import { EventRow, hasDetails } from "./event_row";

const SHOWN_FIRST = 200;
const SHOWN_STEP = 1_000;

const VIEWS = [
    { value: "category", label: "By category" },
    { value: "order", label: "In order" },
];

interface Props {
    events: StoredEvent[];
    run: Run;
}

/** The event that closed a failed run says what the page begins with. */
function isTold(event: StoredEvent, run: Run): boolean {
    const told = run.error_message ?? run.message;
    return (
        event.event === "failed" &&
        run.status === "failed" &&
        (event.error_type ?? null) === run.error_type &&
        (event.error_message ?? event.message) === told &&
        (!event.message || !event.error_message || event.message === told)
    );
}

/** Some of the events: the first ones, and more on request; or the last ones. */
function Events({ events, run }: Props) {
    const from = Date.parse(run.started_at);
    const [[first, after], setShown] = useState([0, SHOWN_FIRST]);
    const end = Math.min(after, events.length);
    const begin = Math.min(first, Math.max(0, end - 1));
    const left = events.length - end;
    return (
        <>
            {begin > 0 && (
                <button
                    type="button"
                    class="more"
                    onClick={() => setShown([Math.max(0, begin - SHOWN_STEP), end])}
                >
                    Show {count(Math.min(SHOWN_STEP, begin))} earlier ({count(begin)} left)
                </button>
            )}
            <ol class="events">
                {events.slice(begin, end).map((event, i) => (
                    <EventRow
                        key={event.event_id || begin + i}
                        event={event}
                        from={from}
                        told={isTold(event, run)}
                    />
                ))}
            </ol>
            {left > 0 && (
                <p class="buttons">
                    <button
                        type="button"
                        class="more"
                        onClick={() => setShown([begin, end + SHOWN_STEP])}
                    >
                        Show {count(Math.min(SHOWN_STEP, left))} more ({count(left)} left)
                    </button>
                    <button
                        type="button"
                        class="more"
                        onClick={() =>
                            setShown([Math.max(0, events.length - SHOWN_FIRST), events.length])
                        }
                    >
                        Jump to the end
                    </button>
                </p>
            )}
        </>
    );
}

const LEVELS = [
    { value: "", label: "All levels" },
    { value: "warning", label: "Warnings and errors" },
    { value: "error", label: "Errors" },
];

const isWarning = (event: StoredEvent) => ["warning", "warn"].includes(event.level.toLowerCase());

function matches(event: StoredEvent, level: string, text: string): boolean {
    if (level === "error" && !isError(event)) return false;
    if (level === "warning" && !isError(event) && !isWarning(event)) return false;
    if (text === "") return true;
    const texts = [event.message, event.error_type, event.error_message, event.category, event.source];
    return texts.some((one) => one?.toLowerCase().includes(text));
}

function isError(event: StoredEvent): boolean {
    return event.event === "failed" || ["error", "critical"].includes(event.level.toLowerCase());
}

/** The events with errors, but for one that only repeats why the run failed. */
export function RunErrors({ events, run }: Props) {
    const errors = events.filter(
        (event) => isError(event) && (!isTold(event, run) || hasDetails(event, true)),
    );
    if (errors.length === 0) return null;
    return (
        <Card title="Errors" aside={plural(errors.length, "event")} class="errors">
            <Events events={errors} run={run} />
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
                    <Events events={group.events} run={run} />
                </section>
            ))}
        </>
    );
}

/** The view and its filters are kept in the address. */
export function Narrative({ events, run }: Props) {
    const { query } = useRoute();
    const view = query.get("view") === "order" ? "order" : "category";
    const level = query.get("level") ?? "";
    const find = query.get("find") ?? "";
    const shown = events.filter((event) => matches(event, level, find.toLowerCase()));
    const props = { events: shown, run };
    const key = `${view} ${level} ${find}`; // another list begins at its top
    return (
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
            {events.length > 1 && (
                <div class="filters">
                    <SearchField
                        label="Search events"
                        placeholder="Message, category or source"
                        value={find}
                        onChange={(to) => setQuery({ find: to }, { typed: true })}
                    />
                    <Select
                        label="Level"
                        choices={LEVELS}
                        value={level}
                        onChange={(to) => setQuery({ level: to })}
                    />
                    <span class="muted" role="status">
                        {shown.length < events.length &&
                            `${count(shown.length)} of ${plural(events.length, "event")}`}
                    </span>
                </div>
            )}
            {view === "order" ? <Events key={key} {...props} /> : <Groups key={key} {...props} />}
        </Card>
    );
}
