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

const RESTORE_MS = 10_000; // for the page to become as long as it was

interface Restoration {
    hash: string;
    to: number;
    at: number; // where it scrolled last, as far as the page allowed
    until: number;
    ended: boolean; // by what a person did
}

let latest: Restoration | undefined;

const lowest = () => document.documentElement.scrollHeight - innerHeight;

for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(
        kind,
        (event) => {
            const goesBack = event instanceof KeyboardEvent && (event.altKey || event.metaKey);
            if (latest && !goesBack) latest.ended = true;
        },
        { capture: true, passive: true },
    );

/** A scrollbar, the browser's search and a screen reader scroll without any of these events: then the
 * page stands higher than it was set, and not because it became shorter. */
const wasScrolled = ({ at }: Restoration) => scrollY < Math.min(at, lowest()) - 1;

function restoreScroll(one: Restoration) {
    if (one !== latest || one.ended || wasScrolled(one)) return;
    scrollTo(0, one.to);
    one.at = scrollY;
    if (one.at < one.to - 1 && performance.now() < one.until)
        requestAnimationFrame(() => restoreScroll(one));
}

/** Before the page is left. A page that was not yet as long as it had been keeps its old position. */
function keepScroll(hash: string) {
    const kept =
        latest?.hash === hash && lowest() < latest.to - 1 && !wasScrolled(latest) ? latest.to : scrollY;
    scrollPositions.set(hash, kept);
}

addEventListener("hashchange", (event) => {
    const from = route.get().path;
    const { hash } = location;
    keepScroll(new URL(event.oldURL).hash);
    route.set(read());
    latest = undefined;
    if (!linkFollowed) {
        const to = scrollPositions.get(hash) ?? 0;
        latest = { hash, to, at: 0, until: performance.now() + RESTORE_MS, ended: false };
        restoreScroll(latest);
    } else if (route.get().path !== from) scrollTo(0, 0);
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
    keepScroll(location.hash);
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
