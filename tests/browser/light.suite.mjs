// A page that is left open stays light: what it asks for, and how many bytes a minute.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { event, runsOf } from "./fleet.mjs";
import { close, request, watchRequests, watchStreamBytes } from "./muster.mjs";
import { live, rows, sees } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const BYTES_A_MINUTE_MAX = 100_000; // with one event a second
const SECONDS = 60;
const FIRST_MS = 2_000; // what a page gets for its first load; it polls after 5 s
const STEP_MS = 10;
const LOADS_MAX = 30; // alerts of runs just sent may still open
const w = new Suite("lightly");

let runs;

describe("light when live", () => {
    w.begin(async () => {
        runs = Array.from({ length: 12 }, (_, i) => runsOf(`agent-${i}`, 20)).flat();
        await w.runs(runs);
    });

    /** Opens it anew, with a clock that stands still but for what its first load needs: on a busy machine,
     * too, it has not polled yet when it is live. */
    async function load(page, place, script = () => {}) {
        await page.addInitScript(script);
        await page.goto("about:blank"); // what the page before asks for is none of ours
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        const seen = watchRequests(page, w.server);
        const told = await watchStreamBytes(page);
        await w.go(page, place);
        const first = rows(page).first();
        for (let ms = 0; ms < FIRST_MS; ms += STEP_MS) {
            if ((await live(page).isVisible()) && (await first.isVisible())) break;
            await page.clock.runFor(STEP_MS);
        }
        await sees(page, live(page), first);
        return { seen, told };
    }

    /** The fleet, whole and at rest. */
    async function loadFleet(page) {
        const loaded = await load(page, "fleet");
        await rows(page).nth(11).waitFor();
        await loaded.seen.settle();
        return loaded;
    }

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
    async function repeatsOf(name) {
        const page = await w.open("/nowhere", { fresh: true });
        const { seen } = await load(page, name, watchStream);
        await page.clock.runFor(2_000);
        await seen.settle();
        const told = await page.evaluate(() => window.told);
        assert.ok(seen.urls.length > 0, "nothing was asked");
        assert.deepEqual(seen.plain, [], `${name}: sent without compression`);
        await close(page);
        const repeated = seen.urls.filter((url, i) => seen.urls.indexOf(url) < i);
        return { repeated, hadReason: told.length > 0 };
    }

    test("a page asks for each address once", async () => {
        for (const name of ["fleet", "runs", "overview"]) {
            let loaded = await repeatsOf(name);
            for (let i = 0; i < LOADS_MAX && loaded.hadReason; i++) loaded = await repeatsOf(name);
            assert.ok(!loaded.hadReason, `${name}: the service is never quiet`);
            assert.deepEqual(loaded.repeated, [], name);
        }
    });

    w.test("a fleet of 12 at one event a second costs less than 100 kB a minute", "/nowhere", async (page) => {
        const { seen, told } = await loadFleet(page);
        const before = seen.bytes + told.bytes;
        for (let i = 0; i < SECONDS; i++) {
            const run = { ...runs[i % runs.length], from: Date.now() };
            await w.send("/api/v1/telemetry", event(w.tenant, run, "in_progress", i, { message: `second ${i}` }));
            await page.clock.runFor(1_000);
            await seen.settle();
        }
        const bytes = seen.bytes + told.bytes - before;
        assert.ok(told.messages > 0, "the stream told nothing");
        assert.ok(seen.lists() > 2, `${seen.lists()} loads of the list: nothing was live`);
        assert.ok(bytes < BYTES_A_MINUTE_MAX, `${bytes} bytes in ${seen.urls.length} requests`);
        console.log(`# fleet of 12: ${bytes} bytes a minute, ${seen.lists()} loads of the list`);
    }, { fresh: true });

    w.test("the badge tells the age of what is shown when a change is not in it yet", "/nowhere", async (page) => {
        const { seen, told } = await loadFleet(page);
        let release;
        let held = 0;
        const released = new Promise((resolve) => (release = resolve));
        await page.route("**/agents?*", async (route) => {
            held++;
            await released;
            await route.continue();
        });
        await w.send("/api/v1/telemetry", event(w.tenant, runs[0], "in_progress", 1, { message: "not shown yet" }));
        for (let i = 0; i < 1_000 && (told.messages === 0 || held === 0); i++) {
            await page.clock.runFor(100);
            await request(`${w.server.url}/livez`);
        }
        assert.ok(held > 0, "the change was not asked for");
        await page.clock.runFor(6_000);
        await sees(page, /^as of \d+ s ago$/);
        assert.equal(await live(page).count(), 0);
        release();
        await seen.settle();
        for (let i = 0; i < 1_000 && !(await live(page).isVisible()); i++) {
            await page.clock.runFor(100);
            await seen.settle();
        }
        await live(page).waitFor();
    }, { fresh: true });

    w.test("an answer that is known is not sent again", "/nowhere", async (page) => {
        const { seen } = await loadFleet(page);
        const asked = seen.urls.length;
        for (let i = 0; i < 20 && seen.notModified === 0; i++) {
            await page.clock.runFor(10_000); // each list asks again by its timer
            await seen.settle();
        }
        assert.ok(seen.notModified > 0, `sent again: ${seen.urls.slice(asked)}`);
    }, { fresh: true });
});
