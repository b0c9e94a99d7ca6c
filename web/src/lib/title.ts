// The title of the window: what the page is about, and of which workspace.

let workspace = "";

export function nameWindow(subject: string | undefined, slug: string) {
    workspace = slug;
    renameWindow(subject);
}

/** Once it is known better what the page is about. */
export function renameWindow(subject: string | undefined) {
    document.title = [subject, workspace, "muster"].filter(Boolean).join(" · ");
}
