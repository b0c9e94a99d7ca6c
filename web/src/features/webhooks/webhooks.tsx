// Webhooks: where alerts are sent, whether they arrive, and what to do when they do not.

import type { Webhook } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { plural } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { setQuery } from "../../lib/route";
import {
    Card,
    Chip,
    ConfirmButton,
    Empty,
    ErrorNote,
    Icon,
    LoadState,
    SecretOnce,
    Switch,
    Time,
} from "../../ui";
import { CreateWebhook } from "./create_webhook";
import { Deliveries } from "./deliveries";

const WEBHOOKS = "GET /api/v1/tenants/{slug}/webhooks";
const CHANGE = "PATCH /api/v1/tenants/{slug}/webhooks/{webhook_id}";
const REMOVE = "DELETE /api/v1/tenants/{slug}/webhooks/{webhook_id}";
const TEST = "POST /api/v1/tenants/{slug}/webhooks/{webhook_id}/test";

const nameOf = (webhook: Webhook) => webhook.label || webhook.url;

function State({ webhook: { dead, waiting, enabled, last_delivered_at } }: { webhook: Webhook }) {
    const deliveries = (n: number) => plural(n, "delivery", "deliveries");
    if (dead > 0) return <Chip tone="bad">{`${deliveries(dead)} failed`}</Chip>;
    if (waiting > 0) return <Chip tone="warn">{`${deliveries(waiting)} pending`}</Chip>;
    if (!enabled) return <Chip tone="quiet">Off</Chip>;
    if (last_delivered_at === null) return <Chip tone="quiet">Not used yet</Chip>;
    return <Chip tone="good">Working</Chip>;
}

interface Props {
    slug: string;
    webhook: Webhook;
    onChange: () => void;
}

/** Sends a message at once and shows the result. */
function TestButton({ slug, webhook: { webhook_id }, onChange }: Props) {
    const [result, setResult] = useState("");
    const { busy, error, perform } = useAction();
    const test = async () => {
        setResult("");
        const { delivered, status, ms, error } = await call(TEST, { path: { slug, webhook_id } });
        setResult(
            delivered
                ? `Delivered in ${ms} ms`
                : `Not delivered after ${ms} ms: ${error ?? `status ${status}`}`,
        );
        onChange();
    };
    return (
        <>
            <span role="status" class="result">
                {error ? error.message : result}
            </span>
            <button type="button" disabled={busy} onClick={() => void perform(test)}>
                {busy ? "Sending…" : "Send a test"}
            </button>
        </>
    );
}

interface WebhookProps extends Props {
    logShown: boolean;
    onSecret: (secret: string) => void;
}

function Buttons({ slug, webhook, logShown, onChange, onSecret }: WebhookProps) {
    const name = nameOf(webhook);
    const path = { slug, webhook_id: webhook.webhook_id };
    const rotate = async () => {
        const changed = await call(CHANGE, { path, body: { rotate_secret: true } });
        if (changed.secret !== null) onSecret(changed.secret);
        onChange();
    };
    const remove = async () => {
        await call(REMOVE, { path });
        onChange();
    };
    return (
        <div class="buttons">
            <button
                type="button"
                aria-expanded={logShown}
                onClick={() =>
                    setQuery({
                        log: logShown ? null : webhook.webhook_id,
                        deliveries: null,
                        cursor: null,
                    })
                }
            >
                {logShown ? "Hide log" : "Delivery log"}
            </button>
            {webhook.format === "standard" && (
                <ConfirmButton
                    plain
                    label="Rotate secret"
                    title={`Rotate the secret of ${name}?`}
                    text="Messages are signed with both secrets for a day, so that the receiver can switch."
                    verb="Rotate"
                    onConfirm={rotate}
                />
            )}
            <ConfirmButton
                label="Remove"
                name={`Remove ${name}`}
                title={`Remove ${name}?`}
                text="Nothing is sent there any more, and its delivery log is deleted."
                verb="Remove"
                onConfirm={remove}
            />
            <TestButton slug={slug} webhook={webhook} onChange={onChange} />
        </div>
    );
}

function WebhookCard(props: WebhookProps) {
    const { slug, webhook, logShown, onChange } = props;
    const { webhook_id, url, types, enabled, last_delivered_at } = webhook;
    const { busy, error, perform } = useAction();
    const enable = (to: boolean) =>
        perform(async () => {
            await call(CHANGE, { path: { slug, webhook_id }, body: { enabled: to } });
            onChange();
        });
    return (
        <Card
            title={
                <>
                    <bdi>{nameOf(webhook)}</bdi> <State webhook={webhook} />
                </>
            }
            aside={
                <Switch
                    label={`Send to ${nameOf(webhook)}`}
                    value={enabled}
                    disabled={busy}
                    onChange={(to) => void enable(to)}
                />
            }
        >
            {error && <ErrorNote error={error} />}
            <p class="prose after-text">
                <span>
                    <code>{url}</code>
                </span>
                <span>
                    {types.length === 0 ? "All event types" : types.join(", ")}
                    {" · "}
                    {last_delivered_at === null ? (
                        "nothing delivered yet"
                    ) : (
                        <>
                            last delivered <Time at={last_delivered_at} />
                        </>
                    )}
                </span>
            </p>
            <Buttons {...props} />
            {logShown && <Deliveries slug={slug} webhook_id={webhook_id} />}
        </Card>
    );
}

/** `log`: the id of the webhook whose delivery log is open. */
export function Webhooks({ slug, log }: { slug: string; log: string | null }) {
    const [creating, setCreating] = useState(false);
    const [secret, setSecret] = useState<string | null>(null);
    const webhooks = useLiveQuery(
        slug,
        `${WEBHOOKS} ${slug}`,
        (signal) => call(WEBHOOKS, { path: { slug }, signal }),
        (change) => change.kind === "alert",
    );
    const { data, reload } = webhooks;
    return (
        <>
            {secret !== null && (
                <SecretOnce
                    text={secret}
                    title="The secret that messages are signed with."
                    onDone={() => setSecret(null)}
                />
            )}
            <LoadState of={webhooks} rows={4} />
            {data && (
                <p class="buttons">
                    <button type="button" class="primary" onClick={() => setCreating(true)}>
                        <Icon name="plus" /> New webhook
                    </button>
                </p>
            )}
            {data && data.webhooks.length === 0 && (
                <Empty title="No webhooks yet">
                    <p>A webhook sends each alert to a chat, a pager or a mailbox as it happens.</p>
                </Empty>
            )}
            {data && log !== null && !data.webhooks.some((one) => one.webhook_id === log) && (
                <p class="note" role="alert">
                    <strong>Webhook not found.</strong> The one whose log this link opens was removed.
                </p>
            )}
            {data?.webhooks.map((one) => (
                <WebhookCard
                    key={one.webhook_id}
                    slug={slug}
                    webhook={one}
                    logShown={one.webhook_id === log}
                    onChange={reload}
                    onSecret={setSecret}
                />
            ))}
            {creating && (
                <CreateWebhook
                    slug={slug}
                    onClose={() => setCreating(false)}
                    onCreated={(webhook) => {
                        setCreating(false);
                        setSecret(webhook.secret);
                        reload();
                    }}
                />
            )}
        </>
    );
}
