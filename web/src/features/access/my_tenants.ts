// The tenants that the person may open, and the one opened last.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { isPlatformAdmin, type Me } from "./session";

export interface TenantName {
    slug: string;
    name: string;
}

const LAST_KEY = "muster.tenant";
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
    // the one opened last is not waited for: a page that opens again asks for its data at once
    const wasOpen = tenants === undefined && localStorage.getItem(LAST_KEY) === slug;
    const listed = slug === "" || wasOpen || tenants?.some((one) => one.slug === slug) === true;
    const unlisted = !listed && tenants !== undefined;
    const { error, loading } = useQuery(unlisted ? `${COUNTS} ${slug}` : null, (signal) =>
        call(COUNTS, { path: { slug }, signal }),
    );
    if (listed) return false;
    if (tenants === undefined) return undefined;
    return loading ? undefined : error?.status === 403 || error?.status === 404;
}

export const rememberTenant = (slug: string) => localStorage.setItem(LAST_KEY, slug);

/** The tenant opened last, else the first. */
export function lastTenant(tenants: TenantName[]): TenantName | undefined {
    const last = localStorage.getItem(LAST_KEY);
    return tenants.find(({ slug }) => slug === last) ?? tenants[0];
}
