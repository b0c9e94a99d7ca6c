// What an agent declared when it registered.

import type { Agent, IOField } from "api";

import { count } from "../../lib/format";
import { countedRuns } from "../../lib/paths";
import { Card, Table, Time } from "../../ui";

interface FieldsProps {
    title: string;
    fields: IOField[];
    required: boolean; // fields may be optional
}

function Fields({ title, fields, required }: FieldsProps) {
    return (
        <div>
            <h3>{title}</h3>
            {fields.length === 0 ? (
                <p class="muted">None declared</p>
            ) : (
                <ul class="io">
                    {fields.map((one) => (
                        <li key={one.key}>
                            <code dir="auto">{one.key}</code>{" "}
                            <span class="muted" dir="auto">
                                {one.type ?? "any"}
                            </span>
                            {required && one.required === false && (
                                <small class="muted"> optional</small>
                            )}
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}

export function AgentContract({ agent }: { agent: Agent }) {
    if (agent.registered_at === null)
        return (
            <Card title="Registration">
                <p class="muted">
                    Not registered: this agent reports, but has declared no KPIs, no schedule and no
                    parameters. To register, it calls <code>POST /api/v1/agents/register</code>.
                </p>
            </Card>
        );
    return (
        <Card
            title="Registration"
            aside={
                <span>
                    <Time at={agent.registered_at} />
                    {agent.agent_version && (
                        <>
                            , version <bdi>{agent.agent_version}</bdi>
                        </>
                    )}
                </span>
            }
        >
            {agent.telemetry_doc && (
                <p class="prose after-text" dir="auto">
                    {agent.telemetry_doc}
                </p>
            )}
            <div class="columns apart">
                <Fields title="Inputs" fields={agent.inputs} required />
                <Fields title="Outputs" fields={agent.outputs} required={false} />
            </div>
        </Card>
    );
}

export function AgentVersions({ slug, agent }: { slug: string; agent: Agent }) {
    const { counts, versions } = agent;
    if (versions.length < 2) return null;
    return (
        <Card
            title="Versions"
            aside={counts.counted_since !== null && `Of the newest ${count(counts.runs)} runs`}
        >
            <Table
                class="flat"
                rows={versions}
                keyOf={(version) => version.agent_version}
                columns={[
                    {
                        title: "Version",
                        class: "grow",
                        cell: (version) =>
                            version.agent_version || <span class="muted">unknown</span>,
                    },
                    {
                        title: "Runs",
                        class: "fit number",
                        label: "runs",
                        cell: (version) => (
                            <a href={countedRuns(slug, agent, { version: version.agent_version })}>
                                {count(version.runs)}
                            </a>
                        ),
                    },
                    {
                        title: "First run",
                        class: "fit",
                        label: "first",
                        cell: (version) => <Time at={version.first_run_at} />,
                    },
                    {
                        title: "Last run",
                        class: "fit",
                        label: "last",
                        cell: (version) => <Time at={version.last_run_at} />,
                    },
                ]}
            />
        </Card>
    );
}
