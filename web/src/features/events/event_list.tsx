// The events of a run as a list that stays light: they are drawn in blocks, and a block that is far
// from the window is empty room of the same height.

import type { Run, StoredEvent } from "api";
import { useEffect, useRef, useState } from "preact/hooks";

import { EventRow, isTold } from "./event_row";

export const BLOCK = 100; // events
const ROW_GUESS_PX = 28; // until a block has been drawn

interface BlockProps {
    events: StoredEvent[];
    run: Run;
    drawn: boolean; // from the beginning
    stays?: boolean; // drawn wherever the window is
}

export function EventBlock({ events, run, drawn, stays = false }: BlockProps) {
    const list = useRef<HTMLOListElement>(null);
    const [px, setPx] = useState(drawn ? 0 : events.length * ROW_GUESS_PX); // 0: it is drawn
    useEffect(() => {
        const at = list.current;
        if (!at || stays) return undefined;
        const observer = new IntersectionObserver(
            ([entry]) => {
                const inUse =
                    at.contains(document.activeElement) ||
                    at.querySelector('[aria-expanded="true"]') !== null;
                if (entry?.isIntersecting) setPx(0);
                else if (!inUse && at.offsetHeight > 0) setPx(at.offsetHeight);
            },
            { rootMargin: "100% 0px" },
        );
        observer.observe(at);
        return () => observer.disconnect();
    }, [stays]);
    const from = Date.parse(run.started_at);
    return (
        <ol class="events" ref={list} style={px > 0 ? { height: `${px}px` } : undefined}>
            {px === 0 &&
                events.map((event, i) => (
                    <EventRow
                        key={event.event_id || i}
                        event={event}
                        from={from}
                        told={isTold(event, run)}
                    />
                ))}
        </ol>
    );
}

/** Events that are all there; the first ones of a list can be found on the page at any time. */
export function EventList({ events, run }: { events: StoredEvent[]; run: Run }) {
    const blocks = Array.from({ length: Math.ceil(events.length / BLOCK) }, (_, i) =>
        events.slice(i * BLOCK, (i + 1) * BLOCK),
    );
    return (
        <>
            {blocks.map((block, i) => (
                <EventBlock key={i} events={block} run={run} drawn={i === 0} stays={i === 0} />
            ))}
        </>
    );
}
