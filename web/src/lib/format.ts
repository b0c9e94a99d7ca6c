// Numbers, durations and times as people read them.

import { zone } from "./zone";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const power = new Intl.NumberFormat("en", { notation: "scientific", maximumFractionDigits: 2 });
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function count(value: number): string {
    return whole.format(value);
}

const HUGE = 1e15; // from here on digits are only noise: 1.7E308
const TINY = 1e-9; // the same: 1E-300

/** 12,345 in full; 1,234,567 as 1.23M. */
export function compact(value: number): string {
    if (Math.abs(value) >= HUGE) return power.format(value);
    return Math.abs(value) < 100_000 ? plain.format(value) : short.format(value);
}

export function number(value: number): string {
    const size = Math.abs(value);
    if (size >= HUGE || (size !== 0 && size < TINY)) return power.format(value);
    return value !== 0 && Math.abs(value) < 1 ? fine.format(value) : plain.format(value);
}

/** "640 B", "12.4 kB", "3.1 MB". */
export function bytes(size: number): string {
    const units = ["B", "kB", "MB", "GB"];
    let at = 0;
    while (size >= 1000 && at < units.length - 1) {
        size /= 1000;
        at++;
    }
    return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
}

/** Milliseconds: "840 ms", "12.4 s", "3 m 05 s", "2 h 10 m", "3 d 4 h". */
export function duration(ms: number): string {
    if (ms < 0) return `−${duration(-ms)}`;
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
    const seconds = Math.round(ms / 1000);
    const two = (n: number) => String(n).padStart(2, "0");
    if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
    const hours = Math.round(minutes / 60);
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How often: "30 s", "2 h", "1 h 30 m". */
export function interval(seconds: number): string {
    return duration(seconds * 1000).replace(/\.0 s$/, " s").replace(/ 00? [smh]$/, "");
}

const UNITS = [
    { seconds: 86400 * 30, from: 86400 * 60, name: "mo" },
    { seconds: 86400, from: 86400, name: "d" },
    { seconds: 3600, from: 3600, name: "h" },
    { seconds: 60, from: 60, name: "min" },
];

/** "59 s", "4 min", "3 d": in one unit. */
export function inOneUnit(seconds: number): string {
    const unit = UNITS.find(({ from }) => seconds >= from) ?? { seconds: 1, name: "s" };
    return `${Math.floor(seconds / unit.seconds)} ${unit.name}`;
}

/** Time from now in one unit: "just now", "4 min ago", "in 2 h". */
export function relative(time: number, now: number): string {
    const seconds = Math.round((now - time) / 1000);
    const far = Math.abs(seconds);
    if (far < 10) return seconds >= 0 ? "just now" : "now";
    return seconds >= 0 ? `${inOneUnit(far)} ago` : `in ${inOneUnit(far)}`;
}

/** The same for a deadline: "in 2 h", "overdue by 3 s". */
export function untilDue(time: number, now: number): string {
    const seconds = Math.round((now - time) / 1000);
    return seconds > 0 ? `overdue by ${inOneUnit(seconds)}` : relative(time, now);
}

const exactFormats = {
    local: new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" }),
    utc: new Intl.DateTimeFormat("en-GB", {
        dateStyle: "medium",
        timeStyle: "long",
        timeZone: "UTC",
    }),
};
const dayFormat = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
});

/** Formats of parts of a time, in either zone. */
function inZone(options: Intl.DateTimeFormatOptions): (time: string) => string {
    const formats = {
        local: new Intl.DateTimeFormat("en-GB", options),
        utc: new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }),
    };
    return (time) => formats[zone.get()].format(new Date(time));
}

const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
const DATE = { day: "numeric", month: "short" } as const;

/** "14:00", "9 Nov" and "9 Nov 2026, 14:00 UTC" in the zone that the person chose. */
export const clockInZone = inZone(CLOCK);
export const dayInZone = inZone(DATE);
export const momentInZone = inZone({ ...DATE, ...CLOCK, year: "numeric", timeZoneName: "short" });

export function exactTime(time: string): string {
    return exactFormats[zone.get()].format(new Date(time));
}

/** "3 Nov", from a date or date-time in UTC. */
export function day(time: string): string {
    return dayFormat.format(new Date(time));
}

function money(value: number, currency: string, brief: boolean): string {
    const size = Math.abs(value);
    const tiny = size !== 0 && size < TINY;
    try {
        return new Intl.NumberFormat("en", {
            style: "currency",
            currency,
            ...(size >= HUGE || tiny ? { notation: "scientific", maximumSignificantDigits: 3 } : {}),
            ...(brief && size >= 100_000 && size < HUGE
                ? { notation: "compact", maximumSignificantDigits: 3 }
                : {}),
            ...(size !== 0 && size < 0.995 && !tiny
                ? { minimumSignificantDigits: 2, maximumSignificantDigits: 3 }
                : {}),
        }).format(value);
    } catch {
        return `${plain.format(value)} ${currency}`; // not a currency code
    }
}

/** A cost from the API: a decimal string, or null when no model in it has a price. */
export function cost(value: string | null | undefined): string {
    return value === null || value === undefined ? "no price" : money(Number(value), "USD", true);
}

export function dollars(value: number): string {
    return money(value, "USD", true);
}

const LOTS = [
    [1, "1"],
    [1_000, "1,000"],
    [1_000_000, "1 M"],
] as const;

/** "€" for EUR; nothing for what is not a currency code. */
function symbolOf(currency: string): string {
    try {
        const parts = new Intl.NumberFormat("en", { style: "currency", currency }).formatToParts(1);
        return parts.find(({ type }) => type === "currency")?.value ?? "";
    } catch {
        return "";
    }
}

/** The cost per unit, or per as many units as cost a cent: "$1.94 each", "$7.42 per €1 M". */
export function costPerUnit(spent: number, unit: string | null | undefined): string {
    const [n, text] = LOTS.find(([n]) => spent * n >= 0.01) ?? LOTS[2];
    const symbol = unit?.startsWith("money:") ? symbolOf(unit.slice(6)) : "";
    const lot = n === 1 && symbol === "" ? "each" : `per ${symbol}${text}`;
    return `${dollars(spent * n)} ${lot}`;
}

/** A KPI's value in its unit: count, money:EUR, percent, duration (seconds), or an unknown one. */
export function inUnit(value: unknown, unit: string | null | undefined): string {
    if (typeof value === "string") return value;
    if (typeof value !== "number") return "–";
    if (unit === "percent") return `${number(value)} %`;
    if (unit === "duration") return duration(value * 1000);
    if (unit?.startsWith("money:")) return money(value, unit.slice(6), true);
    const text = Math.abs(value) < 1 ? number(value) : compact(value);
    return unit === null || unit === undefined || unit === "count" || unit === ""
        ? text
        : `${text} ${unit}`;
}

/** "+12 %": the change from one value to another; null when there is nothing to compare. */
export function change(from: unknown, to: unknown): number | null {
    if (typeof from !== "number" || typeof to !== "number" || from === 0) return null;
    return (to - from) / Math.abs(from);
}

export function percent(part: number): string {
    const value = part * 100;
    return `${Math.abs(value) >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
    return `${count(n)} ${n === 1 ? one : many}`;
}

/** The first part of a long id. */
export function shortId(id: string): string {
    return id.length > 12 ? id.slice(0, 8) : id;
}

const [WHOLE_MAX, HEAD, TAIL] = [24, 8, 15]; // characters of an id

/** Ids as short labels that differ: of a long id its beginning and its end, where a time or a number
 * usually is. Whole where that is not enough to tell it from another. */
export function briefIds(ids: readonly string[]): Map<string, string> {
    const brief = (id: string) =>
        id.length > WHOLE_MAX ? `${id.slice(0, HEAD)}…${id.slice(-TAIL)}` : id;
    const times = new Map<string, number>();
    for (const id of ids) times.set(brief(id), (times.get(brief(id)) ?? 0) + 1);
    return new Map(ids.map((id) => [id, times.get(brief(id)) === 1 ? brief(id) : id]));
}

/** "Acme GmbH" as a slug. */
export function slugOf(name: string): string {
    return name
        .toLowerCase()
        .normalize("NFKD")
        .replace(/[\u0300-\u036f]/g, "")
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-+|-+$/g, "")
        .slice(0, 63);
}

/** "person:ada@example.org" without its prefix, and whether a token acted for them. */
export function actorName(actor: string): string {
    return actor.replace(/^person:/, "").replace(/ token:\S+$/, " (token)");
}
