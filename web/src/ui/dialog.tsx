// Dialogs: to fill in, to confirm, and to show a secret once.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { useAction } from "../lib/action";
import { CopyButton } from "./copy";
import { Form, TextField } from "./forms";
import { IconButton } from "./icons";

interface DialogProps {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
    wide?: boolean;
}

/** A dialog is open while it is mounted, and before the next key, which goes into it. When unmounted,
 * it returns the focus to where it was. */
export function useModal(onClose: () => void) {
    const box = useRef<HTMLDialogElement>(null);
    const gone = useRef(false);
    useLayoutEffect(() => {
        const before = document.activeElement;
        box.current?.showModal();
        return () => {
            gone.current = true;
            setTimeout(() => {
                if (document.activeElement === document.body && before instanceof HTMLElement)
                    before.focus();
            });
        };
    }, []);
    return { box, closed: () => !gone.current && onClose() };
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
    const { box, closed } = useModal(onClose);
    return (
        <dialog
            ref={box}
            class={wide ? "dialog wide-dialog" : "dialog"}
            aria-label={title}
            onClose={closed}
            onMouseDown={(event) => event.target === box.current && onClose()}
        >
            <div class="inner">
                <header>
                    <h2 dir="auto">{title}</h2>
                    <IconButton icon="close" label="Close" onClick={onClose} />
                </header>
                {children}
            </div>
        </dialog>
    );
}

interface ConfirmDialogProps {
    title: string;
    text: ComponentChildren;
    verb: string;
    word?: string | undefined; // must be typed to confirm
    plain?: boolean | undefined; // the button does not look dangerous
    onConfirm: () => Promise<unknown>;
    onClose: () => void;
}

/** Asks before something that hurts is done. */
export function ConfirmDialog(props: ConfirmDialogProps) {
    const { word, onClose } = props;
    const [typed, setTyped] = useState("");
    const action = useAction();
    return (
        <Dialog title={props.title} onClose={onClose}>
            <Form
                action={action}
                submit={props.verb}
                danger={!props.plain}
                disabled={word !== undefined && typed !== word}
                onCancel={onClose}
                onSubmit={async () => {
                    await props.onConfirm();
                    onClose();
                }}
            >
                <div class="prose">{props.text}</div>
                {word !== undefined && (
                    <TextField
                        label={`Type ${word} to confirm`}
                        focus
                        value={typed}
                        onInput={setTyped}
                    />
                )}
            </Form>
        </Dialog>
    );
}

interface ConfirmProps extends Omit<ConfirmDialogProps, "onClose"> {
    label: ComponentChildren; // of the button
    name?: string | undefined; // for screen readers, where the label does not name the target
}

/** A button that asks for confirmation. */
export function ConfirmButton({ label, name, ...dialog }: ConfirmProps) {
    const [open, setOpen] = useState(false);
    return (
        <>
            <button
                type="button"
                class={dialog.plain ? "" : "danger"}
                aria-label={name}
                onClick={() => setOpen(true)}
            >
                {label}
            </button>
            {open && <ConfirmDialog {...dialog} onClose={() => setOpen(false)} />}
        </>
    );
}

interface SecretOnceProps {
    text: string;
    title: string; // "Your new key."
    onDone: () => void;
    children?: ComponentChildren;
}

/** A secret that is shown only once. */
export function SecretOnce({ text, title, onDone, children }: SecretOnceProps) {
    return (
        <div class="once" role="status">
            <p>
                <strong>{title}</strong> Copy it now, it will not be shown again.
            </p>
            <div class="secret">
                <code>{text}</code>
                <CopyButton text={text} label="Copy the secret" />
            </div>
            {children}
            <button type="button" onClick={onDone}>
                Done
            </button>
        </div>
    );
}
