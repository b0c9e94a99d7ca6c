// What was sent to a webhook, newest first, and whether it arrived.

import type { Delivery } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { plural } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { chosen } from "../../lib/ranges";
import { setQuery, usePlace } from "../../lib/route";
import { ErrorNote, Segments, Skeleton, Time } from "../../ui/basics";
import { Pager } from "../../ui/pager";
import { Chip } from "../../ui/chip";

const DELIVERIES = "GET /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries";
const RETRY =
    "POST /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry";

const PAGE = 50;
const DUE_MS = 2_000;

const STATES = {
    waiting: { tone: "warn", text: "Waiting" },
    delivered: { tone: "good", text: "Delivered" },
    dead: { tone: "bad", text: "Given up" },
} as const;

const CHOICES = [
    { value: "", label: "All" },
    ...Object.entries(STATES).map(([value, { text }]) => ({ value, label: text })),
];

interface Props {
    slug: string;
    webhook_id: string;
}

function outcome(of: Delivery): string {
    if (of.attempts === 0) return "not tried yet";
    const how = of.last_error ?? (of.last_status === null ? "" : `status ${of.last_status}`);
    return `${plural(of.attempts, "try", "tries")}, ${how}${of.last_ms === null ? "" : `, ${of.last_ms} ms`}`;
}

function Row({ slug, webhook_id, of, onRetried }: Props & { of: Delivery; onRetried: () => void }) {
    const { busy, error, act } = useAct();
    const { tone, text } = STATES[of.state];
    const retry = () =>
        act(async () => {
            await call(RETRY, { path: { slug, webhook_id, delivery_id: of.delivery_id } });
            onRetried();
        });
    return (
        <tr>
            <td class="fit">
                <Chip tone={tone}>{text}</Chip>
            </td>
            <td class="fit">{of.type}</td>
            <td class="fit">
                <Time at={of.created_at} />
            </td>
            <td class="grow muted">
                {error ? error.message : outcome(of)}
                {of.next_at !== null && (
                    <>
                        ; next <Time at={of.next_at} />
                    </>
                )}
            </td>
            <td class="fit number">
                {of.state !== "delivered" && (
                    <span class="row-buttons">
                        <button type="button" disabled={busy} onClick={() => void retry()}>
                            Try now
                        </button>
                    </span>
                )}
            </td>
        </tr>
    );
}

export function Deliveries({ slug, webhook_id }: Props) {
    const { query } = usePlace();
    const state = chosen(CHOICES, query.get("deliveries"), "");
    const cursor = query.get("cursor");
    const [due, setDue] = useState(false);
    const { data, error, reload } = useLiveQuery(
        slug,
        `${DELIVERIES} ${slug} ${webhook_id} ${state} ${cursor}`,
        (signal) =>
            call(DELIVERIES, {
                path: { slug, webhook_id },
                query: { limit: PAGE, cursor, state: (state || null) as never },
                signal,
            }),
        (news) => news.kind === "alert",
        due ? DUE_MS : undefined,
    );
    // What becomes of an attempt is no news.
    useEffect(() => setDue(data?.deliveries.some((one) => one.state === "waiting") ?? false), [data]);
    return (
        <div class="after">
            <Segments
                label="State"
                choices={CHOICES}
                value={state}
                onChange={(to) => setQuery({ deliveries: to, cursor: null })}
            />
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && data.deliveries.length === 0 && <p class="muted after">Nothing was sent.</p>}
            {data && data.deliveries.length > 0 && (
                <table class="list flat after">
                    <thead>
                        <tr>
                            <th>State</th>
                            <th>Type</th>
                            <th>When</th>
                            <th>What came of it</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.deliveries.map((one) => (
                            <Row
                                key={one.delivery_id}
                                slug={slug}
                                webhook_id={webhook_id}
                                of={one}
                                onRetried={reload}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            <Pager next={data?.next} />
        </div>
    );
}
