// Every view of the portal, for a person who may see all of it. `shows` appears once it is drawn.
// access.suite.mjs compares them with the portal's own table of pages, so that none is forgotten.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "./root.mjs";

const ROWS = "tbody tr";

/** The paths that the portal knows, with :names, and those of people who are not signed in. */
export function routedPaths() {
    const text = (file) => readFileSync(join(ROOT, "web/src", file), "utf8");
    const [, table] = /export const pages: Page\[\] = \[\n([^]*?)\n\];/.exec(text("app/pages.ts"));
    return {
        pages: table.split("\n").map((row) => /\{ path: "([^"]+)"/.exec(row)[1]),
        outside: [...text("pages/sign_in.tsx").matchAll(/path === "([^"]+)"/g)].map(([, path]) => path),
    };
}

/** Is the address one of the page with this path? */
export function isOf(path, hash) {
    const pattern = path.replace(/:\w+/g, "[^/?]+");
    return new RegExp(`^${pattern}(\\?|$)`).test(hash);
}

/** Name, route and a selector of what it shows; `agent`, `run_id` and `workflow` must exist. */
export function placesOf(slug, { agent, run_id, workflow }) {
    const tenant = `/t/${slug}`;
    const one = `${tenant}/agents/${encodeURIComponent(agent)}`;
    const settings = `${tenant}/settings`;
    return [
        ["overview", `${tenant}/overview`, ".overview tbody tr"],
        ["fleet", `${tenant}/fleet`, ROWS],
        ["runs", `${tenant}/runs`, ROWS],
        ["run", `${tenant}/runs/${run_id}`, ".event"],
        ["compare", `${tenant}/compare?a=${run_id}&b=${run_id}`, ROWS],
        ["workflows", `${tenant}/workflows?since=all`, ROWS],
        ["workflow", `${tenant}/workflows/${encodeURIComponent(workflow)}`, ".workflow-graph .node"],
        ["business", `${tenant}/business`, ".kpi"],
        ["cost", `${tenant}/cost`, ROWS],
        ["cost-versions", `${tenant}/cost?by=agent%2Cversion`, ROWS],
        ["alerts", `${tenant}/alerts`, ".alert, .empty"],
        ["alerts-history", `${tenant}/alerts?tab=history`, ".alert, .empty"],
        ["rules", `${tenant}/alerts?tab=rules`, ".rules"],
        ["maintenance", `${tenant}/alerts?tab=maintenance`, ".prose"],
        ["webhooks", `${tenant}/alerts?tab=webhooks`, ".card"],
        ["agent", one, ".facts"],
        ["agent-activity", `${one}?tab=activity`, ".chart, .empty"],
        ["agent-alerts", `${one}?tab=alerts`, ".card, .empty"],
        ["agent-directives", `${one}?tab=directives`, ".in-effect"],
        ["agent-document", `${one}?tab=document`, "textarea"],
        ["agent-values", `${one}?tab=values`, `${ROWS}, .empty`],
        ["agent-keys", `${one}?tab=keys`, `${ROWS}, .empty`],
        ["settings-users", settings, ".card"],
        ["settings-keys", `${settings}?tab=keys`, ROWS],
        ["settings-defaults", `${settings}?tab=defaults`, ".in-effect"],
        ["settings-values", `${settings}?tab=values`, `${ROWS}, .empty`],
        ["settings-secrets", `${settings}?tab=secrets`, `${ROWS}, .empty`],
        ["settings-prices", `${settings}?tab=prices`, `${ROWS}, .empty`],
        ["settings-plan", `${settings}?tab=plan`, ".facts"],
        ["settings-retention", `${settings}?tab=retention`, "form"],
        ["settings-audit", `${settings}?tab=audit`, ROWS],
        ["connect", `${tenant}/connect`, ".snippet"],
        ["account", "/account", ROWS],
        ["platform", "/platform", ROWS],
        ["platform-users", "/platform?tab=users", ROWS],
        ["platform-groups", "/platform?tab=groups", `${ROWS}, .empty`],
        ["platform-defaults", "/platform?tab=defaults", ".in-effect"],
        ["platform-prices", "/platform?tab=prices", `${ROWS}, .empty`],
        ["platform-vault", "/platform?tab=vault", ".card"],
        ["platform-audit", "/platform?tab=audit", ROWS],
    ].map(([name, hash, shows]) => ({ name, hash, shows }));
}

/** Opens it in a page that is signed in. */
export async function visit(page, server, { hash, shows }) {
    await page.goto(`${server.url}/#${hash}`);
    await page.locator("main h1").waitFor();
    await page.locator(`main :is(${shows})`).first().waitFor();
}
