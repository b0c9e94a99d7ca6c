// Every page: where it is, how the navigation shows it, and the file that draws it.
// A new page is a row here and a file in pages/.

import type { ComponentType } from "preact";

import type { IconName } from "./ui/icons";

export interface PageProps {
    slug: string; // of the tenant; empty on pages of the platform
    params: Record<string, string>;
    query: URLSearchParams;
}

export interface Page {
    path: string; // with :names
    title: string;
    nav?: IconName; // shown in the navigation with this icon
    under?: string; // the title of the entry that stands for it there
    admin?: boolean; // only for admins of the tenant
    platform?: boolean; // only for admins of the platform
    load: () => Promise<{ default: ComponentType<PageProps> }>;
}

/* prettier-ignore */
export const pages: Page[] = [
    { path: "/t/:slug/fleet",            title: "Fleet",    nav: "fleet",    load: () => import("./pages/fleet") },
    { path: "/t/:slug/runs",             title: "Runs",     nav: "runs",     load: () => import("./pages/runs") },
    { path: "/t/:slug/runs/:run_id",     title: "Run",                       load: () => import("./pages/run") },
    { path: "/t/:slug/workflows/:workflow", title: "Workflow", under: "Runs", load: () => import("./pages/workflow") },
    { path: "/t/:slug/business",         title: "Business", nav: "business", load: () => import("./pages/business") },
    { path: "/t/:slug/cost",             title: "Cost",     nav: "cost",     load: () => import("./pages/cost") },
    { path: "/t/:slug/alerts",           title: "Alerts",   nav: "alerts",   load: () => import("./pages/alerts") },
    { path: "/t/:slug/agents/:agent",    title: "Agent",    under: "Fleet",  load: () => import("./pages/agent") },
    { path: "/t/:slug/settings",         title: "Settings", nav: "settings", load: () => import("./pages/settings") },
    { path: "/platform",                 title: "Platform", nav: "platform", platform: true, load: () => import("./pages/platform") },
];

/** Where somebody who signs in begins, and where another tenant is opened. */
export const startOf = (slug: string) => `/t/${encodeURIComponent(slug)}/fleet`;
