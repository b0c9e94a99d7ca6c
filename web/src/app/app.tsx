// From the session and the route to a page.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import {
    lastTenant,
    rememberTenant,
    type TenantName,
    useIsMissing,
    useTenants,
} from "../features/access/my_tenants";
import { type Me, session } from "../features/access/session";
import { awaitService, isServiceThere } from "../lib/api";
import { shortId } from "../lib/format";
import type { PageProps } from "../lib/page";
import { homePath } from "../lib/paths";
import { href, match, useRoute } from "../lib/route";
import { useStore } from "../lib/store";
import { nameWindow } from "../lib/title";
import { SignIn } from "../pages/sign_in";
import { Welcome } from "../pages/welcome";
import { Heading, NotFound, Skeleton } from "../ui";
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

/** A reload while the service is away would end on a page of the browser, which knows no way back. */
function NotLoaded() {
    const [away, setAway] = useState(false);
    useEffect(() => {
        const stop = new AbortController();
        const reloadLater = async () => {
            if (await isServiceThere()) return; // then a person reloads: it may fail again
            setAway(true);
            if (await awaitService(stop.signal)) location.reload();
        };
        void reloadLater();
        return () => stop.abort();
    }, []);
    const reload = async () => {
        if (await isServiceThere()) location.reload();
        else setAway(true);
    };
    return (
        <div role="alert">
            <Heading title="Could not load this page" />
            <p>
                {away
                    ? "The service cannot be reached. This page opens when it is back."
                    : "Check the connection, then reload."}
            </p>
            <button type="button" onClick={() => void reload()}>
                Reload
            </button>
        </div>
    );
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
    if (loaded.view === null) return <NotLoaded />;
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

const START = { label: "Go to the start page", href: "#/" };

function NoPage() {
    return (
        <NotFound title="Page not found" back={START}>
            <p>The link may be outdated or incomplete.</p>
        </NotFound>
    );
}

function NoWorkspace({ slug }: { slug: string }) {
    return (
        <NotFound title="Workspace not found" back={START}>
            <p>
                There is no workspace <b dir="auto">{slug}</b>, or you have no access to it. Ask one of
                its admins to add you.
            </p>
        </NotFound>
    );
}

function SignedIn({ me }: { me: Me }) {
    const { path, query } = useRoute();
    const tenants = useTenants(me);
    const found = find(path);
    const slug = found?.params["slug"] ?? "";
    const missing = useIsMissing(slug, tenants);
    const atStart = path === "/" || path === "" || path === "/setup";

    useEffect(() => {
        const { agent, run_id, workflow } = found?.params ?? {};
        const name = agent ?? workflow ?? (run_id && `Run ${shortId(run_id)}`) ?? found?.page.title;
        nameWindow(found === null && !atStart ? "Page not found" : name, slug);
        // the element with the focus may have been part of the previous page
        if (document.activeElement === document.body)
            document.getElementById("main")?.focus({ preventScroll: true });
    }, [path]);
    useEffect(() => {
        if (slug !== "" && tenants !== undefined && missing === false) rememberTenant(slug);
    }, [slug, tenants === undefined, missing]);

    const openSlug = missing === false ? slug : "";
    const otherSlug = lastTenant(tenants ?? [])?.slug ?? "";
    // not another one's links until it is known: a click in that moment would leave this workspace
    const shellSlug = missing === undefined ? slug : openSlug || otherSlug;
    return (
        <Shell
            me={me}
            tenants={tenants ?? []}
            slug={shellSlug}
            known={missing !== undefined}
            page={(!missing && found?.page) || null}
        >
            {missing === undefined ? (
                <Skeleton />
            ) : missing ? (
                <NoWorkspace slug={slug} />
            ) : found !== null ? (
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
                <NoPage />
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
