// A live list whose rows stay where they are: what is new waits until a person asks for it.

import { useRef, useState } from "preact/hooks";

export interface Steady<T> {
    rows: T[];
    fresh: number; // rows that wait
    show: () => void;
}

/** `key` names the list: another one is shown at once, as is the first row of an empty one. Rows that
 * are shown change in place. */
export function useSteady<T>(key: string, latest: T[] | undefined, idOf: (row: T) => string): Steady<T> {
    const shown = useRef<{ key: string; rows: T[] }>({ key: "", rows: [] });
    const [, redraw] = useState(0);
    if (latest === undefined) {
        const same = shown.current.key === key;
        return { rows: same ? shown.current.rows : [], fresh: 0, show: () => {} };
    }
    if (shown.current.key !== key || shown.current.rows.length === 0)
        shown.current = { key, rows: latest };
    const now = new Map(latest.map((row) => [idOf(row), row]));
    const rows = shown.current.rows.map((row) => now.get(idOf(row)) ?? row);
    const known = new Set(rows.map(idOf));
    shown.current = { key, rows };
    return {
        rows,
        fresh: latest.filter((row) => !known.has(idOf(row))).length,
        show: () => {
            shown.current = { key, rows: latest };
            redraw((n) => n + 1);
        },
    };
}
