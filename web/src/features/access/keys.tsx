// API keys: created here, shown once, rotated and revoked.

import type { Key, KeyList } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useNow } from "../../lib/clock";
import { useQuery } from "../../lib/query";
import {
    Chip,
    ChoiceField,
    ConfirmButton,
    Copyable,
    Dialog,
    Empty,
    Form,
    Icon,
    ListCard,
    SecretOnce,
    TextField,
    Time,
} from "../../ui";

const KEYS = "GET /api/v1/tenants/{slug}/keys";

const GRACE_MS = 300_000; // how long a rotated key stays valid

/** All keys: a workspace with many has several pages. */
async function loadKeys(slug: string, signal: AbortSignal): Promise<Key[]> {
    const keys: Key[] = [];
    let cursor: string | null = null;
    do {
        const query: { cursor?: string } = cursor === null ? {} : { cursor };
        const page: KeyList = await call(KEYS, { path: { slug }, query, signal });
        keys.push(...page.keys);
        cursor = page.next;
    } while (cursor !== null);
    return keys;
}

/** When it expires; Infinity: never. */
function expiryOf(key: Key): number {
    return Math.min(
        key.expires_at === null ? Infinity : Date.parse(key.expires_at),
        key.rotated_at === null ? Infinity : Date.parse(key.rotated_at) + GRACE_MS,
    );
}

const isActive = (key: Key, now: number) => key.revoked_at === null && expiryOf(key) > now;

function Expiry({ apiKey }: { apiKey: Key }) {
    const expiry = expiryOf(apiKey);
    return <Time at={expiry === Infinity ? null : new Date(expiry).toISOString()} />;
}

function KeyState({ apiKey }: { apiKey: Key }) {
    const active = isActive(apiKey, useNow());
    if (apiKey.revoked_at !== null) return <Chip tone="quiet">Revoked</Chip>;
    if (apiKey.rotated_at !== null)
        return (
            <Chip tone={active ? "warn" : "quiet"}>{active ? "Being replaced" : "Replaced"}</Chip>
        );
    return active ? <Chip tone="good">Active</Chip> : <Chip tone="quiet">Expired</Chip>;
}

/** A token that was created, and until when the key that it replaces is valid. */
interface Created {
    token: string;
    previousUntil: string | null;
}

type OnDone = (created: Created | null) => void;

interface Owner {
    slug: string;
    agent_name: string | null; // null: keys of the workspace and of all agents
}

const RIGHTS = [
    { value: "report", label: "Report and read" },
    { value: "read", label: "Only read" },
];

function rightsHint(agent_name: string | null, read_only: boolean): string {
    if (agent_name !== null)
        return "It can report and register only as this agent, and read its configuration.";
    return read_only
        ? "It can read this workspace and reports nothing: for dashboards and monitoring."
        : "It can report as any agent and read this workspace.";
}

function CreateKey({ slug, agent_name, onDone }: Owner & { onDone: OnDone }) {
    const [open, setOpen] = useState(false);
    const [label, setLabel] = useState("");
    const [expiry, setExpiry] = useState("");
    const [rights, setRights] = useState("report");
    const read_only = rights === "read";
    const action = useAction();
    const create = async () => {
        const expires_at = expiry === "" ? null : new Date(expiry).toISOString();
        const body = { agent_name, read_only, label, expires_at };
        const { token } = await call("POST /api/v1/tenants/{slug}/keys", { path: { slug }, body });
        setOpen(false);
        setLabel("");
        setExpiry("");
        setRights("report");
        onDone({ token, previousUntil: null });
    };
    return (
        <>
            <button type="button" class="primary" onClick={() => setOpen(true)}>
                <Icon name="plus" /> New key
            </button>
            {open && (
                <Dialog
                    title={agent_name === null ? "New workspace key" : `New key for ${agent_name}`}
                    onClose={() => setOpen(false)}
                >
                    <Form
                        action={action}
                        submit="Create key"
                        onSubmit={create}
                        onCancel={() => setOpen(false)}
                    >
                        <p class="hint">{rightsHint(agent_name, read_only)}</p>
                        <TextField
                            label="Label"
                            name="label"
                            hint='What it is for, e.g. "staging server".'
                            focus
                            value={label}
                            onInput={setLabel}
                        />
                        {agent_name === null && (
                            <ChoiceField
                                label="It may"
                                choices={RIGHTS}
                                value={rights}
                                onInput={setRights}
                            />
                        )}
                        <TextField
                            label="Expires"
                            name="expires_at"
                            hint="Leave empty to never expire."
                            kind="datetime"
                            value={expiry}
                            onInput={setExpiry}
                        />
                    </Form>
                </Dialog>
            )}
        </>
    );
}

function Buttons({ slug, apiKey, onDone }: { slug: string; apiKey: Key; onDone: OnDone }) {
    const name = apiKey.label || apiKey.key_id;
    const active = isActive(apiKey, useNow());
    const path = { slug, key_id: apiKey.key_id };
    const rotate = async () => {
        const created = await call("POST /api/v1/tenants/{slug}/keys/{key_id}/rotate", { path });
        onDone({ token: created.token, previousUntil: created.previous_key_valid_until });
    };
    const revoke = async (only: boolean) => {
        await call("DELETE /api/v1/tenants/{slug}/keys/{key_id}", { path, query: { only } });
        onDone(null);
    };
    const isRotated = apiKey.rotated_at !== null;
    if (!active) return null;
    return (
        <>
            <ConfirmButton
                plain
                label="Rotate"
                name={`Rotate key ${name}`}
                title={`Rotate ${name}?`}
                text="This creates a new key with the same rights, label and expiry. The old key stays valid for five more minutes. If you need longer, create a second key and revoke this one later."
                verb="Rotate"
                onConfirm={rotate}
            />
            {isRotated && (
                <ConfirmButton
                    plain
                    label="Revoke only this"
                    name={`Revoke only this key, ${name}`}
                    title={`Revoke only ${name}?`}
                    text="Requests with this key are rejected from now on. The keys that replaced it stay valid. This cannot be undone."
                    verb="Revoke"
                    onConfirm={() => revoke(true)}
                />
            )}
            <ConfirmButton
                label="Revoke"
                name={`Revoke key ${name}`}
                title={`Revoke ${name}?`}
                text={
                    isRotated
                        ? "Requests with this key, and with all keys that replaced it, are rejected from now on. This cannot be undone."
                        : "Requests with this key are rejected from now on. This cannot be undone."
                }
                verb="Revoke"
                onConfirm={() => revoke(false)}
            />
        </>
    );
}

export function Keys({ slug, agent_name }: Owner) {
    const [created, setCreated] = useState<Created | null>(null);
    const [all, setAll] = useState(false);
    const now = useNow();
    const keys = useQuery(`${KEYS} ${slug}`, (signal) => loadKeys(slug, signal));
    const onDone = (what: Created | null) => {
        if (what !== null) setCreated(what);
        keys.reload();
    };
    const own = (keys.data ?? []).filter(
        (one) => agent_name === null || one.agent_name === agent_name,
    );
    const shown = all ? own : own.filter((one) => isActive(one, now));
    const hidden = own.length - shown.length;
    return (
        <ListCard
            title={agent_name === null ? "Keys" : "Keys of this agent"}
            aside={<CreateKey slug={slug} agent_name={agent_name} onDone={onDone} />}
            above={
                created !== null && (
                    <SecretOnce
                        text={created.token}
                        title="Your new key."
                        onDone={() => setCreated(null)}
                    >
                        {created.previousUntil !== null && (
                            <p>
                                The old key expires <Time at={created.previousUntil} />. To end it
                                now, revoke only that key.
                            </p>
                        )}
                    </SecretOnce>
                )
            }
            loaded={keys}
            empty={
                <Empty title="No keys yet">
                    <p>
                        {agent_name === null
                            ? "Agents need a key to report. Create one and give it to them."
                            : "The agent can use a workspace key, but only its own key can read its configuration."}
                    </p>
                </Empty>
            }
            rows={shown}
            keyOf={(key) => key.key_id}
            rowClass={(key) => (isActive(key, now) ? "" : "gone")}
            columns={[
                { title: "State", class: "fit", cell: (key) => <KeyState apiKey={key} /> },
                {
                    title: "Label",
                    class: "grow",
                    by: (key) => key.label,
                    cell: (key) => (
                        <>
                            {key.label ? <bdi>{key.label}</bdi> : <span class="muted">no label</span>}
                            {key.agent_name !== null && (
                                <small class="muted">
                                    {" "}
                                    only for <bdi>{key.agent_name}</bdi>
                                </small>
                            )}
                            {key.kind === "read_only" && <small class="muted"> only reads</small>}
                        </>
                    ),
                },
                { title: "ID", class: "even", cell: (key) => <Copyable text={key.key_id} /> },
                {
                    title: "Created",
                    class: "even",
                    label: "created",
                    by: (key) => Date.parse(key.created_at),
                    cell: (key) => <Time at={key.created_at} />,
                },
                {
                    title: "Last used",
                    class: "even",
                    label: "used",
                    by: (key) => Date.parse(key.last_used_at ?? "") || 0,
                    cell: (key) => <Time at={key.last_used_at} />,
                },
                {
                    title: "Expires",
                    class: "even",
                    label: "expires",
                    by: expiryOf,
                    cell: (key) => <Expiry apiKey={key} />,
                },
            ]}
            buttons={(key) => <Buttons slug={slug} apiKey={key} onDone={onDone} />}
        >
            {hidden > 0 && (
                <p class="after">
                    <button type="button" onClick={() => setAll(true)}>
                        Show {hidden} inactive
                    </button>
                </p>
            )}
        </ListCard>
    );
}
