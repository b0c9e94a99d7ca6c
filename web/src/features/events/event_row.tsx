// One event of a run; its details open on a click.

import type { Run, StoredEvent } from "api";
import { useState } from "preact/hooks";

import { duration, exactTime, number } from "../../lib/format";
import { CopyButton, Icon, SafeLink, type Tone } from "../../ui";
import { Tree } from "../../ui/tree";

const TITLES: Record<StoredEvent["event"], string> = {
    started: "Run started",
    in_progress: "Step",
    completed: "Run completed",
    failed: "Run failed",
};

// a map: names that agents send, such as "__proto__", are not in it
const LEVEL_TONES = new Map<string, Tone>([
    ["debug", "quiet"],
    ["info", "busy"],
    ["warning", "warn"],
    ["warn", "warn"],
    ["error", "bad"],
    ["critical", "bad"],
    ["success", "good"],
]);

export function toneOfEvent(event: StoredEvent): Tone {
    if (event.event === "failed") return "bad";
    if (event.event === "completed") return "good";
    return LEVEL_TONES.get(event.level.toLowerCase()) ?? "busy";
}

interface PairsProps {
    pairs: [string, string | number][];
    format?: (value: number) => string;
}

function Pairs({ pairs, format }: PairsProps) {
    return (
        <dl class="pairs">
            {pairs.map(([name, value]) => (
                <div key={name}>
                    <dt dir="auto">{name}</dt>
                    <dd dir="auto">{typeof value === "number" && format ? format(value) : value}</dd>
                </div>
            ))}
        </dl>
    );
}

/** The event that closed a failed run says what the page begins with. */
export function isTold(event: StoredEvent, run: Run): boolean {
    const told = run.error_message ?? run.message;
    return (
        event.event === "failed" &&
        run.status === "failed" &&
        (event.error_type ?? null) === run.error_type &&
        (event.error_message ?? event.message) === told &&
        (!event.message || !event.error_message || event.message === told)
    );
}

/** `told`: the page already shows its error. */
export function hasDetails(event: StoredEvent, told: boolean): boolean {
    return (
        Object.keys(event.metadata).length > 0 ||
        Object.keys(event.metrics).length > 0 ||
        event.links.length > 0 ||
        event.output !== null ||
        (!told && Boolean(event.error_message))
    );
}

function Details({ event, told }: { event: StoredEvent; told: boolean }) {
    const metadata = Object.entries(event.metadata);
    const metrics = Object.entries(event.metrics);
    return (
        <div class="event-details">
            {!told && event.error_message && <pre dir="auto">{event.error_message}</pre>}
            {metadata.length > 0 && (
                <>
                    <h4>Metadata</h4>
                    <Pairs pairs={metadata} />
                </>
            )}
            {metrics.length > 0 && (
                <>
                    <h4>Metrics</h4>
                    <Pairs pairs={metrics} format={number} />
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

interface Props {
    event: StoredEvent;
    from: number; // when the run started
    told: boolean; // the page begins with its error
}

export function EventRow({ event, from, told }: Props) {
    const [open, setOpen] = useState(false);
    const offset = Date.parse(event.timestamp) - from;
    const tone = toneOfEvent(event);
    const text = told
        ? `${TITLES[event.event]}; the reason is at the top of this page`
        : event.message || event.error_message?.split("\n")[0] || TITLES[event.event];
    const parts = [
        Object.keys(event.metrics).length > 0 && "metrics",
        event.output !== null && "output",
        event.links.length > 0 && "links",
    ].filter(Boolean) as string[];
    return (
        <li class={`event ${tone}`}>
            <div class="line">
                <time dateTime={event.timestamp} title={exactTime(event.timestamp)}>
                    {offset === 0 ? "0" : `${offset > 0 ? "+" : ""}${duration(offset)}`}
                </time>
                <i class="dot" title={event.level} />
                {tone === "bad" && <span class="visually-hidden">Error:</span>}
                {tone === "warn" && <span class="visually-hidden">Warning:</span>}
                <span class="text" dir="auto">
                    {!told && event.error_type && (
                        <code class="error-type" dir="auto">
                            {event.error_type}
                        </code>
                    )}
                    <bdi>{text}</bdi>
                </span>
                {event.source && <code class="source" dir="auto">{event.source}</code>}
                {hasDetails(event, told) && (
                    <button
                        type="button"
                        class="expand"
                        aria-expanded={open}
                        onClick={() => setOpen(!open)}
                    >
                        <span>{parts.join(", ") || "details"}</span>
                        <Icon name={open ? "down" : "right"} />
                    </button>
                )}
            </div>
            {open && <Details event={event} told={told} />}
        </li>
    );
}
