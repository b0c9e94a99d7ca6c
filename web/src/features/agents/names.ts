// The names of a tenant's agents.

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const NAMES_MAX = 500;

const namesOf = (answer: { agents: { agent_name: string }[] } | undefined) =>
    (answer?.agents ?? []).map((one) => one.agent_name);

export function useAgentNames(slug: string): string[] {
    const { data } = useQuery(`${AGENTS} ${slug} names`, (signal) =>
        call(AGENTS, { path: { slug }, query: { limit: NAMES_MAX }, signal }),
    );
    return namesOf(data);
}

/** The names that contain `text`; none for an empty text. */
export function useMatchingAgents(slug: string, text: string, limit: number): string[] {
    const q = text.trim();
    const { data } = useQuery(
        q === "" || slug === "" ? null : `${AGENTS} ${slug} ? ${q}`,
        (signal) => call(AGENTS, { path: { slug }, query: { q, limit }, signal }),
    );
    return namesOf(data);
}
