// When an agent is expected to report: what holds, where it comes from, and changing it.

import type { Agent, CurrentSchedule, ScheduleSet } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call, fieldError } from "../../lib/api";
import { interval } from "../../lib/format";
import { Card, ChoiceField, Chip, Dialog, ErrorNote, Fact, Form, TextField, Time } from "../../ui";
import { TIME_ZONES } from "./time_zones";

const SET = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/schedule";
const UNSET = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/schedule";

const UNITS = [
    { value: "86400", label: "days" },
    { value: "3600", label: "hours" },
    { value: "60", label: "minutes" },
    { value: "1", label: "seconds" },
];
const MINUTE_S = 60;

/** "every 2 h", "at 0 8 * * mon-fri (Europe/Berlin)" */
export function scheduleText(schedule: CurrentSchedule | null): string {
    if (schedule === null) return "no schedule";
    if (schedule.cron !== null) return `at ${schedule.cron} (${schedule.time_zone})`;
    return `every ${interval(schedule.interval_seconds ?? 0)}`;
}

/** The largest unit that the seconds are a multiple of. */
const unitOf = (seconds: number) =>
    UNITS.find((one) => seconds % Number(one.value) === 0)?.value ?? "1";

/** Is the agent expected at the interval that it declares? */
const isDeclared = (agent: Agent, schedule: CurrentSchedule) =>
    schedule.kind === "interval" && schedule.interval_seconds === agent.interval_seconds;

/** What the fields of the dialog hold. */
function fieldsOf(agent: Agent) {
    const { schedule } = agent;
    const seconds = schedule?.interval_seconds ?? 3600;
    const unit = unitOf(seconds);
    return {
        kind: schedule === null ? "interval" : isDeclared(agent, schedule) ? "declared" : schedule.kind,
        every: String(seconds / Number(unit)),
        unit,
        cron: schedule?.cron ?? "",
        zone: schedule?.time_zone ?? "UTC",
        grace: schedule?.set_grace_seconds ? String(schedule.set_grace_seconds / MINUTE_S) : "",
    };
}

function secondsOf(name: string, text: string, unit: number): number {
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0) throw fieldError(name, "Enter a number above 0");
    return Math.max(1, Math.round(value * unit));
}

type Fields = ReturnType<typeof fieldsOf>;

function bodyOf(fields: Fields, paused: boolean): ScheduleSet {
    const { kind, every, unit, cron, zone, grace } = fields;
    return {
        interval_seconds: kind === "interval" ? secondsOf("interval_seconds", every, Number(unit)) : null,
        cron: kind === "cron" ? cron.trim() : null,
        time_zone: kind === "cron" ? zone.trim() : "UTC",
        grace_seconds: grace.trim() === "" ? null : secondsOf("grace_seconds", grace, MINUTE_S),
        paused,
    };
}

interface FieldsProps {
    fields: Fields;
    set: (changes: Partial<Fields>) => void;
}

function When({ fields, set }: FieldsProps) {
    if (fields.kind === "interval")
        return (
            <div class="pair">
                <TextField
                    label="Every"
                    name="interval_seconds"
                    kind="number"
                    min={1}
                    required
                    value={fields.every}
                    onInput={(every) => set({ every })}
                />
                <ChoiceField
                    label="Unit"
                    choices={UNITS}
                    value={fields.unit}
                    onInput={(unit) => set({ unit })}
                />
            </div>
        );
    if (fields.kind === "declared") return null;
    return (
        <>
            <TextField
                label="Cron expression"
                name="cron"
                required
                placeholder="0 8 * * mon-fri"
                hint="Minute, hour, day of the month, month, day of the week."
                value={fields.cron}
                onInput={(cron) => set({ cron })}
            />
            <TextField
                label="Time zone"
                name="time_zone"
                required
                known={TIME_ZONES}
                hint="When the clocks go forward, a skipped time is due right after the change; when they go back, a repeated time is due once."
                value={fields.zone}
                onInput={(zone) => set({ zone })}
            />
        </>
    );
}

interface Props {
    slug: string;
    agent: Agent;
    onChange: () => void;
}

function ScheduleDialog({ slug, agent, onChange, onClose }: Props & { onClose: () => void }) {
    const [fields, setFields] = useState(fieldsOf(agent));
    const action = useAction();
    const set = (changes: Partial<Fields>) => setFields({ ...fields, ...changes });
    const declared = agent.interval_seconds
        ? [{ value: "declared", label: `As it declares: every ${interval(agent.interval_seconds)}` }]
        : [];
    const save = async () => {
        const path = { slug, agent_name: agent.agent_name };
        await call(SET, { path, body: bodyOf(fields, agent.schedule?.paused ?? false) });
        onChange();
        onClose();
    };
    return (
        <Dialog title={`Schedule of ${agent.agent_name}`} onClose={onClose}>
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                <ChoiceField
                    label="Expected"
                    choices={[
                        ...declared,
                        { value: "interval", label: "At an interval" },
                        { value: "cron", label: "At times of day (cron)" },
                    ]}
                    value={fields.kind}
                    onInput={(kind) => set({ kind })}
                />
                <When fields={fields} set={set} />
                <TextField
                    label="Grace in minutes"
                    name="grace_seconds"
                    hint="How late it may be. Leave empty for half of the time between two reports, from a minute to an hour."
                    value={fields.grace}
                    onInput={(grace) => set({ grace })}
                />
            </Form>
        </Dialog>
    );
}

/** What was set, with another `paused`. */
function pausedBody(agent: Agent, schedule: CurrentSchedule, paused: boolean): ScheduleSet {
    return {
        interval_seconds: isDeclared(agent, schedule) ? null : schedule.interval_seconds,
        cron: schedule.cron,
        time_zone: schedule.time_zone ?? "UTC",
        grace_seconds: schedule.set_grace_seconds,
        paused,
    };
}

function Buttons({ slug, agent, onChange }: Props) {
    const { busy, error, perform } = useAction();
    const [open, setOpen] = useState(false);
    const { schedule } = agent;
    const path = { slug, agent_name: agent.agent_name };
    const done = (work: Promise<unknown>) => work.then(onChange);
    return (
        <span class="row-buttons">
            {error && <ErrorNote error={error} />}
            {schedule && (
                <button
                    type="button"
                    disabled={busy}
                    onClick={() =>
                        void perform(() =>
                            done(call(SET, { path, body: pausedBody(agent, schedule, !schedule.paused) })),
                        )
                    }
                >
                    {schedule.paused ? "Resume" : "Pause"}
                </button>
            )}
            {schedule?.source === "set" && (
                <button
                    type="button"
                    disabled={busy}
                    onClick={() => void perform(() => done(call(UNSET, { path })))}
                >
                    {agent.interval_seconds ? "Use what it declares" : "Remove"}
                </button>
            )}
            <button type="button" onClick={() => setOpen(true)}>
                {schedule ? "Change" : "Set a schedule"}
            </button>
            {open && (
                <ScheduleDialog slug={slug} agent={agent} onChange={onChange} onClose={() => setOpen(false)} />
            )}
        </span>
    );
}

/** Why no alert opens now. */
function Quiet({ agent }: { agent: Agent }) {
    if (agent.schedule?.paused)
        return (
            <p class="after">
                <Chip tone="quiet">Paused</Chip> Nothing is expected of it: no alert opens when it is
                silent.
            </p>
        );
    if (agent.maintenance_until === null) return null;
    return (
        <p class="after">
            <Chip tone="warn">Maintenance</Chip> No alert opens when it is silent. This ends{" "}
            <Time at={agent.maintenance_until} />.
        </p>
    );
}

const SOURCES = new Map([
    ["declared", "declared by the agent"],
    ["set", "set here"],
]);

export function ScheduleCard({ slug, agent, onChange, canEdit }: Props & { canEdit: boolean }) {
    const { schedule } = agent;
    return (
        <Card
            title="Schedule"
            aside={canEdit && <Buttons slug={slug} agent={agent} onChange={onChange} />}
        >
            {schedule === null ? (
                <p class="muted">
                    It declares no interval, and no schedule is set: it can never be late or silent.
                </p>
            ) : (
                <dl class="facts">
                    <Fact label="Expected">
                        {scheduleText(schedule)}{" "}
                        <span class="muted">{SOURCES.get(schedule.source) ?? schedule.source}</span>
                    </Fact>
                    <Fact label="Next expected">
                        <Time due at={agent.next_expected_at} fallback={schedule.paused ? "paused" : "not yet"} />
                    </Fact>
                    <Fact label="Silent after">
                        <Time at={agent.silent_at} fallback={schedule.paused ? "paused" : "not yet"} />
                    </Fact>
                    <Fact label="Grace">{interval(schedule.grace_seconds)}</Fact>
                </dl>
            )}
            <Quiet agent={agent} />
        </Card>
    );
}
