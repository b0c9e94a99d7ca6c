// The tenants that the person may open, and the one opened last.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { isPlatformAdmin, type Me } from "./session";

export interface TenantName {
    slug: string;
    name: string;
}

export const TENANTS = "GET /api/v1/tenants";

/** All of them for a platform admin, else those the person belongs to; undefined while loading. */
export function useTenants(me: Me): TenantName[] | undefined {
    const all = isPlatformAdmin(me);
    const { data, error } = useQuery(all ? TENANTS : null, (signal) => call(TENANTS, { signal }));
    if (!all || error) return me.tenants;
    return data?.tenants;
}

const LAST_KEY = "muster.tenant";

export const rememberTenant = (slug: string) => localStorage.setItem(LAST_KEY, slug);

/** The tenant opened last, else the first. */
export function lastTenant(tenants: TenantName[]): TenantName | undefined {
    const last = localStorage.getItem(LAST_KEY);
    return tenants.find(({ slug }) => slug === last) ?? tenants[0];
}
