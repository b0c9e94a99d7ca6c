// A time from now, with the exact time on hover; or exact everywhere, when a person chose so.

import { useNow } from "../lib/clock";
import { exactTime, relative, untilDue } from "../lib/format";
import { useStore } from "../lib/store";
import { exactTimes, zone } from "../lib/zone";

interface Props {
    at: string | null | undefined;
    fallback?: string;
    due?: boolean; // a deadline: overdue once it has passed
    exact?: boolean; // whatever the person chose
}

/** In a row that is a link it lies above the link, to be hovered, and forwards clicks. */
export function Time({ at, fallback = "never", due = false, exact = false }: Props) {
    const now = useNow();
    const chosen = useStore(exactTimes);
    useStore(zone);
    if (!at) return <span class="muted">{fallback}</span>;
    const [full, fromNow] = [exactTime(at), (due ? untilDue : relative)(Date.parse(at), now)];
    const written = exact || chosen;
    return (
        <time dateTime={at} title={written ? fromNow : full} onClick={openRow}>
            {written ? full : fromNow}
        </time>
    );
}

function openRow(event: { currentTarget: HTMLElement }) {
    event.currentTarget.closest("tr")?.querySelector<HTMLElement>("a.row-link")?.click();
}
