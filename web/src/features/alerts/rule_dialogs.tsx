// Dialogs that add or change a KPI rule or a budget.

import type { BudgetRule, KpiRule } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { fieldError } from "../../lib/api";
import { ChoiceField, Dialog, Form, TextField } from "../../ui";
import { useKnownKpis } from "./known_kpis";

type Per = BudgetRule["per"];

export const RULE_RANGES = [
    { value: "1h", label: "the last hour" },
    { value: "24h", label: "the last 24 hours" },
    { value: "7d", label: "the last 7 days" },
    { value: "30d", label: "the last 30 days" },
];
const BUDGET_EFFECTS = [
    { value: "soft", label: "Alert" },
    { value: "hard", label: "Alert, and stop agents" },
];
const BUDGET_PERIODS: { value: Per; label: string }[] = [
    { value: "day", label: "Day (UTC)" },
    { value: "month", label: "Month (UTC)" },
];

export interface RuleDialogProps<Rule> {
    rule: Rule | null; // null: a new one
    onSave: (rule: Rule) => Promise<unknown>;
    onClose: () => void;
}

/** The number in a field; null: empty. */
export function boundOf(name: string, text: string): number | null {
    const typed = text.trim().replace(/,/g, "");
    if (typed === "") return null;
    if (!Number.isFinite(Number(typed))) throw fieldError(name, "Enter a number, such as 12.5");
    return Number(typed);
}

const asText = (bound: number | null | undefined) => (bound == null ? "" : String(bound));

/** "percent", "EUR": beside the bounds, so that it is clear what is compared. */
const unitText = (unit: string) => (unit === "duration" ? "seconds" : unit.replace(/^money:/, ""));

export function KpiRuleDialog({
    slug,
    rule,
    onSave,
    onClose,
}: RuleDialogProps<KpiRule> & { slug: string }) {
    const [key, setKey] = useState(rule?.key ?? "");
    const [agent, setAgent] = useState(rule?.agent_name ?? "");
    const [range, setRange] = useState(rule?.range ?? "24h");
    const [below, setBelow] = useState(asText(rule?.below));
    const [above, setAbove] = useState(asText(rule?.above));
    const action = useAction();
    const kpis = useKnownKpis(slug);
    const known = kpis.find((one) => one.key === key.trim());
    const agents = kpis.filter((one) => known === undefined || one.key === known.key);
    const unit = unitText(known?.unit ?? "");
    const save = () => {
        const bounds = { below: boundOf("below", below), above: boundOf("above", above) };
        if (bounds.below === null && bounds.above === null)
            throw fieldError("below", "Enter at least one of the two limits");
        const paused = rule?.paused ?? false;
        return onSave({ key: key.trim(), agent_name: agent.trim() || null, range, ...bounds, paused });
    };
    const named = (text: string) => (unit === "" || unit === "count" ? text : `${text} (${unit})`);
    return (
        <Dialog title={rule === null ? "Watch a KPI" : `Change the rule for ${rule.key}`} onClose={onClose}>
            <Form
                action={action}
                submit={rule === null ? "Add" : "Save"}
                onSubmit={async () => save()}
                onCancel={onClose}
            >
                <TextField
                    label="KPI key"
                    name="key"
                    required
                    focus
                    hint={known && known.label !== known.key ? known.label : undefined}
                    known={[...new Set(kpis.map((one) => one.key))]}
                    value={key}
                    onInput={setKey}
                />
                <TextField
                    label="Agent"
                    name="agent_name"
                    hint="Leave empty for all agents."
                    known={[...new Set(agents.map((one) => one.agent_name))]}
                    value={agent}
                    onInput={setAgent}
                />
                <ChoiceField
                    label="Period"
                    choices={RULE_RANGES}
                    value={range}
                    onInput={setRange}
                />
                <div class="pair">
                    <TextField
                        label={named("Alert below")}
                        name="below"
                        value={below}
                        onInput={setBelow}
                    />
                    <TextField
                        label={named("Alert above")}
                        name="above"
                        value={above}
                        onInput={setAbove}
                    />
                </div>
            </Form>
        </Dialog>
    );
}

interface BudgetProps extends RuleDialogProps<BudgetRule> {
    agents: readonly string[];
}

export function BudgetDialog({ rule, agents, onSave, onClose }: BudgetProps) {
    const [agent, setAgent] = useState(rule?.agent_name ?? "");
    const [model, setModel] = useState(rule?.model ?? "");
    const [amount, setAmount] = useState(rule?.amount ?? "");
    const [per, setPer] = useState<Per>(rule?.per ?? "day");
    const [effect, setEffect] = useState(rule?.hard ? "hard" : "soft");
    const action = useAction();
    return (
        <Dialog title={rule === null ? "Set a budget" : "Change the budget"} onClose={onClose}>
            <Form
                action={action}
                submit={rule === null ? "Add" : "Save"}
                onSubmit={() =>
                    onSave({
                        amount: amount.trim().replace(/^\$/, ""),
                        per,
                        agent_name: agent.trim() || null,
                        model: model.trim() || null,
                        hard: effect === "hard",
                        paused: rule?.paused ?? false,
                    })
                }
                onCancel={onClose}
            >
                <TextField
                    label="US dollars"
                    name="amount"
                    hint="Limit for model cost. Models without a price are not included."
                    required
                    focus
                    placeholder="10.00"
                    value={amount}
                    onInput={setAmount}
                />
                <ChoiceField
                    label="Per"
                    choices={BUDGET_PERIODS}
                    value={per}
                    onInput={(to) => setPer(to as Per)}
                />
                <TextField
                    label="Agent"
                    name="agent_name"
                    hint="Leave empty for all agents together."
                    known={agents}
                    value={agent}
                    onInput={setAgent}
                />
                <TextField
                    label="Model"
                    name="model"
                    hint="As agents report it. Leave empty for all models together."
                    value={model}
                    onInput={setModel}
                />
                <ChoiceField
                    label="When it is exceeded"
                    hint="Agents ask for their model before each run. Those that are to stop get an error instead, until the period is over or the budget is raised. Their reports are still accepted."
                    choices={BUDGET_EFFECTS}
                    value={effect}
                    onInput={setEffect}
                />
            </Form>
        </Dialog>
    );
}
