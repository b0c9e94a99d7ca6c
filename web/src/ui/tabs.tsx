// Parts of a page, each of them a link.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Choice } from "../lib/choices";
import { href, useRoute } from "../lib/route";

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
    said?: boolean; // the page itself says why another section is shown than the address names
}

/** The section in the address, where there is no such one for this person. */
function useUnknown({ tabs, value, said }: Props): string | null {
    const wanted = useRoute().query.get("tab");
    if (said || wanted === null || wanted === value) return null;
    return tabs.some((tab) => tab.value === wanted) ? null : wanted;
}

export function Tabs(props: Props) {
    const { label, path, tabs, value } = props;
    const first = tabs[0]?.value;
    const unknown = useUnknown(props);
    const row = useRef<HTMLElement>(null);
    useCurrentInView(row, value);
    return (
        <>
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
            {unknown !== null && (
                <p class="note" role="alert">
                    <strong>Section not found.</strong> There is no section{" "}
                    <b dir="auto">{unknown}</b> here, or you may not see it.
                </p>
            )}
        </>
    );
}
