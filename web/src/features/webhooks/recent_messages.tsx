// What the webhooks were sent last: for admins, beside the alerts that it is about.

import type { Webhook } from "api";

import { call } from "../../lib/api";
import { useLiveQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, Time } from "../../ui";
import { DeliveryState } from "./deliveries";

const WEBHOOKS = "GET /api/v1/tenants/{slug}/webhooks";
const DELIVERIES = "GET /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries";
const SHOWN = 4;
const POLL_MS = 5_000; // the stream does not report deliveries

/** The one that was told something last; else any that is enabled. */
function latestOf(webhooks: readonly Webhook[]): Webhook | undefined {
    const enabled = webhooks.filter((one) => one.enabled);
    const at = (one: Webhook) => Date.parse(one.last_delivered_at ?? "") || 0;
    return enabled.sort((a, b) => at(b) - at(a))[0];
}

async function load(slug: string, signal: AbortSignal) {
    const { webhooks } = await call(WEBHOOKS, { path: { slug }, signal });
    const webhook = latestOf(webhooks);
    if (webhook === undefined) return { webhook, deliveries: [] };
    const { webhook_id } = webhook;
    const query = { limit: SHOWN };
    const { deliveries } = await call(DELIVERIES, { path: { slug, webhook_id }, query, signal });
    return { webhook, deliveries };
}

export function RecentMessages({ slug }: { slug: string }) {
    const { data } = useLiveQuery(
        slug,
        `recent messages ${slug}`,
        (signal) => load(slug, signal),
        (change) => change.kind === "alert",
        POLL_MS,
    );
    const log = href(pathOf("t", slug, "alerts"), {
        tab: "webhooks",
        log: data?.webhook?.webhook_id,
    });
    if (data === undefined) return null;
    return (
        <Card title="Notifications sent" aside={<a href={log}>Webhooks</a>}>
            {data.deliveries.length === 0 ? (
                <p class="muted">
                    {data.webhook === undefined
                        ? "No webhook yet: nothing is sent when an alert opens."
                        : "Nothing has been sent yet."}
                </p>
            ) : (
                <ul class="lines messages" aria-label={`Sent to ${data.webhook?.label || "a webhook"}`}>
                    {data.deliveries.map((one) => (
                        <li key={one.delivery_id}>
                            <span>
                                <code>{one.type}</code>{" "}
                                <span dir="auto">{one.message.summary}</span>
                            </span>
                            <span class="muted">
                                <DeliveryState delivery={one} /> <Time at={one.created_at} />
                            </span>
                        </li>
                    ))}
                </ul>
            )}
        </Card>
    );
}
