// Enabling, disabling and removing an agent.

import type { Agent } from "api";

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { fleetPath } from "../../lib/paths";
import { navigate } from "../../lib/route";
import { Card, ConfirmButton, ConfirmDialog, Switch } from "../../ui";

interface EnableSwitchProps {
    slug: string;
    agent: Agent;
    onChange: () => void;
}

/** Takes effect at once: reports of a disabled agent are rejected, so that asks first. */
export function EnableSwitch({ slug, agent, onChange }: EnableSwitchProps) {
    const { busy, error, perform } = useAction();
    const [asking, setAsking] = useState(false);
    const { agent_name, enabled } = agent;
    const set = async (to: boolean) => {
        await call("PATCH /api/v1/tenants/{slug}/agents/{agent_name}", {
            path: { slug, agent_name },
            body: { enabled: to },
        });
        onChange();
    };
    return (
        <span class="enable">
            {error && <span role="alert">{error.message}</span>}
            {enabled ? "Enabled" : "Disabled"}
            <Switch
                label="Accept reports from this agent"
                value={enabled}
                disabled={busy}
                onChange={(to) => (to ? void perform(() => set(true)) : setAsking(true))}
            />
            {asking && (
                <ConfirmDialog
                    title={`Disable ${agent_name}?`}
                    text="Its reports are rejected from now on, until it is enabled again."
                    verb="Disable"
                    onConfirm={() => set(false)}
                    onClose={() => setAsking(false)}
                />
            )}
        </span>
    );
}

export function RemoveAgent({ slug, agent_name }: { slug: string; agent_name: string }) {
    const remove = async () => {
        await call("DELETE /api/v1/tenants/{slug}/agents/{agent_name}", {
            path: { slug, agent_name },
        });
        navigate(fleetPath(slug));
    };
    return (
        <Card title="Remove this agent">
            <p class="prose after-text">
                This deletes its registration, model, policy and keys. Its runs and reports are
                kept, and so are its document and values.
            </p>
            <ConfirmButton
                label="Remove agent"
                title={`Remove ${agent_name}?`}
                text="Its keys are revoked at once. If it reports again with a workspace key, it reappears as a new agent."
                verb="Remove"
                word={agent_name}
                onConfirm={remove}
            />
        </Card>
    );
}
