// Configuration values of an agent or a workspace; secrets are referred to, never shown.

import type { ConfigParamDecl, ConfigValue } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { actorName } from "../../lib/format";
import { useQuery } from "../../lib/query";
import {
    AreaField,
    Chip,
    ChoiceField,
    Dialog,
    Empty,
    Form,
    Icon,
    ListCard,
    TextField,
    Time,
} from "../../ui";

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

const pathOf = (agent_name: string | null) => (agent_name === null ? OF_TENANT : OF_AGENT);

/** References to the secrets of the vault; only admins may list them. */
function useSecretReferences(slug: string, admin: boolean): string[] {
    const { data } = useQuery(admin ? `${SECRETS} ${slug}` : null, (signal) =>
        call(SECRETS, { path: { slug }, signal }),
    );
    return (data?.secrets ?? []).map((one) => `vault:${one.name}`);
}

interface ValueFieldProps {
    type: string | null;
    choices: readonly string[];
    secret: boolean;
    references: readonly string[];
    value: string;
    onInput: (to: string) => void;
}

/** A field for the type of the parameter; a value of any type may refer to a secret. */
function ValueField({ type, choices, secret, references, value, onInput }: ValueFieldProps) {
    const isReference = value.startsWith("vault:");
    const offered = choices.length > 0 ? choices : type === "boolean" ? ["true", "false"] : [];
    const shared = { label: "Value", name: "value", value, onInput };
    if (secret)
        return (
            <TextField
                {...shared}
                focus
                known={references}
                hint={
                    <>
                        Enter <code>vault:NAME</code> to refer to a secret in the vault.
                    </>
                }
            />
        );
    if (offered.length > 0 && !isReference)
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
    return <TextField {...shared} focus known={references} hint={hint} />;
}

interface ValueDialogProps extends Props {
    edited: ConfigValue | null; // null: a new one
    onClose: () => void;
    onChange: () => void;
}

function ValueDialog(props: ValueDialogProps) {
    const { slug, agent_name, admin, params, edited, onClose, onChange } = props;
    const [key, setKey] = useState(edited?.key ?? "");
    const [value, setValue] = useState(edited?.value ?? "");
    const action = useAction();
    const declared = params?.find((one) => one.key === key);
    const references = useSecretReferences(slug, admin);
    const path = { slug, agent_name: agent_name ?? "", key };
    const save = async () => {
        await call(`PUT ${pathOf(agent_name)}/{key}` as Put, { path, body: { value } });
        onChange();
    };
    const unset = async () => {
        await call(`DELETE ${pathOf(agent_name)}/{key}` as Delete, { path });
        onChange();
    };
    const own = edited !== null && edited.source === (agent_name === null ? "workspace" : "agent");
    return (
        <Dialog
            title={edited === null ? "Set a value" : declared?.label || edited.key}
            onClose={onClose}
        >
            <Form
                action={action}
                submit="Save"
                onSubmit={save}
                onCancel={onClose}
                more={
                    own && (
                        <button
                            type="button"
                            class="danger"
                            onClick={() => void action.perform(unset)}
                        >
                            Unset
                        </button>
                    )
                }
            >
                {declared?.help && <p class="hint">{declared.help}</p>}
                {edited === null && (
                    <TextField label="Key" name="key" required focus value={key} onInput={setKey} />
                )}
                <ValueField
                    type={edited?.value_type ?? declared?.value_type ?? null}
                    choices={declared?.opciones ?? []}
                    secret={edited?.secret ?? false}
                    references={references}
                    value={value}
                    onInput={setValue}
                />
            </Form>
        </Dialog>
    );
}

function KeyCell({ value, label }: { value: ConfigValue; label: string }) {
    return (
        <>
            <code dir="auto">{value.key}</code>{" "}
            {label && (
                <small class="muted" dir="auto">
                    {label}
                </small>
            )}{" "}
            {value.required && value.source === null && <Chip tone="bad">missing</Chip>}{" "}
            {value.secret && <Chip tone="warn">secret</Chip>}
        </>
    );
}

function ValueCell({ value: { hidden, value } }: { value: ConfigValue }) {
    if (hidden) return <span class="muted">hidden</span>;
    return value === null ? <span class="muted">–</span> : <code>{value}</code>;
}

export function Values(props: Props) {
    const { slug, agent_name, admin, params } = props;
    const [edited, setEdited] = useState<ConfigValue | "new" | null>(null);
    const get = `GET ${pathOf(agent_name)}` as Get;
    const values = useQuery(`${get} ${slug} ${agent_name}`, (signal) =>
        call(get, { path: { slug, agent_name: agent_name ?? "" }, signal }),
    );
    const labelOf = (key: string) => params?.find((one) => one.key === key)?.label ?? "";
    return (
        <ListCard
            title="Configuration values"
            aside={
                admin && (
                    <button type="button" onClick={() => setEdited("new")}>
                        <Icon name="plus" /> Set a value
                    </button>
                )
            }
            loaded={values}
            empty={
                <Empty title="No values">
                    <p>
                        {agent_name === null
                            ? "Values set here apply to every agent that declares the key."
                            : "The agent declared no parameters when it registered."}
                    </p>
                </Empty>
            }
            rows={values.data?.values ?? []}
            keyOf={(value) => value.key}
            columns={[
                {
                    title: "Key",
                    class: "grow",
                    cell: (value) => <KeyCell value={value} label={labelOf(value.key)} />,
                },
                { title: "Value", class: "grow", cell: (value) => <ValueCell value={value} /> },
                {
                    title: "Source",
                    class: "fit muted",
                    cell: ({ source }) => (source === null ? "not set" : SOURCES[source]),
                },
                {
                    title: "Changed",
                    class: "fit wide muted",
                    cell: ({ updated_at, author }) =>
                        updated_at !== null && (
                            <>
                                <Time at={updated_at} /> by {actorName(author ?? "")}
                            </>
                        ),
                },
            ]}
            buttons={(value) =>
                (admin || value.edit === "member") && (
                    <button
                        type="button"
                        aria-label={`Edit ${value.key}`}
                        onClick={() => setEdited(value)}
                    >
                        Edit
                    </button>
                )
            }
        >
            {edited !== null && (
                <ValueDialog
                    {...props}
                    edited={edited === "new" ? null : edited}
                    onClose={() => setEdited(null)}
                    onChange={() => {
                        setEdited(null);
                        values.reload();
                    }}
                />
            )}
        </ListCard>
    );
}
