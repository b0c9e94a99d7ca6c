// Where we are: the part of the address after '#', so that every view is a link.

import { makeStore, useStore } from "./store";

export interface Place {
    path: string; // "/t/acme/runs", decoded segment by segment when matched
    query: URLSearchParams;
}

function read(): Place {
    const text = location.hash.replace(/^#/, "") || "/";
    const at = text.indexOf("?");
    const path = at < 0 ? text : text.slice(0, at);
    return { path, query: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)) };
}

const place = makeStore<Place>(read());

/** A link leads to the top of its page, the way back to where one was on it. Browsers look for that
 * place before the page is drawn, so it is looked for here. */
const places = new Map<string, number>();
let followed = false;
history.scrollRestoration = "manual";

const PATIENCE_MS = 1_000; // for the page to be as long as it was

function scrollBack(to: number, hash: string, until: number) {
    scrollTo(0, to);
    if (scrollY < to && location.hash === hash && performance.now() < until)
        requestAnimationFrame(() => scrollBack(to, hash, until));
}

addEventListener("hashchange", (event) => {
    const from = place.get().path;
    places.set(new URL(event.oldURL).hash, scrollY);
    place.set(read());
    if (!followed)
        scrollBack(places.get(location.hash) ?? 0, location.hash, performance.now() + PATIENCE_MS);
    else if (place.get().path !== from) scrollTo(0, 0);
    followed = false;
});

function followsLink(event: MouseEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return false; // elsewhere
    const link = (event.target as Element).closest?.("a");
    return link?.getAttribute("href")?.startsWith("#/") ?? false;
}

addEventListener("click", (event) => {
    if (followsLink(event)) followed = true;
});

export const usePlace = () => useStore(place);

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

export function go(to: string) {
    followed = true;
    location.hash = to;
}

/** Changes some values of the query in place, without a new entry in the history. */
export function setQuery(changes: Values) {
    const { path, query } = read();
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === null || value === "") next.delete(name);
        else next.set(name, String(value));
    }
    const text = next.toString();
    history.replaceState(null, "", text === "" ? `#${path}` : `#${path}?${text}`);
    place.set(read());
}

function decode(segment: string): string {
    try {
        return decodeURIComponent(segment);
    } catch {
        return segment; // somebody typed it by hand
    }
}

/** The values of the template's :names when the path fits it. */
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
