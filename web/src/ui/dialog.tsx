// Dialogs: to fill in, to confirm, and to hand over a secret this once.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useAct } from "../lib/action";
import { CopyButton, IconButton } from "./basics";
import { Form, TextField } from "./forms";

interface DialogProps {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
    wide?: boolean;
}

/** A dialog is open as long as it is drawn. Taken away, it gives the focus back to where it was. */
export function useModal(onClose: () => void) {
    const box = useRef<HTMLDialogElement>(null);
    const gone = useRef(false);
    useEffect(() => {
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
                    <h2>{title}</h2>
                    <IconButton icon="close" label="Close" onClick={onClose} />
                </header>
                {children}
            </div>
        </dialog>
    );
}

interface ConfirmProps {
    label: ComponentChildren; // of the button
    name?: string | undefined; // of the button, where the label does not tell whom it is about
    title: string;
    text: ComponentChildren;
    verb: string;
    word?: string; // to be typed, when nothing brings it back
    plain?: boolean; // the button looks like any other
    onConfirm: () => Promise<unknown>;
}

/** A button that asks before it does something that cannot be taken back. */
export function ConfirmButton(props: ConfirmProps) {
    const [open, setOpen] = useState(false);
    const [typed, setTyped] = useState("");
    const act = useAct();
    const close = () => setOpen(false);
    return (
        <>
            <button
                type="button"
                class={props.plain ? "" : "danger"}
                aria-label={props.name}
                onClick={() => setOpen(true)}
            >
                {props.label}
            </button>
            {open && (
                <Dialog title={props.title} onClose={close}>
                    <Form
                        act={act}
                        submit={props.verb}
                        danger={!props.plain}
                        disabled={props.word !== undefined && typed !== props.word}
                        onCancel={close}
                        onSubmit={async () => {
                            await props.onConfirm();
                            close();
                        }}
                    >
                        <div class="prose">{props.text}</div>
                        {props.word !== undefined && (
                            <TextField
                                label={`Type ${props.word} to confirm`}
                                first
                                value={typed}
                                onInput={setTyped}
                            />
                        )}
                    </Form>
                </Dialog>
            )}
        </>
    );
}

/** A secret that is shown this once. */
export function Once(props: {
    text: string;
    what: string;
    onDone: () => void;
    children?: ComponentChildren;
}) {
    const { text, what, onDone } = props;
    return (
        <div class="once" role="status">
            <p>
                <strong>{what}</strong> It is shown this once: copy it now.
            </p>
            <div class="secret">
                <code>{text}</code>
                <CopyButton text={text} label="Copy the secret" />
            </div>
            {props.children}
            <button type="button" onClick={onDone}>
                I have it
            </button>
        </div>
    );
}
