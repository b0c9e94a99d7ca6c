// Dialogs that add or change a rule about the last runs: how many fail, how long they take.

import type { DurationRule, FailureRateRule } from "api";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { fieldError } from "../../lib/api";
import { ChoiceField, Dialog, Form, TextField } from "../../ui";
import { boundOf, type RuleDialogProps } from "./rule_dialogs";

const RUNS = 20; // looked at, unless the person says otherwise

export const PERCENTILES = [
    { value: "50", label: "Median" },
    { value: "95", label: "95th percentile" },
    { value: "100", label: "Longest run" },
];

/** What rules about runs have in common. */
interface RunRule {
    agent_name?: string | null;
    runs?: number;
    paused?: boolean;
}

interface RunRuleProps {
    agents: readonly string[];
    rule: RunRule | null; // null: a new one
    title: string;
    onSave: (shared: Required<RunRule>) => Promise<unknown>;
    onClose: () => void;
    children: ComponentChildren; // the fields of its own
}

/** Whose runs and how many, and the fields of one kind of rule. */
function RunRuleDialog({ agents, rule, title, onSave, onClose, children }: RunRuleProps) {
    const [agent, setAgent] = useState(rule?.agent_name ?? "");
    const [runs, setRuns] = useState(String(rule?.runs ?? RUNS));
    const action = useAction();
    const save = async () =>
        onSave({
            agent_name: agent.trim() || null,
            runs: Number(runs),
            paused: rule?.paused ?? false,
        });
    return (
        <Dialog title={title} onClose={onClose}>
            <Form
                action={action}
                submit={rule === null ? "Add" : "Save"}
                onSubmit={save}
                onCancel={onClose}
            >
                <TextField
                    label="Agent"
                    name="agent_name"
                    focus
                    hint="Leave empty for the runs of all agents together."
                    known={agents}
                    value={agent}
                    onInput={setAgent}
                />
                <TextField
                    label="Last runs to look at"
                    name="runs"
                    kind="number"
                    min={1}
                    required
                    hint="How many ended runs count, 500 at most. No alert opens before there are that many."
                    value={runs}
                    onInput={setRuns}
                />
                {children}
            </Form>
        </Dialog>
    );
}

function required(name: string, text: string): number {
    const value = boundOf(name, text);
    if (value === null) throw fieldError(name, "Enter a number, such as 12.5");
    return value;
}

interface Common {
    agents: readonly string[];
}

export function FailureRateDialog({ agents, rule, onSave, onClose }: RuleDialogProps<FailureRateRule> & Common) {
    const [percent, setPercent] = useState(rule === null ? "" : String(rule.percent));
    return (
        <RunRuleDialog
            agents={agents}
            rule={rule}
            title={rule === null ? "Watch failures" : "Change the failure rate"}
            onSave={(shared) => onSave({ ...shared, percent: required("percent", percent) })}
            onClose={onClose}
        >
            <TextField
                label="Alert above (percent failed)"
                name="percent"
                required
                placeholder="25"
                value={percent}
                onInput={setPercent}
            />
        </RunRuleDialog>
    );
}

export function DurationDialog({ agents, rule, onSave, onClose }: RuleDialogProps<DurationRule> & Common) {
    const [percentile, setPercentile] = useState(String(rule?.percentile ?? 95));
    const [seconds, setSeconds] = useState(rule === null ? "" : String(rule.seconds));
    return (
        <RunRuleDialog
            agents={agents}
            rule={rule}
            title={rule === null ? "Watch durations" : "Change the duration"}
            onSave={(shared) =>
                onSave({
                    ...shared,
                    percentile: Number(percentile),
                    seconds: required("seconds", seconds),
                })
            }
            onClose={onClose}
        >
            <ChoiceField
                label="Compare"
                choices={PERCENTILES}
                value={percentile}
                onInput={setPercentile}
            />
            <TextField
                label="Alert above (seconds)"
                name="seconds"
                required
                placeholder="300"
                value={seconds}
                onInput={setSeconds}
            />
        </RunRuleDialog>
    );
}
