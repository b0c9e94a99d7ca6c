// What people want to be told of beside silence: failed and stuck runs, KPIs, budgets.

import type { AlertRules, BudgetRule, KpiRule } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote, Skeleton } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { ChoiceField, Form, Switch, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";

const RULES = "GET /api/v1/tenants/{slug}/rules";
const CATALOG = "GET /api/v1/tenants/{slug}/business/catalog";

type Per = BudgetRule["per"];

const RANGES = [
    { value: "1h", label: "the last hour" },
    { value: "24h", label: "the last 24 hours" },
    { value: "7d", label: "the last 7 days" },
    { value: "30d", label: "the last 30 days" },
];
const PERIODS = [
    { value: "day", label: "a day (UTC)" },
    { value: "month", label: "a month (UTC)" },
];

interface FormProps<T> {
    onAdd: (rule: T) => Promise<unknown>;
    onClose: () => void;
}

function KpiForm({ slug, onAdd, onClose }: FormProps<KpiRule> & { slug: string }) {
    const [key, setKey] = useState("");
    const [agent, setAgent] = useState("");
    const [range, setRange] = useState("24h");
    const [below, setBelow] = useState("");
    const [above, setAbove] = useState("");
    const act = useAct();
    const { data } = useQuery(`${CATALOG} ${slug}`, (signal) =>
        call(CATALOG, { path: { slug }, signal }),
    );
    const keys = [...new Set(data?.kpis.map((one) => one.key))];
    const agents = [...new Set(data?.kpis.map((one) => one.agent_name))];
    const bound = (text: string) => (text.trim() === "" ? null : Number(text));
    const add = () =>
        onAdd({
            key,
            agent_name: agent.trim() || null,
            range,
            below: bound(below),
            above: bound(above),
        });
    return (
        <Dialog title="Watch a KPI" onClose={onClose}>
            <Form act={act} submit="Add" onSubmit={add} onCancel={onClose}>
                <TextField
                    label="KPI"
                    hint="Its key, as agents report it."
                    required
                    first
                    known={keys}
                    value={key}
                    onInput={setKey}
                />
                <TextField
                    label="Agent"
                    hint="Empty: over all."
                    known={agents}
                    value={agent}
                    onInput={setAgent}
                />
                <ChoiceField label="Totalled over" choices={RANGES} value={range} onInput={setRange} />
                <div class="pair">
                    <TextField label="Alert below" value={below} onInput={setBelow} />
                    <TextField label="Alert above" value={above} onInput={setAbove} />
                </div>
            </Form>
        </Dialog>
    );
}

function BudgetForm({ onAdd, onClose }: FormProps<BudgetRule>) {
    const [amount, setAmount] = useState("");
    const [per, setPer] = useState<Per>("day");
    const act = useAct();
    return (
        <Dialog title="Set a budget" onClose={onClose}>
            <Form
                act={act}
                submit="Add"
                onSubmit={() => onAdd({ amount, per })}
                onCancel={onClose}
            >
                <TextField
                    label="US dollars"
                    hint="What models may cost; those without a price do not count."
                    required
                    first
                    placeholder="10.00"
                    value={amount}
                    onInput={setAmount}
                />
                <ChoiceField
                    label="For"
                    choices={PERIODS}
                    value={per}
                    onInput={(to) => setPer(to as Per)}
                />
            </Form>
        </Dialog>
    );
}

function wordsOf(rule: KpiRule): string {
    const bounds = [
        rule.below == null ? "" : `below ${rule.below}`,
        rule.above == null ? "" : `above ${rule.above}`,
    ].filter(Boolean);
    const over = RANGES.find((one) => one.value === rule.range)?.label ?? rule.range;
    return `${bounds.join(" or ")} over ${over}, ${rule.agent_name ? `of ${rule.agent_name}` : "of all agents"}`;
}

function Line(props: { name: string; words: string; may: boolean; onRemove: () => void }) {
    return (
        <li>
            <span>
                <b>{props.name}</b> {props.words}
            </span>
            {props.may && (
                <button type="button" onClick={props.onRemove} aria-label={`Remove ${props.name}`}>
                    Remove
                </button>
            )}
        </li>
    );
}

function Toggle(props: {
    label: string;
    hint: string;
    value: boolean;
    may: boolean;
    onChange: (to: boolean) => void;
}) {
    return (
        <li>
            <span>
                <b>{props.label}</b> <span class="muted">{props.hint}</span>
            </span>
            <Switch
                label={props.label}
                value={props.value}
                disabled={!props.may}
                onChange={props.onChange}
            />
        </li>
    );
}

export function Rules({ slug, may }: { slug: string; may: boolean }) {
    const [adding, setAdding] = useState<"kpi" | "budget" | null>(null);
    const { error: problem, act } = useAct();
    const { data, error, reload } = useQuery(`${RULES} ${slug}`, (signal) =>
        call(RULES, { path: { slug }, signal }),
    );
    const kpis = data?.kpis ?? [];
    const budgets = data?.budgets ?? [];
    const save = async (changes: AlertRules) => {
        const body = { ...data, ...changes };
        await call("PUT /api/v1/tenants/{slug}/rules", { path: { slug }, body });
        setAdding(null);
        reload();
    };
    const set = (changes: AlertRules) => void act(() => save(changes));
    if (error) return <ErrorNote error={error} retry={reload} />;
    if (!data) return <Skeleton rows={4} />;
    return (
        <>
            {problem && <ErrorNote error={problem} />}
            <Card title="Runs">
                <ul class="rules">
                    <Toggle
                        label="Failed runs"
                        hint="an alert for each run that fails"
                        value={data.run_failed ?? false}
                        may={may}
                        onChange={(run_failed) => set({ run_failed })}
                    />
                    <Toggle
                        label="Stuck runs"
                        hint="open for a day, or five times as long as usual if that is more"
                        value={data.run_stuck ?? true}
                        may={may}
                        onChange={(run_stuck) => set({ run_stuck })}
                    />
                </ul>
            </Card>
            <Card
                title="KPIs"
                aside={
                    may && (
                        <button type="button" onClick={() => setAdding("kpi")}>
                            <Icon name="plus" /> Watch a KPI
                        </button>
                    )
                }
            >
                {kpis.length === 0 && <p class="muted">None is watched.</p>}
                <ul class="rules">
                    {kpis.map((one, i) => (
                        <Line
                            key={i}
                            name={one.key}
                            words={wordsOf(one)}
                            may={may}
                            onRemove={() => set({ kpis: kpis.filter((_, at) => at !== i) })}
                        />
                    ))}
                </ul>
            </Card>
            <Card
                title="Budgets"
                aside={
                    may && (
                        <button type="button" onClick={() => setAdding("budget")}>
                            <Icon name="plus" /> Set a budget
                        </button>
                    )
                }
            >
                {budgets.length === 0 && <p class="muted">There is none.</p>}
                <ul class="rules">
                    {budgets.map((one, i) => (
                        <Line
                            key={i}
                            name={`$${one.amount}`}
                            words={`a ${one.per}`}
                            may={may}
                            onRemove={() => set({ budgets: budgets.filter((_, at) => at !== i) })}
                        />
                    ))}
                </ul>
            </Card>
            {adding === "kpi" && (
                <KpiForm
                    slug={slug}
                    onClose={() => setAdding(null)}
                    onAdd={(rule) => save({ kpis: [...kpis, rule] })}
                />
            )}
            {adding === "budget" && (
                <BudgetForm
                    onClose={() => setAdding(null)}
                    onAdd={(rule) => save({ budgets: [...budgets, rule] })}
                />
            )}
        </>
    );
}
