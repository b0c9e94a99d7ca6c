// The fleet: one row per agent, trouble first. The server orders and counts; the rows near the window
// are loaded.

import { useRef } from "preact/hooks";

import { AgentTable, countOf, stateChoices } from "../features/fleet/agent_table";
import { FirstEvent } from "../features/fleet/first_event";
import { call } from "../lib/api";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { setQuery } from "../lib/route";
import { Empty, Heading, Live, LoadState, SearchField, Segments } from "../ui";
import { useRowWindow } from "../ui/row_window";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

interface Chosen {
    slug: string;
    q: string; // part of the name
    state: string; // "": any
}

type State = NonNullable<Parameters<typeof call<typeof AGENTS>>[1]["query"]>["state"];

/** The agents from `first` on, and how many there are in each state. */
function useAgents({ slug, q, state }: Chosen, first: number, limit: number) {
    const query = { order: "trouble", offset: first, limit, include_runs: true } as const;
    const loaded = useLiveQuery(
        slug,
        `${AGENTS} ${slug} ${state} ${first} ${limit} ${q}`,
        async (signal) => {
            const filters = { q: q || null, state: (state || null) as State };
            const answer = await call(AGENTS, { path: { slug }, query: { ...query, ...filters }, signal });
            return { ...answer, first };
        },
    );
    const last = useRef(loaded.data); // shown until the next rows are there
    last.current = loaded.data ?? last.current;
    return { ...loaded, data: last.current };
}

function Agents({ slug, q, state }: Chosen) {
    const holder = useRef<HTMLDivElement>(null);
    const { first, limit, rowPx } = useRowWindow(holder);
    const fleet = useAgents({ slug, q, state }, first, limit);
    const usage = useLiveQuery(slug, `${USAGE} ${slug} today`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: "today", group_by: "agent" }, signal }),
    );
    const costs = new Map(usage.data?.groups.map((group) => [group.agent_name, group.cost]));
    const counts = fleet.data?.counts;
    const filtered = q !== "" || state !== "";
    const total = counts ? countOf(counts, state) : 0;
    return (
        <>
            {counts && (total > 0 || filtered) && (
                <div class="filters">
                    <Segments
                        label="State"
                        choices={stateChoices(counts, state)}
                        value={state}
                        onChange={(to) => setQuery({ state: to })}
                    />
                    <SearchField
                        label="Agent"
                        placeholder="Agent"
                        value={q}
                        onChange={(to) => setQuery({ q: to }, { typed: true })}
                    />
                </div>
            )}
            <LoadState of={fleet} rows={10} />
            {counts && total === 0 && !filtered && <FirstEvent slug={slug} />}
            {counts && total === 0 && filtered && (
                <Empty title="No agents match">
                    <button type="button" onClick={() => setQuery({ q: null, state: null })}>
                        Show all
                    </button>
                </Empty>
            )}
            <div ref={holder}>
                {fleet.data && total > 0 && (
                    <AgentTable
                        slug={slug}
                        agents={fleet.data.agents}
                        part={{ first: fleet.data.first, total, rowPx }}
                        costs={costs}
                    />
                )}
            </div>
        </>
    );
}

export default function Fleet({ slug, query }: PageProps) {
    const q = query.get("q") ?? "";
    const state = query.get("state") ?? "";
    return (
        <>
            <Heading title="Fleet">
                <Live />
            </Heading>
            <Agents key={slug} slug={slug} q={q} state={state} />
        </>
    );
}
