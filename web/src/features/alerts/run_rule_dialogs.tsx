// Dialogs that add or change a rule about the last runs: how many fail, how long they take.

import type { DurationRule, FailureRateRule } from "api";
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

interface ScopeProps {
    agents: readonly string[];
    agent: string;
    onAgent: (to: string) => void;
    runs: string;
    onRuns: (to: string) => void;
}

/** Whose runs, and how many. */
function Scope({ agents, agent, onAgent, runs, onRuns }: ScopeProps) {
    return (
        <>
            <TextField
                label="Agent"
                name="agent_name"
                focus
                hint="Leave empty for the runs of all agents together."
                known={agents}
                value={agent}
                onInput={onAgent}
            />
            <TextField
                label="Last runs to look at"
                name="runs"
                kind="number"
                min={1}
                required
                hint="Runs that have ended, 500 at most. Before there are as many, nothing is decided."
                value={runs}
                onInput={onRuns}
            />
        </>
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

export function FailureRateDialog(props: RuleDialogProps<FailureRateRule> & Common) {
    const { rule, onSave, onClose } = props;
    const [agent, setAgent] = useState(rule?.agent_name ?? "");
    const [runs, setRuns] = useState(String(rule?.runs ?? RUNS));
    const [percent, setPercent] = useState(rule === null ? "" : String(rule.percent));
    const action = useAction();
    const save = () =>
        onSave({
            agent_name: agent.trim() || null,
            runs: Number(runs),
            percent: required("percent", percent),
            paused: rule?.paused ?? false,
        });
    return (
        <Dialog
            title={rule === null ? "Watch failures" : "Change the failure rate"}
            onClose={onClose}
        >
            <Form
                action={action}
                submit={rule === null ? "Add" : "Save"}
                onSubmit={async () => save()}
                onCancel={onClose}
            >
                <Scope {...props} agent={agent} onAgent={setAgent} runs={runs} onRuns={setRuns} />
                <TextField
                    label="Alert above (percent failed)"
                    name="percent"
                    required
                    placeholder="25"
                    value={percent}
                    onInput={setPercent}
                />
            </Form>
        </Dialog>
    );
}

export function DurationDialog(props: RuleDialogProps<DurationRule> & Common) {
    const { rule, onSave, onClose } = props;
    const [agent, setAgent] = useState(rule?.agent_name ?? "");
    const [runs, setRuns] = useState(String(rule?.runs ?? RUNS));
    const [percentile, setPercentile] = useState(String(rule?.percentile ?? 95));
    const [seconds, setSeconds] = useState(rule === null ? "" : String(rule.seconds));
    const action = useAction();
    const save = () =>
        onSave({
            agent_name: agent.trim() || null,
            runs: Number(runs),
            percentile: Number(percentile),
            seconds: required("seconds", seconds),
            paused: rule?.paused ?? false,
        });
    return (
        <Dialog
            title={rule === null ? "Watch durations" : "Change the duration"}
            onClose={onClose}
        >
            <Form
                action={action}
                submit={rule === null ? "Add" : "Save"}
                onSubmit={async () => save()}
                onCancel={onClose}
            >
                <Scope {...props} agent={agent} onAgent={setAgent} runs={runs} onRuns={setRuns} />
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
            </Form>
        </Dialog>
    );
}
