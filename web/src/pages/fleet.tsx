// The fleet: one row per agent, trouble first.

import { AgentTable, byState, stateChoices } from "../features/fleet/agent_table";
import { FirstEvent } from "../features/fleet/first_event";
import { call } from "../lib/api";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { setQuery } from "../lib/route";
import { Empty, Heading, Live, LoadState, SearchField, Segments } from "../ui";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const LIMIT = 1000;

export default function Fleet({ slug, query }: PageProps) {
    const q = query.get("q") ?? "";
    const state = query.get("state") ?? "";
    const fleet = useLiveQuery(slug, `${AGENTS} ${slug} ${q}`, (signal) =>
        call(AGENTS, {
            path: { slug },
            query: { limit: LIMIT, include_runs: true, q: q || null },
            signal,
        }),
    );
    const usage = useLiveQuery(slug, `${USAGE} ${slug} today`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: "today", group_by: "agent" }, signal }),
    );
    const costs = new Map(usage.data?.groups.map((group) => [group.agent_name, group.cost]));
    const agents = [...(fleet.data?.agents ?? [])].sort(byState);
    const shown = state === "" ? agents : agents.filter((agent) => agent.state === state);
    return (
        <>
            <Heading title="Fleet">
                <Live />
            </Heading>
            {(agents.length > 0 || q !== "") && (
                <div class="filters">
                    <Segments
                        label="State"
                        choices={stateChoices(agents)}
                        value={state}
                        onChange={(to) => setQuery({ state: to })}
                    />
                    <SearchField
                        label="Agent"
                        placeholder="Agent"
                        value={q}
                        onChange={(to) => setQuery({ q: to })}
                    />
                </div>
            )}
            <LoadState of={fleet} rows={10} />
            {fleet.data && agents.length === 0 && q === "" && <FirstEvent slug={slug} />}
            {fleet.data && shown.length === 0 && (q !== "" || state !== "") && (
                <Empty title="No agents match">
                    <button type="button" onClick={() => setQuery({ q: null, state: null })}>
                        Show all
                    </button>
                </Empty>
            )}
            {shown.length > 0 && <AgentTable slug={slug} agents={shown} costs={costs} />}
            {fleet.data?.next && (
                <p class="note">
                    Only the first {LIMIT} agents by name are shown; search for others.
                </p>
            )}
        </>
    );
}
