// The fleet as a table: one row per agent.

import type { AgentCounts, AgentListItem } from "api";
import type { ComponentChildren } from "preact";

import { useNow } from "../../lib/clock";
import { cost, count, exactTime } from "../../lib/format";
import { activityOf, agentPage, openRuns } from "../../lib/paths";
import { type Part, type Sorting, Table, Time } from "../../ui";
import { AGENT_STATES, AgentState } from "../agents/state";
import { RunSquares } from "../events/run_status";

const totalOf = (counts: AgentCounts) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** How many agents are listed when a state is chosen; "": all. */
export function countOf(counts: AgentCounts, state: string): number {
    return state === "" ? totalOf(counts) : (counts[state as keyof AgentCounts] ?? 0);
}

/** "All 12", "Silent 1", …: the states that agents are in, and the chosen one. */
export function stateChoices(counts: AgentCounts, chosen: string) {
    const there = AGENT_STATES.filter(
        ({ state }) => countOf(counts, state) > 0 || state === chosen,
    );
    return [
        { value: "", label: `All ${count(totalOf(counts))}` },
        ...there.map(({ state, text }) => ({
            value: state,
            label: `${text} ${count(countOf(counts, state))}`,
        })),
    ];
}

/** Columns that the service sorts by, and their names in its API. */
export const ORDERS = { Agent: "agent", "Last seen": "last_seen" } as const;

const NONE = <span class="muted none">–</span>;

/** When the agent should report next; overdue stands out. */
function NextExpected({ agent }: { agent: AgentListItem }) {
    const now = useNow();
    if (!agent.enabled || agent.next_expected_at === null) return NONE;
    const overdue = Date.parse(agent.next_expected_at) < now;
    return (
        <span class={overdue ? `overdue ${agent.state}` : ""}>
            <Time due at={agent.next_expected_at} />
        </span>
    );
}

function AgentName({ slug, agent }: { slug: string; agent: AgentListItem }) {
    return (
        <>
            <a
                class="row-link"
                href={agentPage(slug, agent.agent_name)}
                title={agent.description}
                dir="auto"
            >
                {agent.agent_name}
            </a>
            {agent.agent_version && <small class="muted" dir="auto"> {agent.agent_version}</small>}
            {agent.muted_until !== null && (
                <small class="muted" title={`Muted until ${exactTime(agent.muted_until)}`}>
                    {" "}
                    muted
                </small>
            )}
        </>
    );
}

/** Not a stop of the Tab key: there would be two more in each row, and the agent's page, which has
 * one, leads to both lists. */
function NumberLink({ to, children }: { to: string; children: ComponentChildren }) {
    return (
        <a href={to} tabIndex={-1}>
            {children}
        </a>
    );
}

interface Props {
    slug: string;
    agents: AgentListItem[];
    part: Part; // of the fleet
    costs: ReadonlyMap<string | null | undefined, string | null>; // of today, by agent
    sorting: Sorting | null; // null: trouble first
    onSort: (to: Sorting | null) => void;
}

export function AgentTable({ slug, agents, part, costs, sorting, onSort }: Props) {
    return (
        <Table
            class="fleet"
            rows={agents}
            part={part}
            keyOf={(agent) => agent.agent_name}
            order={{ sorting, columns: Object.keys(ORDERS), onSort }}
            rowClass={(agent) => (agent.enabled ? "" : "off")}
            columns={[
                {
                    title: "State",
                    class: "fit",
                    cell: (agent) => <AgentState state={agent.state} paused={agent.schedule?.paused} />,
                },
                {
                    title: "Agent",
                    class: "agent",
                    cell: (agent) => <AgentName slug={slug} agent={agent} />,
                },
                {
                    title: "Recent runs",
                    class: "fit recent",
                    cell: (agent) => (
                        <RunSquares slug={slug} runs={agent.recent_runs ?? []} inList />
                    ),
                },
                {
                    title: "Last seen",
                    class: "fit",
                    label: "seen",
                    cell: (agent) => <Time at={agent.last_seen_at} />,
                },
                {
                    title: "Next expected",
                    class: "fit",
                    label: "next",
                    cell: (agent) => <NextExpected agent={agent} />,
                },
                {
                    title: "Running",
                    class: "fit number wide",
                    label: "running",
                    cell: (agent) =>
                        agent.open_runs > 0 ? (
                            <NumberLink to={openRuns(slug, agent)}>
                                {count(agent.open_runs)}
                            </NumberLink>
                        ) : (
                            NONE
                        ),
                },
                {
                    title: "Cost today",
                    class: "fit number",
                    label: "cost",
                    cell: ({ agent_name }) => {
                        const spent = costs.get(agent_name);
                        if (spent === undefined) return NONE;
                        const to = activityOf(slug, agent_name, "today");
                        return <NumberLink to={to}>{cost(spent)}</NumberLink>;
                    },
                },
                { title: "About", class: "words about", cell: (agent) => agent.description },
            ]}
        />
    );
}
