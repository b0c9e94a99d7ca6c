// A field with its label and hint, and an error of the form beside the field that it is about.

import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";

import { ApiError, pathOfProblem, sentenceOf } from "../lib/api";
import { ErrorNote } from "./feedback";

interface Errors {
    error: ApiError | null;
    names: Set<string>; // of the fields inside
}

const FormErrors = createContext<Errors>({ error: null, names: new Set() });

/** Is it about this member? Of a list, such as kpis.0.below, the last part is its name. */
const isAbout = (path: string, name: string) => path === name || path.endsWith(`.${name}`);

function unclaimed({ error, names }: Errors): ApiError | null {
    if (error === null || error.problems.length === 0) return error;
    const left = error.problems.filter(
        (one) => ![...names].some((name) => isAbout(pathOfProblem(one), name)),
    );
    if (left.length === error.problems.length) return error;
    return left.length === 0 ? null : ApiError.ofProblems(error.status, left, error.requestId);
}

/** The fields of a form and its error: at the fields that it names, which get the focus, and above
 * them where it names none. */
export function WithErrors({ error, children }: { error: ApiError | null; children: ComponentChildren }) {
    const box = useRef<HTMLDivElement>(null);
    const names = useRef(new Set<string>());
    const errors = { error, names: names.current };
    const above = unclaimed(errors);
    const [, setKnown] = useState(0);
    // a field that appears with its error claims it only now
    useLayoutEffect(() => setKnown(names.current.size));
    // at once: what is typed next belongs to that field
    useLayoutEffect(() => {
        if (error) box.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
    }, [error]);
    return (
        <FormErrors.Provider value={errors}>
            {above && <ErrorNote error={above} />}
            <div class="fields" ref={box}>
                {children}
            </div>
        </FormErrors.Provider>
    );
}

export interface InputAttributes {
    id: string;
    "aria-invalid"?: "true";
    "aria-describedby"?: string;
}

interface FieldProps {
    label: string;
    name?: string | undefined; // of the member that it fills, for errors
    hint?: ComponentChildren;
    children: (input: InputAttributes) => JSX.Element;
}

export function Field({ label, name, hint, children }: FieldProps) {
    const [id] = useState(() => `field-${Math.random().toString(36).slice(2, 9)}`);
    const { error, names } = useContext(FormErrors);
    if (name !== undefined) names.add(name);
    const problem = error?.problems.find(
        (one) => name !== undefined && isAbout(pathOfProblem(one), name),
    );
    const described = [problem && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ");
    const input: InputAttributes = {
        id,
        ...(problem && { "aria-invalid": "true" }),
        ...(described && { "aria-describedby": described }),
    };
    return (
        <div class="field">
            <label for={id}>{label}</label>
            {children(input)}
            {problem && (
                <p class="field-error" id={`${id}-error`}>
                    {sentenceOf(problem)}
                </p>
            )}
            {hint && (
                <p class="hint" id={`${id}-hint`}>
                    {hint}
                </p>
            )}
        </div>
    );
}
