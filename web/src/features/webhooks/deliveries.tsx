// The deliveries of a webhook, newest first, and whether they arrived.

import type { Delivery } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { chosen } from "../../lib/choices";
import { plural } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { setQuery, useRoute } from "../../lib/route";
import { Chip, List, Pager, Segments, Time } from "../../ui";

const DELIVERIES = "GET /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries";
const RETRY = "POST /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry";

const PAGE = 50;
const POLL_PENDING_MS = 2_000;

const STATES = {
    waiting: { tone: "warn", text: "Pending" },
    delivered: { tone: "good", text: "Delivered" },
    dead: { tone: "bad", text: "Failed" },
} as const;

const CHOICES = [
    { value: "", label: "All" },
    ...Object.entries(STATES).map(([value, { text }]) => ({ value, label: text })),
];

export function DeliveryState({ delivery }: { delivery: Delivery }) {
    const { tone, text } = STATES[delivery.state];
    return <Chip tone={tone}>{text}</Chip>;
}

/** "1 attempt, status 500, 12 ms" */
function resultOf({ attempts, last_error, last_status, last_ms }: Delivery): string {
    if (attempts === 0) return "no attempt yet";
    const reply = last_status === null ? "" : `status ${last_status}`;
    const took = last_ms === null ? "" : `, ${last_ms} ms`;
    return `${plural(attempts, "attempt")}, ${last_error ?? reply}${took}`;
}

function Result({ delivery }: { delivery: Delivery }) {
    return (
        <>
            {resultOf(delivery)}
            {delivery.next_at !== null && (
                <>
                    ; next <Time at={delivery.next_at} />
                </>
            )}
        </>
    );
}

interface Webhook {
    slug: string;
    webhook_id: string;
}

interface RetryProps extends Webhook {
    delivery: Delivery;
    onRetried: () => void;
}

function RetryButton({ slug, webhook_id, delivery, onRetried }: RetryProps) {
    const { busy, error, perform } = useAction();
    const { delivery_id } = delivery;
    const retry = async () => {
        await call(RETRY, { path: { slug, webhook_id, delivery_id } });
        onRetried();
    };
    return (
        <>
            {error && <span role="alert">{error.message}</span>}
            <button type="button" disabled={busy} onClick={() => void perform(retry)}>
                Retry now
            </button>
        </>
    );
}

export function Deliveries({ slug, webhook_id }: Webhook) {
    const { query } = useRoute();
    const state = chosen(CHOICES, query.get("deliveries"), "");
    const cursor = query.get("cursor");
    const [pending, setPending] = useState(false);
    const deliveries = useLiveQuery(
        slug,
        `${DELIVERIES} ${slug} ${webhook_id} ${state} ${cursor}`,
        (signal) =>
            call(DELIVERIES, {
                path: { slug, webhook_id },
                query: { limit: PAGE, cursor, state: (state || null) as never },
                signal,
            }),
        (change) => change.kind === "alert",
        pending ? POLL_PENDING_MS : undefined, // the stream does not report attempts
    );
    const { data, reload } = deliveries;
    useEffect(
        () => setPending(data?.deliveries.some((one) => one.state === "waiting") ?? false),
        [data],
    );
    return (
        <div class="after">
            <Segments
                label="State"
                choices={CHOICES}
                value={state}
                onChange={(to) => setQuery({ deliveries: to, cursor: null })}
            />
            <List
                class="after"
                loaded={deliveries}
                empty={<p class="muted after">No deliveries yet.</p>}
                rows={data?.deliveries ?? []}
                keyOf={(delivery) => delivery.delivery_id}
                columns={[
                    {
                        title: "State",
                        class: "fit",
                        cell: (delivery) => <DeliveryState delivery={delivery} />,
                    },
                    { title: "Type", class: "fit", cell: (delivery) => delivery.type },
                    {
                        title: "Message",
                        class: "words",
                        cell: (delivery) => delivery.message.summary,
                    },
                    {
                        title: "Created",
                        class: "fit",
                        cell: (delivery) => <Time at={delivery.created_at} />,
                    },
                    {
                        title: "Result",
                        class: "grow muted",
                        cell: (delivery) => <Result delivery={delivery} />,
                    },
                ]}
                buttons={(delivery) =>
                    delivery.state !== "delivered" && (
                        <RetryButton
                            slug={slug}
                            webhook_id={webhook_id}
                            delivery={delivery}
                            onRetried={reload}
                        />
                    )
                }
            />
            <Pager next={data?.next} />
        </div>
    );
}
