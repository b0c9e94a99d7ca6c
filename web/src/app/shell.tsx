// What stands around every page: navigation, tenant, search, theme, the person.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useAct } from "../lib/action";
import { call } from "../lib/api";
import { useLiveQuery } from "../lib/query";
import { go, href } from "../lib/route";
import { isAdmin, isPlatformAdmin, logOut, type Me } from "../features/access/session";
import { useStore } from "../lib/store";
import type { TenantName } from "../features/access/my_tenants";
import { setTheme, theme, type Theme } from "../lib/theme";
import { type Page, pages, startOf } from "./pages";
import { IconButton } from "../ui/basics";
import { Icon } from "../ui/icons";
import { Palette } from "./search";
import { useShown } from "../ui/tabs";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const COUNTED_MAX = 99;

interface Props {
    me: Me;
    tenants: TenantName[];
    slug: string;
    page: Page | null;
    children: ComponentChildren;
}

const NEXT: Record<Theme, { to: Theme; icon: "sun" | "moon" | "system" }> = {
    system: { to: "light", icon: "system" },
    light: { to: "dark", icon: "sun" },
    dark: { to: "system", icon: "moon" },
};

function ThemeSwitch() {
    const now = useStore(theme);
    const { to, icon } = NEXT[now];
    return (
        <IconButton
            icon={icon}
            label={`Colours: ${now}. Change to ${to}`}
            onClick={() => setTheme(to)}
        />
    );
}

function TenantSwitch({ tenants, slug }: { tenants: TenantName[]; slug: string }) {
    const known = slug === "" || tenants.some((one) => one.slug === slug);
    const choices = known ? tenants : [{ slug, name: "" }, ...tenants];
    if (choices.length < 2) return <span class="tenant">{slug}</span>;
    return (
        <select
            class="tenant"
            aria-label="Workspace"
            value={slug}
            onChange={(event) => go(startOf(event.currentTarget.value))}
        >
            {choices.map((one) => (
                <option key={one.slug} value={one.slug}>
                    {one.name || one.slug}
                </option>
            ))}
        </select>
    );
}

/** A page lies under the entry whose path begins its own. */
function isUnder(page: Page | null, entry: Page): boolean {
    if (page === null) return false;
    return (
        page.under === entry.title ||
        page.path === entry.path ||
        page.path.startsWith(`${entry.path}/`)
    );
}

/** How many alerts are open, as far as one page of them tells. */
function useOpenAlerts(slug: string): string {
    const { data } = useLiveQuery(
        slug,
        slug === "" ? null : `${ALERTS} ${slug} open`,
        (signal) =>
            call(ALERTS, {
                path: { slug },
                query: { state: "open", limit: COUNTED_MAX },
                signal,
            }),
        (news) => news.kind === "alert",
    );
    const n = data?.alerts.length ?? 0;
    return n === 0 ? "" : data?.next ? `${n}+` : String(n);
}

function Nav({ me, slug, page }: Omit<Props, "children" | "tenants">) {
    const alerts = useOpenAlerts(slug);
    const shown = pages.filter(
        (one) =>
            one.nav &&
            (!one.platform || isPlatformAdmin(me)) &&
            (!one.admin || isAdmin(me, slug)) &&
            (slug !== "" || !one.path.includes(":slug")),
    );
    const row = useRef<HTMLElement>(null);
    useShown(row, `${page?.path} ${slug}`);
    return (
        <nav aria-label="Pages" ref={row}>
            {shown.map((one) => (
                <a
                    key={one.path}
                    href={href(one.path.replace(":slug", encodeURIComponent(slug)))}
                    aria-current={isUnder(page, one) ? "page" : undefined}
                >
                    <Icon name={one.nav!} />
                    {one.title}
                    {one.nav === "alerts" && alerts !== "" && <span class="count">{alerts}</span>}
                </a>
            ))}
        </nav>
    );
}

function LogOut() {
    const { error, act } = useAct();
    return (
        <>
            {error && (
                <span class="visually-hidden" role="alert">
                    {error.message}
                </span>
            )}
            <IconButton
                icon="out"
                label={error === null ? "Log out" : `${error.message} Log out again`}
                onClick={() => void act(logOut)}
            />
        </>
    );
}

/** '/' anywhere but in a field opens the search. */
function useSlash(open: () => void) {
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => {
            const target = event.target as HTMLElement;
            const typing =
                /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
            const wanted =
                (event.key === "/" && !typing) ||
                (event.key === "k" && (event.ctrlKey || event.metaKey));
            if (!wanted || event.altKey) return;
            event.preventDefault();
            open();
        };
        addEventListener("keydown", onKey);
        return () => removeEventListener("keydown", onKey);
    }, [open]);
}

export function Shell(props: Props) {
    const { me, tenants, slug, page, children } = props;
    const [searching, setSearching] = useState(false);
    useSlash(() => setSearching(true));
    return (
        <div class="shell">
            <a
                class="skip"
                href="#main"
                onClick={(event) => {
                    event.preventDefault();
                    document.getElementById("main")?.focus();
                }}
            >
                Skip to the page
            </a>
            <aside>
                <div class="brand">
                    <a href="#/" aria-label="muster: start">
                        <Mark />
                    </a>
                    <TenantSwitch tenants={tenants} slug={slug} />
                </div>
                <button
                    type="button"
                    class="search"
                    aria-label="Search" // a narrow screen has no room for the word
                    aria-keyshortcuts="/"
                    onClick={() => setSearching(true)}
                >
                    <Icon name="search" />
                    <span>Search</span>
                    <kbd>/</kbd>
                </button>
                <Nav me={me} slug={slug} page={page} />
                <div class="foot">
                    <span class="who" title={me.email}>
                        {me.email}
                    </span>
                    <ThemeSwitch />
                    <LogOut />
                </div>
            </aside>
            <main id="main" tabIndex={-1}>
                {children}
            </main>
            {searching && (
                <Palette
                    me={me}
                    tenants={tenants}
                    slug={slug}
                    onClose={() => setSearching(false)}
                />
            )}
        </div>
    );
}

export function Mark() {
    const squares = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    return (
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
            {squares.map((i) => (
                <rect
                    key={i}
                    x={4 + (i % 3) * 9}
                    y={4 + Math.floor(i / 3) * 9}
                    width="6"
                    height="6"
                    rx="1.5"
                    class={i === 4 ? "on" : i === 8 ? "off" : ""}
                />
            ))}
        </svg>
    );
}
