// A page that is left open stays light: what it asks for, and how many bytes a minute.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, request, sharedServer } from "./muster.mjs";

const BYTES_A_MINUTE_MAX = 100_000; // with one event a second
const SECONDS = 60;
const HEADS = 1_200; // bytes of the heads of a request and its answer

let server, browser, tenant, runs;

/** Counts the bytes of the page's requests to the API, and keeps those that are under way. */
function watchRequests(page) {
    const seen = { bytes: 0, waits: new Set(), urls: [], notModified: 0 };
    page.on("request", (request) => {
        if (!request.url().includes("/api/") || request.url().endsWith("/stream")) return;
        seen.waits.add(request);
        seen.urls.push(request.url());
    });
    page.on("requestfailed", (request) => seen.waits.delete(request));
    page.on("response", (response) => {
        if (!seen.waits.delete(response.request())) return;
        const body = Number(response.headers()["content-length"] ?? 0);
        if (response.status() === 304) seen.notModified++;
        seen.bytes += HEADS + (response.status() === 304 ? 0 : body);
    });
    return seen;
}

/** Until the page waits for nothing: asks the service itself meanwhile, which takes its turn. */
async function settle(seen) {
    for (let i = 0; i < 1_000 && seen.waits.size > 0; i++) await request(`${server.url}/livez`);
    assert.equal(seen.waits.size, 0, "requests are still under way");
}

describe("light when live", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("lightly", ADMIN);
        runs = Array.from({ length: 12 }, (_, i) => runsOf(`agent-${i}`, 20)).flat();
        await sendRuns(server, tenant, runs);
    });

    const open = async (hash) => {
        const page = await openAs(browser, server, tenant.email, "/nowhere", {});
        await page.clock.install();
        await page.goto(`${server.url}/#${hash}`);
        const seen = watchRequests(page);
        await page.reload(); // with a stream of its own
        await page.getByText("Live", { exact: true }).waitFor();
        return { page, seen };
    };

    /** The addresses that a first load of a page asked for more than once. */
    async function repeated(name) {
        const { page, seen } = await open(`/t/lightly/${name}`);
        await page.locator("tbody tr").first().waitFor();
        await page.clock.runFor(2_000);
        await settle(seen);
        assert.ok(seen.urls.length > 0, "nothing was asked");
        await close(page);
        return seen.urls.filter((url, i) => seen.urls.indexOf(url) < i);
    }

    test("a page asks for each address once", async () => {
        for (const name of ["fleet", "runs", "overview"]) {
            let again = await repeated(name);
            // where a load takes seconds, the page polls until its stream is open
            for (let i = 0; i < 4 && again.length > 0; i++) again = await repeated(name);
            assert.deepEqual(again, [], name);
        }
    });

    test("a fleet of 12 at one event a second costs less than 100 kB a minute", async () => {
        const { page, seen } = await open("/t/lightly/fleet");
        await page.locator("tbody tr").nth(11).waitFor();
        await settle(seen);
        const before = seen.bytes;
        for (let i = 0; i < SECONDS; i++) {
            const run = { ...runs[i % runs.length], from: Date.now() };
            const step = event(tenant, run, "in_progress", i, { message: `second ${i}` });
            await server.send(tenant, "/api/v1/telemetry", step);
            await page.clock.runFor(1_000);
            await settle(seen);
        }
        const bytes = seen.bytes - before;
        const lists = seen.urls.filter((url) => url.includes("/agents?")).length;
        assert.ok(lists > 2, `${lists} loads of the list: nothing was live`);
        assert.ok(bytes < BYTES_A_MINUTE_MAX, `${bytes} bytes in ${seen.urls.length} requests`);
        console.log(`# fleet of 12: ${bytes} bytes a minute, ${lists} loads of the list`);
        await close(page);
    });

    test("an answer that is known is not sent again", async () => {
        const { page, seen } = await open("/t/lightly/fleet");
        await page.locator("tbody tr").nth(11).waitFor();
        await settle(seen);
        const asked = seen.urls.length;
        for (let i = 0; i < 20 && seen.notModified === 0; i++) {
            await page.clock.runFor(10_000); // each list asks again by its timer
            await settle(seen);
        }
        assert.ok(seen.notModified > 0, `sent again: ${seen.urls.slice(asked)}`);
        await close(page);
    });
});
