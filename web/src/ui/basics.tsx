// Small things every page uses.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { ApiError } from "../lib/api";
import { useNow } from "../lib/clock";
import { exact, relative } from "../lib/format";
import { connected } from "../lib/live";
import { useStore } from "../lib/store";
import { Icon, type IconName } from "./icons";

/** "4 min ago", with the exact time on hover. In a row that is a link it lies above the link, so that
 * it can be hovered, and hands clicks on. */
export function Time({
    at,
    fallback = "never",
}: {
    at: string | null | undefined;
    fallback?: string;
}) {
    const now = useNow();
    if (!at) return <span class="muted">{fallback}</span>;
    return (
        <time dateTime={at} title={exact(at)} onClick={openRow}>
            {relative(Date.parse(at), now)}
        </time>
    );
}

function openRow(event: { currentTarget: HTMLElement }) {
    event.currentTarget.closest("tr")?.querySelector<HTMLElement>("a.row-link")?.click();
}

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
        timer.current = setTimeout(() => setDone(false), 1500) as unknown as number;
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

/** The clipboard of a page that came over plain http is closed, and others may be; a selection still
 * copies, if it is where the focus may go: beside the button, which may be in a dialog. */
async function copyText(text: string, beside: HTMLElement): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = document.createElement("textarea");
        area.value = text;
        area.className = "visually-hidden";
        beside.after(area);
        area.select();
        const copied = document.execCommand("copy");
        area.remove();
        beside.focus();
        return copied;
    }
}

/** Text with a button that copies it. */
export function Copyable({ text, children }: { text: string; children?: ComponentChildren }) {
    return (
        <span class="copyable">
            <code title={text}>{children ?? text}</code>
            <CopyButton text={text} label={`Copy ${text}`} />
        </span>
    );
}

export function ErrorNote({ error, retry }: { error: ApiError; retry?: () => void }) {
    const hint =
        error.status === 403
            ? "Ask an admin of the workspace for access."
            : error.status === 404
              ? "The link may be old, or what it names was deleted."
              : "";
    return (
        <div class="note bad" role="alert">
            <p>
                <strong>{error.message}</strong> {hint}
                {error.requestId && <span class="muted"> Request {error.requestId}</span>}
            </p>
            {retry && (
                <button type="button" onClick={retry}>
                    Try again
                </button>
            )}
        </div>
    );
}

/** Nothing is here, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
    return (
        <div class="empty">
            <h2>{title}</h2>
            {children}
        </div>
    );
}

/** Grey bars while something is loaded for the first time. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
    return (
        <div class="skeleton" role="status" aria-label="Loading">
            {Array.from({ length: rows }, (_, i) => (
                <div key={i} />
            ))}
        </div>
    );
}

export function Card(props: {
    title?: ComponentChildren;
    aside?: ComponentChildren;
    class?: string;
    children: ComponentChildren;
}) {
    return (
        <section class={`card ${props.class ?? ""}`}>
            {(props.title || props.aside) && (
                <header>
                    <h2>{props.title}</h2>
                    {props.aside && <div class="aside">{props.aside}</div>}
                </header>
            )}
            {props.children}
        </section>
    );
}

export interface Choice {
    value: string;
    label: string;
}

/** A few choices side by side, one of them taken. */
export function Segments(props: {
    label: string;
    choices: readonly Choice[];
    value: string;
    onChange: (value: string) => void;
}) {
    return (
        <div class="segments" role="group" aria-label={props.label}>
            {props.choices.map((choice) => (
                <button
                    key={choice.value}
                    type="button"
                    aria-pressed={choice.value === props.value}
                    onClick={() => props.onChange(choice.value)}
                >
                    {choice.label}
                </button>
            ))}
        </div>
    );
}

export function Select(props: {
    label: string;
    choices: readonly Choice[];
    value: string;
    onChange: (value: string) => void;
}) {
    return (
        <label class="select">
            <span class="visually-hidden">{props.label}</span>
            <select value={props.value} onChange={(e) => props.onChange(e.currentTarget.value)}>
                {props.choices.map((choice) => (
                    <option key={choice.value} value={choice.value}>
                        {choice.label}
                    </option>
                ))}
            </select>
        </label>
    );
}

export function Field(props: {
    label: string;
    hint?: ComponentChildren;
    children: (id: string) => JSX.Element;
}) {
    const [id] = useState(() => `field-${Math.random().toString(36).slice(2, 9)}`);
    return (
        <div class="field">
            <label for={id}>{props.label}</label>
            {props.children(id)}
            {props.hint && <p class="hint">{props.hint}</p>}
        </div>
    );
}

export function IconButton(props: { icon: IconName; label: string; onClick: () => void }) {
    return (
        <button
            type="button"
            class="icon-button"
            title={props.label}
            aria-label={props.label}
            onClick={props.onClick}
        >
            <Icon name={props.icon} />
        </button>
    );
}

/** Links of agents are text: only http and https lead anywhere. */
export function SafeLink({ to }: { to: string }) {
    let safe = false;
    try {
        safe = ["http:", "https:"].includes(new URL(to).protocol);
    } catch {
        safe = false; // a reference, not an address
    }
    if (!safe) return <Copyable text={to} />;
    return (
        <a href={to} target="_blank" rel="noopener noreferrer nofollow" class="external">
            {to} <Icon name="external" />
        </a>
    );
}

export function Heading(props: { title: ComponentChildren; children?: ComponentChildren }) {
    return (
        <div class="heading">
            <h1>{props.title}</h1>
            {props.children && <div class="aside">{props.children}</div>}
        </div>
    );
}

/** Says whether the page follows what happens. */
export function Live() {
    const open = useStore(connected);
    return (
        <span
            class={`live ${open ? "" : "slow"}`}
            title={open ? "News come as they happen" : "Asked for every few seconds"}
        >
            <i class="dot" /> {open ? "Live" : "Refreshing"}
        </span>
    );
}
