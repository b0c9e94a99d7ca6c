// From the session and the address to a page.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { forgetTenant, rememberedTenant, rememberTenant } from "./lib/tenant";
import { href, match, pathOf, usePlace } from "./lib/route";
import { isPlatformAdmin, type Me, session } from "./lib/session";
import { useStore } from "./lib/store";
import { pages, type Page, type PageProps } from "./pages";
import { SignIn } from "./pages/sign_in";
import { Empty, Skeleton } from "./ui/basics";
import { Shell } from "./ui/shell";

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

/** Where somebody who just signed in should be. */
function home(me: Me): string | null {
    const last = rememberedTenant();
    const slug =
        me.tenants.find((one) => one.slug === last)?.slug ??
        (isPlatformAdmin(me) ? last : null) ??
        me.tenants[0]?.slug;
    return slug ? pathOf("t", slug, "runs") : null;
}

function Inside({ me }: { me: Me }) {
    const { path, query } = usePlace();
    const found = find(path);
    const slug = found?.params["slug"] ?? "";
    const start = path === "/" || path === "" ? home(me) : null;

    useEffect(() => {
        if (start !== null) location.replace(href(start));
    }, [start]);
    useEffect(() => {
        if (slug !== "") rememberTenant(slug);
        document.title = found
            ? `${found.page.title}${slug ? ` · ${slug}` : ""} · muster`
            : "muster";
    }, [slug, found?.page]);

    return (
        <Shell
            me={me}
            slug={slug || (rememberedTenant() ?? me.tenants[0]?.slug ?? "")}
            page={found?.page ?? null}
        >
            {found !== null ? (
                <Loader
                    key={slug}
                    page={found.page}
                    slug={slug}
                    params={found.params}
                    query={query}
                />
            ) : start !== null ? (
                <Skeleton />
            ) : path === "/" ? (
                <Empty title="No workspace yet">
                    <p>
                        An admin has to give you access to a workspace, or make one:{" "}
                        <code>muster tenant add acme</code>.
                    </p>
                </Empty>
            ) : (
                <Empty title="There is no such page">
                    <p>
                        <a href="#/" onClick={forgetTenant}>
                            Go to the start
                        </a>
                    </p>
                </Empty>
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
