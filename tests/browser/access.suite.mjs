// Every page as the demo fills it: axe, a tool for accessibility, finds nothing serious in either
// colour scheme, nothing is wider than a telephone, and a picture of each is kept.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { BINARY, Clock, openBrowser, openPage, ROOT, shot } from "./muster.mjs";
import { placesOf, visit } from "./places.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SERIOUS = ["serious", "critical"];
const WIDTH = 380;
const LATER_S = 800;

/** `make demo`: its address, and who may log in. */
class Demo {
    static async start() {
        const demo = new Demo();
        demo.clock = new Clock();
        demo.process = spawn("/usr/bin/python3", ["-B", join(ROOT, "demo"), "--binary", BINARY], {
            stdio: ["ignore", "pipe", "inherit"],
            env: { ...process.env, ...demo.clock.environment },
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
        demo.url = text.match(/http:\/\/[\d.:]+/)[0];
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

before(async () => {
    demo = await Demo.start();
    browser = await openBrowser();
    const page = await openPage(browser, demo);
    await page.goto(`${demo.url}/#/t/acme/runs?status=failed`);
    await page.getByLabel("E-mail").fill(demo.email);
    await page.getByLabel("Password").fill(demo.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator("tbody tr").first().waitFor();
    const failed = await page.locator("tbody tr a[href*='/runs/']").first().getAttribute("href");
    session = await page.context().storageState();
    await page.goto(`${demo.url}/#/t/acme/runs?agent_name=payment-preparer&since=all`);
    await page.locator("tbody tr").getByRole("link", { name: "payment-preparer" }).first().click();
    const link = page.locator("a[href*='/workflows/']");
    const workflow = decodeURIComponent((await link.getAttribute("href")).split("/").at(-1));
    await page.goto(`${demo.url}/#/t/acme/alerts`);
    await page.locator(".alert").nth(1).waitFor();
    await page.context().close();
    places = [
        ...placesOf("acme", {
            agent: "invoice-reader",
            run_id: failed.split("/").at(-1),
            workflow,
        }),
        { name: "start", hash: "/t/newcomer/fleet", shows: ".start" },
    ];
});

after(async () => {
    await browser?.close();
    await demo?.stop();
});

/** A page whose clock is the service's. */
async function open(options) {
    const page = await openPage(browser, demo, { storageState: session, ...options });
    await page.addInitScript((ms) => {
        const now = Date.now;
        Date.now = () => now() + ms;
    }, LATER_S * 1000);
    return page;
}

async function findings(page) {
    await page.evaluate(AXE); // by the debugger, which the content policy does not bind
    const { violations } = await page.evaluate(() => window.axe.run());
    return violations
        .filter((one) => SERIOUS.includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
}

for (const colorScheme of ["light", "dark"]) {
    test(`the log-in has no serious problem, ${colorScheme}`, async () => {
        const page = await openPage(browser, demo, { colorScheme });
        await page.goto(demo.url);
        await page.getByRole("button", { name: "Log in" }).waitFor();
        assert.deepEqual(await findings(page), []);
        await page.context().close();
    });

    test(`no page has a serious problem, ${colorScheme}`, async () => {
        const page = await open({ colorScheme });
        for (const place of places) {
            await visit(page, demo, place);
            assert.deepEqual(await findings(page), [], place.name);
            await shot(page, `${place.name}-${colorScheme}`);
        }
        assert.deepEqual(page.troubles, []);
        await page.context().close();
    });
}

test(`every page fits a screen of ${WIDTH} pixels`, async () => {
    const page = await open({ viewport: { width: WIDTH, height: 800 } });
    for (const place of places) {
        await visit(page, demo, place);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= WIDTH, `${place.name}: ${wide} pixels`);
        await shot(page, `${place.name}-narrow`);
    }
    assert.deepEqual(page.troubles, []);
    await page.context().close();
});

test("axe is heard: an image without words is a finding", async () => {
    const page = await open();
    await visit(page, demo, places[0]);
    await page.evaluate(() => document.querySelector("main").append(new Image()));
    assert.match((await findings(page)).join("\n"), /image-alt/);
    await page.context().close();
});
