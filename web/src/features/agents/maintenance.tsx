// Maintenance windows: times in which no agent falls silent.

import type { MaintenanceWindow, MaintenanceWindowCreate } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call, fieldError } from "../../lib/api";
import { exactTime } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, Check, ChoiceField, Chip, ConfirmButton, Dialog, Form, Icon, LoadState, TextField } from "../../ui";
import { useAgentNames } from "./names";
import { ownZone, TIME_ZONES } from "./time_zones";

const LIST = "GET /api/v1/tenants/{slug}/maintenance";
const ADD = "POST /api/v1/tenants/{slug}/maintenance";
const REMOVE = "DELETE /api/v1/tenants/{slug}/maintenance/{window_id}";
const HOUR_MS = 3_600_000;

type Weekday = MaintenanceWindow["weekdays"][number];

const WEEKDAYS: { value: Weekday; label: string }[] = [
    { value: "mon", label: "Monday" },
    { value: "tue", label: "Tuesday" },
    { value: "wed", label: "Wednesday" },
    { value: "thu", label: "Thursday" },
    { value: "fri", label: "Friday" },
    { value: "sat", label: "Saturday" },
    { value: "sun", label: "Sunday" },
];

/** "Mondays, Fridays at 02:00 for 90 min (UTC)", or its two times. */
function whenText(one: MaintenanceWindow): string {
    if (one.start === null) return `${exactTime(one.from ?? "")} to ${exactTime(one.until ?? "")}`;
    const days = WEEKDAYS.filter(({ value }) => one.weekdays.includes(value)).map(({ label }) => `${label}s`);
    const on = days.length === WEEKDAYS.length ? "Every day" : days.join(", ");
    return `${on} at ${one.start} for ${one.minutes} min (${one.time_zone})`;
}

/** A time for a field that has no zone: of this browser's clock. */
function localText(ms: number): string {
    const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
    return date.toISOString().slice(0, 16);
}

function firstFields() {
    return {
        weekly: "once",
        agent: "",
        note: "",
        from: localText(Date.now()),
        until: localText(Date.now() + HOUR_MS),
        weekdays: [] as Weekday[],
        start: "02:00",
        minutes: "60",
        zone: ownZone(),
    };
}

type Fields = ReturnType<typeof firstFields>;

function isoOf(name: string, text: string): string {
    const ms = Date.parse(text);
    if (Number.isNaN(ms)) throw fieldError(name, "Enter a date and a time");
    return new Date(ms).toISOString();
}

function bodyOf(fields: Fields): MaintenanceWindowCreate {
    const shared = { agent_name: fields.agent.trim() || null, note: fields.note.trim() };
    if (fields.weekly === "once")
        return { ...shared, from: isoOf("from", fields.from), until: isoOf("until", fields.until) };
    if (fields.weekdays.length === 0) throw fieldError("start", "Choose at least one day");
    return {
        ...shared,
        weekdays: fields.weekdays,
        start: fields.start.trim(),
        minutes: Number(fields.minutes),
        time_zone: fields.zone.trim(),
    };
}

interface PartProps {
    fields: Fields;
    set: (changes: Partial<Fields>) => void;
}

function Once({ fields, set }: PartProps) {
    return (
        <div class="pair">
            <TextField
                label="From"
                name="from"
                kind="datetime"
                required
                hint="By this browser's clock."
                value={fields.from}
                onInput={(from) => set({ from })}
            />
            <TextField
                label="Until"
                name="until"
                kind="datetime"
                required
                value={fields.until}
                onInput={(until) => set({ until })}
            />
        </div>
    );
}

function Weekly({ fields, set }: PartProps) {
    const { weekdays } = fields;
    const toggle = (day: Weekday, to: boolean) =>
        set({ weekdays: to ? [...weekdays, day] : weekdays.filter((one) => one !== day) });
    return (
        <>
            <fieldset class="checks">
                <legend>Days on which it begins</legend>
                {WEEKDAYS.map(({ value, label }) => (
                    <Check
                        key={value}
                        label={label}
                        value={weekdays.includes(value)}
                        onChange={(to) => toggle(value, to)}
                    />
                ))}
            </fieldset>
            <div class="pair">
                <TextField
                    label="Begins at"
                    name="start"
                    required
                    placeholder="02:00"
                    value={fields.start}
                    onInput={(start) => set({ start })}
                />
                <TextField
                    label="Minutes"
                    name="minutes"
                    kind="number"
                    min={1}
                    required
                    value={fields.minutes}
                    onInput={(minutes) => set({ minutes })}
                />
            </div>
            <TextField
                label="Time zone"
                name="time_zone"
                required
                known={TIME_ZONES}
                value={fields.zone}
                onInput={(zone) => set({ zone })}
            />
        </>
    );
}

interface DialogProps {
    slug: string;
    onAdded: () => void;
    onClose: () => void;
}

function PlanDialog({ slug, onAdded, onClose }: DialogProps) {
    const [fields, setFields] = useState(firstFields);
    const agents = useAgentNames(slug);
    const action = useAction();
    const set = (changes: Partial<Fields>) => setFields({ ...fields, ...changes });
    const save = async () => {
        await call(ADD, { path: { slug }, body: bodyOf(fields) });
        onAdded();
        onClose();
    };
    return (
        <Dialog title="Plan maintenance" onClose={onClose}>
            <Form action={action} submit="Plan" onSubmit={save} onCancel={onClose}>
                <TextField
                    label="Agent"
                    name="agent_name"
                    focus
                    hint="Leave empty for all agents."
                    known={agents}
                    value={fields.agent}
                    onInput={(agent) => set({ agent })}
                />
                <TextField
                    label="Note"
                    name="note"
                    placeholder="Moving the database"
                    value={fields.note}
                    onInput={(note) => set({ note })}
                />
                <ChoiceField
                    label="When"
                    choices={[
                        { value: "once", label: "Once" },
                        { value: "weekly", label: "Every week" },
                    ]}
                    value={fields.weekly}
                    onInput={(weekly) => set({ weekly })}
                />
                {fields.weekly === "once" ? (
                    <Once fields={fields} set={set} />
                ) : (
                    <Weekly fields={fields} set={set} />
                )}
            </Form>
        </Dialog>
    );
}

interface RowProps {
    slug: string;
    one: MaintenanceWindow;
    onRemoved: () => void;
}

function Row({ slug, one, onRemoved }: RowProps) {
    const name = one.note || whenText(one);
    const remove = async () => {
        await call(REMOVE, { path: { slug, window_id: one.window_id } });
        onRemoved();
    };
    return (
        <li>
            <span>
                <b dir="auto">{one.agent_name ?? "All agents"}</b> {whenText(one)}{" "}
                {one.active && <Chip tone="warn">Now</Chip>}{" "}
                <span class="muted" dir="auto">
                    {one.note}
                </span>
            </span>
            <span class="row-buttons">
                <ConfirmButton
                    label={one.active ? "End" : "Remove"}
                    name={`${one.active ? "End" : "Remove"} ${name}`}
                    title={one.active ? "End this maintenance now?" : "Remove this window?"}
                    text="Agents are expected again as their schedules say."
                    verb={one.active ? "End" : "Remove"}
                    onConfirm={remove}
                />
            </span>
        </li>
    );
}

export function Maintenance({ slug }: { slug: string }) {
    const [open, setOpen] = useState(false);
    const windows = useQuery(`${LIST} ${slug}`, (signal) => call(LIST, { path: { slug }, signal }));
    const { data } = windows;
    if (windows.error || !data) return <LoadState of={windows} rows={3} />;
    return (
        <Card
            title="Maintenance"
            aside={
                <button type="button" onClick={() => setOpen(true)}>
                    <Icon name="plus" /> Plan maintenance
                </button>
            }
        >
            <p class="prose after-text">
                During a window no alert opens for a silent agent. Reports still count; an agent that
                was expected during a window is expected again after it.
            </p>
            {data.windows.length === 0 ? (
                <p class="muted">No maintenance is planned.</p>
            ) : (
                <ul class="rules">
                    {data.windows.map((one) => (
                        <Row key={one.window_id} slug={slug} one={one} onRemoved={windows.reload} />
                    ))}
                </ul>
            )}
            {open && (
                <PlanDialog slug={slug} onAdded={windows.reload} onClose={() => setOpen(false)} />
            )}
        </Card>
    );
}
