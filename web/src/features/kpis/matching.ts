// KPIs by what a person types.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { idOf, nameOf } from "./names";

const CATALOG = "GET /api/v1/tenants/{slug}/business/catalog";

export interface FoundKpi {
    id: string; // as the page of KPIs has it in its address
    name: string;
    agent_name: string;
}

/** Those whose name or key contains `text`; none for an empty text. */
export function useMatchingKpis(slug: string, text: string, limit: number): FoundKpi[] {
    const wanted = text.trim().toLowerCase();
    const { data } = useQuery(wanted === "" || slug === "" ? null : `${CATALOG} ${slug}`, (signal) =>
        call(CATALOG, { path: { slug }, signal }),
    );
    if (wanted === "") return [];
    return (data?.kpis ?? [])
        .filter((kpi) => `${nameOf(kpi)} ${kpi.key}`.toLowerCase().includes(wanted))
        .slice(0, limit)
        .map((kpi) => ({ id: idOf(kpi), name: nameOf(kpi), agent_name: kpi.agent_name }));
}
