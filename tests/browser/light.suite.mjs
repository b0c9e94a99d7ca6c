// A page that is left open stays light: what it asks for, and how many bytes a minute.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import {
    ADMIN,
    close,
    openAs,
    openBrowser,
    request,
    sharedServer,
    watchStreamBytes,
} from "./muster.mjs";

const BYTES_A_MINUTE_MAX = 100_000; // with one event a second
const SECONDS = 60;
const HEADS = 1_200; // bytes of the heads of a request and its answer
const FIRST_MS = 2_000; // what a page gets for its first load; it polls after 5 s
const STEP_MS = 10;
const COMPRESSED_FROM = 2_000; // bytes; less is not worth it
const LOADS_MAX = 30; // alerts of runs just sent may still open

let server, browser, tenant, runs;

/** Counts the bytes of the page's requests to the API, and keeps those that are under way. */
function watchRequests(page) {
    const seen = { bytes: 0, waits: new Set(), urls: [], notModified: 0, plain: [] };
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
        else if (body > COMPRESSED_FROM && !response.headers()["content-encoding"])
            seen.plain.push(response.url());
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

    /** A page whose clock stands still but for what its first load needs: on a busy machine, too,
     * it has not polled yet when it is live. */
    const open = async (hash, script = () => {}) => {
        const page = await openAs(browser, server, tenant.email, "/nowhere", {});
        await page.addInitScript(script);
        await page.goto("about:blank"); // what the page before asks for is none of ours
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        const seen = watchRequests(page);
        const told = await watchStreamBytes(page);
        await page.goto(`${server.url}/#${hash}`);
        const live = page.getByText("Live", { exact: true });
        const rows = page.locator("tbody tr").first();
        for (let ms = 0; ms < FIRST_MS; ms += STEP_MS) {
            if ((await live.isVisible()) && (await rows.isVisible())) break;
            await page.clock.runFor(STEP_MS);
        }
        await live.waitFor();
        await rows.waitFor();
        return { page, seen, told };
    };

    /** Keeps what the stream told, beside the page's own listeners. */
    function watchStream() {
        window.told = [];
        const Plain = window.EventSource;
        window.EventSource = class extends Plain {
            constructor(...given) {
                super(...given);
                for (const kind of ["run", "agent", "alert", "reset", "tick"])
                    this.addEventListener(kind, () => window.told.push(kind));
            }
        };
    }

    /** A first load of a page: the addresses that it asked for more than once, and whether it had a
     * reason to: a change. */
    async function load(name) {
        const { page, seen } = await open(`/t/lightly/${name}`, watchStream);
        await page.clock.runFor(2_000);
        await settle(seen);
        const told = await page.evaluate(() => window.told);
        assert.ok(seen.urls.length > 0, "nothing was asked");
        assert.deepEqual(seen.plain, [], `${name}: sent without compression`);
        await close(page);
        const repeated = seen.urls.filter((url, i) => seen.urls.indexOf(url) < i);
        return { repeated, hadReason: told.length > 0 };
    }

    test("a page asks for each address once", async () => {
        for (const name of ["fleet", "runs", "overview"]) {
            let loaded = await load(name);
            for (let i = 0; i < LOADS_MAX && loaded.hadReason; i++) loaded = await load(name);
            assert.ok(!loaded.hadReason, `${name}: the service is never quiet`);
            assert.deepEqual(loaded.repeated, [], name);
        }
    });

    test("a fleet of 12 at one event a second costs less than 100 kB a minute", async () => {
        const { page, seen, told } = await open("/t/lightly/fleet");
        await page.locator("tbody tr").nth(11).waitFor();
        await settle(seen);
        const sum = () => seen.bytes + told.bytes;
        const before = sum();
        for (let i = 0; i < SECONDS; i++) {
            const run = { ...runs[i % runs.length], from: Date.now() };
            const step = event(tenant, run, "in_progress", i, { message: `second ${i}` });
            await server.send(tenant, "/api/v1/telemetry", step);
            await page.clock.runFor(1_000);
            await settle(seen);
        }
        const bytes = sum() - before;
        assert.ok(told.messages > 0, "the stream told nothing");
        const lists = seen.urls.filter((url) => url.includes("/agents?")).length;
        assert.ok(lists > 2, `${lists} loads of the list: nothing was live`);
        assert.ok(bytes < BYTES_A_MINUTE_MAX, `${bytes} bytes in ${seen.urls.length} requests`);
        console.log(`# fleet of 12: ${bytes} bytes a minute, ${lists} loads of the list`);
        await close(page);
    });

    test("the badge tells the age of what is shown when a change is not in it yet", async () => {
        const { page, seen, told } = await open("/t/lightly/fleet");
        await page.locator("tbody tr").nth(11).waitFor();
        await settle(seen);
        let release;
        let held = 0;
        const released = new Promise((resolve) => (release = resolve));
        await page.route("**/agents?*", async (route) => {
            held++;
            await released;
            await route.continue();
        });
        const step = event(tenant, runs[0], "in_progress", 1, { message: "not shown yet" });
        await server.send(tenant, "/api/v1/telemetry", step);
        for (let i = 0; i < 1_000 && (told.messages === 0 || held === 0); i++) {
            await page.clock.runFor(100);
            await request(`${server.url}/livez`);
        }
        assert.ok(held > 0, "the change was not asked for");
        await page.clock.runFor(6_000);
        await page.getByText(/^as of \d+ s ago$/).waitFor();
        assert.equal(await page.getByText("Live", { exact: true }).count(), 0);
        release();
        await settle(seen);
        const live = page.getByText("Live", { exact: true });
        for (let i = 0; i < 1_000 && !(await live.isVisible()); i++) {
            await page.clock.runFor(100);
            await settle(seen);
        }
        await live.waitFor();
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
