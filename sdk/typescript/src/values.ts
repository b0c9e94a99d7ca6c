// Turns whatever an agent passes in into values that the service accepts.
//
// A report must never break the agent, so nothing here throws: text is cut to its limit, numbers
// that JSON cannot express and objects that it does not know become text.

export const NAME_MAX = 256;
export const TEXT_MAX = 16384;
export const LEVEL_MAX = 32;
const ENTRIES_MAX = 100;
const LINKS_MAX = 50;
const DEPTH_MAX = 32;

const UNACCEPTED = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export const now = (): string => new Date().toISOString();

/** `value` as text without NUL and lone surrogates, at most `limit` characters long. */
export function text(value: unknown, limit = TEXT_MAX): string {
    let string: string;
    try {
        string = String(value);
    } catch {
        string = "<object>"; // a toString of the agent's own
    }
    if (string.length > limit) string = string.slice(0, limit - 1) + "…";
    return string.replace(UNACCEPTED, "\ufffd");
}

export const name = (value: unknown): string => text(value, NAME_MAX);

/** A finite number, or undefined. */
export function number(value: unknown): number | undefined {
    const real = typeof value === "bigint" ? Number(value) : value;
    return typeof real === "number" && Number.isFinite(real) ? real : undefined;
}

export function integer(value: unknown): number | undefined {
    const real = number(value);
    return real === undefined ? undefined : Math.trunc(real);
}

/** `value` as JSON can express it; anything unknown, or nested too deeply, becomes text. */
export function plain(value: unknown, depth = 0): unknown {
    if (value === null || value === undefined) return null;
    if (typeof value === "boolean") return value;
    if (typeof value === "string") return text(value);
    if (typeof value === "number" || typeof value === "bigint") return number(value) ?? null;
    if (depth >= DEPTH_MAX || typeof value !== "object") return text(value);
    if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    return object(value, depth);
}

function object(value: object, depth: number): unknown {
    try {
        const entries = Object.entries(value).map(([key, item]) => [
            name(key),
            plain(item, depth + 1),
        ]);
        return Object.fromEntries(entries);
    } catch {
        return text(value); // a getter of the agent's own
    }
}

export type Entries = Record<string, unknown>;

export const first = (entries: Entries | undefined, limit = ENTRIES_MAX): [string, unknown][] =>
    Object.entries(entries ?? {}).slice(0, limit);

export const metadata = (entries?: Entries): Record<string, string> =>
    Object.fromEntries(first(entries).map(([key, value]) => [name(key), text(value)]));

/** Numbers by name; what is not a number is left out. */
export function measurements(entries?: Entries, limit = ENTRIES_MAX): Record<string, number> {
    const found: Record<string, number> = {};
    for (const [key, value] of first(entries, limit)) {
        const real = number(value);
        if (real !== undefined) found[name(key)] = real;
    }
    return found;
}

export const links = (addresses: Iterable<unknown> = []): string[] =>
    [...addresses].slice(0, LINKS_MAX).map((address) => text(address));
