// What to look at first: shown on the first visit, until it is closed. Kept in the browser.

import { useState } from "preact/hooks";

import { href, pathOf } from "../../lib/route";
import { Card, Icon } from "../../ui";

const SEEN = "muster.tour";

interface Stop {
    title: string;
    text: string;
    page: string;
    query?: Record<string, string>;
}

const STOPS: Stop[] = [
    {
        title: "See why a run failed",
        text: "Its error comes first, then its timeline, its cost and each of its events.",
        page: "runs",
        query: { status: "failed" },
    },
    {
        title: "Follow a workflow",
        text: "A graph of its runs, and whether each gets the inputs that it declares.",
        page: "workflows",
    },
    {
        title: "Put a price on results",
        text: "What an invoice, a ticket or a contract costs, beside the KPIs that agents report.",
        page: "business",
    },
    {
        title: "Direct an agent",
        text: "Choose its model and its commands; edit its document and its configuration.",
        page: "fleet",
    },
    {
        title: "Decide who is told",
        text: "Rules for silence, failures, KPIs and budgets, and webhooks with a delivery log.",
        page: "alerts",
        query: { tab: "rules" },
    },
];

function wasSeen(): boolean {
    try {
        return localStorage.getItem(SEEN) !== null;
    } catch {
        return true; // storage is blocked: it would come back each time
    }
}

export function Tour({ slug }: { slug: string }) {
    const [seen, setSeen] = useState(wasSeen);
    if (seen) return null;
    const close = () => {
        setSeen(true);
        localStorage.setItem(SEEN, "seen");
    };
    return (
        <Card
            title="A short tour"
            class="tour"
            aside={
                <button type="button" onClick={close}>
                    <Icon name="close" /> Close the tour
                </button>
            }
        >
            <ol>
                {STOPS.map((stop) => (
                    <li key={stop.title}>
                        <a href={href(pathOf("t", slug, stop.page), stop.query)}>{stop.title}</a>
                        <p class="muted">{stop.text}</p>
                    </li>
                ))}
            </ol>
        </Card>
    );
}
