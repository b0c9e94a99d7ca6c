// The events of a run: those that explain a failure, and all of them, by category or in order.

import type { StoredEvent } from "api";
import { useState } from "preact/hooks";

import { count, plural } from "../../lib/format";
import { setQuery, useRoute } from "../../lib/route";
import { Card, Segments } from "../../ui";
import { EventRow } from "./event_row";

const SHOWN_FIRST = 200;
const SHOWN_STEP = 1_000;

const VIEWS = [
    { value: "category", label: "By category" },
    { value: "order", label: "In order" },
];

interface Props {
    events: StoredEvent[];
    from: number; // when the run started
}

function Events({ events, from }: Props) {
    const [shown, setShown] = useState(SHOWN_FIRST);
    const left = events.length - shown;
    return (
        <>
            <ol class="events">
                {events.slice(0, shown).map((event, i) => (
                    <EventRow key={event.event_id || i} event={event} from={from} />
                ))}
            </ol>
            {left > 0 && (
                <button type="button" class="more" onClick={() => setShown(shown + SHOWN_STEP)}>
                    Show {count(Math.min(SHOWN_STEP, left))} more ({count(left)} left)
                </button>
            )}
        </>
    );
}

function isError(event: StoredEvent): boolean {
    return event.event === "failed" || ["error", "critical"].includes(event.level.toLowerCase());
}

export function RunErrors({ events, from }: Props) {
    const errors = events.filter(isError);
    if (errors.length === 0) return null;
    return (
        <Card title="Errors" aside={plural(errors.length, "event")} class="errors">
            <Events events={errors} from={from} />
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

function Groups({ events, from }: Props) {
    return (
        <>
            {groupsOf(events).map((group) => (
                <section class="group" key={group.name}>
                    <h3>
                        {group.name || "No category"}{" "}
                        <span class="muted">{group.events.length}</span>
                    </h3>
                    <Events events={group.events} from={from} />
                </section>
            ))}
        </>
    );
}

/** The view is kept in the address. */
export function Narrative(props: Props) {
    const view = useRoute().query.get("view") === "order" ? "order" : "category";
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
            {view === "order" ? <Events {...props} /> : <Groups {...props} />}
        </Card>
    );
}
