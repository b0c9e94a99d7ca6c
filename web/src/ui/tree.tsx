// Any JSON as a tree that folds. Everything in it is shown as text.

import { useState } from "preact/hooks";

import { Icon } from "./icons";

const SHOWN_MAX = 200; // entries of one object or array
const OPEN_DEPTH = 2;

function Leaf({ value }: { value: unknown }) {
    if (typeof value === "string") return <span class="string">{JSON.stringify(value)}</span>;
    if (value === null) return <span class="null">null</span>;
    return <span class={typeof value}>{String(value)}</span>;
}

function summary(value: object): string {
    if (Array.isArray(value)) return `[${value.length}]`;
    const keys = Object.keys(value);
    return keys.length === 0
        ? "{}"
        : `{${keys.slice(0, 3).join(", ")}${keys.length > 3 ? ", …" : ""}}`;
}

function Branch({ name, value, depth }: { name: string | null; value: object; depth: number }) {
    const entries = Object.entries(value);
    const [open, setOpen] = useState(depth < OPEN_DEPTH);
    const [all, setAll] = useState(false);
    const shown = all ? entries : entries.slice(0, SHOWN_MAX);
    return (
        <li>
            <button
                type="button"
                class="fold"
                aria-expanded={open}
                onClick={() => setOpen(!open)}
                disabled={entries.length === 0}
            >
                <Icon name={open ? "down" : "right"} />
                {name !== null && <span class="key">{name}</span>}
                <span class="muted">{summary(value)}</span>
            </button>
            {open && entries.length > 0 && (
                <ul>
                    {shown.map(([key, of]) => (
                        <Node key={key} name={key} value={of} depth={depth + 1} />
                    ))}
                    {shown.length < entries.length && (
                        <li>
                            <button type="button" class="fold" onClick={() => setAll(true)}>
                                {entries.length - shown.length} more
                            </button>
                        </li>
                    )}
                </ul>
            )}
        </li>
    );
}

function Node({ name, value, depth }: { name: string | null; value: unknown; depth: number }) {
    if (value !== null && typeof value === "object")
        return <Branch name={name} value={value} depth={depth} />;
    return (
        <li class="leaf">
            {name !== null && <span class="key">{name}</span>}
            <Leaf value={value} />
        </li>
    );
}

export function Tree({ value }: { value: unknown }) {
    return (
        <ul class="tree">
            <Node name={null} value={value} depth={0} />
        </ul>
    );
}
