// What the first load costs, and that it stays between the browser and this service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openBrowser, openPage, Server, shot } from "./muster.mjs";

const BYTES_MAX = 60_000; // compressed; the promise is 150,000
const REQUESTS_MAX = 12;
const FIRST_CONTENT_MAX_MS = 5_000; // two shared cores; alone it is a tenth of this

let server, browser;

before(async () => {
    server = await Server.start();
    browser = await openBrowser();
});

after(async () => {
    await browser?.close();
    await server?.stop();
});

/** Sizes as they went over the wire. */
async function firstLoad() {
    const page = await openPage(browser, server);
    const sizes = [];
    page.on("requestfinished", async (request) => {
        const { responseBodySize } = await request.sizes();
        sizes.push({ url: request.url(), bytes: responseBodySize });
    });
    await page.goto(server.url);
    await page.getByRole("button").first().waitFor();
    await page.waitForLoadState("networkidle");
    return { page, sizes };
}

test("the first load is small, in few requests, from this host alone", async () => {
    const { page, sizes } = await firstLoad();
    const bytes = sizes.reduce((sum, one) => sum + one.bytes, 0);
    assert.ok(bytes > 5_000, `${bytes} bytes: nothing was measured`);
    assert.ok(bytes <= BYTES_MAX, `${bytes} bytes: ${JSON.stringify(sizes, null, 1)}`);
    assert.ok(page.asked.length <= REQUESTS_MAX, page.asked.join("\n"));
    assert.deepEqual(page.troubles, []);
    await shot(page, "log-in");
    await page.context().close();
});

test("the first content shows soon", async () => {
    const { page } = await firstLoad();
    const at = await page.evaluate(
        () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    );
    assert.ok(at > 0 && at < FIRST_CONTENT_MAX_MS, `${at} ms`);
    await page.context().close();
});

test("what is inline does not run: the policy is on", async () => {
    const { page } = await firstLoad();
    const ran = await page.evaluate(() => {
        const script = document.createElement("script");
        script.textContent = "window.planted = true";
        document.body.append(script);
        return window.planted === true;
    });
    assert.equal(ran, false);
    assert.ok(
        page.troubles.some((one) => one.includes("Content Security Policy")),
        "it was seen",
    );
    await page.context().close();
});
