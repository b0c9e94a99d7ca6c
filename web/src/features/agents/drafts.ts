// What somebody has written and not saved: kept while the portal is open, so that a look at another
// page loses nothing; the browser asks before it closes the last copy.

export interface Draft {
    text: string;
    format: string;
    base: number; // the version that it began from
}

const drafts = new Map<string, Draft>();

export const draftOf = (key: string) => drafts.get(key);

/** null: there is nothing to keep. */
export function keepDraft(key: string, draft: Draft | null) {
    if (draft === null) drafts.delete(key);
    else drafts.set(key, draft);
}

addEventListener("beforeunload", (event) => {
    if (drafts.size > 0) event.preventDefault();
});
