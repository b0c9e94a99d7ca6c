// The state of an agent, with the same word and colour everywhere.

import { Chip, type Tone } from "../../ui";

/** Trouble first, in the order of the API. */
export const AGENT_STATES: { state: string; tone: Tone; text: string }[] = [
    { state: "silent", tone: "bad", text: "Silent" },
    { state: "late", tone: "warn", text: "Late" },
    { state: "never_reported", tone: "quiet", text: "Never reported" },
    { state: "up", tone: "good", text: "Up" },
    { state: "unscheduled", tone: "good", text: "Active (no schedule)" },
    { state: "disabled", tone: "quiet", text: "Disabled" },
];

export function AgentState({ state }: { state: string }) {
    const known = AGENT_STATES.find((one) => one.state === state);
    return <Chip tone={known?.tone ?? "quiet"}>{known?.text ?? state}</Chip>;
}
