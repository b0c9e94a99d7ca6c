// Configuration values of an agent or a workspace; secrets are named, never shown.

import type { ConfigParamDecl, ConfigValue } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { who } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, Empty, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { AreaField, ChoiceField, Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Chip } from "../../ui/chip";

const OF_AGENT = "/api/v1/tenants/{slug}/agents/{agent_name}/values";
const OF_TENANT = "/api/v1/tenants/{slug}/values";

const SECRETS = "GET /api/v1/tenants/{slug}/secrets";

interface Props {
    slug: string;
    agent_name: string | null; // null: of the workspace
    admin: boolean;
    params?: readonly ConfigParamDecl[]; // what the agent declared
}

const SOURCES = {
    agent: "set for this agent",
    workspace: "from the workspace",
    default: "the agent's default",
} as const;

type Get = `GET ${typeof OF_AGENT}`;
type Put = `PUT ${typeof OF_AGENT}/{key}`;
type Delete = `DELETE ${typeof OF_AGENT}/{key}`;

function at(agent_name: string | null) {
    return agent_name === null ? OF_TENANT : OF_AGENT;
}

/** Names of secrets as values refer to them; only admins know them. */
function useSecrets(slug: string, admin: boolean): string[] {
    const { data } = useQuery(admin ? `${SECRETS} ${slug}` : null, (signal) =>
        call(SECRETS, { path: { slug }, signal }),
    );
    return (data?.secrets ?? []).map((one) => `vault:${one.name}`);
}

interface ValueFieldProps {
    type: string | null;
    choices: readonly string[];
    secret: boolean;
    secrets: readonly string[];
    value: string;
    onInput: (to: string) => void;
}

/** A field that fits the type of the parameter; whatever it is, it may refer to a secret. */
function ValueField({ type, choices, secret, secrets, value, onInput }: ValueFieldProps) {
    const refers = value.startsWith("vault:");
    const offered = choices.length > 0 ? choices : type === "boolean" ? ["true", "false"] : [];
    const shared = { label: "Value", value, onInput };
    if (secret)
        return (
            <TextField
                {...shared}
                first
                known={secrets}
                hint={
                    <>
                        A secret: give <code>vault:NAME</code>, the name of one in the vault.
                    </>
                }
            />
        );
    if (offered.length > 0 && !refers)
        return (
            <ChoiceField
                {...shared}
                choices={["", ...offered].map((one) => ({ value: one, label: one || "choose…" }))}
            />
        );
    const hint = (
        <>
            {type ?? "Text"}; <code>vault:NAME</code> refers to a secret.
        </>
    );
    if (type === "json" || type === "list") return <AreaField {...shared} hint={hint} />;
    return <TextField {...shared} first known={secrets} hint={hint} />;
}

interface EditProps extends Props {
    of: ConfigValue | null; // null: a new one
    onClose: () => void;
    onChange: () => void;
}

function Edit({ slug, agent_name, admin, params, of, onClose, onChange }: EditProps) {
    const [key, setKey] = useState(of?.key ?? "");
    const [value, setValue] = useState(of?.value ?? "");
    const act = useAct();
    const declared = params?.find((one) => one.key === key);
    const secrets = useSecrets(slug, admin);
    const path = { slug, agent_name: agent_name ?? "", key };
    const save = async () => {
        await call(`PUT ${at(agent_name)}/{key}` as Put, { path, body: { value } });
        onChange();
    };
    const unset = async () => {
        await call(`DELETE ${at(agent_name)}/{key}` as Delete, { path });
        onChange();
    };
    const own = of !== null && of.source === (agent_name === null ? "workspace" : "agent");
    return (
        <Dialog title={of === null ? "Set a value" : (declared?.label || of.key)} onClose={onClose}>
            <Form
                act={act}
                submit="Save"
                onSubmit={save}
                onCancel={onClose}
                more={
                    own && (
                        <button type="button" class="danger" onClick={() => void act.act(unset)}>
                            Unset
                        </button>
                    )
                }
            >
                {declared?.help && <p class="hint">{declared.help}</p>}
                {of === null && (
                    <TextField label="Key" required first value={key} onInput={setKey} />
                )}
                <ValueField
                    type={of?.value_type ?? declared?.value_type ?? null}
                    choices={declared?.opciones ?? []}
                    secret={of?.secret ?? false}
                    secrets={secrets}
                    value={value}
                    onInput={setValue}
                />
            </Form>
        </Dialog>
    );
}

function Row(props: { of: ConfigValue; label: string; may: boolean; onEdit: () => void }) {
    const { of, label, may, onEdit } = props;
    return (
        <tr>
            <td class="grow">
                <code>{of.key}</code> {label && <small class="muted">{label}</small>}
                {of.required && of.source === null && (
                    <>
                        {" "}
                        <Chip tone="bad">missing</Chip>
                    </>
                )}
                {of.secret && (
                    <>
                        {" "}
                        <Chip tone="warn">secret</Chip>
                    </>
                )}
            </td>
            <td class="grow">
                {of.hidden ? (
                    <span class="muted">hidden</span>
                ) : of.value === null ? (
                    <span class="muted">–</span>
                ) : (
                    <code>{of.value}</code>
                )}
            </td>
            <td class="fit muted">{of.source === null ? "not set" : SOURCES[of.source]}</td>
            <td class="fit wide muted">
                {of.updated_at !== null && (
                    <>
                        <Time at={of.updated_at} /> by {who(of.author ?? "")}
                    </>
                )}
            </td>
            <td class="fit number">
                {may && (
                    <span class="row-buttons">
                        <button type="button" aria-label={`Edit ${of.key}`} onClick={onEdit}>
                            Edit
                        </button>
                    </span>
                )}
            </td>
        </tr>
    );
}

export function Values(props: Props) {
    const { slug, agent_name, admin } = props;
    const [edited, setEdited] = useState<ConfigValue | "new" | null>(null);
    const get = `GET ${at(agent_name)}` as Get;
    const { data, error, reload } = useQuery(`${get} ${slug} ${agent_name}`, (signal) =>
        call(get, { path: { slug, agent_name: agent_name ?? "" }, signal }),
    );
    const changed = () => {
        setEdited(null);
        reload();
    };
    return (
        <Card
            title="Configuration values"
            aside={
                admin && (
                    <button type="button" onClick={() => setEdited("new")}>
                        <Icon name="plus" /> Set a value
                    </button>
                )
            }
        >
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && data.values.length === 0 && (
                <Empty title="No values">
                    <p>
                        {agent_name === null
                            ? "What is set here holds for every agent that declares the key."
                            : "The agent declared no parameters when it registered."}
                    </p>
                </Empty>
            )}
            {data && data.values.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Key</th>
                            <th>Value</th>
                            <th>From</th>
                            <th class="wide">Changed</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.values.map((one) => (
                            <Row
                                key={one.key}
                                of={one}
                                label={
                                    props.params?.find((param) => param.key === one.key)?.label ?? ""
                                }
                                may={admin || one.edit === "member"}
                                onEdit={() => setEdited(one)}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            {edited !== null && (
                <Edit
                    {...props}
                    of={edited === "new" ? null : edited}
                    onClose={() => setEdited(null)}
                    onChange={changed}
                />
            )}
        </Card>
    );
}
