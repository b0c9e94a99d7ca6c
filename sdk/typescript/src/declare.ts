// What an agent declares about itself when it registers. A name alone gets the defaults.

/** A business figure. `agg` says how a period is totalled. */
export interface KPI {
    key: string;
    label?: string;
    /** count, money:EUR, percent, duration */
    unit?: string;
    agg?: "sum" | "last" | "avg" | "max";
}

/** An input or an output. */
export interface Field {
    key: string;
    type?: string;
    required?: boolean;
}

/** A configuration parameter. */
export interface Param {
    key: string;
    label?: string;
    /** string, integer, number, boolean, list, json */
    value_type?: string;
    required?: boolean;
    help?: string;
    default?: string;
    choices?: string[];
    restart_required?: boolean;
}

/** Each declaration as the API wants it. */
export function declared(
    what: string,
    rows: Iterable<string | KPI | Field | Param> = [],
): object[] {
    if (typeof rows === "string" || typeof rows[Symbol.iterator] !== "function") {
        throw new TypeError(`${what}: expected a list, got ${JSON.stringify(rows)}`);
    }
    return [...rows].map((row) => {
        if (typeof row === "string") return { key: row };
        if (typeof row !== "object" || row === null) {
            throw new TypeError(`${what}: expected a name or an object, got ${JSON.stringify(row)}`);
        }
        if (!("choices" in row)) return row;
        const { choices, ...rest } = row;
        return { ...rest, opciones: choices };
    });
}
