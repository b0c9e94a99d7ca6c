// The search dialog: pages, agents, workspaces and run ids.

import { useEffect, useState } from "preact/hooks";

import type { TenantName } from "../features/access/my_tenants";
import { isAdmin, isPlatformAdmin, type Me } from "../features/access/session";
import { useMatchingAgents } from "../features/agents/names";
import { agentPage, homePath, runPage } from "../lib/paths";
import { href, navigate, pathOf } from "../lib/route";
import { Icon, type IconName, useModal } from "../ui";
import { pages, parts } from "./pages";

interface Entry {
    icon: IconName;
    text: string;
    note: string;
    to: string;
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const SHOWN_MAX = 20;
const AGENTS_MAX = 6;

function agentEntry(slug: string, agent_name: string): Entry {
    const to = agentPage(slug, agent_name);
    return { icon: "fleet", text: agent_name, note: "Agent", to };
}

function entriesOf(me: Me, tenants: TenantName[], slug: string, typed: string): Entry[] {
    const found: Entry[] = [];
    const text = typed.trim();
    if (UUID.test(text))
        found.push({ icon: "runs", text, note: "Open this run", to: runPage(slug, text) });
    for (const page of pages) {
        if (
            !page.nav ||
            (page.platform && !isPlatformAdmin(me)) ||
            (slug === "" && page.path.includes(":slug"))
        )
            continue;
        found.push({
            icon: page.nav,
            text: page.title,
            note: "Page",
            to: href(page.path.replace(":slug", encodeURIComponent(slug))),
        });
    }
    for (const part of text === "" ? [] : parts) {
        const may = part.platform ? isPlatformAdmin(me) : !part.admin || isAdmin(me, slug);
        if (!may || (slug === "" && part.path.includes(":slug"))) continue;
        found.push({
            icon: part.icon,
            text: part.title,
            note: part.of,
            to: href(part.path.replace(":slug", encodeURIComponent(slug)), { tab: part.tab }),
        });
    }
    for (const one of tenants)
        if (one.slug !== slug)
            found.push({
                icon: "platform",
                text: one.name && one.name !== one.slug ? `${one.name} (${one.slug})` : one.slug,
                note: "Workspace",
                to: href(homePath(one.slug)),
            });
    if (text !== "" && slug !== "" && !UUID.test(text))
        found.push({
            icon: "runs",
            text: `Runs with “${text}” in agent, error or message`,
            note: "Runs",
            to: href(pathOf("t", slug, "runs"), { q: text.slice(0, 64) }),
        });
    const wanted = text.toLowerCase();
    return found.filter((one) => one.text.toLowerCase().includes(wanted)).slice(0, SHOWN_MAX);
}

interface Props {
    me: Me;
    tenants: TenantName[];
    slug: string;
    onClose: () => void;
}

export function Search({ me, tenants, slug, onClose }: Props) {
    const { box, closed } = useModal(onClose);
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const agents = useMatchingAgents(slug, text, AGENTS_MAX).map((name) => agentEntry(slug, name));
    const entries = [...agents, ...entriesOf(me, tenants, slug, text)].slice(0, SHOWN_MAX);

    useEffect(
        () => document.getElementById(`found-${at}`)?.scrollIntoView({ block: "nearest" }),
        [at],
    );

    const open = (entry: Entry | undefined) => {
        if (entry) navigate(entry.to.slice(1));
        onClose();
    };
    const onKey = (event: KeyboardEvent) => {
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (step !== 0) {
            event.preventDefault();
            setAt((at + step + entries.length) % Math.max(entries.length, 1));
        } else if (event.key === "Enter") {
            event.preventDefault();
            open(entries[at]);
        }
    };
    return (
        <dialog
            ref={box}
            class="search-dialog"
            aria-label="Search"
            onClose={closed}
            onMouseDown={(event) => event.target === box.current && onClose()}
        >
            <div class="box">
                <Icon name="search" />
                <input
                    autoFocus
                    role="combobox"
                    aria-expanded="true"
                    aria-controls="found"
                    aria-activedescendant={entries.length > 0 ? `found-${at}` : undefined}
                    aria-label="Search pages, agents, run IDs"
                    placeholder="Page, agent, workspace, error or run ID"
                    value={text}
                    onInput={(event) => {
                        setText(event.currentTarget.value);
                        setAt(0);
                    }}
                    onKeyDown={onKey}
                />
                <kbd>esc</kbd>
            </div>
            <ul id="found" role="listbox" aria-label="Results">
                {entries.map((entry, i) => (
                    <li
                        key={entry.to}
                        id={`found-${i}`}
                        role="option"
                        aria-selected={i === at}
                        onClick={() => open(entry)}
                        onMouseMove={() => setAt(i)}
                    >
                        <Icon name={entry.icon} />
                        <span>{entry.text}</span>
                        <small>{entry.note}</small>
                    </li>
                ))}
            </ul>
        </dialog>
    );
}
