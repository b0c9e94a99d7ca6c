// Every page: its path, its entry in the navigation, and the file that draws it.
// A new page is a row here and a file in pages/.

import type { ComponentType } from "preact";

import type { PageProps } from "../lib/page";
import type { IconName } from "../ui";

export interface Page {
    path: string; // with :names
    title: string;
    nav?: IconName; // its icon in the navigation; without one it is not there
    under?: string; // the title of the entry that is highlighted instead
    admin?: boolean; // only for admins of the tenant
    platform?: boolean; // only for admins of the platform
    load: () => Promise<{ default: ComponentType<PageProps> }>;
}

/* prettier-ignore */
export const pages: Page[] = [
    { path: "/t/:slug/overview",         title: "Overview", nav: "overview", load: () => import("../pages/overview") },
    { path: "/t/:slug/fleet",            title: "Fleet",    nav: "fleet",    load: () => import("../pages/fleet") },
    { path: "/t/:slug/runs",             title: "Runs",     nav: "runs",     load: () => import("../pages/runs") },
    { path: "/t/:slug/runs/:run_id",     title: "Run",                       load: () => import("../pages/run") },
    { path: "/t/:slug/compare",          title: "Compare two runs", under: "Runs", load: () => import("../pages/compare") },
    { path: "/t/:slug/workflows",        title: "Workflows", nav: "workflows", load: () => import("../pages/workflows") },
    { path: "/t/:slug/workflows/:workflow", title: "Workflow",               load: () => import("../pages/workflow") },
    { path: "/t/:slug/business",         title: "Business", nav: "business", load: () => import("../pages/business") },
    { path: "/t/:slug/cost",             title: "Cost",     nav: "cost",     load: () => import("../pages/cost") },
    { path: "/t/:slug/alerts",           title: "Alerts",   nav: "alerts",   load: () => import("../pages/alerts") },
    { path: "/t/:slug/agents/:agent",    title: "Agent",    under: "Fleet",  load: () => import("../pages/agent") },
    { path: "/t/:slug/connect",          title: "Connect an agent", under: "Fleet", load: () => import("../pages/connect") },
    { path: "/t/:slug/settings",         title: "Settings", nav: "settings", load: () => import("../pages/settings") },
    { path: "/account",                  title: "Your account",               load: () => import("../pages/account") },
    { path: "/platform",                 title: "Platform", nav: "platform", platform: true, load: () => import("../pages/platform") },
];

/** Parts of pages that the search finds by name. */
export interface Part {
    title: string;
    of: string; // the page
    icon: IconName;
    path: string;
    tab: string;
    admin?: boolean;
    platform?: boolean;
}

const SETTINGS = "/t/:slug/settings";
const ALERTS = "/t/:slug/alerts";

/* prettier-ignore */
export const parts: Part[] = [
    { title: "Users",            of: "Settings", icon: "settings", path: SETTINGS,    tab: "users",    admin: true },
    { title: "Keys",             of: "Settings", icon: "settings", path: SETTINGS,    tab: "keys",     admin: true },
    { title: "Model and policy", of: "Settings", icon: "settings", path: SETTINGS,    tab: "defaults" },
    { title: "Configuration",    of: "Settings", icon: "settings", path: SETTINGS,    tab: "values" },
    { title: "Secrets",          of: "Settings", icon: "settings", path: SETTINGS,    tab: "secrets",  admin: true },
    { title: "Prices",           of: "Settings", icon: "settings", path: SETTINGS,    tab: "prices" },
    { title: "Plan and usage",   of: "Settings", icon: "settings", path: SETTINGS,    tab: "plan" },
    { title: "Retention",        of: "Settings", icon: "settings", path: SETTINGS,    tab: "retention" },
    { title: "Audit log",        of: "Settings", icon: "settings", path: SETTINGS,    tab: "audit",    admin: true },
    { title: "Your password",    of: "Account",  icon: "settings", path: "/account",  tab: "" },
    { title: "Second factor",    of: "Account",  icon: "settings", path: "/account",  tab: "" },
    { title: "Your sessions",    of: "Account",  icon: "settings", path: "/account",  tab: "" },
    { title: "Connect an agent", of: "Fleet",    icon: "fleet",    path: "/t/:slug/connect", tab: "" },
    { title: "Alert history",    of: "Alerts",   icon: "alerts",   path: ALERTS,      tab: "history" },
    { title: "Alert rules",      of: "Alerts",   icon: "alerts",   path: ALERTS,      tab: "rules" },
    { title: "Webhooks",         of: "Alerts",   icon: "alerts",   path: ALERTS,      tab: "webhooks", admin: true },
    { title: "Users",            of: "Platform", icon: "platform", path: "/platform", tab: "users",    platform: true },
    { title: "Groups",           of: "Platform", icon: "platform", path: "/platform", tab: "groups",   platform: true },
    { title: "Vault",            of: "Platform", icon: "platform", path: "/platform", tab: "vault",    platform: true },
];
