// The number of open alerts, for the navigation.

import { call } from "../../lib/api";
import { useLiveQuery } from "../../lib/query";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const COUNTED_MAX = 99;

/** "3", "99+"; empty when there are none. */
export function useOpenAlertCount(slug: string): string {
    const { data } = useLiveQuery(
        slug,
        slug === "" ? null : `${ALERTS} ${slug} open`,
        (signal) =>
            call(ALERTS, {
                path: { slug },
                query: { state: "open", limit: COUNTED_MAX },
                signal,
            }),
        (change) => change.kind === "alert",
    );
    const n = data?.alerts.length ?? 0;
    return n === 0 ? "" : data?.next ? `${n}+` : String(n);
}
