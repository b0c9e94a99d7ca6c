// The tenants somebody may open.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { isPlatformAdmin, type Me } from "./session";

export interface TenantName {
    slug: string;
    name: string;
}

/** All of them for an admin of the platform, else those the person belongs to; undefined while asking. */
export function useTenants(me: Me): TenantName[] | undefined {
    const everyone = isPlatformAdmin(me);
    const { data, error } = useQuery(everyone ? "GET /api/v1/tenants" : null, (signal) =>
        call("GET /api/v1/tenants", { signal }),
    );
    if (!everyone || error) return me.tenants;
    return data?.tenants;
}
