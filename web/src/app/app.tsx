// From the session and the address to a page.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { brief } from "../lib/format";
import { href, match, usePlace } from "../lib/route";
import { type Me, session } from "../features/access/session";
import { useStore } from "../lib/store";
import { rememberedTenant, rememberTenant } from "../features/access/last_tenant";
import { type TenantName, useTenants } from "../features/access/my_tenants";
import { pages, startOf, type Page, type PageProps } from "./pages";
import { SignIn } from "../pages/sign_in";
import { Welcome } from "../pages/welcome";
import { Empty, Skeleton } from "../ui/basics";
import { Shell } from "./shell";

interface Found {
    page: Page;
    params: Record<string, string>;
}

function find(path: string): Found | null {
    for (const page of pages) {
        const params = match(page.path, path);
        if (params !== null) return { page, params };
    }
    return null;
}

/** The page's own file, fetched when it is first wanted. */
function Loader({ page, ...props }: { page: Page } & PageProps) {
    const [drawn, setDrawn] = useState<{
        page: Page;
        view: ComponentType<PageProps> | null;
    } | null>(null);
    useEffect(() => {
        let current = true;
        page.load().then(
            (file) => current && setDrawn({ page, view: file.default }),
            () => current && setDrawn({ page, view: null }),
        );
        return () => void (current = false);
    }, [page]);
    if (drawn === null || drawn.page !== page) return <Skeleton />;
    if (drawn.view === null)
        return (
            <Empty title="This page could not be loaded">
                <p>The service may have been updated meanwhile. Load the portal again.</p>
                <button type="button" onClick={() => location.reload()}>
                    Load again
                </button>
            </Empty>
        );
    const View = drawn.view;
    return <View {...props} />;
}

/** The one that somebody looked at last, else the first. */
function lastOf(tenants: TenantName[]): TenantName | undefined {
    const last = rememberedTenant();
    return tenants.find(({ slug }) => slug === last) ?? tenants[0];
}

/** Where somebody who just signed in should be; null: there is nothing to open. */
function home(tenants: TenantName[]): string | null {
    const one = lastOf(tenants);
    return one ? startOf(one.slug) : null;
}

function Start({ me, tenants }: { me: Me; tenants: TenantName[] | undefined }) {
    const to = tenants === undefined ? null : home(tenants);
    useEffect(() => {
        if (to !== null) location.replace(href(to));
    }, [to]);
    return tenants === undefined || to !== null ? <Skeleton /> : <Welcome me={me} />;
}

function Nowhere() {
    return (
        <Empty title="There is no such page">
            <p>
                <a href="#/">Go to the start</a>
            </p>
        </Empty>
    );
}

function Inside({ me }: { me: Me }) {
    const { path, query } = usePlace();
    const tenants = useTenants(me);
    const found = find(path);
    const slug = found?.params["slug"] ?? "";
    const atStart = path === "/" || path === "" || path === "/setup";

    useEffect(() => {
        if (slug !== "") rememberTenant(slug);
        const { agent, run_id, workflow } = found?.params ?? {};
        const what = agent ?? workflow ?? (run_id && `Run ${brief(run_id)}`) ?? found?.page.title;
        document.title = [what, slug, "muster"].filter(Boolean).join(" · ");
        // what had the focus may be gone with the page before
        if (document.activeElement === document.body)
            document.getElementById("main")?.focus({ preventScroll: true });
    }, [path]);

    const around = slug || (lastOf(tenants ?? [])?.slug ?? "");
    return (
        <Shell me={me} tenants={tenants ?? []} slug={around} page={found?.page ?? null}>
            {found !== null ? (
                <Loader
                    key={slug}
                    page={found.page}
                    slug={slug}
                    params={found.params}
                    query={query}
                />
            ) : atStart ? (
                <Start me={me} tenants={tenants} />
            ) : (
                <Nowhere />
            )}
        </Shell>
    );
}

export function App() {
    const now = useStore(session);
    switch (now.state) {
        case "asking":
            return <Skeleton rows={3} />;
        case "in":
            return <Inside me={now.me} />;
        default:
            return <SignIn session={now} />;
    }
}
