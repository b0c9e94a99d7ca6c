// The state of an agent, with the same word and colour everywhere.

import { Chip, type Tone } from "../../ui";

/** Trouble first. */
export const AGENT_STATES: { state: string; tone: Tone; text: string }[] = [
    { state: "silent", tone: "bad", text: "Silent" },
    { state: "late", tone: "warn", text: "Late" },
    { state: "up", tone: "good", text: "Up" },
    { state: "unknown", tone: "quiet", text: "Unknown" },
    { state: "disabled", tone: "quiet", text: "Disabled" },
];

export function AgentState({ state }: { state: string }) {
    const known = AGENT_STATES.find((one) => one.state === state);
    return <Chip tone={known?.tone ?? "quiet"}>{known?.text ?? state}</Chip>;
}
