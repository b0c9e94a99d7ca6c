// Every page with the data of the demo: axe, an accessibility checker, finds nothing serious in
// either colour scheme, nothing is wider than a telephone, and a screenshot of each is saved.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import {
    BINARY,
    Clock,
    HOOKS,
    Person,
    close,
    openBrowser,
    openPage,
    request,
    sessionOf,
    shot,
} from "./muster.mjs";
import { placesOf, visit } from "./places.mjs";
import { ROOT } from "./root.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SERIOUS = ["serious", "critical"];
const NAMES = ["button-name", "link-name", "label", "select-name"]; // texts are hidden when narrow
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const ALIKE = [
    "tbody tr:nth-child(n + 9)",
    ".squares a:nth-child(n + 4)",
    ".kpi:nth-child(n + 7)",
    "datalist",
].map((one) => [one]); // repeats of elements that are checked already
const WIDTH = 380;
const STOPS_MAX = 40; // of the Tab key, on the fleet of 12
const LATER_S = 800;
const AGENT = "/t/acme/agents/invoice-reader";

/** `make demo`: its address, and an account. */
class Demo {
    static async start() {
        const demo = new Demo();
        demo.clock = new Clock();
        demo.process = spawn("/usr/bin/python3", ["-B", join(ROOT, "demo"), "--binary", BINARY], {
            stdio: ["ignore", "pipe", "inherit"],
            env: { ...process.env, LD_PRELOAD: HOOKS, ...demo.clock.environment },
        });
        const lines = [];
        await new Promise((resolve, reject) => {
            createInterface({ input: demo.process.stdout }).on("line", (line) => {
                lines.push(line);
                if (line.includes("Ctrl-C")) resolve();
            });
            demo.process.once("exit", () => reject(new Error(lines.join("\n"))));
        });
        const text = lines.join("\n");
        // the first address is not the service's: it signs in, once
        demo.url = text.match(/later at\s+(http:\/\/[\d.:]+)\//)[1];
        demo.email = text.match(/E-mail\s+(\S+)/)[1];
        demo.password = text.match(/Password\s+(\S+)/)[1];
        demo.clock.advance(LATER_S); // an agent falls silent, a run gets stuck
        return demo;
    }

    async stop() {
        const ended = new Promise((resolve) => this.process.once("exit", resolve));
        this.process.kill("SIGINT");
        assert.equal(await ended, 0, "the demo ends in order");
        this.clock.remove();
    }
}

let demo, browser, session, places;

describe("every page, with the data of the demo", () => {
    before(async () => {
        demo = await Demo.start();
        browser = await openBrowser();
        demo.sessions = new Map();
        session = await sessionOf(demo, demo.email, demo.password);
        await useAccess(await Person.signIn(demo, demo.email, demo.password));
        const ask = async (path) => {
            const headers = { Cookie: `${session.cookies[0].name}=${session.cookies[0].value}` };
            return (await request(`${demo.url}/api/v1/tenants/acme/${path}`, { headers })).json();
        };
        const { runs } = await ask("dashboard/runs?status=failed&limit=100");
        const failed = runs.reduce((a, b) => (b.event_count > a.event_count ? b : a));
        const payers = await ask("dashboard/runs?agent_name=payment-preparer&limit=1");
        const workflow = payers.runs[0].workflow_run_id;
        const page = await open();
        await page.goto(`${demo.url}/#/t/acme/alerts`);
        await page.locator(".alert").nth(1).waitFor();
        await page.context().close();
        places = [
            ...placesOf("acme", {
                agent: "invoice-reader",
                run_id: failed.run_id,
                workflow,
            }),
            { name: "agent-activity", hash: `${AGENT}?tab=activity`, shows: ".chart canvas" },
            { name: "agent-alerts", hash: `${AGENT}?tab=alerts`, shows: ".card" },
            { name: "start", hash: "/t/newcomer/fleet", shows: ".start" },
        ];
    });

    after(async () => {
        await demo?.stop();
    });

    /** A second session is there; a row for each list that the demo leaves empty. */
    async function useAccess(person) {
        const token = { name: "laptop", role: "member", expires_in_days: 30 };
        await person.ask("POST", "/api/v1/auth/tokens", token);
        const invited = { email: "grace@acme.example", role: "member" };
        await person.ask("POST", "/api/v1/tenants/acme/invitations", invited);
    }

    /** A page with the clock of the service. */
    async function open(options = {}) {
        const page = await openPage(browser, demo, { storageState: session, ...options });
        await page.addInitScript((ms) => {
            const now = Date.now;
            Date.now = () => now() + ms;
        }, LATER_S * 1000);
        return page;
    }

    /** Serious violations of all standards, or only of the named rules. */
    async function findings(page, rules = STANDARDS) {
        const known = await page.evaluate(() => "axe" in window);
        if (!known) await page.evaluate(AXE); // the debugger is exempt from the content policy
        const { violations } = await page.evaluate(
            ([exclude, runOnly]) =>
                window.axe.run({ exclude }, { resultTypes: ["violations"], runOnly }),
            [ALIKE, rules],
        );
        return violations
            .filter((one) => SERIOUS.includes(one.impact))
            .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
    }

    /** Nothing serious in either colour scheme; only contrast can differ between them. */
    async function checkColours(page, name) {
        assert.deepEqual(await findings(page), [], name);
        await shot(page, `${name}-light`);
        await page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await findings(page, ["color-contrast"]), [], `${name}, dark`);
        await shot(page, `${name}-dark`);
        await page.emulateMedia({ colorScheme: "light" });
    }

    async function checkWidth(page, name) {
        await page.setViewportSize({ width: WIDTH, height: 800 });
        // charts and tables are resized a frame later
        const fits = (most) => document.documentElement.scrollWidth <= most;
        await page.waitForFunction(fits, WIDTH, { timeout: 5000 }).catch(() => {});
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= WIDTH, `${name}: ${wide} pixels`);
        assert.deepEqual(await findings(page, NAMES), [], `${name}, narrow`);
        await shot(page, `${name}-narrow`);
        await page.setViewportSize({ width: 1280, height: 860 });
    }

    test("the sign-in has no serious problem and fits a telephone", async () => {
        const page = await openPage(browser, demo);
        await page.goto(demo.url);
        await page.getByRole("button", { name: "Sign in" }).waitFor();
        await checkColours(page, "sign-in");
        await checkWidth(page, "sign-in");
        await close(page);
    });

    test(`no page has a serious problem in either colour scheme, or is wider than ${WIDTH}`, async () => {
        const page = await open();
        for (const place of places) {
            await visit(page, demo, place);
            await checkColours(page, place.name);
            await checkWidth(page, place.name);
        }
        await close(page);
    });

    /** What opens over a page: name, route, button to click, and a selector of what it shows. */
    const OVER = [
        ["search", "/t/acme/fleet", "Search", "[role=option]"],
        ["export", "/t/acme/cost", "Export", ".sheet button"],
        ["mute", "/t/acme/alerts", "Mute uptime-probe", ".sheet button"],
        ["new-key", "/t/acme/settings?tab=keys", "New key", "dialog input"],
        ["invite", "/t/acme/settings", "Invite", "dialog input"],
        ["new-token", "/account", "New token", "dialog input"],
        ["second-factor", "/account", "Add a second factor", "dialog input"],
        ["sign-out", "/account", "Sign out everywhere else", "dialog button"],
        ["acknowledge", "/t/acme/alerts", "Acknowledge all", "dialog textarea, dialog input"],
        ["tokens-of", "/platform?tab=users", "Tokens of demo@example.org", "dialog tbody tr"],
        ["set-price", "/platform?tab=prices", "Set a price", "dialog input"],
        ["new-webhook", "/t/acme/alerts?tab=webhooks", "New webhook", "dialog input"],
        ["classify", "/t/acme/settings?tab=values", "Change imap_password", "dialog select"],
    ];

    test("nor has anything that opens over a page, and it fits a narrow screen", async () => {
        const page = await open();
        for (const [name, hash, button, shows] of OVER) {
            await page.goto(`${demo.url}/#${hash}`);
            await page.setViewportSize({ width: WIDTH, height: 800 });
            await page.getByRole("button", { name: button }).first().click();
            await page.locator(shows).first().waitFor();
            const box = await page.locator(".sheet, dialog[open]").first().boundingBox();
            assert.ok(box.x >= 0 && box.x + box.width <= WIDTH, `${name}: ${JSON.stringify(box)}`);
            await checkColours(page, `over-${name}`);
            await page.setViewportSize({ width: 1280, height: 860 });
            await page.keyboard.press("Escape");
            await page.locator(".sheet, dialog[open]").waitFor({ state: "detached" });
        }
        await close(page);
    });

    test("the fleet has few stops of the Tab key, and the arrow keys go through recent runs", async () => {
        const page = await open();
        await visit(page, demo, places.find(({ name }) => name === "fleet"));
        await page.locator(".squares a").nth(30).waitFor();
        const stops = await page.evaluate(
            () =>
                [...document.querySelectorAll("a[href], button, input, select, [tabindex]")].filter(
                    (one) => one.tabIndex >= 0 && one.checkVisibility(),
                ).length,
        );
        assert.ok(stops <= STOPS_MAX, `${stops} stops`);
        await visit(page, demo, places.find(({ name }) => name === "agent"));
        assert.equal(await page.locator(".squares a[tabindex='0']").count(), 1);
        const focused = () => page.evaluate(() => document.activeElement.ariaLabel);
        await page.locator(".squares").first().locator("a").last().focus();
        const newest = await focused();
        await page.keyboard.press("ArrowLeft");
        const second = await focused();
        assert.notEqual(second, newest);
        await page.keyboard.press("ArrowRight");
        assert.equal(await focused(), newest);
        await close(page);
    });

    test("high contrast keeps what colours tell", async () => {
        const page = await open({ forcedColors: "active" });
        await visit(page, demo, places.find(({ name }) => name === "fleet"));
        const colourOf = (selector) =>
            page.locator(selector).first().evaluate((one) => getComputedStyle(one).backgroundColor);
        await page.locator(".squares .bad").first().waitFor();
        assert.notEqual(await colourOf(".squares .bad"), await colourOf(".squares .good"));
        const marked = await page
            .locator("[aria-current=page]")
            .first()
            .evaluate((one) => getComputedStyle(one).outlineStyle);
        assert.equal(marked, "solid");
        await shot(page, "fleet-contrast");
        await close(page);
    });

    test("axe is effective: an image without a text is a finding", async () => {
        const page = await open();
        await visit(page, demo, places[0]);
        await page.evaluate(() => document.querySelector("main").append(new Image()));
        assert.match((await findings(page)).join("\n"), /image-alt/);
        await page.context().close();
    });
});
