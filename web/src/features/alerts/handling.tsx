// What people do about alerts: acknowledge many, write a note, read what was done.

import type { Alert, AlertEntry } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { actorName, plural } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { AreaField, Dialog, Form, LoadState, Time } from "../../ui";

const HISTORY = "GET /api/v1/tenants/{slug}/alerts/{alert_id}/history";
const AT_ONCE = 1000; // alerts per request

interface AcknowledgeProps {
    slug: string;
    ids: string[];
    onClose: () => void;
    onChange: () => void;
}

/** Acknowledges all of these alerts, with one note if there is something to say. */
export function AcknowledgeDialog({ slug, ids, onClose, onChange }: AcknowledgeProps) {
    const [note, setNote] = useState("");
    const action = useAction();
    const save = async () => {
        for (let i = 0; i < ids.length; i += AT_ONCE)
            await call("POST /api/v1/tenants/{slug}/alerts/acknowledge", {
                path: { slug },
                body: { alert_ids: ids.slice(i, i + AT_ONCE), note: note.trim() || null },
            });
        onClose();
        onChange();
    };
    return (
        <Dialog title={`Acknowledge ${plural(ids.length, "alert")}`} onClose={onClose}>
            <Form action={action} submit="Acknowledge" onSubmit={save} onCancel={onClose}>
                <AreaField
                    label="Note"
                    name="note"
                    hint="Leave empty for none. Others see it with each of these alerts."
                    rows={3}
                    value={note}
                    onInput={setNote}
                />
            </Form>
        </Dialog>
    );
}

interface NoteProps {
    slug: string;
    alert: Alert;
    onClose: () => void;
    onChange: () => void;
}

export function NoteDialog({ slug, alert, onClose, onChange }: NoteProps) {
    const [note, setNote] = useState("");
    const action = useAction();
    const save = async () => {
        await call("POST /api/v1/tenants/{slug}/alerts/{alert_id}/notes", {
            path: { slug, alert_id: alert.alert_id },
            body: { note: note.trim() },
        });
        onClose();
        onChange();
    };
    return (
        <Dialog title="Add a note" onClose={onClose}>
            <Form
                action={action}
                submit="Add"
                disabled={note.trim() === ""}
                onSubmit={save}
                onCancel={onClose}
            >
                <AreaField
                    label="Note"
                    name="note"
                    hint="Such as the cause, or who works on it. Earlier notes stay in the history."
                    rows={3}
                    value={note}
                    onInput={setNote}
                />
            </Form>
        </Dialog>
    );
}

const DONE: Record<AlertEntry["what"], string> = {
    acknowledged: "Acknowledged",
    unacknowledged: "Acknowledgement taken back",
    note: "Note",
    reminded: "Notification repeated",
};

export function History({ slug, alert }: { slug: string; alert: Alert }) {
    const version = `${alert.acknowledged_at} ${alert.note} ${alert.reminded_at}`;
    const history = useQuery(`${HISTORY} ${alert.alert_id} ${version}`, (signal) =>
        call(HISTORY, { path: { slug, alert_id: alert.alert_id }, signal }),
    );
    return (
        <>
            <LoadState of={history} rows={1} />
            {history.data?.entries.length === 0 && (
                <p class="muted">Nothing was done about it yet.</p>
            )}
            <ol class="alert-history">
                {history.data?.entries.map((one) => (
                    <li key={one.entry_id}>
                        <Time at={one.at} /> {DONE[one.what]}
                        {one.actor !== null && ` by ${actorName(one.actor)}`}
                        {one.note !== null && (
                            <>
                                : <span dir="auto">{one.note}</span>
                            </>
                        )}
                    </li>
                ))}
            </ol>
        </>
    );
}
