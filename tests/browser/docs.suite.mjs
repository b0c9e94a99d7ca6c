// /docs: the API to read and to try, without a session.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { close, openPage, shot, sumBytes, weigh } from "./muster.mjs";
import { fill, titled, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const DOCS_BYTES_MAX = 25_000; // compressed, without the document

const w = new Suite("readers");

describe("the page of the API", () => {
    w.begin();

    async function open(hash = "") {
        const page = await openPage(w.browser, w.server);
        await page.goto(`${w.server.url}/docs${hash}`);
        await titled(page);
        return page;
    }

    test("operations are found by words, and each has an address", async () => {
        const page = await open();
        const links = page.getByRole("navigation").getByRole("link");
        assert.ok((await links.count()) > 100);
        await fill(page, { Find: "report events" });
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
        await use(page, "Send");
        await answer.getByText("401", { exact: true }).waitFor();
        await fill(page, { Key: w.tenant.token });
        await use(page, "Send");
        await answer.getByText("200", { exact: true }).waitFor();
        assert.match(await answer.innerText(), /"batch_max_events"/);
        assert.match(await answer.innerText(), /ratelimit-limit/);
        const kept = await page.evaluate(() =>
            JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
        );
        const shown = await page.locator("body").innerText();
        assert.ok(!kept.includes("mst_") && !page.url().includes("mst_"));
        assert.ok(!shown.includes(w.tenant.token));
        await page.reload();
        assert.equal(await page.getByLabel("Key", { exact: true }).inputValue(), "");
        page.troubles = page.troubles.filter((one) => !one.includes("401"));
        await close(page);
    });

    test("an example can be sent as it stands", async () => {
        const page = await open("#report_event");
        await fill(page, { Key: w.tenant.token });
        const body = page.getByLabel("Body, JSON");
        await body.fill((await body.inputValue()).replace('"acme"', '"readers"'));
        await use(page, "Send");
        const answer = page.locator(".answer");
        await answer.getByText("202", { exact: true }).waitFor();
        assert.match(await answer.innerText(), /"status": "accepted"/);
        await close(page);
    });

    test("the page is small, and the portal does not load it", async () => {
        const page = await openPage(w.browser, w.server);
        const weighed = weigh(page, "openapi.json");
        await page.goto(`${w.server.url}/docs`);
        await titled(page);
        const bytes = sumBytes(await weighed());
        assert.ok(bytes > 3_000 && bytes <= DOCS_BYTES_MAX, `${bytes} bytes`);
        console.log(`# docs: ${bytes} bytes`);
        await page.goto(w.server.url);
        const portal = await page.evaluate(() =>
            performance.getEntriesByType("resource").map((one) => one.name),
        );
        assert.ok(!portal.some((url) => url.includes("/docs")), portal.join("\n"));
        await close(page);
    });
});
