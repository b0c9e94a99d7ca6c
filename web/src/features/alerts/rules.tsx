// Alert rules beside silence: failed and stuck runs, KPIs, budgets.

import type { AlertRules, KpiRule } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { labelOf } from "../../lib/choices";
import { inUnit } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, ConfirmButton, ErrorNote, Icon, LoadState, Switch } from "../../ui";
import { BudgetDialog, KpiRuleDialog, type KnownKpi, RULE_RANGES, useKnownKpis } from "./rule_dialogs";

const RULES = "GET /api/v1/tenants/{slug}/rules";

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

function textOf(rule: KpiRule, known: KnownKpi | undefined): string {
    const written = (bound: number) => inUnit(bound, known?.unit);
    const bounds = [
        rule.below == null ? "" : `below ${written(rule.below)}`,
        rule.above == null ? "" : `above ${written(rule.above)}`,
    ].filter(Boolean);
    const agents = rule.agent_name ? `agent ${rule.agent_name}` : "all agents";
    return `${bounds.join(" or ")} over ${labelOf(RULE_RANGES, rule.range ?? "24h")}, ${agents}`;
}

interface RuleCardProps {
    title: string;
    add: string; // label of the button
    none: string;
    rules: { name: string; text: string }[];
    canEdit: boolean;
    onOpen: (index: number | null) => void; // null: a new one
    onRemove: (index: number) => Promise<unknown>;
}

function RuleCard({ title, add, none, rules, canEdit, onOpen, onRemove }: RuleCardProps) {
    return (
        <Card
            title={title}
            aside={
                canEdit && (
                    <button type="button" onClick={() => onOpen(null)}>
                        <Icon name="plus" /> {add}
                    </button>
                )
            }
        >
            {rules.length === 0 && <p class="muted">{none}</p>}
            <ul class="rules">
                {rules.map(({ name, text }, i) => (
                    <li key={i}>
                        <span>
                            <b>{name}</b> {text}
                        </span>
                        {canEdit && (
                            <span class="row-buttons">
                                <button
                                    type="button"
                                    aria-label={`Change ${name}`}
                                    onClick={() => onOpen(i)}
                                >
                                    Change
                                </button>
                                <ConfirmButton
                                    label="Remove"
                                    name={`Remove ${name}`}
                                    title={`Remove the rule for ${name}?`}
                                    text="Its open alert is closed, and it raises no alerts from now on."
                                    verb="Remove"
                                    onConfirm={() => onRemove(i)}
                                />
                            </span>
                        )}
                    </li>
                ))}
            </ul>
        </Card>
    );
}

const without = <T,>(list: T[], index: number) => list.filter((_, i) => i !== index);

/** The list with the rule at its place; null: at the end. */
const withRule = <T,>(list: T[], index: number | null, rule: T) =>
    index === null ? [...list, rule] : list.map((one, i) => (i === index ? rule : one));

export function Rules({ slug, canEdit }: { slug: string; canEdit: boolean }) {
    const [opened, setOpened] = useState<{ kind: "kpi" | "budget"; index: number | null } | null>(null);
    const { error, perform } = useAction();
    const rules = useQuery(`${RULES} ${slug}`, (signal) =>
        call(RULES, { path: { slug }, signal }),
    );
    const { data } = rules;
    const kpis = data?.kpis ?? [];
    const budgets = data?.budgets ?? [];
    const close = () => setOpened(null);
    const known = useKnownKpis(slug);
    const save = async (changes: AlertRules) => {
        const body = { ...data, ...changes };
        await call("PUT /api/v1/tenants/{slug}/rules", { path: { slug }, body });
        close();
        rules.reload();
    };
    const set = (changes: AlertRules) => void perform(() => save(changes));
    if (rules.error || !data) return <LoadState of={rules} rows={4} />;
    return (
        <>
            {error && <ErrorNote error={error} />}
            <Card title="Runs">
                <ul class="rules">
                    <Toggle
                        label="Failed runs"
                        hint="one alert per failed run"
                        value={data.run_failed ?? false}
                        canEdit={canEdit}
                        onChange={(run_failed) => set({ run_failed })}
                    />
                    <Toggle
                        label="Stuck runs"
                        hint="open for a day, or five times the usual duration if that is longer"
                        value={data.run_stuck ?? true}
                        canEdit={canEdit}
                        onChange={(run_stuck) => set({ run_stuck })}
                    />
                </ul>
            </Card>
            <RuleCard
                title="KPIs"
                add="Watch a KPI"
                none="No KPI rules yet."
                rules={kpis.map((rule) => {
                    const of = known.find((one) => one.key === rule.key);
                    return { name: of?.label ?? rule.key, text: textOf(rule, of) };
                })}
                canEdit={canEdit}
                onOpen={(index) => setOpened({ kind: "kpi", index })}
                onRemove={(i) => save({ kpis: without(kpis, i) })}
            />
            <RuleCard
                title="Budgets"
                add="Set a budget"
                none="No budgets yet."
                rules={budgets.map(({ amount, per }) => ({
                    name: `$${amount}`,
                    text: `per ${per}`,
                }))}
                canEdit={canEdit}
                onOpen={(index) => setOpened({ kind: "budget", index })}
                onRemove={(i) => save({ budgets: without(budgets, i) })}
            />
            {opened?.kind === "kpi" && (
                <KpiRuleDialog
                    slug={slug}
                    rule={kpis[opened.index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) => save({ kpis: withRule(kpis, opened.index, rule) })}
                />
            )}
            {opened?.kind === "budget" && (
                <BudgetDialog
                    rule={budgets[opened.index ?? -1] ?? null}
                    onClose={close}
                    onSave={(rule) => save({ budgets: withRule(budgets, opened.index, rule) })}
                />
            )}
        </>
    );
}
