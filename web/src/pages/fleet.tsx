// The fleet: one row per agent, trouble first unless a heading is chosen. The server orders and
// counts; the rows near the window are loaded.

import { useRef } from "preact/hooks";

import { AgentTable, countOf, ORDERS, stateChoices } from "../features/fleet/agent_table";
import { FirstEvent } from "../features/fleet/first_event";
import { call } from "../lib/api";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { setQuery } from "../lib/route";
import { Empty, Heading, Live, LoadState, SearchField, Segments, type Sorting } from "../ui";
import { useRowWindow } from "../ui/row_window";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

interface Chosen {
    slug: string;
    q: string; // part of the name
    state: string; // "": any
    sorting: Sorting | null; // null: trouble first
}

function sortingOf(query: URLSearchParams): Sorting | null {
    const known = Object.entries(ORDERS).find(([, order]) => order === query.get("order"));
    if (known === undefined) return null;
    const [title, order] = known;
    const reverse = query.get("reverse") === "true";
    return { title, descending: (order === "last_seen") !== reverse };
}

const orderOf = (sorting: Sorting | null): "trouble" | (typeof ORDERS)[keyof typeof ORDERS] =>
    sorting === null ? "trouble" : ORDERS[sorting.title as keyof typeof ORDERS];

/** Names rise and times fall, unless it is reversed. */
const isReversed = (sorting: Sorting | null) =>
    sorting !== null && sorting.descending !== (orderOf(sorting) === "last_seen");

const setSorting = (to: Sorting | null) =>
    setQuery({ order: to && orderOf(to), reverse: isReversed(to) || null });

type State = NonNullable<Parameters<typeof call<typeof AGENTS>>[1]["query"]>["state"];

/** The agents from `first` on, and how many there are in each state. */
function useAgents({ slug, q, state, sorting }: Chosen, first: number, limit: number) {
    const order = { order: orderOf(sorting), reverse: isReversed(sorting) };
    const query = { ...order, offset: first, limit, include_runs: true } as const;
    const loaded = useLiveQuery(
        slug,
        `${AGENTS} ${slug} ${state} ${order.order} ${order.reverse} ${first} ${limit} ${q}`,
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

function Agents({ slug, q, state, sorting }: Chosen) {
    const holder = useRef<HTMLDivElement>(null);
    const { first, limit, rowPx } = useRowWindow(holder);
    const fleet = useAgents({ slug, q, state, sorting }, first, limit);
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
                        sorting={sorting}
                        onSort={setSorting}
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
            <Agents key={slug} slug={slug} q={q} state={state} sorting={sortingOf(query)} />
        </>
    );
}
