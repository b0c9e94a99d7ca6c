// Dialogs that add a KPI rule or a budget.

import type { BudgetRule, KpiRule } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { ChoiceField, Dialog, Form, TextField } from "../../ui";

const CATALOG = "GET /api/v1/tenants/{slug}/business/catalog";

type Per = BudgetRule["per"];

export const RULE_RANGES = [
    { value: "1h", label: "the last hour" },
    { value: "24h", label: "the last 24 hours" },
    { value: "7d", label: "the last 7 days" },
    { value: "30d", label: "the last 30 days" },
];
const BUDGET_PERIODS: { value: Per; label: string }[] = [
    { value: "day", label: "Day (UTC)" },
    { value: "month", label: "Month (UTC)" },
];

interface Props<Rule> {
    onAdd: (rule: Rule) => Promise<unknown>;
    onClose: () => void;
}

export function AddKpiRule({ slug, onAdd, onClose }: Props<KpiRule> & { slug: string }) {
    const [key, setKey] = useState("");
    const [agent, setAgent] = useState("");
    const [range, setRange] = useState("24h");
    const [below, setBelow] = useState("");
    const [above, setAbove] = useState("");
    const action = useAction();
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
            <Form action={action} submit="Add" onSubmit={add} onCancel={onClose}>
                <TextField
                    label="KPI key"
                    required
                    focus
                    known={keys}
                    value={key}
                    onInput={setKey}
                />
                <TextField
                    label="Agent"
                    hint="Leave empty for all agents."
                    known={agents}
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
                    <TextField label="Alert below" value={below} onInput={setBelow} />
                    <TextField label="Alert above" value={above} onInput={setAbove} />
                </div>
            </Form>
        </Dialog>
    );
}

export function AddBudget({ onAdd, onClose }: Props<BudgetRule>) {
    const [amount, setAmount] = useState("");
    const [per, setPer] = useState<Per>("day");
    const action = useAction();
    return (
        <Dialog title="Set a budget" onClose={onClose}>
            <Form
                action={action}
                submit="Add"
                onSubmit={() => onAdd({ amount, per })}
                onCancel={onClose}
            >
                <TextField
                    label="US dollars"
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
            </Form>
        </Dialog>
    );
}
