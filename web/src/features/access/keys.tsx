// Keys: made here, shown once, replaced and revoked.

import type { Key } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useNow } from "../../lib/clock";
import { useQuery } from "../../lib/query";
import { Card, Copyable, Empty, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { ConfirmButton, Dialog, Once } from "../../ui/dialog";
import { Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Chip } from "../../ui/chip";

const KEYS = "GET /api/v1/tenants/{slug}/keys";

interface Props {
    slug: string;
    agent_name: string | null; // only the keys of this agent; null: those of the workspace too
}

const GRACE_MS = 300_000; // a key that was replaced is good for so long

/** When it ends by itself. */
function endOf(key: Key): number {
    return Math.min(
        key.expires_at === null ? Infinity : Date.parse(key.expires_at),
        key.rotated_at === null ? Infinity : Date.parse(key.rotated_at) + GRACE_MS,
    );
}

const isOver = (key: Key, now: number) => key.revoked_at !== null || endOf(key) <= now;

function StateOf({ of }: { of: Key }) {
    const over = isOver(of, useNow());
    if (of.revoked_at !== null) return <Chip tone="quiet">Revoked</Chip>;
    if (of.rotated_at !== null)
        return <Chip tone={over ? "quiet" : "warn"}>{over ? "Replaced" : "Being replaced"}</Chip>;
    if (over) return <Chip tone="quiet">Expired</Chip>;
    return <Chip tone="good">Good</Chip>;
}

/** A token that was made, and until when the key that it replaces is good. */
interface Made {
    token: string;
    until: string | null;
}

type Done = (made: Made | null) => void;

function MakeKey(props: { slug: string; agent_name: string | null; done: Done }) {
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
        done({ token: made.token, until: null });
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

function Buttons({ slug, of, done }: { slug: string; of: Key; done: Done }) {
    const name = of.label || of.key_id;
    const over = isOver(of, useNow());
    const path = { slug, key_id: of.key_id };
    const rotate = async () => {
        const made = await call("POST /api/v1/tenants/{slug}/keys/{key_id}/rotate", { path });
        done({ token: made.token, until: made.previous_key_valid_until });
    };
    const revoke = async () => {
        await call("DELETE /api/v1/tenants/{slug}/keys/{key_id}", { path });
        done(null);
    };
    if (over) return null;
    return (
        <span class="row-buttons">
            <ConfirmButton
                plain
                label="Rotate"
                name={`Rotate key ${name}`}
                title={`Rotate ${name}?`}
                text="A new key with the same rights, label and expiry takes its place. This one is good for five more minutes, so that nothing stops meanwhile; if you need longer, make a second key and revoke this one later."
                verb="Rotate"
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

function Row({ slug, of, done }: { slug: string; of: Key; done: Done }) {
    const over = isOver(of, useNow());
    const end = endOf(of);
    return (
        <tr class={over ? "gone" : ""}>
            <td class="fit">
                <StateOf of={of} />
            </td>
            <td class="grow">
                {of.label || <span class="muted">no label</span>}
                {of.agent_name !== null && <small class="muted"> only {of.agent_name}</small>}
            </td>
            <td class="fit">
                <Copyable text={of.key_id} />
            </td>
            <td class="fit" data-label="made">
                <Time at={of.created_at} />
            </td>
            <td class="fit" data-label="used">
                <Time at={of.last_used_at} />
            </td>
            <td class="fit" data-label="ends">
                <Time at={end === Infinity ? null : new Date(end).toISOString()} />
            </td>
            <td class="fit number">
                <Buttons slug={slug} of={of} done={done} />
            </td>
        </tr>
    );
}

export function Keys({ slug, agent_name }: Props) {
    const [made, setMade] = useState<Made | null>(null);
    const [all, setAll] = useState(false);
    const now = useNow();
    const { data, error, reload } = useQuery(`${KEYS} ${slug}`, (signal) =>
        call(KEYS, { path: { slug }, signal }),
    );
    const done = (what: Made | null) => {
        if (what !== null) setMade(what);
        reload();
    };
    const ours = (data?.keys ?? []).filter(
        (one) => agent_name === null || one.agent_name === agent_name,
    );
    const shown = all ? ours : ours.filter((one) => !isOver(one, now));
    const hidden = ours.length - shown.length;
    return (
        <Card
            title={agent_name === null ? "Keys" : "Keys of this agent"}
            aside={<MakeKey slug={slug} agent_name={agent_name} done={done} />}
        >
            {made !== null && (
                <Once text={made.token} what="The new key." onDone={() => setMade(null)}>
                    {made.until !== null && (
                        <p>
                            The old one ends <Time at={made.until} />. Revoke it to end it at once.
                        </p>
                    )}
                </Once>
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
                            <th>Ends</th>
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
                        Show {hidden} that {hidden === 1 ? "is" : "are"} over
                    </button>
                </p>
            )}
        </Card>
    );
}
