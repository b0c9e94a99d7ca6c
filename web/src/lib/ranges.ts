// Spans of time that people choose from.

import type { Choice } from "../ui/basics";

export const RANGES: readonly Choice[] = [
    { value: "1h", label: "Last hour" },
    { value: "24h", label: "Last 24 hours" },
    { value: "7d", label: "Last 7 days" },
    { value: "30d", label: "Last 30 days" },
    { value: "90d", label: "Last 90 days" },
];

/** The value when it is one of the choices, else the first argument's default. */
export function chosen(
    choices: readonly Choice[],
    value: string | null,
    otherwise: string,
): string {
    return choices.some((one) => one.value === value) ? (value as string) : otherwise;
}

/** "the last 7 days": of a choice, within a sentence. */
export function wordsOf(choices: readonly Choice[], value: string): string {
    const label = choices.find((one) => one.value === value)?.label ?? value;
    return label.replace(/^Last/, "the last").replace(/^(All|This|Today)/, (word) => word.toLowerCase());
}

/** What sums over a period are asked for. */
export const PERIODS: readonly Choice[] = [
    { value: "24h", label: "Last 24 hours" },
    { value: "7d", label: "Last 7 days" },
    { value: "30d", label: "Last 30 days" },
    { value: "90d", label: "Last 90 days" },
    { value: "today", label: "Today (UTC)" },
    { value: "this_month", label: "This month" },
    { value: "last_month", label: "Last month" },
];
