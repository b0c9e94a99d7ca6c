// The search dialog: pages, agents, KPIs, models, workspaces and run ids.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import type { TenantName } from "../features/access/my_tenants";
import { isAdmin, isPlatformAdmin, type Me } from "../features/access/session";
import { useMatchingAgents } from "../features/agents/names";
import { useMatchingModels } from "../features/cost/matching";
import { useMatchingKpis } from "../features/kpis/matching";
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
const OTHERS_MAX = 4; // KPIs, and models

let early: string | null = null; // not null: the field of the search has not got the focus yet

/** The search is about to open: what is typed until then goes into its field. */
export function collectKeys() {
    early = "";
}

/** Was the key one of those? */
export function collectKey(event: KeyboardEvent): boolean {
    if (early === null || event.key.length !== 1 || event.ctrlKey || event.metaKey) return false;
    early += event.key;
    event.preventDefault();
    return true;
}

/** What a workspace has that matches. */
function useMatching(slug: string, text: string): { agents: Entry[]; others: Entry[] } {
    const agents = useMatchingAgents(slug, text, AGENTS_MAX);
    const kpis = useMatchingKpis(slug, text, OTHERS_MAX);
    const models = useMatchingModels(slug, text, OTHERS_MAX);
    return {
        agents: agents.map((agent_name) => ({
            icon: "fleet",
            text: agent_name,
            note: "Agent",
            to: agentPage(slug, agent_name),
        })),
        others: [
            ...kpis.map(({ id, name, agent_name }): Entry => {
                const to = href(pathOf("t", slug, "business"), { kpi: id });
                return { icon: "business", text: name, note: `KPI of ${agent_name}`, to };
            }),
            ...models.map((model): Entry => {
                const to = href(pathOf("t", slug, "cost"), { model });
                return { icon: "cost", text: model, note: "Model", to };
            }),
        ],
    };
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
    const wanted = text.toLowerCase();
    return found.filter((one) => one.text.toLowerCase().includes(wanted));
}

/** The runs whose texts contain what was typed. */
function runsEntry(slug: string, typed: string): Entry[] {
    const text = typed.trim();
    if (text === "" || slug === "" || UUID.test(text)) return [];
    return [
        {
            icon: "runs",
            text: `Runs with “${text}” in agent, error or last message, last 7 days`,
            note: "Runs",
            to: href(pathOf("t", slug, "runs"), { q: text.slice(0, 64) }),
        },
    ];
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
    const { agents, others } = useMatching(slug, text);
    const places = entriesOf(me, tenants, slug, text);
    const last = [...others, ...runsEntry(slug, text)]; // offered however many places there are
    const entries = [...[...agents, ...places].slice(0, SHOWN_MAX - last.length), ...last];
    // before it is drawn: Enter takes the first entry
    useLayoutEffect(() => {
        if (early) setText(early);
        early = null;
    }, []);

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
        } else if (event.key === "Escape" && !event.isComposing) {
            // not left to the dialog: its close event may come after the next key, which opens another
            event.preventDefault();
            box.current?.close(); // gives the focus back
            onClose();
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
                        <span dir="auto">{entry.text}</span>
                        <small dir="auto">{entry.note}</small>
                    </li>
                ))}
            </ul>
        </dialog>
    );
}
