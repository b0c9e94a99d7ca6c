// Keys: made here, shown once, replaced and revoked.

import type { Key } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../lib/act";
import { call } from "../lib/api";
import { useQuery } from "../lib/query";
import { Card, Empty, ErrorNote, Skeleton, Time } from "./basics";
import { ConfirmButton, Dialog, Once } from "./dialog";
import { Form, TextField } from "./forms";
import { Icon } from "./icons";
import { Chip } from "./state";

const KEYS = "GET /api/v1/tenants/{slug}/keys";

interface Props {
    slug: string;
    agent_name: string | null; // only the keys of this agent; null: those of the workspace too
}

function isOver(key: Key): boolean {
    return (
        key.revoked_at !== null ||
        (key.expires_at !== null && Date.parse(key.expires_at) < Date.now())
    );
}

function StateOf({ of }: { of: Key }) {
    if (of.revoked_at !== null) return <Chip tone="quiet">Revoked</Chip>;
    if (isOver(of)) return <Chip tone="quiet">Expired</Chip>;
    if (of.rotated_at !== null) return <Chip tone="warn">Replaced</Chip>;
    return <Chip tone="good">Good</Chip>;
}

function MakeKey(props: { slug: string; agent_name: string | null; done: (t: string) => void }) {
    const { slug, agent_name, done } = props;
    const [open, setOpen] = useState(false);
    const [label, setLabel] = useState("");
    const [until, setUntil] = useState("");
    const act = useAct();
    const make = async () => {
        const expires_at = until === "" ? null : new Date(until).toISOString();
        const body = { agent_name, label, expires_at };
        const made = await call("POST /api/v1/tenants/{slug}/keys", { path: { slug }, body });
        setOpen(false);
        setLabel("");
        setUntil("");
        done(made.token);
    };
    return (
        <>
            <button type="button" class="primary" onClick={() => setOpen(true)}>
                <Icon name="plus" /> New key
            </button>
            {open && (
                <Dialog
                    title={agent_name === null ? "New workspace key" : `New key of ${agent_name}`}
                    onClose={() => setOpen(false)}
                >
                    <Form
                        act={act}
                        submit="Make the key"
                        onSubmit={make}
                        onCancel={() => setOpen(false)}
                    >
                        <p class="hint">
                            {agent_name === null
                                ? "It may report under any agent's name, and read this workspace."
                                : "It may report and register only as this agent, and read its configuration."}
                        </p>
                        <TextField
                            label="Label"
                            hint="Where it is used, for those who come after you."
                            first
                            value={label}
                            onInput={setLabel}
                        />
                        <TextField
                            label="Expires"
                            hint="Empty: never."
                            kind="datetime"
                            value={until}
                            onInput={setUntil}
                        />
                    </Form>
                </Dialog>
            )}
        </>
    );
}

function Buttons(props: { slug: string; of: Key; done: (token: string | null) => void }) {
    const { slug, of, done } = props;
    const name = of.label || of.key_id;
    const rotate = async () => {
        const { agent_name, label, expires_at } = of;
        const made = await call("POST /api/v1/tenants/{slug}/keys", {
            path: { slug },
            body: { agent_name, label, expires_at },
        });
        done(made.token);
    };
    const revoke = async () => {
        await call("DELETE /api/v1/tenants/{slug}/keys/{key_id}", {
            path: { slug, key_id: of.key_id },
        });
        done(null);
    };
    if (isOver(of)) return null;
    return (
        <span class="row-buttons">
            <ConfirmButton
                plain
                label="Rotate"
                name={`Rotate key ${name}`}
                title={`Rotate ${name}?`}
                text="A new key with the same rights is made. This one stays good until you revoke it, so that nothing stops meanwhile."
                verb="Make a new key"
                onConfirm={rotate}
            />
            <ConfirmButton
                label="Revoke"
                name={`Revoke key ${name}`}
                title={`Revoke ${name}?`}
                text="Whatever uses it is refused at once. A revoked key never becomes good again."
                verb="Revoke"
                onConfirm={revoke}
            />
        </span>
    );
}

function Row({ slug, of, done }: { slug: string; of: Key; done: (token: string | null) => void }) {
    return (
        <tr class={isOver(of) ? "gone" : ""}>
            <td class="fit">
                <StateOf of={of} />
            </td>
            <td class="grow">
                {of.label || <span class="muted">no label</span>}
                {of.agent_name !== null && <small class="muted"> only {of.agent_name}</small>}
            </td>
            <td class="fit">
                <code title={of.key_id}>{of.key_id}</code>
            </td>
            <td class="fit" data-label="made">
                <Time at={of.created_at} />
            </td>
            <td class="fit" data-label="used">
                <Time at={of.last_used_at} />
            </td>
            <td class="fit wide">
                <Time at={of.expires_at} />
            </td>
            <td class="fit number">
                <Buttons slug={slug} of={of} done={done} />
            </td>
        </tr>
    );
}

export function Keys({ slug, agent_name }: Props) {
    const [token, setToken] = useState<string | null>(null);
    const [all, setAll] = useState(false);
    const { data, error, reload } = useQuery(`${KEYS} ${slug}`, (signal) =>
        call(KEYS, { path: { slug }, signal }),
    );
    const done = (made: string | null) => {
        if (made !== null) setToken(made);
        reload();
    };
    const ours = (data?.keys ?? []).filter(
        (one) => agent_name === null || one.agent_name === agent_name,
    );
    const shown = all ? ours : ours.filter((one) => !isOver(one));
    const hidden = ours.length - shown.length;
    return (
        <Card
            title={agent_name === null ? "Keys" : "Keys of this agent"}
            aside={<MakeKey slug={slug} agent_name={agent_name} done={done} />}
        >
            {token !== null && (
                <Once text={token} what="The new key." onDone={() => setToken(null)} />
            )}
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && shown.length === 0 && (
                <Empty title="No key">
                    <p>
                        {agent_name === null
                            ? "Agents need one to report. Make it here and hand it over."
                            : "The agent may use a workspace key; only a key of its own reads its configuration."}
                    </p>
                </Empty>
            )}
            {shown.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>State</th>
                            <th>Label</th>
                            <th>Id</th>
                            <th>Made</th>
                            <th>Last used</th>
                            <th class="wide">Expires</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {shown.map((one) => (
                            <Row key={one.key_id} slug={slug} of={one} done={done} />
                        ))}
                    </tbody>
                </table>
            )}
            {hidden > 0 && (
                <p class="after">
                    <button type="button" onClick={() => setAll(true)}>
                        Show {hidden} revoked or expired
                    </button>
                </p>
            )}
        </Card>
    );
}
