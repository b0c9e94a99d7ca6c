// The model and the command policy in effect for an agent, a workspace or the platform: where they
// come from, and how to set them.

import type { CommandPolicySetting } from "api";
import { useLayoutEffect, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { labelOf } from "../../lib/choices";
import { useQuery } from "../../lib/query";
import { AreaField, Card, Chip, ChoiceField, Form, LoadState, TextField, Time } from "../../ui";

/** The platform when empty, else a workspace, else one of its agents. */
interface Scope {
    slug?: string;
    agent_name?: string;
}

type Level = "agent" | "workspace" | "platform";

const SOURCES: Record<Level, string> = {
    agent: "set for this agent",
    workspace: "from the workspace",
    platform: "from the platform",
};

export const sourceOf = (level: Level) => SOURCES[level];

const KNOWN_MAX = 300;

const levelOf = (scope: Scope): Level =>
    scope.agent_name !== undefined ? "agent" : scope.slug !== undefined ? "workspace" : "platform";

/** The operations of all three levels take and return the same. */
function operation(
    method: "GET" | "PUT" | "DELETE",
    scope: Scope,
    noun: "model" | "command-policy",
) {
    const roots = {
        agent: "/api/v1/tenants/{slug}/agents/{agent_name}",
        workspace: "/api/v1/tenants/{slug}",
        platform: "/api/v1/platform",
    };
    return `${method} ${roots[levelOf(scope)]}/${noun}`;
}

const paramsOf = (scope: Scope) => ({
    slug: scope.slug ?? "",
    agent_name: scope.agent_name ?? "",
});

type ModelGet = "GET /api/v1/tenants/{slug}/agents/{agent_name}/model";
type ModelPut = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/model";
type ModelDelete = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/model";
type PolicyGet = "GET /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";
type PolicyPut = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";
type PolicyDelete = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";

interface Props {
    scope: Scope;
    canEdit: boolean;
}

/** Models with a price, as suggestions; others may be typed. */
function useModels({ slug }: Scope): string[] {
    const { data } = useQuery(`prices ${slug ?? null}`, (signal) =>
        slug === undefined
            ? call("GET /api/v1/platform/prices", { signal })
            : call("GET /api/v1/tenants/{slug}/prices", { path: { slug }, signal }),
    );
    return [...new Set(data?.prices.map((one) => one.model))].slice(0, KNOWN_MAX);
}

/** The model in effect once the agent's own is unset. */
function InheritedModel({ slug }: { slug: string }) {
    const get = "GET /api/v1/tenants/{slug}/model";
    const { data } = useQuery(`${get} ${JSON.stringify({ slug })}`, (signal) =>
        call(get, { path: { slug }, signal }),
    );
    if (!data) return null;
    return (
        <p class="hint after-text">
            Without it:{" "}
            {data.model === null ? "the agent's own choice" : <code dir="auto">{data.model}</code>}
            {data.source && ` ${SOURCES[data.source]}`}.
        </p>
    );
}

function ModelCard({ scope, canEdit }: Props) {
    const [model, setModel] = useState("");
    const action = useAction();
    const get = operation("GET", scope, "model") as ModelGet;
    const current = useQuery(`${get} ${JSON.stringify(scope)}`, (signal) =>
        call(get, { path: paramsOf(scope), signal }),
    );
    const { data } = current;
    const level = levelOf(scope);
    const own = data?.source === level;
    const models = useModels(scope);
    const set = async () => {
        const put = operation("PUT", scope, "model") as ModelPut;
        await call(put, { path: paramsOf(scope), body: { model } });
        setModel("");
    };
    const unset = async () => {
        await call(operation("DELETE", scope, "model") as ModelDelete, { path: paramsOf(scope) });
    };
    return (
        <Card title="Model">
            <LoadState of={current} rows={2} />
            {data && (
                <p class="in-effect">
                    {data.model === null ? (
                        <span class="muted">No model is set: agents choose for themselves.</span>
                    ) : (
                        <>
                            <strong dir="auto">{data.model}</strong>
                            {data.source && (
                                <Chip tone={own ? "busy" : "quiet"}>{SOURCES[data.source]}</Chip>
                            )}
                        </>
                    )}
                </p>
            )}
            {own && level === "agent" && <InheritedModel slug={scope.slug ?? ""} />}
            {canEdit && data && (
                <Form
                    action={action}
                    class="inline-form"
                    submit="Set"
                    disabled={model.trim() === ""}
                    onSubmit={set}
                    more={
                        own && (
                            <button type="button" onClick={() => void action.perform(unset)}>
                                Unset
                            </button>
                        )
                    }
                >
                    <TextField
                        label={level === "agent" ? "Model for this agent" : "Default model"}
                        name="model"
                        placeholder="claude-sonnet-4-5"
                        known={models}
                        value={model}
                        onInput={setModel}
                    />
                </Form>
            )}
        </Card>
    );
}

type Mode = CommandPolicySetting["mode"];

const MODES: { value: Mode; label: string }[] = [
    { value: "deny_all", label: "No commands" },
    { value: "allowlist", label: "Only listed commands" },
    { value: "denylist", label: "All but listed commands" },
    { value: "allow_all", label: "All commands" },
];

export const commandsAllowed = (mode: Mode) => labelOf(MODES, mode);

const lines = (text: string) =>
    text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");

interface PolicyFormProps {
    scope: Scope;
    policy: CommandPolicySetting;
}

function PolicyForm({ scope, policy }: PolicyFormProps) {
    const [mode, setMode] = useState<Mode>(policy.mode);
    const [allow, setAllow] = useState(policy.allow.join("\n"));
    const [deny, setDeny] = useState(policy.deny.join("\n"));
    const action = useAction();
    // not after the page is painted: by then a person may have chosen
    useLayoutEffect(() => {
        setMode(policy.mode);
        setAllow(policy.allow.join("\n"));
        setDeny(policy.deny.join("\n"));
    }, [policy.version, policy.source]);
    const save = async () => {
        const put = operation("PUT", scope, "command-policy") as PolicyPut;
        const body = { mode, allow: lines(allow), deny: lines(deny) };
        await call(put, { path: paramsOf(scope), body });
    };
    const unset = async () => {
        const remove = operation("DELETE", scope, "command-policy") as PolicyDelete;
        await call(remove, { path: paramsOf(scope) });
    };
    const hint = "One per line. The agent's sandbox enforces them.";
    return (
        <Form
            action={action}
            submit="Save policy"
            onSubmit={save}
            more={
                policy.source === levelOf(scope) &&
                policy.version > 0 && (
                    <button type="button" onClick={() => void action.perform(unset)}>
                        Unset
                    </button>
                )
            }
        >
            <ChoiceField
                label="Agents may run"
                choices={MODES}
                value={mode}
                onInput={(to) => setMode(to as Mode)}
            />
            {mode === "allowlist" && (
                <AreaField
                    label="Allowed commands"
                    name="allow"
                    hint={hint}
                    value={allow}
                    onInput={setAllow}
                />
            )}
            {mode === "denylist" && (
                <AreaField
                    label="Denied commands"
                    name="deny"
                    hint={hint}
                    value={deny}
                    onInput={setDeny}
                />
            )}
        </Form>
    );
}

function Commands({ policy }: { policy: CommandPolicySetting }) {
    const listed = policy.mode === "allowlist" ? policy.allow : policy.deny;
    if (policy.mode !== "allowlist" && policy.mode !== "denylist") return null;
    return <pre class="commands" dir="auto">{listed.join("\n") || "(none)"}</pre>;
}

function PolicyCard({ scope, canEdit }: Props) {
    const get = operation("GET", scope, "command-policy") as PolicyGet;
    const current = useQuery(`${get} ${JSON.stringify(scope)}`, (signal) =>
        call(get, { path: paramsOf(scope), signal }),
    );
    const { data } = current;
    return (
        <Card title="Command policy">
            <LoadState of={current} rows={3} />
            {data && (
                <p class="in-effect">
                    <b>{commandsAllowed(data.mode)}</b>
                    <Chip tone={data.source === levelOf(scope) ? "busy" : "quiet"}>
                        {data.version === 0 ? "default" : SOURCES[data.source]}
                    </Chip>
                    {data.updated_at && (
                        <span class="muted">
                            version {data.version}, <Time at={data.updated_at} />
                        </span>
                    )}
                </p>
            )}
            {data &&
                (canEdit ? (
                    <PolicyForm scope={scope} policy={data} />
                ) : (
                    <Commands policy={data} />
                ))}
        </Card>
    );
}

export function Directives(props: Props) {
    return (
        <div class="columns">
            <ModelCard {...props} />
            <PolicyCard {...props} />
        </div>
    );
}
