// Text that can be copied.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "./icons";

const COPIED_MS = 1_500;

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
    const [done, setDone] = useState(false);
    const timer = useRef(0);
    useEffect(() => () => clearTimeout(timer.current), []);
    const copy = async (event: { currentTarget: HTMLElement } & Event) => {
        event.preventDefault();
        event.stopPropagation();
        if (!(await copyText(text, event.currentTarget))) return;
        setDone(true);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setDone(false), COPIED_MS) as unknown as number;
    };
    return (
        <button type="button" class="copy" onClick={copy} title={label} aria-label={label}>
            <Icon name={done ? "check" : "copy"} />
            <span class="visually-hidden" role="status">
                {done ? "Copied" : ""}
            </span>
        </button>
    );
}

/** Without a clipboard, as on a page over plain http, a selection is copied instead. It must be
 * where the focus may go: beside the button, which may be in a dialog. */
async function copyText(text: string, button: HTMLElement): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = document.createElement("textarea");
        area.value = text;
        area.className = "visually-hidden";
        button.after(area);
        area.select();
        const copied = document.execCommand("copy");
        area.remove();
        button.focus();
        return copied;
    }
}

/** Text with a button that copies it. */
export function Copyable({ text, children }: { text: string; children?: ComponentChildren }) {
    return (
        <span class="copyable">
            <code title={text} dir="auto">{children ?? text}</code>
            <CopyButton text={text} label={`Copy ${text}`} />
        </span>
    );
}

/** A link from an agent is untrusted text: only http and https become links. */
export function SafeLink({ to }: { to: string }) {
    let safe = false;
    try {
        safe = ["http:", "https:"].includes(new URL(to).protocol);
    } catch {
        safe = false; // not a URL
    }
    if (!safe) return <Copyable text={to} />;
    return (
        <a href={to} target="_blank" rel="noopener noreferrer nofollow" class="external">
            {to} <Icon name="external" />
        </a>
    );
}
