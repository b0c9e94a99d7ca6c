// One agent: its health, what it declared, and what is set for it.

import type { Agent as AgentType } from "api";

import { Keys } from "../features/access/keys";
import { useRoles } from "../features/access/session";
import { AgentContract, AgentVersions } from "../features/agents/contract";
import { Directives } from "../features/agents/directives";
import { Document } from "../features/agents/document";
import { AgentFacts } from "../features/agents/facts";
import { EnableSwitch, RemoveAgent } from "../features/agents/lifecycle";
import { ScheduleCard } from "../features/agents/schedule";
import { AgentState } from "../features/agents/state";
import { Values } from "../features/agents/values";
import { AgentAlerts } from "../features/alerts/agent_alerts";
import { Mute } from "../features/alerts/mute";
import { AgentCost } from "../features/cost/agent_cost";
import { AgentRuns } from "../features/events/agent_runs";
import { RunSquares } from "../features/events/run_status";
import { AgentKpis } from "../features/kpis/agent_kpis";
import { AgentSeries } from "../features/kpis/agent_series";
import { call } from "../lib/api";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { fleetPath, runsOf } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { chosenRange, PERIODS } from "../lib/ranges";
import { href, pathOf } from "../lib/route";
import { Card, CopyButton, ErrorNote, Heading, Live, NotFound, PeriodSelect, Skeleton, Tabs } from "../ui";

const AGENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}";

const TABS = [
    { value: "overview", label: "Overview" },
    { value: "activity", label: "Activity" },
    { value: "alerts", label: "Alerts" },
    { value: "directives", label: "Model and policy" },
    { value: "document", label: "Document" },
    { value: "values", label: "Configuration" },
];
const ADMIN_TABS = [...TABS, { value: "keys", label: "Keys" }];

interface Props {
    slug: string;
    agent: AgentType;
}

function Overview({ slug, agent, onChange }: Props & { onChange: () => void }) {
    const { admin } = useRoles(slug);
    const recent = agent.recent_runs ?? [];
    return (
        <>
            <Card
                title="Recent runs"
                aside={<a href={runsOf(slug, agent.agent_name)}>All runs</a>}
            >
                <AgentFacts slug={slug} agent={agent} />
                {recent.length > 0 && (
                    <p class="after">
                        <RunSquares slug={slug} runs={recent} />
                    </p>
                )}
            </Card>
            <ScheduleCard slug={slug} agent={agent} canEdit={admin} onChange={onChange} />
            <AgentKpis slug={slug} agent={agent} />
            <AgentContract agent={agent} />
            <AgentVersions slug={slug} agent={agent} />
            {admin && <RemoveAgent slug={slug} agent_name={agent.agent_name} />}
        </>
    );
}

/** Charts; loaded when they are wanted. */
function Activity({ slug, agent_name, query }: { slug: string; agent_name: string; query: URLSearchParams }) {
    const range = chosenRange(PERIODS, query.get("range"), "30d");
    const of = { slug, agent_name, range };
    return (
        <>
            <div class="filters">
                <PeriodSelect choices={PERIODS} value={range} />
            </div>
            <AgentRuns {...of} />
            <AgentCost {...of} />
            <AgentSeries {...of} />
        </>
    );
}

interface TabProps extends Props {
    tab: string;
    query: URLSearchParams;
    onChange: () => void;
}

function Tab({ tab, slug, agent, query, onChange }: TabProps) {
    const { admin } = useRoles(slug);
    const { agent_name } = agent;
    switch (tab) {
        case "activity":
            return <Activity slug={slug} agent_name={agent_name} query={query} />;
        case "alerts":
            return <AgentAlerts slug={slug} agent={agent} />;
        case "directives":
            return <Directives scope={{ slug, agent_name }} canEdit={admin} />;
        case "document":
            return <Document slug={slug} agent_name={agent_name} canEdit={admin} />;
        case "values":
            return (
                <Values
                    slug={slug}
                    agent_name={agent_name}
                    admin={admin}
                    params={agent.config_schema?.params ?? []}
                />
            );
        case "keys":
            return admin ? <Keys slug={slug} agent_name={agent_name} /> : null;
        default:
            return <Overview slug={slug} agent={agent} onChange={onChange} />;
    }
}

function NoAgent({ slug, agent_name }: { slug: string; agent_name: string }) {
    return (
        <NotFound title="Agent not found" back={{ label: "Go to the fleet", href: href(fleetPath(slug)) }}>
            <p>
                <b dir="auto">{agent_name}</b> was removed, or has never reported. If it had any runs,{" "}
                <a href={runsOf(slug, agent_name)}>they are kept</a>.
            </p>
        </NotFound>
    );
}

export default function Agent({ slug, params, query }: PageProps) {
    const agent_name = params["agent"] ?? "";
    const { admin } = useRoles(slug);
    const tabs = admin ? ADMIN_TABS : TABS;
    const tab = chosen(tabs, query.get("tab"), "overview");
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${AGENT} ${slug} ${agent_name}`,
        (signal) => call(AGENT, { path: { slug, agent_name }, signal }),
        (change) => change.agent_name === agent_name,
    );
    if (error?.status === 404) return <NoAgent slug={slug} agent_name={agent_name} />;
    return (
        <>
            <Heading
                parent={{ label: "Fleet", href: href(fleetPath(slug)) }}
                title={
                    <>
                        <span dir="auto">{agent_name}</span>
                        <CopyButton text={agent_name} label="Copy the name" />
                        {data && <AgentState state={data.state} paused={data.schedule?.paused} />}
                    </>
                }
            >
                <Live />
                {data && (
                    <Mute
                        slug={slug}
                        agent_name={agent_name}
                        until={data.muted_until}
                        onChange={reload}
                    />
                )}
                {data && admin && <EnableSwitch slug={slug} agent={data} onChange={reload} />}
            </Heading>
            {data && data.description && <p class="lead" dir="auto">{data.description}</p>}
            {data && (
                <Tabs
                    label="Sections of the agent"
                    path={pathOf("t", slug, "agents", agent_name)}
                    tabs={tabs}
                    value={tab}
                />
            )}
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={8} />}
            {data && <Tab tab={tab} slug={slug} agent={data} query={query} onChange={reload} />}
        </>
    );
}
