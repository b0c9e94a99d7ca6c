// Parts of a page, each of them a link.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Choice } from "../lib/choices";
import { href } from "../lib/route";

/** On a narrow screen a row of links scrolls: this keeps the current one visible. */
export function useCurrentInView(row: RefObject<HTMLElement | null>, current: string) {
    useEffect(() => {
        const scroll = () => {
            const link = row.current?.querySelector<HTMLElement>("[aria-current]");
            if (!row.current || !link) return;
            row.current.scrollLeft = link.offsetLeft - (row.current.clientWidth - link.offsetWidth) / 2;
        };
        const size = new ResizeObserver(scroll); // called at once, and when the screen is rotated
        if (row.current) size.observe(row.current);
        return () => size.disconnect();
    }, [row, current]);
}

interface Props {
    label: string;
    path: string;
    tabs: readonly Choice[];
    value: string;
}

export function Tabs({ label, path, tabs, value }: Props) {
    const first = tabs[0]?.value;
    const row = useRef<HTMLElement>(null);
    useCurrentInView(row, value);
    return (
        <nav class="tabs" aria-label={label} ref={row}>
            {tabs.map((tab) => (
                <a
                    key={tab.value}
                    href={href(path, { tab: tab.value === first ? null : tab.value })}
                    aria-current={tab.value === value ? "page" : undefined}
                >
                    {tab.label}
                </a>
            ))}
        </nav>
    );
}
