// How a KPI is identified and called.

/** What identifies it, in any answer. */
interface Known {
    agent_name: string;
    key: string;
}

interface Named {
    key: string;
    label: string | null;
}

export const idOf = (kpi: Known) => `${kpi.agent_name}/${kpi.key}`;
export const nameOf = (kpi: Named) => kpi.label || kpi.key;
