// Time ranges that people choose from.

import { type Choice, labelOf } from "./choices";

const DAYS: readonly Choice[] = [
    { value: "24h", label: "Last 24 hours" },
    { value: "7d", label: "Last 7 days" },
    { value: "30d", label: "Last 30 days" },
    { value: "90d", label: "Last 90 days" },
];

export const RANGES: readonly Choice[] = [{ value: "1h", label: "Last hour" }, ...DAYS];

/** Ranges that totals are computed over. */
export const PERIODS: readonly Choice[] = [
    ...DAYS,
    { value: "today", label: "Today (UTC)" },
    { value: "this_month", label: "This month" },
    { value: "last_month", label: "Last month" },
];

/** "the last 7 days": the label of a choice inside a sentence. */
export function rangeInWords(choices: readonly Choice[], value: string): string {
    const label = labelOf(choices, value);
    return label
        .replace(/^Last/, "the last")
        .replace(/^(All|This|Today)/, (word) => word.toLowerCase());
}
