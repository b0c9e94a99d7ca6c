// One event of a run, with everything it carried behind a click.

import { useState } from "preact/hooks";

import type { StoredEvent } from "api";
import { exact, number, span } from "../../lib/format";
import { CopyButton, SafeLink } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { toneOf } from "../../ui/chip";
import { Tree } from "../../ui/tree";

const WORDS: Record<StoredEvent["event"], string> = {
    started: "Run started",
    in_progress: "Step",
    completed: "Run completed",
    failed: "Run failed",
};

export function toneOfEvent(event: StoredEvent) {
    if (event.event === "failed") return "bad";
    if (event.event === "completed") return "good";
    return toneOf(event.level);
}

function Pairs({
    of,
    format,
}: {
    of: [string, string | number][];
    format?: (value: number) => string;
}) {
    return (
        <dl class="pairs">
            {of.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{typeof value === "number" && format ? format(value) : value}</dd>
                </div>
            ))}
        </dl>
    );
}

function hasMore(event: StoredEvent): boolean {
    return (
        Object.keys(event.metadata).length > 0 ||
        Object.keys(event.metrics).length > 0 ||
        event.links.length > 0 ||
        event.output !== null ||
        Boolean(event.error_message)
    );
}

function More({ event }: { event: StoredEvent }) {
    const metadata = Object.entries(event.metadata);
    const metrics = Object.entries(event.metrics);
    return (
        <div class="more-of-event">
            {event.error_message && <pre>{event.error_message}</pre>}
            {metadata.length > 0 && (
                <>
                    <h4>Metadata</h4>
                    <Pairs of={metadata} />
                </>
            )}
            {metrics.length > 0 && (
                <>
                    <h4>Metrics</h4>
                    <Pairs of={metrics} format={number} />
                </>
            )}
            {event.links.length > 0 && (
                <>
                    <h4>Links</h4>
                    <ul class="links">
                        {event.links.map((link, i) => (
                            <li key={i}>
                                <SafeLink to={link} />
                            </li>
                        ))}
                    </ul>
                </>
            )}
            {event.output !== null && (
                <>
                    <h4>
                        Output{" "}
                        <CopyButton
                            text={JSON.stringify(event.output, null, 2)}
                            label="Copy the output as JSON"
                        />
                    </h4>
                    <Tree value={event.output} />
                </>
            )}
        </div>
    );
}

export function EventRow({ event, from }: { event: StoredEvent; from: number }) {
    const [open, setOpen] = useState(false);
    const more = hasMore(event);
    const offset = Date.parse(event.timestamp) - from;
    const text = event.message || event.error_message?.split("\n")[0] || WORDS[event.event];
    const extras = [
        Object.keys(event.metrics).length > 0 && "metrics",
        event.output !== null && "output",
        event.links.length > 0 && "links",
    ].filter(Boolean) as string[];
    return (
        <li class={`event ${toneOfEvent(event)}`}>
            <div class="line">
                <time dateTime={event.timestamp} title={exact(event.timestamp)}>
                    {offset === 0 ? "0" : `${offset > 0 ? "+" : ""}${span(offset)}`}
                </time>
                <i class="dot" title={event.level} />
                <span class="text">
                    {event.error_type && <code class="error-type">{event.error_type}</code>}
                    {text}
                </span>
                {event.source && <code class="source">{event.source}</code>}
                {more && (
                    <button
                        type="button"
                        class="expand"
                        aria-expanded={open}
                        onClick={() => setOpen(!open)}
                    >
                        <span>{extras.join(", ") || "details"}</span>
                        <Icon name={open ? "down" : "right"} />
                    </button>
                )}
            </div>
            {open && <More event={event} />}
        </li>
    );
}
