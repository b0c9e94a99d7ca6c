// One agent: how it does, what it declared, and what people set for it.

import type { Agent as AgentType } from "api";

import { useAct } from "../lib/action";
import { call } from "../lib/api";
import { count, span } from "../lib/format";
import { agentPage, runsOf } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { chosen } from "../lib/ranges";
import { go, href, pathOf } from "../lib/route";
import { useMay } from "../features/access/session";
import type { PageProps } from "../app/pages";
import { AgentContract, AgentVersions } from "../features/agents/contract";
import { AgentKpis } from "../features/kpis/agent_kpis";
import { Card, CopyButton, Empty, ErrorNote, Heading, Live, Skeleton, Time } from "../ui/basics";
import { ConfirmButton } from "../ui/dialog";
import { Document } from "../features/agents/document";
import { Switch } from "../ui/forms";
import { ModelCard, MODES, PolicyCard, WHERE } from "../features/agents/directives";
import { Keys } from "../features/access/keys";
import { Mute } from "../features/alerts/mute";
import { AgentState, Squares } from "../ui/chip";
import { Tabs } from "../ui/tabs";
import { Values } from "../features/agents/values";

const AGENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}";

const TABS = [
    { value: "overview", label: "Overview" },
    { value: "guidance", label: "Model and policy" },
    { value: "document", label: "Document" },
    { value: "values", label: "Configuration" },
];
const ADMIN_TABS = [...TABS, { value: "keys", label: "Keys" }];

interface Props {
    slug: string;
    agent: AgentType;
    reload: () => void;
}

function Facts({ slug, agent }: Omit<Props, "reload">) {
    const { counts } = agent;
    const ended = counts.completed + counts.failed;
    return (
        <dl class="facts">
            <div>
                <dt>Last seen</dt>
                <dd>
                    <Time at={agent.last_seen_at} />
                </dd>
            </div>
            <div>
                <dt>Next expected</dt>
                <dd>
                    <Time at={agent.next_expected_at} fallback="no schedule" />
                </dd>
            </div>
            <div>
                <dt>Expected every</dt>
                <dd>
                    {agent.interval_seconds === null ? "–" : span(agent.interval_seconds * 1000)}
                </dd>
            </div>
            <div>
                <dt>Runs</dt>
                <dd>
                    <a href={runsOf(slug, agent.agent_name)}>{count(counts.runs)}</a>
                    {counts.in_progress > 0 && (
                        <span class="muted"> {count(counts.in_progress)} open</span>
                    )}
                </dd>
            </div>
            <div>
                <dt>Failed</dt>
                <dd>
                    {count(counts.failed)}
                    {ended > 0 && (
                        <span class="muted"> {Math.round((counts.failed / ended) * 100)} %</span>
                    )}
                </dd>
            </div>
            <div>
                <dt>Usual duration</dt>
                <dd>
                    {counts.median_duration_ms === null ? "–" : span(counts.median_duration_ms)}
                </dd>
            </div>
            <div>
                <dt>First seen</dt>
                <dd>
                    <Time at={agent.first_seen_at} />
                </dd>
            </div>
            <div>
                <dt>Model</dt>
                <dd>
                    <a href={agentPage(slug, agent.agent_name, "guidance")}>
                        {agent.model.model ?? "none is set"}
                    </a>{" "}
                    {agent.model.source && (
                        <span class="muted">{WHERE[agent.model.source]}</span>
                    )}
                </dd>
            </div>
            <div>
                <dt>Commands</dt>
                <dd>
                    <a href={agentPage(slug, agent.agent_name, "guidance")}>
                        {MODES.find((one) => one.value === agent.command_policy.mode)?.label}
                    </a>
                </dd>
            </div>
        </dl>
    );
}

/** Takes effect at once: a disabled agent's reports are rejected. */
function EnableSwitch({ slug, agent, reload }: Props) {
    const { busy, error, act } = useAct();
    const { agent_name, enabled } = agent;
    const set = (to: boolean) =>
        act(async () => {
            await call("PATCH /api/v1/tenants/{slug}/agents/{agent_name}", {
                path: { slug, agent_name },
                body: { enabled: to },
            });
            reload();
        });
    return (
        <span class="enable">
            {error && <span role="alert">{error.message}</span>}
            {enabled ? "Enabled" : "Disabled"}
            <Switch
                label="Take reports of this agent"
                value={enabled}
                disabled={busy}
                onChange={(to) => void set(to)}
            />
        </span>
    );
}

function Remove({ slug, agent_name }: { slug: string; agent_name: string }) {
    const remove = async () => {
        await call("DELETE /api/v1/tenants/{slug}/agents/{agent_name}", {
            path: { slug, agent_name },
        });
        go(pathOf("t", slug, "fleet"));
    };
    return (
        <Card title="Remove this agent">
            <p class="prose after-text">
                What it declared, its model, policy and keys go. Its runs and reports stay, and so do
                its document and values.
            </p>
            <ConfirmButton
                label="Remove the agent"
                title={`Remove ${agent_name}?`}
                text="Its keys are revoked at once. If it reports again with a workspace key, it is there again as a new agent."
                verb="Remove"
                word={agent_name}
                onConfirm={remove}
            />
        </Card>
    );
}

function Overview({ slug, agent, admin }: Omit<Props, "reload"> & { admin: boolean }) {
    return (
        <>
            <Card
                title="Recent runs"
                aside={<a href={runsOf(slug, agent.agent_name)}>All runs</a>}
            >
                <Facts slug={slug} agent={agent} />
                {(agent.recent_runs ?? []).length > 0 && (
                    <p class="after">
                        <Squares slug={slug} runs={agent.recent_runs ?? []} />
                    </p>
                )}
            </Card>
            <AgentKpis slug={slug} agent={agent} />
            <AgentContract agent={agent} />
            <AgentVersions versions={agent.versions} />
            {admin && <Remove slug={slug} agent_name={agent.agent_name} />}
        </>
    );
}

function Part({ tab, slug, agent }: Omit<Props, "reload"> & { tab: string }) {
    const { admin } = useMay(slug);
    const { agent_name } = agent;
    switch (tab) {
        case "guidance":
            return (
                <div class="columns">
                    <ModelCard at={{ slug, agent_name }} may={admin} />
                    <PolicyCard at={{ slug, agent_name }} may={admin} />
                </div>
            );
        case "document":
            return <Document slug={slug} agent_name={agent_name} may={admin} />;
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
            return <Overview slug={slug} agent={agent} admin={admin} />;
    }
}

export default function Agent({ slug, params, query }: PageProps) {
    const agent_name = params["agent"] ?? "";
    const { admin } = useMay(slug);
    const tabs = admin ? ADMIN_TABS : TABS;
    const tab = chosen(tabs, query.get("tab"), "overview");
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${AGENT} ${slug} ${agent_name}`,
        (signal) => call(AGENT, { path: { slug, agent_name }, signal }),
        (news) => news.agent_name === agent_name,
    );
    const gone = error?.status === 404;
    return (
        <>
            <p class="crumbs">
                <a href={href(pathOf("t", slug, "fleet"))}>Fleet</a>
            </p>
            <Heading
                title={
                    <>
                        {agent_name}
                        <CopyButton text={agent_name} label="Copy the name" />
                        {data && <AgentState state={data.state} />}
                    </>
                }
            >
                {data && (
                    <Mute
                        slug={slug}
                        agent_name={agent_name}
                        until={data.muted_until}
                        onChange={reload}
                    />
                )}
                {data && admin && <EnableSwitch slug={slug} agent={data} reload={reload} />}
                <Live />
            </Heading>
            {data && data.description && <p class="lead">{data.description}</p>}
            {data && (
                <Tabs
                    label="Parts of the agent"
                    path={pathOf("t", slug, "agents", agent_name)}
                    tabs={tabs}
                    value={tab}
                />
            )}
            {gone && (
                <Empty title="There is no such agent">
                    <p>
                        It was removed, or never reported. Its runs, if it had any, are{" "}
                        <a href={runsOf(slug, agent_name)}>still there</a>.
                    </p>
                </Empty>
            )}
            {error && !gone && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={8} />}
            {data && <Part tab={tab} slug={slug} agent={data} />}
        </>
    );
}
