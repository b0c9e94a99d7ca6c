// The model and the command policy that hold at a place, where they come from, and how to set them.

import type { CommandPolicySetting } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { AreaField, ChoiceField, Form, TextField } from "../../ui/forms";
import { Chip } from "../../ui/chip";

/** The platform when empty, else a workspace, else one of its agents. */
export interface Place {
    slug?: string;
    agent_name?: string;
}

type Level = "agent" | "workspace" | "platform";

export const WHERE: Record<Level, string> = {
    agent: "set for this agent",
    workspace: "from the workspace",
    platform: "from the platform",
};

const KNOWN_MAX = 300;

const levelOf = (at: Place): Level =>
    at.agent_name !== undefined ? "agent" : at.slug !== undefined ? "workspace" : "platform";

/** Operations of the three places take the same and answer the same. */
function operation(method: "GET" | "PUT" | "DELETE", at: Place, noun: "model" | "command-policy") {
    const roots = {
        agent: "/api/v1/tenants/{slug}/agents/{agent_name}",
        workspace: "/api/v1/tenants/{slug}",
        platform: "/api/v1/platform",
    };
    return `${method} ${roots[levelOf(at)]}/${noun}`;
}

const pathOf = (at: Place) => ({ slug: at.slug ?? "", agent_name: at.agent_name ?? "" });

type ModelGet = "GET /api/v1/tenants/{slug}/agents/{agent_name}/model";
type ModelPut = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/model";
type ModelDelete = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/model";
type PolicyGet = "GET /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";
type PolicyPut = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";
type PolicyDelete = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/command-policy";

interface Props {
    at: Place;
    may: boolean; // change it
}

/** Models that have a price, to choose from; any other may be named too. */
function useModels({ slug }: Place): string[] {
    const { data } = useQuery(`prices ${slug ?? null}`, (signal) =>
        slug === undefined
            ? call("GET /api/v1/platform/prices", { signal })
            : call("GET /api/v1/tenants/{slug}/prices", { path: { slug }, signal }),
    );
    return [...new Set(data?.prices.map((one) => one.model))].slice(0, KNOWN_MAX);
}

/** What an agent without a model of its own is told. */
function Otherwise({ slug }: { slug: string }) {
    const get = "GET /api/v1/tenants/{slug}/model";
    const { data } = useQuery(`${get} ${JSON.stringify({ slug })}`, (signal) =>
        call(get, { path: { slug }, signal }),
    );
    if (!data) return null;
    return (
        <p class="hint after-text">
            Unset, it would be{" "}
            {data.model === null ? "left to the agent" : <code>{data.model}</code>}
            {data.source && ` ${WHERE[data.source]}`}.
        </p>
    );
}

export function ModelCard({ at, may }: Props) {
    const [model, setModel] = useState("");
    const act = useAct();
    const get = operation("GET", at, "model") as ModelGet;
    const { data, error, reload } = useQuery(`${get} ${JSON.stringify(at)}`, (signal) =>
        call(get, { path: pathOf(at), signal }),
    );
    const own = data?.source === levelOf(at);
    const models = useModels(at);
    const set = async () => {
        const put = operation("PUT", at, "model") as ModelPut;
        await call(put, { path: pathOf(at), body: { model } });
        setModel("");
        reload();
    };
    const unset = async () => {
        await call(operation("DELETE", at, "model") as ModelDelete, { path: pathOf(at) });
        reload();
    };
    return (
        <Card title="Model">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={2} />}
            {data && (
                <p class="holds">
                    {data.model === null ? (
                        <span class="muted">No model is set: agents choose for themselves.</span>
                    ) : (
                        <>
                            <strong>{data.model}</strong>
                            {data.source && (
                                <Chip tone={own ? "busy" : "quiet"}>{WHERE[data.source]}</Chip>
                            )}
                        </>
                    )}
                </p>
            )}
            {own && levelOf(at) === "agent" && <Otherwise slug={at.slug ?? ""} />}
            {may && data && (
                <Form
                    act={act}
                    class="inline-form"
                    submit="Set"
                    disabled={model.trim() === ""}
                    onSubmit={set}
                    more={
                        own && (
                            <button type="button" onClick={() => void act.act(unset)}>
                                Unset
                            </button>
                        )
                    }
                >
                    <TextField
                        label={levelOf(at) === "agent" ? "Model for this agent" : "Default model"}
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

export const MODES: { value: Mode; label: string }[] = [
    { value: "deny_all", label: "No command may run" },
    { value: "allowlist", label: "Only the listed commands" },
    { value: "denylist", label: "All but the listed commands" },
    { value: "allow_all", label: "Every command may run" },
];

const lines = (text: string) =>
    text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");

function PolicyForm(props: { at: Place; policy: CommandPolicySetting; onChange: () => void }) {
    const { at, policy, onChange } = props;
    const [mode, setMode] = useState<Mode>(policy.mode);
    const [allow, setAllow] = useState(policy.allow.join("\n"));
    const [deny, setDeny] = useState(policy.deny.join("\n"));
    const act = useAct();
    useEffect(() => {
        setMode(policy.mode);
        setAllow(policy.allow.join("\n"));
        setDeny(policy.deny.join("\n"));
    }, [policy.version, policy.source]);
    const save = async () => {
        const put = operation("PUT", at, "command-policy") as PolicyPut;
        const body = { mode, allow: lines(allow), deny: lines(deny) };
        await call(put, { path: pathOf(at), body });
        onChange();
    };
    const unset = async () => {
        await call(operation("DELETE", at, "command-policy") as PolicyDelete, { path: pathOf(at) });
        onChange();
    };
    return (
        <Form
            act={act}
            submit="Save the policy"
            onSubmit={save}
            more={
                policy.source === levelOf(at) &&
                policy.version > 0 && (
                    <button type="button" onClick={() => void act.act(unset)}>
                        Unset
                    </button>
                )
            }
        >
            <ChoiceField
                label="What may run"
                choices={MODES}
                value={mode}
                onInput={(to) => setMode(to as Mode)}
            />
            {mode === "allowlist" && (
                <AreaField
                    label="Allowed commands"
                    hint="One a line; the agent's sandbox reads them."
                    value={allow}
                    onInput={setAllow}
                />
            )}
            {mode === "denylist" && (
                <AreaField
                    label="Denied commands"
                    hint="One a line; the agent's sandbox reads them."
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
    return <pre class="commands">{listed.join("\n") || "(none)"}</pre>;
}

export function PolicyCard({ at, may }: Props) {
    const get = operation("GET", at, "command-policy") as PolicyGet;
    const { data, error, reload } = useQuery(`${get} ${JSON.stringify(at)}`, (signal) =>
        call(get, { path: pathOf(at), signal }),
    );
    return (
        <Card title="Command policy">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && (
                <p class="holds">
                    <b>{MODES.find((one) => one.value === data.mode)?.label}</b>
                    <Chip tone={data.source === levelOf(at) ? "busy" : "quiet"}>
                        {data.version === 0 ? "nothing is set" : WHERE[data.source]}
                    </Chip>
                    {data.updated_at && (
                        <span class="muted">
                            version {data.version}, <Time at={data.updated_at} />
                        </span>
                    )}
                </p>
            )}
            {data &&
                (may ? (
                    <PolicyForm at={at} policy={data} onChange={reload} />
                ) : (
                    <Commands policy={data} />
                ))}
        </Card>
    );
}
