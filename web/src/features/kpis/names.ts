// How a KPI is identified and called.

import type { KpiTotal } from "api";

export const idOf = (kpi: KpiTotal) => `${kpi.agent_name}/${kpi.key}`;
export const nameOf = (kpi: KpiTotal) => kpi.label || kpi.key;
