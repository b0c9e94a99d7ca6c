// Alert rules beside silence: failed, slow and stuck runs, KPIs, budgets, and reminders.

import type { AlertRules, BudgetRule, DurationRule, FailureRateRule, KpiRule } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { labelOf } from "../../lib/choices";
import { duration, inUnit } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote, LoadState, Select, Switch } from "../../ui";
import { useAgentNames } from "../agents/names";
import { RuleCard } from "./rule_card";
import { knownAs, type KnownKpi, useKnownKpis } from "./known_kpis";
import { BudgetDialog, KpiRuleDialog, RULE_RANGES } from "./rule_dialogs";
import { DurationDialog, FailureRateDialog, PERCENTILES } from "./run_rule_dialogs";

const RULES = "GET /api/v1/tenants/{slug}/rules";

const REMINDERS = [
    { value: "", label: "Never" },
    { value: "1", label: "Every hour" },
    { value: "6", label: "Every 6 hours" },
    { value: "24", label: "Every day" },
    { value: "168", label: "Every week" },
];

interface ToggleProps {
    label: string;
    hint: string;
    value: boolean;
    canEdit: boolean;
    onChange: (to: boolean) => void;
}

function Toggle({ label, hint, value, canEdit, onChange }: ToggleProps) {
    return (
        <li>
            <span>
                <b>{label}</b> <span class="muted">{hint}</span>
            </span>
            <Switch label={label} value={value} disabled={!canEdit} onChange={onChange} />
        </li>
    );
}

function Reminders({ rules, canEdit, set }: SectionProps) {
    const hours = rules.reminder_hours == null ? "" : String(rules.reminder_hours);
    const known = REMINDERS.some((one) => one.value === hours);
    const choices = known ? REMINDERS : [...REMINDERS, { value: hours, label: `Every ${hours} hours` }];
    return (
        <li>
            <span>
                <b>Reminders</b>{" "}
                <span class="muted">
                    the notification is repeated while an alert is open and not acknowledged
                </span>
            </span>
            {canEdit ? (
                <Select
                    label="Reminders"
                    choices={choices}
                    value={hours}
                    onChange={(to) => set({ reminder_hours: to === "" ? null : Number(to) })}
                />
            ) : (
                labelOf(choices, hours)
            )}
        </li>
    );
}

function Agents({ name }: { name: string | null | undefined }) {
    if (!name) return <>all agents</>;
    return (
        <>
            agent <bdi>{name}</bdi>
        </>
    );
}

function KpiText({ rule, known }: { rule: KpiRule; known: KnownKpi | undefined }) {
    const written = (bound: number) => inUnit(bound, known?.unit);
    const bounds = [
        rule.below == null ? "" : `below ${written(rule.below)}`,
        rule.above == null ? "" : `above ${written(rule.above)}`,
    ].filter(Boolean);
    const range = labelOf(RULE_RANGES, rule.range ?? "24h");
    return (
        <>
            {bounds.join(" or ")} over {range}, <Agents name={rule.agent_name} />
        </>
    );
}

const rateText = (rule: FailureRateRule) => (
    <>
        of the last {rule.runs ?? 20} runs failed, <Agents name={rule.agent_name} />
    </>
);

const durationText = (rule: DurationRule) => (
    <>
        {labelOf(PERCENTILES, String(rule.percentile ?? 95)).toLowerCase()} of the last{" "}
        {rule.runs ?? 20} runs, <Agents name={rule.agent_name} />
    </>
);

const without = <T,>(list: T[], index: number) => list.filter((_, i) => i !== index);

/** The list with the rule at its place; null: at the end. */
const withRule = <T,>(list: T[], index: number | null, rule: T) =>
    index === null ? [...list, rule] : list.map((one, i) => (i === index ? rule : one));

interface SectionProps {
    slug: string;
    rules: AlertRules;
    canEdit: boolean;
    set: (changes: AlertRules) => void;
    save: (changes: AlertRules) => Promise<unknown>;
}

/** What the cards of all kinds have in common; undefined: no dialog is open. */
function useOpened() {
    const [index, setIndex] = useState<number | null | undefined>(undefined);
    return { index, open: setIndex, close: () => setIndex(undefined) };
}

const toggled = <T extends { paused?: boolean }>(list: T[], index: number, paused: boolean) =>
    list.map((one, i) => (i === index ? { ...one, paused } : one));

function KpiRules({ slug, rules, canEdit, save }: SectionProps) {
    const { index, open, close } = useOpened();
    const known = useKnownKpis(slug);
    const kpis = rules.kpis ?? [];
    return (
        <>
            <RuleCard
                title="KPIs"
                add="Watch a KPI"
                none="No KPI rules yet."
                rules={kpis.map((rule) => {
                    const of = knownAs(known, rule.key, rule.agent_name);
                    const name = of?.label ?? rule.key;
                    return { name, text: <KpiText rule={rule} known={of} />, paused: rule.paused ?? false };
                })}
                canEdit={canEdit}
                onOpen={open}
                onPause={(i, to) => save({ kpis: toggled(kpis, i, to) })}
                onRemove={(i) => save({ kpis: without(kpis, i) })}
            />
            {index !== undefined && (
                <KpiRuleDialog
                    slug={slug}
                    rule={kpis[index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) => save({ kpis: withRule(kpis, index, rule) }).then(close)}
                />
            )}
        </>
    );
}

/** "per day, agent x, model y, stops agents" */
const budgetText = ({ per, agent_name, model, hard }: BudgetRule) => (
    <>
        per {per}
        {agent_name && (
            <>
                , <Agents name={agent_name} />
            </>
        )}
        {model && (
            <>
                , model <bdi>{model}</bdi>
            </>
        )}
        {hard && (agent_name ? ", stops the agent" : ", stops agents")}
    </>
);

function BudgetRules({ slug, rules, canEdit, save }: SectionProps) {
    const { index, open, close } = useOpened();
    const agents = useAgentNames(slug);
    const budgets = rules.budgets ?? [];
    return (
        <>
            <RuleCard
                title="Budgets"
                add="Set a budget"
                none="No budgets yet."
                rules={budgets.map((rule) => ({
                    name: `$${rule.amount}`,
                    text: budgetText(rule),
                    paused: rule.paused ?? false,
                }))}
                canEdit={canEdit}
                onOpen={open}
                onPause={(i, to) => save({ budgets: toggled(budgets, i, to) })}
                onRemove={(i) => save({ budgets: without(budgets, i) })}
            />
            {index !== undefined && (
                <BudgetDialog
                    agents={agents}
                    rule={budgets[index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) => save({ budgets: withRule(budgets, index, rule) }).then(close)}
                />
            )}
        </>
    );
}

function FailureRules({ slug, rules, canEdit, save }: SectionProps) {
    const { index, open, close } = useOpened();
    const agents = useAgentNames(slug);
    const rates = rules.failure_rates ?? [];
    return (
        <>
            <RuleCard
                title="Failure rates"
                add="Watch failures"
                none="No failure rates are watched yet."
                rules={rates.map((rule) => ({
                    name: `Above ${rule.percent} %`,
                    text: rateText(rule),
                    paused: rule.paused ?? false,
                }))}
                canEdit={canEdit}
                onOpen={open}
                onPause={(i, to) => save({ failure_rates: toggled(rates, i, to) })}
                onRemove={(i) => save({ failure_rates: without(rates, i) })}
            />
            {index !== undefined && (
                <FailureRateDialog
                    agents={agents}
                    rule={rates[index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) =>
                        save({ failure_rates: withRule(rates, index, rule) }).then(close)
                    }
                />
            )}
        </>
    );
}

function DurationRules({ slug, rules, canEdit, save }: SectionProps) {
    const { index, open, close } = useOpened();
    const agents = useAgentNames(slug);
    const durations = rules.durations ?? [];
    return (
        <>
            <RuleCard
                title="Durations"
                add="Watch durations"
                none="No durations are watched yet."
                rules={durations.map((rule) => ({
                    name: `Above ${duration(rule.seconds * 1000)}`,
                    text: durationText(rule),
                    paused: rule.paused ?? false,
                }))}
                canEdit={canEdit}
                onOpen={open}
                onPause={(i, to) => save({ durations: toggled(durations, i, to) })}
                onRemove={(i) => save({ durations: without(durations, i) })}
            />
            {index !== undefined && (
                <DurationDialog
                    agents={agents}
                    rule={durations[index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) =>
                        save({ durations: withRule(durations, index, rule) }).then(close)
                    }
                />
            )}
        </>
    );
}

function RunSwitches(props: SectionProps) {
    const { rules, canEdit, set } = props;
    return (
        <Card title="Runs and reminders">
            <ul class="rules">
                <Toggle
                    label="Failed runs"
                    hint="one entry per failed run, and one open alert per agent when 3 or more and a fifth of its last 20 runs failed"
                    value={rules.run_failed ?? true}
                    canEdit={canEdit}
                    onChange={(run_failed) => set({ run_failed })}
                />
                <Toggle
                    label="Stuck runs"
                    hint="open for a day, or five times the usual duration if that is longer"
                    value={rules.run_stuck ?? true}
                    canEdit={canEdit}
                    onChange={(run_stuck) => set({ run_stuck })}
                />
                <Reminders {...props} />
            </ul>
        </Card>
    );
}

export function Rules({ slug, canEdit }: { slug: string; canEdit: boolean }) {
    const { error, perform } = useAction();
    const rules = useQuery(`${RULES} ${slug}`, (signal) =>
        call(RULES, { path: { slug }, signal }),
    );
    const { data } = rules;
    if (rules.error || !data) return <LoadState of={rules} rows={4} />;
    const save = async (changes: AlertRules) => {
        const body = { ...data, ...changes };
        await call("PUT /api/v1/tenants/{slug}/rules", { path: { slug }, body });
        rules.reload();
    };
    const set = (changes: AlertRules) => void perform(() => save(changes));
    const shared = { slug, rules: data, canEdit, set, save };
    return (
        <>
            {error && <ErrorNote error={error} />}
            <RunSwitches {...shared} />
            <FailureRules {...shared} />
            <DurationRules {...shared} />
            <KpiRules {...shared} />
            <BudgetRules {...shared} />
        </>
    );
}
