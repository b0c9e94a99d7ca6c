// One value of several: as buttons side by side, or as a drop-down.

import type { Choice } from "../lib/choices";

interface Props {
    label: string;
    choices: readonly Choice[];
    value: string;
    onChange: (value: string) => void;
}

export function Segments({ label, choices, value, onChange }: Props) {
    return (
        <div class="segments" role="group" aria-label={label}>
            {choices.map((choice) => (
                <button
                    key={choice.value}
                    type="button"
                    dir="auto"
                    aria-pressed={choice.value === value}
                    onClick={() => onChange(choice.value)}
                >
                    {choice.label}
                </button>
            ))}
        </div>
    );
}

export function Options({ choices }: { choices: readonly Choice[] }) {
    return (
        <>
            {choices.map((choice) => (
                <option key={choice.value} value={choice.value}>
                    {choice.label}
                </option>
            ))}
        </>
    );
}

export function Select({ label, choices, value, onChange }: Props) {
    return (
        <label class="select">
            <span class="visually-hidden">{label}</span>
            <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
                <Options choices={choices} />
            </select>
        </label>
    );
}
