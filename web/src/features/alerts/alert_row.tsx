// Alerts in words: what is wrong, since when, and who looks after it.

import type { Alert } from "api";
import type { ComponentChildren } from "preact";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { cost, number, span, who } from "../../lib/format";
import { agentPage, runPage } from "../../lib/paths";
import { href, pathOf } from "../../lib/route";
import { ErrorNote, Time } from "../../ui/basics";
import { MuteByName } from "./mute";
import { Chip } from "../../ui/chip";

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
    rule: "the rule was taken away",
    retention: "the run was deleted",
    recovered: "it is within bounds again",
};

interface Props {
    slug: string;
    alert: Alert;
}

function textOf(alert: Alert, name: string): string {
    const value = alert.detail[name];
    return typeof value === "number" ? number(value) : typeof value === "string" ? value : "";
}

function boundsOf(alert: Alert): string {
    return ["below", "above"]
        .filter((name) => textOf(alert, name) !== "")
        .map((name) => `${name === "below" ? "at least" : "at most"} ${textOf(alert, name)} wanted`)
        .join(", ");
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
        case "run.failed":
            return (
                <>
                    <a href={runPage(slug, alert.run_id ?? "")}>A run</a> of {agent} failed:{" "}
                    {textOf(alert, "error_type") || textOf(alert, "message")}{" "}
                    <span class="muted">{textOf(alert, "error_message")}</span>
                </>
            );
        case "kpi.crossed":
            return (
                <>
                    <a href={href(pathOf("t", slug, "business"), { q: textOf(alert, "key") })}>
                        {textOf(alert, "key")}
                    </a>{" "}
                    {agent && <>of {agent} </>}over {textOf(alert, "range")} is{" "}
                    {textOf(alert, "value")}, {boundsOf(alert)}
                </>
            );
        case "budget.exceeded":
            return (
                <>
                    Models <a href={href(pathOf("t", slug, "cost"))}>cost</a>{" "}
                    {cost(textOf(alert, "cost"))} this {textOf(alert, "per")}, over the budget of{" "}
                    {cost(textOf(alert, "amount"))}
                </>
            );
        default:
            return agent || alert.type;
    }
}

function End({ alert }: { alert: Alert }) {
    if (alert.closed_at === null || alert.closed_by === "event") return null;
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
                <p class="said">
                    <Chip tone={open ? "bad" : "quiet"}>{TITLES[alert.type] ?? alert.type}</Chip>
                    <span>
                        <Words slug={slug} alert={alert} />
                    </span>
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
            <div class="buttons">
                {open && alert.agent_name !== null && (
                    <MuteByName slug={slug} agent_name={alert.agent_name} />
                )}
                {(open || alert.closed_by === "event") && alert.acknowledged_at === null && (
                    <button type="button" disabled={busy} onClick={() => void acknowledge()}>
                        Acknowledge
                    </button>
                )}
            </div>
        </li>
    );
}
