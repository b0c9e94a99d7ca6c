// The frame of a page and of its parts: headings, cards, facts.

import type { ComponentChildren } from "preact";

interface HeadingProps {
    title: ComponentChildren;
    parent?: { label: string; href: string }; // the page above this one
    children?: ComponentChildren; // at the right
}

export function Heading({ title, parent, children }: HeadingProps) {
    return (
        <>
            {parent && (
                <p class="crumbs">
                    <a href={parent.href}>{parent.label}</a>
                </p>
            )}
            <div class="heading">
                <h1>{title}</h1>
                {children && <div class="aside">{children}</div>}
            </div>
        </>
    );
}

export interface CardProps {
    title?: ComponentChildren;
    aside?: ComponentChildren; // at the right of the title
    class?: string;
    children?: ComponentChildren;
}

export function Card(props: CardProps) {
    return (
        <section class={`card ${props.class ?? ""}`}>
            {(props.title || props.aside) && (
                <header>
                    <h2 dir="auto">{props.title}</h2>
                    {props.aside && <div class="aside">{props.aside}</div>}
                </header>
            )}
            {props.children}
        </section>
    );
}

interface FactProps {
    label: string;
    class?: string;
    title?: string; // of the value, on hover
    children: ComponentChildren;
}

/** A term and its value inside a <dl>. */
export function Fact(props: FactProps) {
    return (
        <div class={props.class}>
            <dt dir="auto">{props.label}</dt>
            <dd title={props.title} dir="auto">{props.children}</dd>
        </div>
    );
}
