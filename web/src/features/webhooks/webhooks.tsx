// Webhooks: where alerts are sent, whether they arrive, and what to do when they do not.

import type { Webhook } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { plural } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { setQuery } from "../../lib/route";
import { Card, Empty, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { Deliveries } from "./deliveries";
import { ConfirmButton, Dialog, Once } from "../../ui/dialog";
import { Check, ChoiceField, Form, Switch, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Chip } from "../../ui/chip";

const WEBHOOKS = "GET /api/v1/tenants/{slug}/webhooks";
const CHANGE = "PATCH /api/v1/tenants/{slug}/webhooks/{webhook_id}";

type Format = Webhook["format"];

const FORMATS: { value: Format; label: string }[] = [
    { value: "standard", label: "Standard Webhooks: signed JSON" },
    { value: "slack", label: "Slack, or what takes its messages" },
    { value: "email", label: "E-mail" },
];

const TYPES = [
    "agent.silent",
    "agent.recovered",
    "run.failed",
    "run.stuck",
    "run.recovered",
    "kpi.crossed",
    "kpi.recovered",
    "budget.exceeded",
    "budget.recovered",
];

function Types({ value, onChange }: { value: string[]; onChange: (to: string[]) => void }) {
    return (
        <fieldset class="checks">
            <legend>Only these; none: all of them</legend>
            {TYPES.map((type) => (
                <Check
                    key={type}
                    label={type}
                    value={value.includes(type)}
                    onChange={(on) =>
                        onChange(on ? [...value, type] : value.filter((one) => one !== type))
                    }
                />
            ))}
        </fieldset>
    );
}

function MakeWebhook(props: { slug: string; onClose: () => void; onMade: (of: Webhook) => void }) {
    const { slug, onClose, onMade } = props;
    const [url, setUrl] = useState("");
    const [label, setLabel] = useState("");
    const [format, setFormat] = useState<Format>("standard");
    const [types, setTypes] = useState<string[]>([]);
    const act = useAct();
    const mail = format === "email";
    const make = async () => {
        const body = { url: mail ? `mailto:${url}` : url, format, label, types };
        onMade(await call("POST /api/v1/tenants/{slug}/webhooks", { path: { slug }, body }));
    };
    return (
        <Dialog title="New webhook" onClose={onClose} wide>
            <Form act={act} submit="Make the webhook" onSubmit={make} onCancel={onClose}>
                <ChoiceField
                    label="Form"
                    choices={FORMATS}
                    value={format}
                    onInput={(to) => setFormat(to as Format)}
                />
                <TextField
                    label={mail ? "E-mail address" : "Address"}
                    placeholder={mail ? "on-call@acme.example" : "https://…"}
                    kind={mail ? "email" : "text"}
                    required
                    first
                    value={url}
                    onInput={setUrl}
                />
                <TextField label="Label" value={label} onInput={setLabel} />
                <Types value={types} onChange={setTypes} />
            </Form>
        </Dialog>
    );
}

interface HookProps {
    slug: string;
    of: Webhook;
    log: boolean; // shown
    onChange: () => void;
    onSecret: (secret: string) => void;
}

/** Sends a message at once and tells what came of it. */
function Test({ slug, of, onChange }: Omit<HookProps, "onSecret" | "log">) {
    const [told, setTold] = useState("");
    const { busy, error, act } = useAct();
    const test = () =>
        act(async () => {
            setTold("");
            const { delivered, status, ms, error } = await call(
                "POST /api/v1/tenants/{slug}/webhooks/{webhook_id}/test",
                { path: { slug, webhook_id: of.webhook_id } },
            );
            setTold(
                delivered
                    ? `Delivered in ${ms} ms`
                    : `Not delivered after ${ms} ms: ${error ?? `status ${status}`}`,
            );
            onChange();
        });
    return (
        <>
            <span role="status" class="told">
                {error ? error.message : told}
            </span>
            <button type="button" disabled={busy} onClick={() => void test()}>
                {busy ? "Sending…" : "Send a test"}
            </button>
        </>
    );
}

function Hook({ slug, of, log, onChange, onSecret }: HookProps) {
    const { busy, error, act } = useAct();
    const path = { slug, webhook_id: of.webhook_id };
    const enable = (enabled: boolean) =>
        act(async () => {
            await call(CHANGE, { path, body: { enabled } });
            onChange();
        });
    const rotate = async () => {
        const changed = await call(CHANGE, { path, body: { rotate_secret: true } });
        if (changed.secret !== null) onSecret(changed.secret);
        onChange();
    };
    const remove = async () => {
        await call("DELETE /api/v1/tenants/{slug}/webhooks/{webhook_id}", { path });
        onChange();
    };
    const name = of.label || of.url;
    return (
        <Card
            title={
                <>
                    {name}{" "}
                    {of.dead > 0 ? (
                        <Chip tone="bad">{`${plural(of.dead, "message")} given up`}</Chip>
                    ) : of.waiting > 0 ? (
                        <Chip tone="warn">{`${plural(of.waiting, "message")} waiting`}</Chip>
                    ) : of.enabled ? (
                        <Chip tone="good">In order</Chip>
                    ) : (
                        <Chip tone="quiet">Off</Chip>
                    )}
                </>
            }
            aside={
                <Switch
                    label={`Send to ${name}`}
                    value={of.enabled}
                    disabled={busy}
                    onChange={(to) => void enable(to)}
                />
            }
        >
            {error && <ErrorNote error={error} />}
            <p class="prose after-text">
                <span>
                    <code>{of.url}</code>
                </span>
                <span>
                    {of.types.length === 0 ? "Everything" : of.types.join(", ")} · last delivered{" "}
                    <Time at={of.last_delivered_at} />
                </span>
            </p>
            <div class="buttons">
                <button
                    type="button"
                    aria-expanded={log}
                    onClick={() =>
                        setQuery({
                            log: log ? null : of.webhook_id,
                            deliveries: null,
                            cursor: null,
                        })
                    }
                >
                    {log ? "Hide the log" : "Delivery log"}
                </button>
                {of.format === "standard" && (
                    <ConfirmButton
                        plain
                        label="New secret"
                        title={`A new secret for ${name}?`}
                        text="Messages are signed with both for a day, so that the receiver can change over."
                        verb="Make it"
                        onConfirm={rotate}
                    />
                )}
                <ConfirmButton
                    label="Remove"
                    name={`Remove ${name}`}
                    title={`Remove ${name}?`}
                    text="Nothing more is sent there, and its log goes too."
                    verb="Remove"
                    onConfirm={remove}
                />
                <Test slug={slug} of={of} onChange={onChange} />
            </div>
            {log && <Deliveries slug={slug} webhook_id={of.webhook_id} />}
        </Card>
    );
}

export function Webhooks({ slug, log }: { slug: string; log: string | null }) {
    const [making, setMaking] = useState(false);
    const [secret, setSecret] = useState<string | null>(null);
    const { data, error, reload } = useLiveQuery(
        slug,
        `${WEBHOOKS} ${slug}`,
        (signal) => call(WEBHOOKS, { path: { slug }, signal }),
        (news) => news.kind === "alert",
    );
    const made = (of: Webhook) => {
        setMaking(false);
        setSecret(of.secret);
        reload();
    };
    return (
        <>
            {secret !== null && (
                <Once
                    text={secret}
                    what="The secret that messages are signed with."
                    onDone={() => setSecret(null)}
                />
            )}
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={4} />}
            {data && data.webhooks.length === 0 && (
                <Empty title="Nobody is told">
                    <p>A webhook sends each alert to a chat, a pager or a mailbox as it happens.</p>
                </Empty>
            )}
            {data?.webhooks.map((one) => (
                <Hook
                    key={one.webhook_id}
                    slug={slug}
                    of={one}
                    log={one.webhook_id === log}
                    onChange={reload}
                    onSecret={setSecret}
                />
            ))}
            {data && (
                <button type="button" class="primary" onClick={() => setMaking(true)}>
                    <Icon name="plus" /> New webhook
                </button>
            )}
            {making && <MakeWebhook slug={slug} onClose={() => setMaking(false)} onMade={made} />}
        </>
    );
}
