// How many alerts are open, and how many of them are not acknowledged.

import type { AlertCounts } from "api";

import { call } from "../../lib/api";
import { useLiveQuery } from "../../lib/query";

const COUNTS = "GET /api/v1/tenants/{slug}/alerts/counts";
const WRITTEN_MAX = 999;

export function useAlertCounts(slug: string): AlertCounts | undefined {
    const { data } = useLiveQuery(
        slug,
        slug === "" ? null : `${COUNTS} ${slug}`,
        (signal) => call(COUNTS, { path: { slug }, signal }),
        (change) => change.kind === "alert",
    );
    return data;
}

/** For the navigation, of those that are not acknowledged: "3", "999+"; empty when there are none. */
export function useOpenAlertCount(slug: string): string {
    const n = useAlertCounts(slug)?.unacknowledged ?? 0;
    return n === 0 ? "" : n > WRITTEN_MAX ? `${WRITTEN_MAX}+` : String(n);
}
