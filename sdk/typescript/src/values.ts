// Turns whatever an agent passes in into values that the service accepts.
//
// A report must never break the agent, so nothing here throws and nothing here takes long: text is
// cut to its limit, numbers that JSON cannot express are left out, objects that it does not know
// become text, and a value is followed for a bounded number of nodes, however it refers to itself.

export const NAME_MAX = 256;
export const TEXT_MAX = 16384;
export const LEVEL_MAX = 32;
export const ENTRIES_MAX = 100;
export const SLICES_MAX = 1000;
const LINKS_MAX = 50;
const DEPTH_MAX = 32;
const NODES_MAX = 10_000;
const CHARACTERS_MAX = 4 << 20; // of all texts in one value: a report with more is cut anyway

const UNACCEPTED = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** What `work` returns, or `otherwise`: the agent's own getters and iterators may throw. */
export function attempt<T>(work: () => T, otherwise: T): T {
    try {
        return work();
    } catch {
        return otherwise;
    }
}

/** `value` as text without NUL and lone surrogates, at most `limit` characters long. */
export function text(value: unknown, limit = TEXT_MAX): string {
    let string = attempt(() => String(value), "<object>");
    if (string.length > limit) string = string.slice(0, limit - 1) + "…";
    return string.replace(UNACCEPTED, "\ufffd");
}

export const name = (value: unknown): string => text(value, NAME_MAX);

/** A finite number, or undefined. Truth counts, and text with a number in it. */
export function number(value: unknown): number | undefined {
    const kinds = ["number", "bigint", "boolean"];
    if (!kinds.includes(typeof value) && !(typeof value === "string" && value.trim())) {
        return undefined;
    }
    const real = Number(value);
    return Number.isFinite(real) ? real : undefined;
}

/** A whole number that JSON carries exactly, at least `least`; or undefined. */
export function integer(value: unknown, least = -Number.MAX_SAFE_INTEGER): number | undefined {
    const real = number(value);
    if (real === undefined) return undefined;
    return Math.max(least, Math.min(Math.trunc(real), Number.MAX_SAFE_INTEGER));
}

/** One value on its way to JSON. */
class Walk {
    private left = NODES_MAX;
    private characters = CHARACTERS_MAX;
    private readonly path = new Set<object>(); // the containers around the current one

    plain(value: unknown): unknown {
        if (--this.left < 0 || this.characters < 0) return "…";
        switch (typeof value) {
            case "boolean":
                return value;
            case "number":
            case "bigint":
                return number(value) ?? null;
            case "object":
                return value === null ? null : this.container(value);
            case "undefined":
                return null;
            default:
                return this.text(value);
        }
    }

    private text(value: unknown): string {
        const said = text(value);
        this.characters -= said.length;
        return said;
    }

    private container(value: object): unknown {
        if (this.path.has(value)) return "<cycle>";
        if (this.path.size >= DEPTH_MAX || value instanceof Error) return this.text(value);
        if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
        this.path.add(value);
        try {
            if (value instanceof Map) return this.members(value);
            if (Array.isArray(value) || value instanceof Set) return this.list(value);
            const { toJSON } = value as { toJSON?: unknown };
            if (typeof toJSON === "function") return this.plain(toJSON.call(value));
            return this.members(Object.entries(value));
        } catch {
            return "<object>"; // a getter or an iterator of the agent's own
        } finally {
            this.path.delete(value);
        }
    }

    private list(several: Iterable<unknown>): unknown[] {
        return [...limited(several, this.left)].map((each) => this.plain(each));
    }

    private members(pairs: Iterable<[unknown, unknown]>): Record<string, unknown> {
        const found: [string, unknown][] = [];
        for (const [key, member] of limited(pairs, this.left)) {
            found.push([name(key), this.plain(member)]);
        }
        return Object.fromEntries(found);
    }
}

function* limited<T>(several: Iterable<T>, limit: number): Generator<T> {
    let left = limit;
    if (left <= 0) return;
    for (const each of several) {
        yield each;
        if (--left <= 0) return;
    }
}

/** `value` as JSON can express it. */
export const plain = (value: unknown): unknown => new Walk().plain(value);

/** `value` as a JSON object; anything else becomes the member `value` of one. */
export function record(value: unknown): Record<string, unknown> | undefined {
    if (value === undefined || value === null) return undefined;
    const found = plain(value);
    const fits = typeof found === "object" && found !== null && !Array.isArray(found);
    return fits ? (found as Record<string, unknown>) : { value: found };
}

export type Entries = Record<string, unknown>;

/** The first entries of an object; anything else is one entry named `value`. */
function pairs(entries: unknown, limit: number): [string, unknown][] {
    if (entries === undefined || entries === null) return [];
    if (typeof entries !== "object" || Array.isArray(entries)) return [["value", entries]];
    const all = entries instanceof Map ? entries : attempt(() => Object.entries(entries), []);
    return attempt(() => [...limited<[unknown, unknown]>(all, limit)], []).map(([key, value]) => [
        name(key),
        value,
    ]);
}

export const metadata = (entries?: unknown): Record<string, string> =>
    Object.fromEntries(pairs(entries, ENTRIES_MAX).map(([key, value]) => [key, text(value)]));

/** Numbers by name; what is not a number is left out. */
export function measurements(entries?: unknown, limit = ENTRIES_MAX): Record<string, number> {
    const found: Record<string, number> = {};
    for (const [key, value] of pairs(entries, limit)) {
        const real = number(value);
        if (real !== undefined) found[key] = real;
    }
    return found;
}

/** The first members of a list; one thing that is no list, or a text, is its only member. */
export function items(several: unknown, limit: number): unknown[] {
    if (several === undefined || several === null) return [];
    if (typeof several !== "object" || !(Symbol.iterator in several)) return [several];
    return attempt(() => [...limited(several as Iterable<unknown>, limit)], []);
}

export const links = (addresses?: unknown): string[] =>
    items(addresses, LINKS_MAX).map((address) => text(address));
