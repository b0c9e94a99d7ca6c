// Ways to more rows. A cursor is kept in the address, so that a page of a list is a link and Back
// leads to the page before.

import { count } from "../lib/format";
import { href, useRoute } from "../lib/route";

export function Pager({ next }: { next: string | null | undefined }) {
    const { path, query } = useRoute();
    const older = query.get("cursor") !== null;
    const to = (cursor: string | null) => href(path, { ...Object.fromEntries(query), cursor });
    if (!older && !next) return null;
    return (
        <div class="pager">
            {older && (
                <a class="button" href={to(null)}>
                    Newest
                </a>
            )}
            {next && (
                <a class="button" href={to(next)}>
                    Older
                </a>
            )}
        </div>
    );
}

interface StepsProps {
    back: { label: string; go: () => void } | null;
    on: { label: string; go: () => void } | null;
}

/** The same for lists that are not paged by a cursor: one button back, one on. */
export function Steps({ back, on }: StepsProps) {
    return (
        <div class="pager">
            {[back, on].map(
                (step) =>
                    step && (
                        <button key={step.label} type="button" onClick={step.go}>
                            {step.label}
                        </button>
                    ),
            )}
        </div>
    );
}

interface ShowMoreProps {
    shown: number;
    total: number;
    onMore: () => void;
}

/** Draws more of what is loaded already. */
export function ShowMore({ shown, total, onMore }: ShowMoreProps) {
    if (shown >= total) return null;
    return (
        <div class="pager">
            <button type="button" onClick={onMore}>
                Show more ({count(total - shown)} left)
            </button>
        </div>
    );
}
