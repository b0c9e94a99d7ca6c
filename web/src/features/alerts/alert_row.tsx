// One alert: what is wrong, since when, who takes care of it, and what was done.

import type { Alert } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { actorName, duration } from "../../lib/format";
import { Chip, ErrorNote, Time } from "../../ui";
import { AlertText, titleOf } from "./alert_text";
import { History, NoteDialog } from "./handling";
import type { KnownKpi } from "./known_kpis";
import { MuteByName } from "./mute";

const ACKNOWLEDGE = "POST /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge";
const TAKE_BACK = "DELETE /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge";

const REASONS = new Map(Object.entries({
    seen: "it reported again",
    closed: "the run ended",
    disabled: "the agent was disabled",
    deleted: "the agent was removed",
    interval: "the agent declared another interval",
    schedule: "its schedule was changed",
    paused: "its schedule was paused",
    rule: "the rule was removed or paused",
    retention: "the run was deleted",
    recovered: "the value is within its limits again",
}));

function reasonOf({ type, closed_by }: Alert): string | null {
    if (type === "agent.failing" && closed_by === "recovered") return "its runs complete again";
    return REASONS.get(closed_by ?? "") ?? closed_by;
}

interface Props {
    slug: string;
    alert: Alert;
}

function Closed({ alert }: { alert: Alert }) {
    if (alert.closed_at === null || alert.closed_by === "event") return null;
    const reason = reasonOf(alert);
    return (
        <span>
            Closed <Time at={alert.closed_at} />
            {reason && `: ${reason}`}
            {alert.away_seconds !== null && ` after ${duration(alert.away_seconds * 1000)}`}
        </span>
    );
}

function Facts({ alert }: { alert: Alert }) {
    return (
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
            {alert.reminded_at !== null && (
                <span>
                    Reminded <Time at={alert.reminded_at} />
                </span>
            )}
            {alert.muted && <span>Muted: no notification was sent</span>}
        </p>
    );
}

interface ButtonsProps extends Props {
    busy: boolean;
    onAcknowledge: (to: boolean) => void;
    onNote: () => void;
    history: boolean;
    onHistory: () => void;
}

/** Acknowledge and what takes it back have the same place, so that nothing moves under the pointer. */
function Buttons(props: ButtonsProps) {
    const { slug, alert, busy, onAcknowledge } = props;
    const open = alert.state === "open";
    const about = alert.agent_name ?? titleOf(alert);
    return (
        <div class="buttons">
            {open && alert.agent_name !== null && (
                <MuteByName slug={slug} agent_name={alert.agent_name} />
            )}
            <button type="button" aria-label={`Note for ${about}`} onClick={props.onNote}>
                Note
            </button>
            <button
                type="button"
                aria-label={`History of ${about}`}
                aria-expanded={props.history}
                onClick={props.onHistory}
            >
                History
            </button>
            {(open || alert.closed_by === "event") &&
                (alert.acknowledged_at === null ? (
                    <button type="button" disabled={busy} onClick={() => onAcknowledge(true)}>
                        Acknowledge
                    </button>
                ) : (
                    <button type="button" disabled={busy} onClick={() => onAcknowledge(false)}>
                        Take back
                    </button>
                ))}
        </div>
    );
}

const lookOf = (alert: Alert) =>
    alert.state !== "open" ? "closed" : alert.acknowledged_at === null ? "new" : "acknowledged";

interface RowProps extends Props {
    kpis: KnownKpi[];
    onChange: () => void;
}

export function AlertRow({ slug, alert, kpis, onChange }: RowProps) {
    const { busy, error, perform } = useAction();
    const [noting, setNoting] = useState(false);
    const [history, setHistory] = useState(false);
    const acknowledge = async (to: boolean) => {
        await call(to ? ACKNOWLEDGE : TAKE_BACK, { path: { slug, alert_id: alert.alert_id } });
        onChange();
    };
    return (
        <li class={`alert ${lookOf(alert)}`}>
            <div class="what">
                <p class="text">
                    <Chip tone={alert.state === "open" ? "bad" : "quiet"}>{titleOf(alert)}</Chip>
                    <span>
                        <AlertText slug={slug} alert={alert} kpis={kpis} />
                    </span>
                </p>
                {error && <ErrorNote error={error} />}
                {alert.note !== null && (
                    <p class="alert-note" dir="auto">
                        {alert.note}
                    </p>
                )}
                <Facts alert={alert} />
                {history && <History slug={slug} alert={alert} />}
            </div>
            <Buttons
                slug={slug}
                alert={alert}
                busy={busy}
                onAcknowledge={(to) => void perform(() => acknowledge(to))}
                onNote={() => setNoting(true)}
                history={history}
                onHistory={() => setHistory(!history)}
            />
            {noting && (
                <NoteDialog
                    slug={slug}
                    alert={alert}
                    onClose={() => setNoting(false)}
                    onChange={onChange}
                />
            )}
        </li>
    );
}
