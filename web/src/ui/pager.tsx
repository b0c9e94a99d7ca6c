// The way to older entries of a list, and back to the newest. The place in it stands in the address,
// so that a page of it is a link, and the browser's way back leads to the page before.

import { href, usePlace } from "../lib/route";

export function Pager({ next }: { next: string | null | undefined }) {
    const { path, query } = usePlace();
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
