// Fields with their labels, and the form around them.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Action } from "../lib/action";
import type { Choice } from "../lib/choices";
import { Options } from "./choices";
import { Field, type InputAttributes, WithErrors } from "./field";

interface Common {
    label: string;
    name?: string; // of the member of the request that it fills, for errors
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
    const box = useRef<HTMLInputElement>(null);
    // a browser does so only for the first field of a document that asks for it
    // (at once: later it would take the focus back from a field that Tab has moved to)
    useLayoutEffect(() => {
        if (props.focus) box.current?.focus();
    }, []);
    const shared = {
        ref: box,
        required: props.required ?? false,
        autoFocus: props.focus ?? false,
        placeholder: props.placeholder ?? "",
        autoComplete: props.autoComplete ?? "off",
        spellcheck: false,
        dir: "auto" as const,
        value: props.value,
        onInput: (event: { currentTarget: HTMLInputElement }) =>
            props.onInput(event.currentTarget.value),
    };
    const input = (at: InputAttributes) => {
        switch (props.kind) {
            case "password":
                return <input {...at} type="password" minLength={props.min} {...shared} />;
            case "email":
                return <input {...at} type="email" {...shared} />;
            case "number":
                return <input {...at} type="number" min={props.min} {...shared} />;
            case "datetime":
                return <input {...at} type="datetime-local" {...shared} />;
            default:
                return (
                    <>
                        <input
                            {...at}
                            type="text"
                            pattern={props.pattern}
                            list={props.known && `${at.id}-known`}
                            {...shared}
                        />
                        {props.known && (
                            <datalist id={`${at.id}-known`}>
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
        <Field label={props.label} name={props.name} hint={props.hint}>
            {input}
        </Field>
    );
}

export function AreaField(props: Common & { rows?: number; readOnly?: boolean }) {
    return (
        <Field label={props.label} name={props.name} hint={props.hint}>
            {(at) => (
                <textarea
                    {...at}
                    class="code"
                    rows={props.rows ?? 6}
                    spellcheck={false}
                    dir="auto"
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
        <Field label={props.label} name={props.name} hint={props.hint}>
            {(at) => (
                <select
                    {...at}
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
            <WithErrors error={error}>{props.children}</WithErrors>
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
