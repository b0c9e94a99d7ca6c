// The frame around every page: workspace, search, navigation, theme, the person.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { TenantName } from "../features/access/my_tenants";
import { isAdmin, isPlatformAdmin, type Me, signOut } from "../features/access/session";
import { useOpenAlertCount } from "../features/alerts/open_count";
import { useAction } from "../lib/action";
import { homePath } from "../lib/paths";
import { href, navigate, pathOf } from "../lib/route";
import { useStore } from "../lib/store";
import { setTheme, theme, type Theme } from "../lib/theme";
import { exactTimes, setExactTimes, setZone, type Zone, zone, zoneName } from "../lib/zone";
import { ErrorNote, Icon, IconButton, Mark, Menu, useCurrentInView } from "../ui";
import { type Page, pages } from "./pages";
import { collectKey, collectKeys, Search } from "./search";

interface Props {
    me: Me;
    tenants: TenantName[];
    slug: string;
    known: boolean; // false: whether there is such a workspace is still being asked
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
    if (choices.length < 2)
        return (
            <span class="tenant" title={slug} dir="auto">
                {choices[0]?.name || slug}
            </span>
        );
    return (
        <select
            class="tenant"
            aria-label="Workspace"
            value={slug}
            onChange={(event) => navigate(homePath(event.currentTarget.value))}
        >
            {choices.map((one) => (
                <option key={one.slug} value={one.slug}>
                    {one.name || one.slug}
                </option>
            ))}
        </select>
    );
}

/** Is this the entry that stands for the page in the navigation? */
function isUnder(page: Page | null, entry: Page): boolean {
    if (page === null) return false;
    return (
        page.under === entry.title ||
        page.path === entry.path ||
        page.path.startsWith(`${entry.path}/`)
    );
}

function Nav({ me, slug, known, page }: Omit<Props, "children" | "tenants">) {
    const alerts = useOpenAlertCount(known ? slug : "");
    const shown = pages.filter(
        (one) =>
            one.nav &&
            (!one.platform || isPlatformAdmin(me)) &&
            (!one.admin || isAdmin(me, slug)) &&
            (slug !== "" || !one.path.includes(":slug")),
    );
    const row = useRef<HTMLElement>(null);
    useCurrentInView(row, `${page?.path} ${slug}`);
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

declare const MUSTER_VERSION: string; // by the build

/** How times are written on every page, with the keyboard and on a telephone too. */
function TimesSwitch() {
    const exact = useStore(exactTimes);
    const current = useStore(zone);
    const other: Zone = current === "utc" ? "local" : "utc";
    return (
        <>
            <button type="button" onClick={() => setExactTimes(!exact)}>
                {exact ? "Show times from now" : "Show exact times"}
            </button>
            {zoneName(other) !== zoneName(current) && (
                <button type="button" onClick={() => setZone(other)}>
                    Show times in {zoneName(other)}
                </button>
            )}
        </>
    );
}

/** The person, help, and the way out. */
function UserMenu({ me, slug }: { me: Me; slug: string }) {
    const { error, perform } = useAction();
    const times = useStore(zone);
    return (
        <Menu label={<><Icon name="user" /><span class="who">{me.email}</span></>} name={`Account and help: ${me.email}`}>
            {(close) => (
                <div class="user-menu" onClick={(event) => event.target !== event.currentTarget && close()}>
                    <a href={href("/account")}>Your account</a>
                    {slug !== "" && (
                        <a href={href(pathOf("t", slug, "connect"))}>Connect an agent</a>
                    )}
                    <a href="/docs">API and try-out</a>
                    <a href={href("/account")}>Times: {zoneName(times)}</a>
                    <TimesSwitch />
                    {error && <ErrorNote error={error} />}
                    <button type="button" onClick={() => void perform(signOut)}>
                        <Icon name="out" /> Sign out
                    </button>
                    <small class="muted">muster {MUSTER_VERSION}</small>
                </div>
            )}
        </Menu>
    );
}

/** '/' outside a field, and Ctrl-K anywhere, open the search. */
function useSearchKeys(open: () => void) {
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => {
            if (collectKey(event)) return;
            const target = event.target as HTMLElement;
            const typing =
                /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
            const wanted =
                (event.key === "/" && !typing) ||
                (event.key === "k" && (event.ctrlKey || event.metaKey));
            if (!wanted || event.altKey) return;
            event.preventDefault();
            if (document.querySelector(".search-dialog")) return;
            collectKeys();
            open();
        };
        addEventListener("keydown", onKey);
        return () => removeEventListener("keydown", onKey);
    }, [open]);
}

export function Shell(props: Props) {
    const { me, tenants, slug, known, page, children } = props;
    const [searching, setSearching] = useState(false);
    useSearchKeys(() => setSearching(true));
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
                Skip to content
            </a>
            <aside>
                <div class="brand">
                    <a href="#/" aria-label="muster: start page">
                        <Mark />
                    </a>
                    <TenantSwitch tenants={tenants} slug={slug} />
                </div>
                <button
                    type="button"
                    class="search"
                    aria-label="Search" // the word is hidden on a narrow screen
                    aria-keyshortcuts="/"
                    onClick={() => setSearching(true)}
                >
                    <Icon name="search" />
                    <span>Search</span>
                    <kbd>/</kbd>
                </button>
                <Nav me={me} slug={slug} known={known} page={page} />
                <div class="foot">
                    <UserMenu me={me} slug={slug} />
                    <ThemeSwitch />
                </div>
            </aside>
            <main id="main" tabIndex={-1}>
                {children}
            </main>
            {searching && (
                <Search
                    me={me}
                    tenants={tenants}
                    slug={slug}
                    onClose={() => setSearching(false)}
                />
            )}
        </div>
    );
}
