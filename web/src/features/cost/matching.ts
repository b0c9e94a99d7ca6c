// Models by what a person types.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const RANGE = "30d"; // as the page of costs opens

/** Those that were used lately and whose name contains `text`; none for an empty text. */
export function useMatchingModels(slug: string, text: string, limit: number): string[] {
    const wanted = text.trim().toLowerCase();
    const { data } = useQuery(
        wanted === "" || slug === "" ? null : `${USAGE} ${slug} ${RANGE} model`,
        (signal) =>
            call(USAGE, { path: { slug }, query: { time_range: RANGE, group_by: "model" }, signal }),
    );
    if (wanted === "") return [];
    return (data?.groups ?? [])
        .map((one) => one.model ?? "")
        .filter((model) => model.toLowerCase().includes(wanted))
        .slice(0, limit);
}
