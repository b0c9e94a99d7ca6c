// What axe, a tool for accessibility, finds on the pages: nothing serious, in both colour schemes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { openAs, openBrowser, openPage, Server } from "./muster.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SERIOUS = ["serious", "critical"];

let server, browser, tenant, runs;

before(async () => {
    server = await Server.start();
    browser = await openBrowser();
    tenant = server.addTenant("acme");
    runs = runsOf("invoice-reader", 12);
    await sendRuns(server, tenant, runs);
});

after(async () => {
    await browser?.close();
    await server?.stop();
});

async function findings(page) {
    await page.evaluate(AXE); // by the debugger, which the content policy does not bind
    const { violations } = await page.evaluate(() => window.axe.run());
    return violations
        .filter((one) => SERIOUS.includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
}

for (const colorScheme of ["light", "dark"]) {
    test(`the log-in has no serious problem, ${colorScheme}`, async () => {
        const page = await openPage(browser, server, { colorScheme });
        await page.goto(server.url);
        await page.getByRole("button", { name: "Log in" }).waitFor();
        assert.deepEqual(await findings(page), []);
        await page.context().close();
    });

    test(`the pages have no serious problem, ${colorScheme}`, async () => {
        const failed = runs.find((run) => run.status === "failed");
        const page = await openAs(browser, server, tenant.email, "/t/acme/runs", { colorScheme });
        const places = ["runs", `runs/${failed.id}`, "fleet", "business", "cost"];
        for (const place of places) {
            await page.goto(`${server.url}/#/t/acme/${place}`);
            await page.locator("main h1").waitFor();
            await page.locator("tbody tr, .event, .kpi, .empty").first().waitFor();
            assert.deepEqual(await findings(page), [], place);
        }
        await page.context().close();
    });
}
