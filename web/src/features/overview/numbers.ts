// What the overview shows, from the API's answers.

import type { KpiTotal, RunTotals, Usage } from "api";

import { costPerDay, daysLeft } from "../../lib/forecast";
import { change } from "../../lib/format";

const MOVED_LEAST = 0.05;
const MOVED_MOST = 6; // KPIs

export interface RunSums {
    runs: number;
    failed: number;
    rate: number | null; // of the runs that ended
}

export function sumsOf({ periods }: RunTotals): RunSums {
    const sum = (name: "completed" | "failed" | "in_progress") =>
        periods.reduce((all, period) => all + period[name], 0);
    const [completed, failed, open] = [sum("completed"), sum("failed"), sum("in_progress")];
    const ended = completed + failed;
    return { runs: ended + open, failed, rate: ended === 0 ? null : failed / ended };
}

/** The cost of the month at its end: so far, and for the days that are left as much as on the last
 * full days on average. Null: nothing has a cost. */
export function forecast(month: Usage, days: Usage, now: number): number | null {
    if (month.total.cost === null && days.total.cost === null) return null;
    return Number(month.total.cost ?? 0) + costPerDay(days.groups, now) * daysLeft("month", now);
}

/** The KPIs that changed most since the period before. */
export function movedOf(kpis: readonly KpiTotal[]): KpiTotal[] {
    const size = (kpi: KpiTotal) => Math.abs(change(kpi.previous, kpi.value) ?? 0);
    return kpis
        .filter((kpi) => size(kpi) >= MOVED_LEAST)
        .sort((a, b) => size(b) - size(a))
        .slice(0, MOVED_MOST);
}
