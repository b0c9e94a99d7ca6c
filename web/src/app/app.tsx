// From the session and the route to a page.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import {
    lastTenant,
    rememberTenant,
    type TenantName,
    useTenants,
} from "../features/access/my_tenants";
import { type Me, session } from "../features/access/session";
import { shortId } from "../lib/format";
import type { PageProps } from "../lib/page";
import { homePath } from "../lib/paths";
import { href, match, useRoute } from "../lib/route";
import { useStore } from "../lib/store";
import { SignIn } from "../pages/sign_in";
import { Welcome } from "../pages/welcome";
import { Empty, Heading, Skeleton } from "../ui";
import { type Page, pages } from "./pages";
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

/** Loads the page's own file when it is first opened. */
function Loader({ page, ...props }: { page: Page } & PageProps) {
    const [loaded, setLoaded] = useState<{
        page: Page;
        view: ComponentType<PageProps> | null; // null: it could not be loaded
    } | null>(null);
    useEffect(() => {
        let current = true;
        page.load().then(
            (file) => current && setLoaded({ page, view: file.default }),
            () => current && setLoaded({ page, view: null }),
        );
        return () => void (current = false);
    }, [page]);
    if (loaded === null || loaded.page !== page) return <Skeleton />;
    if (loaded.view === null)
        return (
            <Empty title="Could not load this page">
                <p>Check the connection, then reload.</p>
                <button type="button" onClick={() => location.reload()}>
                    Reload
                </button>
            </Empty>
        );
    const View = loaded.view;
    return <View {...props} />;
}

/** After signing in: the tenant opened last, or the welcome page for people without a tenant. */
function Start({ me, tenants }: { me: Me; tenants: TenantName[] | undefined }) {
    const last = lastTenant(tenants ?? []);
    const to = last ? homePath(last.slug) : null;
    useEffect(() => {
        if (to !== null) location.replace(href(to));
    }, [to]);
    return tenants === undefined || to !== null ? <Skeleton /> : <Welcome me={me} />;
}

function NotFound() {
    return (
        <>
            <Heading title="Page not found" />
            <p>
                <a href="#/">Go to the start page</a>
            </p>
        </>
    );
}

function SignedIn({ me }: { me: Me }) {
    const { path, query } = useRoute();
    const tenants = useTenants(me);
    const found = find(path);
    const slug = found?.params["slug"] ?? "";
    const atStart = path === "/" || path === "" || path === "/setup";

    useEffect(() => {
        if (slug !== "") rememberTenant(slug);
        const { agent, run_id, workflow } = found?.params ?? {};
        const name = agent ?? workflow ?? (run_id && `Run ${shortId(run_id)}`) ?? found?.page.title;
        document.title = [name, slug, "muster"].filter(Boolean).join(" · ");
        // the element with the focus may have been part of the previous page
        if (document.activeElement === document.body)
            document.getElementById("main")?.focus({ preventScroll: true });
    }, [path]);

    const shellSlug = slug || (lastTenant(tenants ?? [])?.slug ?? "");
    return (
        <Shell me={me} tenants={tenants ?? []} slug={shellSlug} page={found?.page ?? null}>
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
                <NotFound />
            )}
        </Shell>
    );
}

export function App() {
    const now = useStore(session);
    const { path } = useRoute();
    // a link may be for another person than the one who is signed in
    if (path === "/link" && now.state === "in")
        return <SignIn session={{ state: "out", expired: false, setup: false }} />;
    switch (now.state) {
        case "loading":
            return <Skeleton rows={3} />;
        case "in":
            return <SignedIn me={now.me} />;
        default:
            return <SignIn session={now} />;
    }
}
