// A search field that reports its value when typing pauses.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "./icons";

const PAUSE_MS = 300;
const LEAST_CHARS = 13; // the room of a field, whose placeholder is shown whole

interface Props {
    label: string;
    placeholder: string;
    value: string;
    known?: readonly string[]; // suggestions
    onChange: (value: string) => void;
}

export function SearchField({ label, placeholder, value, known, onChange }: Props) {
    const [text, setText] = useState(value);
    const [id] = useState(() => `known-${Math.random().toString(36).slice(2, 9)}`);
    const timer = useRef(0);
    const told = useRef(value);
    const tell = useRef(onChange);
    tell.current = onChange; // what it knows may have come since the key was pressed
    // The value it reported is in the field already, with what was typed since then. Before the next key:
    // later it would undo that one.
    useLayoutEffect(() => {
        if (value === told.current) return;
        told.current = value;
        clearTimeout(timer.current);
        setText(value);
    }, [value]);
    useEffect(() => () => clearTimeout(timer.current), []);
    const change = (to: string, pause: number) => {
        setText(to);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => {
            told.current = to.trim();
            tell.current(told.current);
        }, pause) as unknown as number;
    };
    return (
        <span class="search-field">
            <input
                type="text"
                aria-label={label}
                placeholder={placeholder}
                value={text}
                spellcheck={false}
                dir="auto"
                autoComplete="off"
                style={{ "--chars": Math.max(placeholder.length, LEAST_CHARS) }}
                list={known && id}
                onInput={(event) => change(event.currentTarget.value, PAUSE_MS)}
                onKeyDown={(event) => event.key === "Enter" && change(event.currentTarget.value, 0)}
            />
            {known && (
                <datalist id={id}>
                    {known.map((one) => (
                        <option key={one} value={one} />
                    ))}
                </datalist>
            )}
            {text !== "" && (
                <button
                    type="button"
                    class="clear"
                    aria-label={`Clear ${label}`}
                    onClick={() => change("", 0)}
                >
                    <Icon name="close" />
                </button>
            )}
        </span>
    );
}
