// Instead of a page: what its address names is not there.

import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { renameWindow } from "../lib/title";

interface Props {
    title: string; // "Run not found"
    back: { label: string; href: string };
    children?: ComponentChildren; // why, perhaps
}

/** Screen readers say it, and the window is named after it. */
export function NotFound({ title, back, children }: Props) {
    useLayoutEffect(() => {
        renameWindow(title);
        return () => renameWindow(undefined);
    }, [title]);
    return (
        <div class="not-found" role="alert">
            <h1>{title}</h1>
            {children}
            <p>
                <a class="button" href={back.href}>
                    {back.label}
                </a>
            </p>
        </div>
    );
}
