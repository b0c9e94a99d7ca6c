// Alerts as a list: what is wrong, since when, and who acknowledged it.

import type { Alert } from "api";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { actorName, duration } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { Chip, Empty, ErrorNote, LoadState, Pager, Time } from "../../ui";
import { AlertText, titleOf } from "./alert_text";
import { MuteByName } from "./mute";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const ACKNOWLEDGE = "POST /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge";
const PAGE = 100;

const NONE = { open: "No open alerts", closed: "No alerts yet" };

const REASONS: Record<string, string> = {
    seen: "it reported again",
    closed: "the run ended",
    disabled: "the agent was disabled",
    deleted: "the agent was removed",
    interval: "the agent declared another interval",
    rule: "the rule was removed",
    retention: "the run was deleted",
    recovered: "the value is within its limits again",
};

interface Props {
    slug: string;
    alert: Alert;
}

function Closed({ alert }: { alert: Alert }) {
    if (alert.closed_at === null || alert.closed_by === "event") return null;
    const reason = REASONS[alert.closed_by ?? ""] ?? alert.closed_by;
    return (
        <span>
            Closed <Time at={alert.closed_at} />
            {reason && `: ${reason}`}
            {alert.away_seconds !== null && ` after ${duration(alert.away_seconds * 1000)}`}
        </span>
    );
}

interface ButtonsProps extends Props {
    busy: boolean;
    onAcknowledge: () => void;
}

function Buttons({ slug, alert, busy, onAcknowledge }: ButtonsProps) {
    const open = alert.state === "open";
    return (
        <div class="buttons">
            {open && alert.agent_name !== null && (
                <MuteByName slug={slug} agent_name={alert.agent_name} />
            )}
            {(open || alert.closed_by === "event") && alert.acknowledged_at === null && (
                <button type="button" disabled={busy} onClick={onAcknowledge}>
                    Acknowledge
                </button>
            )}
        </div>
    );
}

const lookOf = (alert: Alert) =>
    alert.state !== "open" ? "closed" : alert.acknowledged_at === null ? "new" : "acknowledged";

function AlertRow({ slug, alert, onChange }: Props & { onChange: () => void }) {
    const { busy, error, perform } = useAction();
    const acknowledge = async () => {
        await call(ACKNOWLEDGE, { path: { slug, alert_id: alert.alert_id } });
        onChange();
    };
    return (
        <li class={`alert ${lookOf(alert)}`}>
            <div class="what">
                <p class="text">
                    <Chip tone={alert.state === "open" ? "bad" : "quiet"}>{titleOf(alert)}</Chip>
                    <span>
                        <AlertText slug={slug} alert={alert} />
                    </span>
                </p>
                {error && <ErrorNote error={error} />}
                <p class="muted notes">
                    <span>
                        Opened <Time at={alert.opened_at} />
                    </span>
                    <Closed alert={alert} />
                    {alert.acknowledged_by !== null && (
                        <span>
                            Acknowledged by {actorName(alert.acknowledged_by)}{" "}
                            <Time at={alert.acknowledged_at} />
                        </span>
                    )}
                    {alert.muted && <span>Muted: no notification was sent</span>}
                </p>
            </div>
            <Buttons
                slug={slug}
                alert={alert}
                busy={busy}
                onAcknowledge={() => void perform(acknowledge)}
            />
        </li>
    );
}

interface ListProps {
    slug: string;
    state: Alert["state"];
    cursor: string | null;
}

export function AlertList({ slug, state, cursor }: ListProps) {
    const alerts = useLiveQuery(
        slug,
        `${ALERTS} ${slug} ${state} ${cursor}`,
        (signal) => call(ALERTS, { path: { slug }, query: { state, limit: PAGE, cursor }, signal }),
        (change) => change.kind === "alert",
    );
    const { data, reload } = alerts;
    return (
        <>
            <LoadState of={alerts} rows={4} />
            {data && data.alerts.length === 0 && (
                <Empty title={NONE[state]}>
                    <p>
                        An alert opens when an agent with a declared interval falls silent, when a
                        run stays open for a day, and as the rules say.
                    </p>
                </Empty>
            )}
            {data && data.alerts.length > 0 && (
                <ul class="alerts">
                    {data.alerts.map((one) => (
                        <AlertRow key={one.alert_id} slug={slug} alert={one} onChange={reload} />
                    ))}
                </ul>
            )}
            <Pager next={data?.next} />
        </>
    );
}
