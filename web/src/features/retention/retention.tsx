// How long a workspace keeps what was reported, and a warning before any of it goes.

import type { Retention as Limits } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote, Skeleton } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { Form, TextField } from "../../ui/forms";

const GET = "GET /api/v1/tenants/{slug}/retention";
const PUT = "PUT /api/v1/tenants/{slug}/retention";

type Kind = "events_days" | "business_days" | "llm_days";

const KINDS: { kind: Kind; label: string; hint: string; goes: (span: string) => string }[] = [
    {
        kind: "events_days",
        label: "Runs and events",
        hint: "Days since the last event of a run. Empty: for ever.",
        goes: (span) => `Runs and all of their events, when the last one is more than ${span} old.`,
    },
    {
        kind: "business_days",
        label: "Business reports",
        hint: "Days. Totals and trends stay, breakdowns and texts go. Empty: for ever.",
        goes: (span) => `Business reports more than ${span} old, with breakdowns. Totals stay.`,
    },
    {
        kind: "llm_days",
        label: "LLM reports",
        hint: "Days. Sums and costs by day stay, what each run used goes. Empty: for ever.",
        goes: (span) => `LLM reports more than ${span} old, by run. Sums by day stay.`,
    },
];

const daysOf = (text: string) => (text.trim() === "" ? null : Number(text));
const spanOf = (days: number | null | undefined) =>
    days == null ? "for ever" : days === 1 ? "1 day" : `${count(days)} days`;

/** What goes that is kept by now, in words. */
function lossesOf(held: Limits, wanted: Limits): string[] {
    const losses = KINDS.filter(({ kind }) => {
        const days = wanted[kind];
        return days != null && days < (held[kind] ?? Number.POSITIVE_INFINITY);
    }).map(({ kind, goes }) => goes(spanOf(wanted[kind])));
    if (wanted.events_days != null && (wanted.keep_failed_runs ?? 0) < (held.keep_failed_runs ?? 0))
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
    const act = useAct();
    return (
        <Dialog title="This deletes data" onClose={onClose}>
            <Form
                act={act}
                submit="Delete what is older"
                disabled={typed !== slug}
                onSubmit={onDelete}
                onCancel={onClose}
            >
                <div class="prose">
                    <p>It begins within a minute, and nothing brings it back but a backup:</p>
                    <ul>
                        {losses.map((one) => (
                            <li key={one}>{one}</li>
                        ))}
                    </ul>
                </div>
                <TextField label={`Type ${slug} to confirm`} first value={typed} onInput={setTyped} />
            </Form>
        </Dialog>
    );
}

function LimitsForm({ slug, held, onSaved }: { slug: string; held: Limits; onSaved: () => void }) {
    const textOf = (kind: Kind) => (held[kind] == null ? "" : String(held[kind]));
    const [days, setDays] = useState<Record<Kind, string>>({
        events_days: textOf("events_days"),
        business_days: textOf("business_days"),
        llm_days: textOf("llm_days"),
    });
    const [failed, setFailed] = useState(String(held.keep_failed_runs ?? 0));
    const [losses, setLosses] = useState<string[]>([]);
    const [saved, setSaved] = useState(false);
    const act = useAct();
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
    const ask = async () => {
        const found = lossesOf(held, wanted);
        setSaved(false);
        if (found.length === 0) await save();
        else setLosses(found);
    };
    return (
        <>
            <Form act={act} submit="Save" onSubmit={ask}>
                {KINDS.map(({ kind, label, hint }) => (
                    <TextField
                        key={kind}
                        kind="number"
                        least={1}
                        label={label}
                        hint={hint}
                        placeholder="for ever"
                        value={days[kind]}
                        onInput={(to) => setDays({ ...days, [kind]: to })}
                    />
                ))}
                <TextField
                    kind="number"
                    least={0}
                    required
                    label="Failed runs that stay"
                    hint="So many of each agent, the newest, whatever their age."
                    value={failed}
                    onInput={setFailed}
                />
            </Form>
            {saved && <p role="status">Saved.</p>}
            {losses.length > 0 && (
                <Warning slug={slug} losses={losses} onDelete={save} onClose={() => setLosses([])} />
            )}
        </>
    );
}

export function Retention({ slug, may }: { slug: string; may: boolean }) {
    const { data, error, reload } = useQuery(`${GET} ${slug}`, (signal) =>
        call(GET, { path: { slug }, signal }),
    );
    return (
        <Card title="How long data is kept">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={4} />}
            {data && may && <LimitsForm slug={slug} held={data} onSaved={reload} />}
            {data && !may && (
                <dl class="facts">
                    {KINDS.map(({ kind, label }) => (
                        <div key={kind}>
                            <dt>{label}</dt>
                            <dd>{spanOf(data[kind])}</dd>
                        </div>
                    ))}
                    <div>
                        <dt>Failed runs of each agent that stay</dt>
                        <dd>{count(data.keep_failed_runs ?? 0)}</dd>
                    </div>
                </dl>
            )}
        </Card>
    );
}
