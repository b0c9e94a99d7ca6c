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

/** `paused`: it has a schedule that does not count at the moment. */
export function AgentState({ state, paused = false }: { state: string; paused?: boolean }) {
    const known = AGENT_STATES.find((one) => one.state === state);
    const text = state === "unscheduled" && paused ? "Active (paused)" : known?.text;
    return <Chip tone={known?.tone ?? "quiet"}>{text ?? state}</Chip>;
}
