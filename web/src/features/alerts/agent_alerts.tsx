// The alerts of one agent, and in which share of each month it was not silent.

import type { Agent, Alert } from "api";

import { call } from "../../lib/api";
import { useNow } from "../../lib/clock";
import { duration } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, Empty, LoadState, Table } from "../../ui";
import { AlertRow } from "./alert_row";
import { useKpisOf } from "./known_kpis";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const SHOWN = 20;
const SILENCES_MAX = 1000;
const MONTHS = 6;

interface Month {
    name: string;
    from: number;
    length: number; // of the part that is over and since it was first seen
    silent: number;
    times: number;
}

const overlap = (from: number, to: number, begin: number, end: number) =>
    Math.max(0, Math.min(to, end) - Math.max(from, begin));

/** Newest first; those before the agent was first seen are left out. */
export function monthsOf(silences: Alert[], since: number, now: number): Month[] {
    const today = new Date(now);
    const months: Month[] = [];
    for (let back = 0; back < MONTHS; back++) {
        const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back);
        const to = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back + 1);
        const length = overlap(from, to, since, now);
        if (length === 0) break;
        const parts = silences
            .map((one) =>
                overlap(from, to, Date.parse(one.opened_at), one.closed_at ? Date.parse(one.closed_at) : now),
            )
            .filter((part) => part > 0);
        months.push({
            name: new Date(from).toLocaleDateString("en-GB", {
                month: "long",
                year: "numeric",
                timeZone: "UTC",
            }),
            from,
            length,
            silent: parts.reduce((sum, part) => sum + part, 0),
            times: parts.length,
        });
    }
    return months;
}

/** Down, so that 99.996 % is not shown as 100. */
const share = (month: Month) =>
    `${(Math.floor((1 - month.silent / month.length) * 10_000) / 100).toFixed(2)} %`;

function Uptime({ agent, silences, complete }: { agent: Agent; silences: Alert[]; complete: boolean }) {
    const now = useNow();
    const oldest = silences[silences.length - 1];
    const since = complete || !oldest ? Date.parse(agent.first_seen_at) : Date.parse(oldest.opened_at);
    if (agent.interval_seconds === null && silences.length === 0)
        return (
            <Card title="Uptime per month">
                <p class="muted">Without a schedule an agent is never silent, so there is no uptime.</p>
            </Card>
        );
    return (
        <Card title="Uptime per month" aside="Time without an open alert about silence, UTC">
            <Table
                class="flat"
                rows={monthsOf(silences, since, now)}
                keyOf={(month) => month.name}
                columns={[
                    { title: "Month", cell: (month) => month.name },
                    {
                        title: "Uptime",
                        class: "fit number",
                        label: "uptime",
                        cell: (month) => <b>{share(month)}</b>,
                    },
                    {
                        title: "Silent",
                        class: "fit number",
                        label: "silent",
                        cell: (month) => (month.silent === 0 ? "–" : duration(month.silent)),
                    },
                    {
                        title: "Times",
                        class: "fit number",
                        label: "times",
                        cell: (month) => month.times,
                    },
                ]}
            />
        </Card>
    );
}

function useAlertsOf(slug: string, agent_name: string, type: string | null, limit: number) {
    return useLiveQuery(
        slug,
        `${ALERTS} ${slug} of ${agent_name} ${type} ${limit}`,
        (signal) => call(ALERTS, { path: { slug }, query: { agent_name, type, limit }, signal }),
        (change) => change.kind === "alert",
    );
}

export function AgentAlerts({ slug, agent }: { slug: string; agent: Agent }) {
    const { agent_name } = agent;
    const silences = useAlertsOf(slug, agent_name, "agent.silent", SILENCES_MAX);
    const alerts = useAlertsOf(slug, agent_name, null, SHOWN);
    const kpis = useKpisOf(slug, alerts.data?.alerts ?? []);
    return (
        <>
            {silences.data && (
                <Uptime
                    agent={agent}
                    silences={silences.data.alerts}
                    complete={silences.data.next === null}
                />
            )}
            <LoadState of={alerts} rows={4} />
            {alerts.data?.alerts.length === 0 && <Empty title="No alerts yet" />}
            <ul class="alerts">
                {alerts.data?.alerts.map((one) => (
                    <AlertRow
                        key={one.alert_id}
                        slug={slug}
                        alert={one}
                        kpis={kpis}
                        onChange={alerts.reload}
                    />
                ))}
            </ul>
            {alerts.data?.next && (
                <p class="after">
                    <a href={href(pathOf("t", slug, "alerts"), { tab: "history", agent: agent_name })}>
                        All alerts of <bdi>{agent_name}</bdi>
                    </a>
                </p>
            )}
        </>
    );
}
