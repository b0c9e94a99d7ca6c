// Fields with their labels, and the form around them.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

import type { Action } from "../lib/action";
import type { Choice } from "../lib/choices";
import { Options } from "./choices";
import { ErrorNote } from "./feedback";

interface FieldProps {
    label: string;
    hint?: ComponentChildren;
    children: (id: string) => JSX.Element;
}

export function Field({ label, hint, children }: FieldProps) {
    const [id] = useState(() => `field-${Math.random().toString(36).slice(2, 9)}`);
    return (
        <div class="field">
            <label for={id}>{label}</label>
            {children(id)}
            {hint && <p class="hint">{hint}</p>}
        </div>
    );
}

interface Common {
    label: string;
    hint?: ComponentChildren;
    value: string;
    onInput: (value: string) => void;
}

interface TextProps extends Common {
    kind?: "text" | "password" | "email" | "number" | "datetime";
    required?: boolean;
    focus?: boolean; // takes it when it is drawn
    placeholder?: string;
    pattern?: string;
    min?: number; // characters, or the lowest number
    autoComplete?: string;
    known?: readonly string[]; // suggestions
}

export function TextField(props: TextProps) {
    const shared = {
        required: props.required ?? false,
        autoFocus: props.focus ?? false,
        placeholder: props.placeholder ?? "",
        autoComplete: props.autoComplete ?? "off",
        spellcheck: false,
        value: props.value,
        onInput: (event: { currentTarget: HTMLInputElement }) =>
            props.onInput(event.currentTarget.value),
    };
    const input = (id: string) => {
        switch (props.kind) {
            case "password":
                return <input id={id} type="password" minLength={props.min} {...shared} />;
            case "email":
                return <input id={id} type="email" {...shared} />;
            case "number":
                return <input id={id} type="number" min={props.min} {...shared} />;
            case "datetime":
                return <input id={id} type="datetime-local" {...shared} />;
            default:
                return (
                    <>
                        <input
                            id={id}
                            type="text"
                            pattern={props.pattern}
                            list={props.known && `${id}-known`}
                            {...shared}
                        />
                        {props.known && (
                            <datalist id={`${id}-known`}>
                                {props.known.map((one) => (
                                    <option key={one} value={one} />
                                ))}
                            </datalist>
                        )}
                    </>
                );
        }
    };
    return (
        <Field label={props.label} hint={props.hint}>
            {input}
        </Field>
    );
}

export function AreaField(props: Common & { rows?: number; readOnly?: boolean }) {
    return (
        <Field label={props.label} hint={props.hint}>
            {(id) => (
                <textarea
                    id={id}
                    class="code"
                    rows={props.rows ?? 6}
                    spellcheck={false}
                    readOnly={props.readOnly ?? false}
                    value={props.value}
                    onInput={(event) => props.onInput(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

export function ChoiceField(props: Common & { choices: readonly Choice[] }) {
    return (
        <Field label={props.label} hint={props.hint}>
            {(id) => (
                <select
                    id={id}
                    value={props.value}
                    onChange={(event) => props.onInput(event.currentTarget.value)}
                >
                    <Options choices={props.choices} />
                </select>
            )}
        </Field>
    );
}

export function Check(props: { label: string; value: boolean; onChange: (to: boolean) => void }) {
    return (
        <label class="check">
            <input
                type="checkbox"
                checked={props.value}
                onChange={(event) => props.onChange(event.currentTarget.checked)}
            />
            {props.label}
        </label>
    );
}

/** An on-off switch that takes effect at once. */
export function Switch(props: {
    label: string;
    value: boolean;
    disabled?: boolean;
    onChange: (to: boolean) => void;
}) {
    return (
        <button
            type="button"
            role="switch"
            class="switch"
            aria-checked={props.value}
            aria-label={props.label}
            title={props.label}
            disabled={props.disabled ?? false}
            onClick={() => props.onChange(!props.value)}
        >
            <i />
        </button>
    );
}

interface FormProps {
    action: Action;
    onSubmit: () => Promise<unknown>;
    submit: string;
    onCancel?: (() => void) | undefined;
    disabled?: boolean;
    class?: string;
    danger?: boolean; // cannot be undone
    more?: ComponentChildren; // beside the button
    children: ComponentChildren;
}

export function Form(props: FormProps) {
    const { busy, error, perform } = props.action;
    return (
        <form
            class={props.class ?? "stack"}
            onSubmit={(event) => {
                event.preventDefault();
                void perform(props.onSubmit);
            }}
        >
            {error && <ErrorNote error={error} />}
            {props.children}
            <div class="buttons">
                <button
                    type="submit"
                    class={props.danger ? "primary destroys" : "primary"}
                    disabled={busy || props.disabled}
                >
                    {props.submit}
                </button>
                {props.onCancel && (
                    <button type="button" onClick={props.onCancel}>
                        Cancel
                    </button>
                )}
                {props.more}
            </div>
        </form>
    );
}
