// Unsaved edits: kept while the portal is open, so that visiting another page loses nothing. The
// browser asks before it closes the tab.

export interface Draft {
    text: string;
    format: string;
    base: number; // the version that was edited
}

const drafts = new Map<string, Draft>();

export const draftOf = (key: string) => drafts.get(key);

/** null: nothing is unsaved. */
export function keepDraft(key: string, draft: Draft | null) {
    if (draft === null) drafts.delete(key);
    else drafts.set(key, draft);
}

addEventListener("beforeunload", (event) => {
    if (drafts.size > 0) event.preventDefault();
});
