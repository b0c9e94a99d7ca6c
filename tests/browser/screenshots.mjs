// Pictures of the portal with the demo's fleet. `scripts/screenshots` writes those of the
// documentation; with `review` it takes every page at four widths and in both colour schemes, to
// build/review, for people who look at them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Demo } from "./demo.mjs";
import { launchBrowser, openPage } from "./muster.mjs";
import { use } from "./portal.mjs";
import { ROOT } from "./root.mjs";

const REVIEW = process.argv[2] === "review";
const HEIGHT = 860;
const WIDE = 1280;
const NARROW = 380;

const T = "/t/acme";
/** Name, route, what it shows; `narrow` ones are taken for a telephone, too. */
const PAGES = [
    ["overview", `${T}/overview`, ".overview > :last-child .card", { narrow: true }],
    ["fleet", `${T}/fleet`, "tbody tr:nth-child(12)", { narrow: true }],
    ["runs", `${T}/runs`, ".facet", {}],
    ["run", null, ".event", { narrow: true }],
    ["workflows", `${T}/workflows`, "tbody tr", {}],
    ["workflow", null, ".workflow-graph .node", { narrow: true }],
    ["business", `${T}/business?range=30d`, ".kpi canvas, .kpi svg, .kpi", {}],
    ["cost", `${T}/cost?range=30d`, ".chart canvas", {}],
    ["alerts", `${T}/alerts`, ".alert", { narrow: true }],
    ["rules", `${T}/alerts?tab=rules`, ".rules", {}],
    ["webhooks", `${T}/alerts?tab=webhooks`, ".card", {}],
    ["agent", `${T}/agents/support-triage`, ".facts", {}],
    ["activity", `${T}/agents/support-triage?tab=activity`, ".chart canvas", {}],
    ["agent-document", `${T}/agents/invoice-reader?tab=document`, "textarea", {}],
    ["settings", `${T}/settings?tab=values`, "tbody tr", {}],
    ["platform", "/platform", "tbody tr", {}],
    ["start", "/t/newcomer/overview", ".snippet", {}],
    ["connect", `${T}/connect`, ".snippet", {}],
    ["account", "/account", "tbody tr", {}],
];

/** The addresses that depend on what the demo did: a failed run, and a workflow. */
async function findAddresses(page, base) {
    const linkOf = async (hash, selector) => {
        await page.goto(`${base}/#${hash}`);
        const link = page.locator(selector).first();
        await link.waitFor();
        return (await link.getAttribute("href")).slice(1);
    };
    return {
        run: await linkOf(`${T}/runs?status=failed&agent_name=price-watcher`, "tbody a.row-link"),
        workflow: await linkOf(`${T}/workflows?since=30d`, "tbody tr:nth-child(3) a.row-link"),
    };
}

async function take(page, base, folder, { name, hash, shows }, [width, scheme]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: HEIGHT });
    await page.goto(`${base}/#${hash}`);
    await page.locator(`main :is(${shows})`).first().waitFor();
    await page.locator("main .skeleton").first().waitFor({ state: "detached" });
    await page.evaluate(async () => {
        for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
    });
    await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}

function shotsOf() {
    if (!REVIEW)
        return (one) => [
            { name: one.name, view: [WIDE, "light"] },
            ...(one.narrow ? [{ name: `${one.name}-narrow`, view: [NARROW, "light"] }] : []),
        ];
    const views = [320, 768, 1280, 1920].flatMap((width) =>
        ["light", "dark"].map((scheme) => [width, scheme]),
    );
    return (one) => views.map((view) => ({ name: `${one.name}-${view.join("-")}`, view }));
}

const folder = join(ROOT, REVIEW ? "build/review" : "docs/screenshots");
mkdirSync(folder, { recursive: true });
const demo = await Demo.start();
const browser = await launchBrowser();
try {
    const page = await openPage(browser, { url: "http://127.0.0.1" });
    await page.goto(demo.link);
    await page.locator("main h1").waitFor();
    const base = new URL(page.url()).origin;
    await page.locator(".tour").waitFor();
    await page.locator(".overview > :last-child .card").waitFor();
    await page.locator("main .skeleton").first().waitFor({ state: "detached" });
    await page.screenshot({ path: join(folder, "tour.png"), animations: "disabled" });
    await use(page, "Close the tour");
    for (const happened of [/price-watcher: \d+ of the last/, /uptime-probe is silent/])
        await page.locator(".overview .lines").getByText(happened).first().waitFor();
    const known = await findAddresses(page, base);
    const stranger = await openPage(browser, { url: base });
    await stranger.goto(base);
    await stranger.getByLabel("Password").waitFor();
    await stranger.screenshot({ path: join(folder, "sign-in.png"), animations: "disabled" });
    for (const [name, hash, shows, { narrow = false }] of PAGES) {
        const one = { name, hash: hash ?? known[name], shows, narrow };
        for (const { name: file, view } of shotsOf()(one))
            await take(page, base, folder, { ...one, name: file }, view);
    }
} finally {
    await browser.close();
    await demo.stop();
}
