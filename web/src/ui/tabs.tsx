// Parts of a page, each of them a link.

import { href } from "../lib/route";
import type { Choice } from "./basics";

interface Props {
    label: string;
    path: string;
    tabs: readonly Choice[];
    value: string;
}

export function Tabs({ label, path, tabs, value }: Props) {
    const first = tabs[0]?.value;
    return (
        <nav class="tabs" aria-label={label}>
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
