// The KPIs that agents declare, for rules and alerts about them.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";

const CATALOG = "GET /api/v1/tenants/{slug}/business/catalog";

/** A KPI as the catalog declares it. */
export interface KnownKpi {
    key: string;
    agent_name: string;
    label: string;
    unit: string;
}

export function useKnownKpis(slug: string): KnownKpi[] {
    const { data } = useQuery(`${CATALOG} ${slug}`, (signal) =>
        call(CATALOG, { path: { slug }, signal }),
    );
    return (data?.kpis ?? []).map(({ key, agent_name, label, unit }) => ({
        key,
        agent_name,
        label: label || key,
        unit: unit ?? "",
    }));
}

/** The KPI of a rule, which may be one of all agents. */
export const knownAs = (kpis: KnownKpi[], key: string, agent_name: string | null | undefined) =>
    kpis.find((one) => one.key === key && (!agent_name || one.agent_name === agent_name));
