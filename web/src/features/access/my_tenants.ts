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

const COUNTS = "GET /api/v1/tenants/{slug}/alerts/counts"; // small, and for every member

/** Is there no such workspace for this person? One that is not in the list is asked for, as the list
 * may be older than the workspace. Undefined while that is not known. */
export function useIsMissing(slug: string, tenants: TenantName[] | undefined): boolean | undefined {
    const listed =
        slug === "" || tenants === undefined || tenants.some((one) => one.slug === slug);
    const { error, loading } = useQuery(listed ? null : `${COUNTS} ${slug}`, (signal) =>
        call(COUNTS, { path: { slug }, signal }),
    );
    if (listed) return false;
    return loading ? undefined : error?.status === 403 || error?.status === 404;
}

const LAST_KEY = "muster.tenant";

export const rememberTenant = (slug: string) => localStorage.setItem(LAST_KEY, slug);

/** The tenant opened last, else the first. */
export function lastTenant(tenants: TenantName[]): TenantName | undefined {
    const last = localStorage.getItem(LAST_KEY);
    return tenants.find(({ slug }) => slug === last) ?? tenants[0];
}
