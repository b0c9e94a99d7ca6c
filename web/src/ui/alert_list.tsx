// Alerts in words: what is wrong, since when, and who looks after it.

import type { Alert } from "api";
import type { ComponentChildren } from "preact";

import { useAct } from "../lib/act";
import { call } from "../lib/api";
import { span, who } from "../lib/format";
import { agentPage, runPage } from "../lib/paths";
import { ErrorNote, Time } from "./basics";
import { Chip } from "./state";

const ACKNOWLEDGE = "POST /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge";

const TITLES: Record<string, string> = {
    "agent.silent": "Silent agent",
    "run.stuck": "Stuck run",
    "run.failed": "Failed run",
    "kpi.crossed": "KPI out of bounds",
    "budget.exceeded": "Budget exceeded",
};

const ENDS: Record<string, string> = {
    seen: "it reported again",
    closed: "the run ended",
    disabled: "the agent was switched off",
    deleted: "the agent was removed",
    interval: "another interval was declared",
};

interface Props {
    slug: string;
    alert: Alert;
}

function Words({ slug, alert }: Props): ComponentChildren {
    const agent = alert.agent_name !== null && (
        <a href={agentPage(slug, alert.agent_name)}>{alert.agent_name}</a>
    );
    switch (alert.type) {
        case "agent.silent":
            return (
                <>
                    {agent} is expected to report, and was last seen <Time at={alert.since_at} />
                </>
            );
        case "run.stuck":
            return (
                <>
                    <a href={runPage(slug, alert.run_id ?? "")}>A run</a> of {agent} started{" "}
                    <Time at={alert.since_at} /> and has not ended
                </>
            );
        default:
            return (
                <>
                    {agent}{" "}
                    {typeof alert.detail["summary"] === "string" ? alert.detail["summary"] : ""}
                    {alert.run_id !== null && (
                        <>
                            {" "}
                            <a href={runPage(slug, alert.run_id)}>the run</a>
                        </>
                    )}
                </>
            );
    }
}

function End({ alert }: { alert: Alert }) {
    if (alert.closed_at === null) return null;
    const why = ENDS[alert.closed_by ?? ""] ?? alert.closed_by;
    return (
        <span>
            Over <Time at={alert.closed_at} />
            {why && `: ${why}`}
            {alert.away_seconds !== null && `, after ${span(alert.away_seconds * 1000)}`}
        </span>
    );
}

export function AlertRow({ slug, alert, onChange }: Props & { onChange: () => void }) {
    const { busy, error, act } = useAct();
    const open = alert.state === "open";
    const acknowledge = () =>
        act(async () => {
            await call(ACKNOWLEDGE, { path: { slug, alert_id: alert.alert_id } });
            onChange();
        });
    return (
        <li class={`alert ${open ? (alert.acknowledged_at === null ? "new" : "seen") : "over"}`}>
            <div class="what">
                <Chip tone={open ? "bad" : "quiet"}>{TITLES[alert.type] ?? alert.type}</Chip>
                <p>
                    <Words slug={slug} alert={alert} />
                </p>
                {error && <ErrorNote error={error} />}
                <p class="muted notes">
                    <span>
                        Opened <Time at={alert.opened_at} />
                    </span>
                    <End alert={alert} />
                    {alert.acknowledged_by !== null && (
                        <span>
                            {who(alert.acknowledged_by)} looks after it,{" "}
                            <Time at={alert.acknowledged_at} />
                        </span>
                    )}
                    {alert.muted && <span>muted: nobody was told</span>}
                </p>
            </div>
            {open && alert.acknowledged_at === null && (
                <button type="button" disabled={busy} onClick={() => void acknowledge()}>
                    Acknowledge
                </button>
            )}
        </li>
    );
}
