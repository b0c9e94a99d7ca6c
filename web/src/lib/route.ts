// The current route: the part of the URL after '#', so that every view is a link.

import { makeStore, useStore } from "./store";

export interface Route {
    path: string; // "/t/acme/runs", decoded segment by segment when matched
    query: URLSearchParams;
}

function read(): Route {
    const text = location.hash.replace(/^#/, "") || "/";
    const at = text.indexOf("?");
    const path = at < 0 ? text : text.slice(0, at);
    return { path, query: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)) };
}

const route = makeStore<Route>(read());

/** A link opens its page at the top, Back returns to the old scroll position. Browsers restore it
 * before the page is drawn, which is too early here, so it is restored by hand. */
const scrollPositions = new Map<string, number>();
let linkFollowed = false;
history.scrollRestoration = "manual";

const RESTORE_FRAMES = 600; // until the page is as long as it was: ten seconds, or more of a busy machine

let restoring = 0; // counts the restorations: a later one, and what a person does, ends those before
for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(kind, () => restoring++, { capture: true, passive: true });

function restoreScroll(to: number, turn: number, frames: number) {
    scrollTo(0, to);
    if (scrollY < to && turn === restoring && frames > 0)
        requestAnimationFrame(() => restoreScroll(to, turn, frames - 1));
}

addEventListener("hashchange", (event) => {
    const from = route.get().path;
    const { hash } = location;
    scrollPositions.set(new URL(event.oldURL).hash, scrollY);
    route.set(read());
    restoring++;
    if (!linkFollowed) restoreScroll(scrollPositions.get(hash) ?? 0, restoring, RESTORE_FRAMES);
    else if (route.get().path !== from) scrollTo(0, 0);
    linkFollowed = false;
});

function followsLink(event: MouseEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return false; // opens another tab
    const link = (event.target as Element).closest?.("a");
    return link?.getAttribute("href")?.startsWith("#/") ?? false;
}

addEventListener("click", (event) => {
    if (followsLink(event)) linkFollowed = true;
});

export const useRoute = () => useStore(route);

type Values = Record<string, string | number | boolean | null | undefined>;

/** "#/t/acme/runs?status=failed"; empty values are left out. */
export function href(path: string, query: Values = {}): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
    const text = search.toString();
    return text === "" ? `#${path}` : `#${path}?${text}`;
}

/** A path of encoded segments: pathOf("t", slug, "agents", name). */
export function pathOf(...segments: string[]): string {
    return "/" + segments.map(encodeURIComponent).join("/");
}

export function navigate(to: string) {
    linkFollowed = true;
    location.hash = to;
}

/** Changes some values of the query. Back undoes it, unless it is typed text, of which every pause
 * would be a step. */
export function setQuery(changes: Values, { typed = false } = {}) {
    const { path, query } = read();
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === null || value === "") next.delete(name);
        else next.set(name, String(value));
    }
    const text = next.toString();
    const to = text === "" ? `#${path}` : `#${path}?${text}`;
    if (to === location.hash) return;
    scrollPositions.set(location.hash, scrollY);
    if (typed) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    route.set(read());
}

function decode(segment: string): string {
    try {
        return decodeURIComponent(segment);
    } catch {
        return segment; // malformed escapes are kept verbatim
    }
}

/** The values of the template's :names when the path matches it, else null. */
export function match(template: string, path: string): Record<string, string> | null {
    const wanted = template.split("/");
    const given = path.split("/");
    if (wanted.length !== given.length) return null;
    const values: Record<string, string> = {};
    for (let i = 0; i < wanted.length; i++) {
        const part = wanted[i] ?? "";
        const segment = given[i] ?? "";
        if (part.startsWith(":") && segment !== "") values[part.slice(1)] = decode(segment);
        else if (part !== segment) return null;
    }
    return values;
}
