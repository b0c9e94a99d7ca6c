// The KPIs that agents declare, for rules and alerts about them.

import type { Alert } from "api";

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

export function useKnownKpis(slug: string, wanted = true): KnownKpi[] {
    const { data } = useQuery(wanted ? `${CATALOG} ${slug}` : null, (signal) =>
        call(CATALOG, { path: { slug }, signal }),
    );
    return (data?.kpis ?? []).map(({ key, agent_name, label, unit }) => ({
        key,
        agent_name,
        label: label || key,
        unit: unit ?? "",
    }));
}

/** Those that a list of alerts needs: loaded once for all its rows, and only if one is about a KPI. */
export const useKpisOf = (slug: string, alerts: readonly Alert[]) =>
    useKnownKpis(slug, alerts.some((one) => one.type === "kpi.crossed"));

/** The KPI of a rule, which may be one of all agents. */
export const knownAs = (kpis: KnownKpi[], key: string, agent_name: string | null | undefined) =>
    kpis.find((one) => one.key === key && (!agent_name || one.agent_name === agent_name));
