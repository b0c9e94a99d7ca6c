// Values that people choose from.

export interface Choice {
    value: string;
    label: string;
}

/** The value when it is one of the choices, else the default. */
export function chosen(
    choices: readonly Choice[],
    value: string | null,
    otherwise: string,
): string {
    return choices.some((one) => one.value === value) ? (value as string) : otherwise;
}

export function labelOf(choices: readonly Choice[], value: string): string {
    return choices.find((one) => one.value === value)?.label ?? value;
}
