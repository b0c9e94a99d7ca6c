// A time from now, with the exact time on hover.

import { useNow } from "../lib/clock";
import { exactTime, relative, untilDue } from "../lib/format";

interface Props {
    at: string | null | undefined;
    fallback?: string;
    due?: boolean; // a deadline: overdue once it has passed
}

/** In a row that is a link it lies above the link, to be hovered, and forwards clicks. */
export function Time({ at, fallback = "never", due = false }: Props) {
    const now = useNow();
    if (!at) return <span class="muted">{fallback}</span>;
    return (
        <time dateTime={at} title={exactTime(at)} onClick={openRow}>
            {(due ? untilDue : relative)(Date.parse(at), now)}
        </time>
    );
}

function openRow(event: { currentTarget: HTMLElement }) {
    event.currentTarget.closest("tr")?.querySelector<HTMLElement>("a.row-link")?.click();
}
