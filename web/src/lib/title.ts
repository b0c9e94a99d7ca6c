// The title of the window: what the page is about, and of which workspace.

let workspace = "";
let page: string | undefined;
let instead: string | undefined;

function draw() {
    document.title = [instead ?? page, workspace, "muster"].filter(Boolean).join(" · ");
}

export function nameWindow(subject: string | undefined, slug: string) {
    workspace = slug;
    page = subject;
    draw();
}

/** While something else is shown instead of the page, whatever its address; undefined: no longer. */
export function renameWindow(subject: string | undefined) {
    instead = subject;
    draw();
}
