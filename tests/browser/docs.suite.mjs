// /docs: the API to read and to try, without a session.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { close, openBrowser, openPage, sharedServer, shot, sumBytes, weigh } from "./muster.mjs";

const DOCS_BYTES_MAX = 25_000; // compressed, without the document

let server, browser, tenant;

describe("the page of the API", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("readers");
    });

    async function open(hash = "") {
        const page = await openPage(browser, server);
        await page.goto(`${server.url}/docs${hash}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        return page;
    }

    test("operations are found by words, and each has an address", async () => {
        const page = await open();
        const links = page.getByRole("navigation").getByRole("link");
        assert.ok((await links.count()) > 100);
        await page.getByLabel("Find").fill("report events");
        await page.waitForFunction(() => document.querySelectorAll("nav a").length < 10);
        await links.filter({ hasText: "Report many run events" }).click();
        await page.getByRole("heading", { name: "Report many run events at once" }).waitFor();
        assert.match(page.url(), /#report_events$/);
        assert.match(await page.getByLabel("Body, JSON").inputValue(), /"events"/);
        await shot(page, "docs");
        await close(page);
    });

    test("a call is refused without a key and answered with one, which is kept nowhere", async () => {
        const page = await open("#get_limits");
        const answer = page.locator(".answer");
        await page.getByRole("button", { name: "Send" }).click();
        await answer.getByText("401", { exact: true }).waitFor();
        await page.getByLabel("Key", { exact: true }).fill(tenant.token);
        await page.getByRole("button", { name: "Send" }).click();
        await answer.getByText("200", { exact: true }).waitFor();
        assert.match(await answer.innerText(), /"batch_max_events"/);
        assert.match(await answer.innerText(), /ratelimit-limit/);
        const kept = await page.evaluate(() =>
            JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
        );
        const shown = await page.locator("body").innerText();
        assert.ok(!kept.includes("mst_") && !page.url().includes("mst_"));
        assert.ok(!shown.includes(tenant.token));
        await page.reload();
        assert.equal(await page.getByLabel("Key", { exact: true }).inputValue(), "");
        page.troubles = page.troubles.filter((one) => !one.includes("401"));
        await close(page);
    });

    test("an example can be sent as it stands", async () => {
        const page = await open("#report_event");
        await page.getByLabel("Key", { exact: true }).fill(tenant.token);
        const body = page.getByLabel("Body, JSON");
        await body.fill((await body.inputValue()).replace('"acme"', '"readers"'));
        await page.getByRole("button", { name: "Send" }).click();
        const answer = page.locator(".answer");
        await answer.getByText("202", { exact: true }).waitFor();
        assert.match(await answer.innerText(), /"status": "accepted"/);
        await close(page);
    });

    test("the page is small, and the portal does not load it", async () => {
        const page = await openPage(browser, server);
        const weighed = weigh(page, "openapi.json");
        await page.goto(`${server.url}/docs`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        const bytes = sumBytes(await weighed());
        assert.ok(bytes > 3_000 && bytes <= DOCS_BYTES_MAX, `${bytes} bytes`);
        console.log(`# docs: ${bytes} bytes`);
        await page.goto(server.url);
        const portal = await page.evaluate(() =>
            performance.getEntriesByType("resource").map((one) => one.name),
        );
        assert.ok(!portal.some((url) => url.includes("/docs")), portal.join("\n"));
        await close(page);
    });
});
