// How a KPI changed since the previous period. Whether more is better is not known: no colours.

import type { KpiTotal } from "api";

import { change, percent } from "../../lib/format";

const SAME = 0.0005; // less would be shown as 0.0 %

/** "▲ 12 %"; null: there is nothing to compare with. */
export function changeOf(kpi: KpiTotal): string | null {
    const part = change(kpi.previous, kpi.value);
    if (part === null) return null;
    if (Math.abs(part) < SAME) return "no change";
    return `${part > 0 ? "▲" : "▼"} ${percent(Math.abs(part))}`;
}
