// What an agent said about itself when it registered.

import type { Agent, AgentVersion, IOField } from "api";

import { count } from "../../lib/format";
import { Card, Time } from "../../ui/basics";

function Fields({ title, fields, required }: { title: string; fields: IOField[]; required: boolean }) {
    return (
        <div>
            <h3>{title}</h3>
            {fields.length === 0 ? (
                <p class="muted">None declared</p>
            ) : (
                <ul class="io">
                    {fields.map((one) => (
                        <li key={one.key}>
                            <code>{one.key}</code> <span class="muted">{one.type ?? "any"}</span>
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
                    It reported, but never registered: it declared no KPIs, no schedule and no
                    parameters. Agents do with <code>POST /api/v1/agents/register</code>.
                </p>
            </Card>
        );
    return (
        <Card
            title="Registration"
            aside={
                <span>
                    <Time at={agent.registered_at} />
                    {agent.agent_version && `, version ${agent.agent_version}`}
                </span>
            }
        >
            {agent.telemetry_doc && <p class="prose after-text">{agent.telemetry_doc}</p>}
            <div class="columns">
                <Fields title="Inputs" fields={agent.inputs} required />
                <Fields title="Outputs" fields={agent.outputs} required={false} />
            </div>
        </Card>
    );
}

export function AgentVersions({ versions }: { versions: AgentVersion[] }) {
    if (versions.length < 2) return null;
    return (
        <Card title="Versions">
            <table class="list flat">
                <thead>
                    <tr>
                        <th>Version</th>
                        <th class="number">Runs</th>
                        <th>First run</th>
                        <th>Last run</th>
                    </tr>
                </thead>
                <tbody>
                    {versions.map((one) => (
                        <tr key={one.agent_version}>
                            <td class="grow">
                                {one.agent_version || <span class="muted">not told</span>}
                            </td>
                            <td class="fit number" data-label="runs">
                                {count(one.runs)}
                            </td>
                            <td class="fit" data-label="first">
                                <Time at={one.first_run_at} />
                            </td>
                            <td class="fit" data-label="last">
                                <Time at={one.last_run_at} />
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </Card>
    );
}
