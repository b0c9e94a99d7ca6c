// The events of a long run, which the server searches, filters and sends in pages: the next page is
// loaded when the end of the list comes near.

import type { Run } from "api";
import { useEffect, useRef, useState } from "preact/hooks";

import { count, plural } from "../../lib/format";
import { ErrorNote, Skeleton } from "../../ui";
import { EventBlock } from "./event_list";
import { type EventFilter, useEventPages } from "./run_events";

const FILLED = 50; // events from the end; earlier ones are shown on request

interface Props {
    slug: string;
    run: Run;
    filter: EventFilter;
    total?: number | undefined; // events that match, if that is known
}

/** Calls `load` when what it returns the reference of comes near the window. */
function useNear(wanted: boolean, turn: number, load: () => void) {
    const mark = useRef<HTMLButtonElement>(null);
    const latest = useRef(load);
    latest.current = load;
    useEffect(() => {
        if (!mark.current || !wanted) return undefined;
        const observer = new IntersectionObserver(
            ([entry]) => entry?.isIntersecting && latest.current(),
            { rootMargin: "100% 0px" },
        );
        observer.observe(mark.current);
        return () => observer.disconnect();
    }, [wanted, turn]);
    return mark;
}

interface StatusProps extends Props {
    shown: number;
    complete: boolean;
    fromEnd: boolean;
}

function Status({ run, filter, total, shown, complete, fromEnd }: StatusProps) {
    const all = plural(run.event_count, "event");
    const filtered = Object.keys(filter).length > 0;
    const known = complete ? shown : total;
    let text = `${fromEnd ? "last" : "first"} ${count(shown)} of ${all}`;
    if (filtered) text = known === undefined ? `${count(shown)} found so far` : `${count(known)} of ${all}`;
    else if (complete) text = all;
    return (
        <span class="muted" role="status">
            {text}
        </span>
    );
}

interface ListProps extends Props {
    fromEnd: boolean;
    onJump: () => void; // to the other end
}

function PagedList({ fromEnd, onJump, ...props }: ListProps) {
    const { slug, run, filter } = props;
    const { pages, next, load, busy, error } = useEventPages(slug, run, filter, fromEnd);
    const bottom = useRef<HTMLDivElement>(null);
    const more = next !== null;
    const shown = pages.reduce((sum, page) => sum + page.events.length, 0);
    const wanted = more && !busy && !error && (!fromEnd || shown < FILLED);
    const near = useNear(wanted, pages.length, () => void load());
    const ready = pages.length > 0;
    useEffect(() => {
        if (fromEnd && ready) bottom.current?.scrollIntoView({ block: "end" });
    }, [fromEnd, ready]);
    const ordered = fromEnd ? [...pages].reverse() : pages;
    const button = (
        <button type="button" class="more" ref={near} disabled={busy} onClick={() => void load()}>
            {busy ? "Loading…" : fromEnd ? "Show earlier events" : "Show more events"}
        </button>
    );
    return (
        <>
            <p class="buttons">
                <Status {...props} shown={shown} complete={ready && !more} fromEnd={fromEnd} />
                {(more || fromEnd) && (
                    <button type="button" class="more" onClick={onJump}>
                        {fromEnd ? "Jump to the start" : "Jump to the end"}
                    </button>
                )}
            </p>
            {error && <ErrorNote error={error} retry={() => void load()} />}
            {!ready && !error && <Skeleton rows={5} />}
            {fromEnd && more && ready && button}
            {ordered.map((page) => (
                <EventBlock key={page.cursor ?? ""} events={page.events} run={run} drawn />
            ))}
            {!fromEnd && more && ready && button}
            <div ref={bottom} />
        </>
    );
}

/** Another filter begins at the start. */
export function EventPages(props: Props) {
    const filter = JSON.stringify(props.filter);
    const [endOf, setEndOf] = useState("");
    const fromEnd = endOf === filter;
    return (
        <PagedList
            key={`${fromEnd} ${filter}`}
            {...props}
            fromEnd={fromEnd}
            onJump={() => setEndOf(fromEnd ? "" : filter)}
        />
    );
}
