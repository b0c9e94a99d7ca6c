// The names of a tenant's agents, to choose from.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const NAMES_MAX = 500;

export function useAgentNames(slug: string): string[] {
    const { data } = useQuery(`${AGENTS} ${slug} names`, (signal) =>
        call(AGENTS, { path: { slug }, query: { limit: NAMES_MAX }, signal }),
    );
    return (data?.agents ?? []).map((one) => one.agent_name);
}
