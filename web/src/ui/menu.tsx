// A button that opens a small sheet below it; Escape or a click elsewhere closes it.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
    label: ComponentChildren; // of the button
    name?: string | undefined; // for screen readers, where the label does not name the target
    children: (close: () => void) => ComponentChildren;
}

/** Aligned to the button's right edge, unless the sheet would leave the screen. */
function place(sheet: HTMLElement) {
    sheet.classList.remove("to-right");
    if (sheet.getBoundingClientRect().left < 0) sheet.classList.add("to-right");
}

export function Menu({ label, name, children }: Props) {
    const box = useRef<HTMLDivElement>(null);
    const [open, setOpen] = useState(false);
    const close = () => setOpen(false);
    // not later: a key may be pressed as soon as the sheet is seen
    useLayoutEffect(() => {
        if (!open) return undefined;
        const sheet = box.current?.querySelector<HTMLElement>(".sheet");
        if (sheet) place(sheet);
        const onPress = (event: Event) =>
            !box.current?.contains(event.target as Node) && setOpen(false);
        const onKey = (event: KeyboardEvent) => {
            if (event.key !== "Escape") return;
            setOpen(false);
            box.current?.querySelector("button")?.focus();
        };
        addEventListener("pointerdown", onPress);
        addEventListener("keydown", onKey);
        return () => {
            removeEventListener("pointerdown", onPress);
            removeEventListener("keydown", onKey);
        };
    }, [open]);
    return (
        <div class="menu" ref={box}>
            <button
                type="button"
                aria-expanded={open}
                aria-label={name}
                onClick={() => setOpen(!open)}
            >
                {label}
            </button>
            {open && <div class="sheet">{children(close)}</div>}
        </div>
    );
}
