// A time from now; the exact time is shown on hover, by a tap, and everywhere when a person chose so,
// in the menu that each page has.

import { useState } from "preact/hooks";

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

/** In a row that is a link it lies above the link, to be hovered, and forwards clicks; elsewhere a
 * click or tap shows the other way to write it. */
export function Time({ at, fallback = "never", due = false, exact = false }: Props) {
    const now = useNow();
    const [turned, setTurned] = useState(false);
    const chosen = useStore(exactTimes);
    useStore(zone);
    if (!at) return <span class="muted">{fallback}</span>;
    const [full, fromNow] = [exactTime(at), (due ? untilDue : relative)(Date.parse(at), now)];
    const written = exact || chosen !== turned;
    const onClick = ({ currentTarget }: { currentTarget: HTMLElement }) => {
        const row = currentTarget.closest("tr")?.querySelector<HTMLElement>("a.row-link");
        if (row) row.click();
        else if (!currentTarget.closest("a, button, summary")) setTurned(!turned);
    };
    return (
        <time dateTime={at} title={written ? fromNow : full} onClick={onClick}>
            {written ? full : fromNow}
        </time>
    );
}
