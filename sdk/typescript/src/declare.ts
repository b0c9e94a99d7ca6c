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
    valueType?: string;
    required?: boolean;
    help?: string;
    default?: string;
    choices?: string[];
    restartRequired?: boolean;
    /** The API's names, which do as well. */
    value_type?: string;
    restart_required?: boolean;
}

/** The members of each list's rows. */
const MEMBERS: Record<string, string[]> = {
    kpis: ["key", "label", "unit", "agg"],
    inputs: ["key", "type", "required"],
    outputs: ["key", "type", "required"],
    config: ["key", "label", "valueType", "required", "help", "default", "choices", "restartRequired"],
};

/** Those that have another name in the API. */
const IN_API: Record<string, string> = {
    valueType: "value_type",
    restartRequired: "restart_required",
    choices: "opciones",
};

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
        return Object.fromEntries(
            Object.entries(row).map(([name, value]) => {
                const known = MEMBERS[what]!;
                if (known.includes(name)) return [IN_API[name] ?? name, value];
                if (known.some((one) => IN_API[one] === name)) return [name, value];
                const said = `unknown member "${name}"; known are ${known.join(", ")}`;
                throw new TypeError(`${what}: ${row.key} has an ${said}`);
            }),
        );
    });
}
