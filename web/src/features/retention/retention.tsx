// How long a workspace keeps its data, with a warning before any of it is deleted.

import type { Retention as Limits } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { count, plural } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, Dialog, Fact, Form, LoadState, TextField } from "../../ui";

const GET = "GET /api/v1/tenants/{slug}/retention";
const PUT = "PUT /api/v1/tenants/{slug}/retention";

type Kind = "events_days" | "business_days" | "llm_days";

const KINDS: { kind: Kind; label: string; hint: string; deleted: (age: string) => string }[] = [
    {
        kind: "events_days",
        label: "Runs and events",
        hint: "Days after the last event of a run. Leave empty to keep forever.",
        deleted: (age) => `Runs whose last event is more than ${age} old, with all their events.`,
    },
    {
        kind: "business_days",
        label: "Business reports",
        hint: "Days. Totals and trends are kept, breakdowns and texts are deleted. Leave empty to keep forever.",
        deleted: (age) =>
            `Business reports more than ${age} old, with their breakdowns. Totals are kept.`,
    },
    {
        kind: "llm_days",
        label: "LLM reports",
        hint: "Days. Tokens and cost per day are kept, usage per run is deleted. Leave empty to keep forever.",
        deleted: (age) => `LLM reports per run more than ${age} old. Totals per day are kept.`,
    },
];

const daysOf = (text: string) => (text.trim() === "" ? null : Number(text));
const ageOf = (days: number | null | undefined) =>
    days == null ? "forever" : plural(days, "day");

/** What the new limits would delete, in words. */
function lossesOf(current: Limits, wanted: Limits): string[] {
    const losses = KINDS.filter(({ kind }) => {
        const days = wanted[kind];
        return days != null && days < (current[kind] ?? Number.POSITIVE_INFINITY);
    }).map(({ kind, deleted }) => deleted(ageOf(wanted[kind])));
    const failed = (limits: Limits) => limits.keep_failed_runs ?? 0;
    if (wanted.events_days != null && failed(wanted) < failed(current))
        losses.push("Old failed runs that were kept until now.");
    return losses;
}

interface WarningProps {
    slug: string;
    losses: string[];
    onDelete: () => Promise<unknown>;
    onClose: () => void;
}

function Warning({ slug, losses, onDelete, onClose }: WarningProps) {
    const [typed, setTyped] = useState("");
    const action = useAction();
    return (
        <Dialog title="This deletes data" onClose={onClose}>
            <Form
                action={action}
                submit="Delete older data"
                disabled={typed !== slug}
                onSubmit={onDelete}
                onCancel={onClose}
            >
                <div class="prose">
                    <p>Deletion starts within a minute and can only be undone from a backup:</p>
                    <ul>
                        {losses.map((one) => (
                            <li key={one}>{one}</li>
                        ))}
                    </ul>
                </div>
                <TextField
                    label={`Type ${slug} to confirm`}
                    focus
                    value={typed}
                    onInput={setTyped}
                />
            </Form>
        </Dialog>
    );
}

interface FormProps {
    slug: string;
    current: Limits;
    onSaved: () => void;
}

function LimitsForm({ slug, current, onSaved }: FormProps) {
    const textOf = (kind: Kind) => (current[kind] == null ? "" : String(current[kind]));
    const [days, setDays] = useState<Record<Kind, string>>({
        events_days: textOf("events_days"),
        business_days: textOf("business_days"),
        llm_days: textOf("llm_days"),
    });
    const [failed, setFailed] = useState(String(current.keep_failed_runs ?? 0));
    const [losses, setLosses] = useState<string[]>([]);
    const [saved, setSaved] = useState(false);
    const action = useAction();
    const wanted: Limits = {
        events_days: daysOf(days.events_days),
        business_days: daysOf(days.business_days),
        llm_days: daysOf(days.llm_days),
        keep_failed_runs: Number(failed),
    };
    const save = async () => {
        await call(PUT, { path: { slug }, body: wanted });
        setLosses([]);
        setSaved(true);
        onSaved();
    };
    const saveOrWarn = async () => {
        const found = lossesOf(current, wanted);
        setSaved(false);
        if (found.length === 0) await save();
        else setLosses(found);
    };
    return (
        <>
            <Form action={action} submit="Save" onSubmit={saveOrWarn}>
                {KINDS.map(({ kind, label, hint }) => (
                    <TextField
                        key={kind}
                        name={kind}
                        kind="number"
                        min={1}
                        label={label}
                        hint={hint}
                        placeholder="forever"
                        value={days[kind]}
                        onInput={(to) => setDays({ ...days, [kind]: to })}
                    />
                ))}
                <TextField
                    kind="number"
                    min={0}
                    required
                    name="keep_failed_runs"
                    label="Always keep failed runs"
                    hint="The newest N of each agent, whatever their age."
                    value={failed}
                    onInput={setFailed}
                />
            </Form>
            {saved && <p role="status">Saved.</p>}
            {losses.length > 0 && (
                <Warning
                    slug={slug}
                    losses={losses}
                    onDelete={save}
                    onClose={() => setLosses([])}
                />
            )}
        </>
    );
}

export function Retention({ slug, canEdit }: { slug: string; canEdit: boolean }) {
    const limits = useQuery(`${GET} ${slug}`, (signal) => call(GET, { path: { slug }, signal }));
    const { data } = limits;
    return (
        <Card title="How long data is kept" class="narrow">
            <LoadState of={limits} rows={4} />
            {data && canEdit && (
                <LimitsForm slug={slug} current={data} onSaved={limits.reload} />
            )}
            {data && !canEdit && (
                <dl class="facts">
                    {KINDS.map(({ kind, label }) => (
                        <Fact key={kind} label={label}>
                            {ageOf(data[kind])}
                        </Fact>
                    ))}
                    <Fact label="Failed runs always kept per agent">
                        {count(data.keep_failed_runs ?? 0)}
                    </Fact>
                </dl>
            )}
        </Card>
    );
}
