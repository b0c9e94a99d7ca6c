// What models will have cost at the end of a day or a month.

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;

interface Day {
    day?: string | null;
    cost: string | null;
}

const startOfDay = (at: number) => Math.floor(at / DAY_MS) * DAY_MS;

/** The cost of the last full days on average. */
export function costPerDay(days: readonly Day[], now: number): number {
    const today = startOfDay(now);
    const full = days.filter((one) => {
        const day = Date.parse(one.day ?? "");
        return day < today && day >= today - PACE_DAYS * DAY_MS;
    });
    return full.reduce((sum, one) => sum + Number(one.cost ?? 0), 0) / PACE_DAYS;
}

/** How much of the UTC day or month is left, in days. */
export function daysLeft(per: "day" | "month", now: number): number {
    const end = new Date(startOfDay(now));
    if (per === "day") end.setUTCDate(end.getUTCDate() + 1);
    else end.setUTCMonth(end.getUTCMonth() + 1, 1);
    return (end.getTime() - now) / DAY_MS;
}
