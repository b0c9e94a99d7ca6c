// The fleet: a row an agent, trouble first.

import type { AgentListItem } from "api";

import { call } from "../lib/api";
import { useNow } from "../lib/clock";
import { cost, count, exact } from "../lib/format";
import { agentPage } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { setQuery } from "../lib/route";
import type { PageProps } from "../app/pages";
import { Empty, ErrorNote, Heading, Live, Segments, Skeleton, Time } from "../ui/basics";
import { SearchField } from "../ui/search_field";
import { StartHere } from "../features/fleet/first_event";
import { AgentState, Squares } from "../ui/chip";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const LIMIT = 1000;

const ORDER = ["silent", "late", "up", "unknown", "disabled"];
const WORDS: Record<string, string> = {
    silent: "Silent",
    late: "Late",
    up: "Up",
    unknown: "Unknown",
    disabled: "Disabled",
};

function byTrouble(a: AgentListItem, b: AgentListItem): number {
    return (
        ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.agent_name.localeCompare(b.agent_name)
    );
}

function choicesOf(agents: AgentListItem[]) {
    const states = ORDER.map((state) => ({
        state,
        n: agents.filter((agent) => agent.state === state).length,
    })).filter((one) => one.n > 0);
    return [
        { value: "", label: `All ${agents.length}` },
        ...states.map(({ state, n }) => ({ value: state, label: `${WORDS[state]} ${n}` })),
    ];
}

/** When the next sign of life is due; what is overdue stands out. */
function NextExpected({ agent }: { agent: AgentListItem }) {
    const now = useNow();
    if (!agent.enabled || agent.next_expected_at === null) return <span class="muted">–</span>;
    const overdue = Date.parse(agent.next_expected_at) < now;
    return (
        <span class={overdue ? `overdue ${agent.state}` : ""}>
            <Time at={agent.next_expected_at} />
        </span>
    );
}

function Row(props: { slug: string; agent: AgentListItem; spent: string | null | undefined }) {
    const { slug, agent, spent } = props;
    return (
        <tr class={agent.enabled ? "" : "off"}>
            <td class="fit">
                <AgentState state={agent.state} />
            </td>
            <td class="agent">
                <a
                    class="row-link"
                    href={agentPage(slug, agent.agent_name)}
                    title={agent.description}
                >
                    {agent.agent_name}
                </a>
                {agent.agent_version && <small class="muted"> {agent.agent_version}</small>}
                {agent.muted_until !== null && (
                    <small class="muted" title={`Muted until ${exact(agent.muted_until)}`}>
                        {" "}
                        muted
                    </small>
                )}
            </td>
            <td class="fit recent">
                <Squares slug={slug} runs={agent.recent_runs ?? []} />
            </td>
            <td class="fit" data-label="seen">
                <Time at={agent.last_seen_at} />
            </td>
            <td class="fit" data-label="next">
                <NextExpected agent={agent} />
            </td>
            <td class="fit number wide">
                {agent.open_runs > 0 ? count(agent.open_runs) : <span class="muted">–</span>}
            </td>
            <td class="fit number">
                {spent === undefined ? <span class="muted">–</span> : cost(spent)}
            </td>
            <td class="words about">{agent.description}</td>
        </tr>
    );
}

export default function Fleet({ slug, query }: PageProps) {
    const q = query.get("q") ?? "";
    const state = query.get("state") ?? "";
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${AGENTS} ${slug} ${q}`,
        (signal) =>
            call(AGENTS, {
                path: { slug },
                query: { limit: LIMIT, include_runs: true, q: q || null },
                signal,
            }),
    );
    const usage = useLiveQuery(slug, `${USAGE} ${slug} today`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: "today", group_by: "agent" }, signal }),
    );
    const spent = new Map(usage.data?.groups.map((group) => [group.agent_name, group.cost]));
    const agents = [...(data?.agents ?? [])].sort(byTrouble);
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
                        choices={choicesOf(agents)}
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
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={10} />}
            {data && agents.length === 0 && q === "" && <StartHere slug={slug} />}
            {data && shown.length === 0 && (q !== "" || state !== "") && (
                <Empty title="No agent fits">
                    <button type="button" onClick={() => setQuery({ q: null, state: null })}>
                        Show all
                    </button>
                </Empty>
            )}
            {shown.length > 0 && (
                <table class="list fleet">
                    <thead>
                        <tr>
                            <th>State</th>
                            <th>Agent</th>
                            <th>Recent runs</th>
                            <th>Last seen</th>
                            <th>Next expected</th>
                            <th class="number wide">Running</th>
                            <th class="number">Cost today</th>
                            <th class="words about">About</th>
                        </tr>
                    </thead>
                    <tbody>
                        {shown.map((agent) => (
                            <Row
                                key={agent.agent_name}
                                slug={slug}
                                agent={agent}
                                spent={spent.get(agent.agent_name)}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            {data?.next && (
                <p class="note">These are the first {LIMIT} agents by name; search for others.</p>
            )}
        </>
    );
}
