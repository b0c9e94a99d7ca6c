// A fleet of thousands: trouble first, counted by the server, and as light as a small one.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import {
    Clock,
    close,
    meter,
    openAs,
    openBrowser,
    openPage,
    scrollToRow,
    Server,
    sessionOf,
    shot,
} from "./muster.mjs";

const AGENTS = 2000;
const NODES_MAX = 5000;
// Processor time of the main thread: other work of the machine adds nothing.
const ROWS_MAX_MS = 2_000; // until the rows are there
const FRAME_MAX_MS = 50; // a frame while scrolling, on average
const FRAMES = 60;

let server, browser, tenant, clock;

const nameOf = (i) => `agent-${String(i).padStart(4, "0")}`;

async function register(agent_name, interval_seconds) {
    await server.send(tenant, "/api/v1/agents/register", { agent_name, interval_seconds });
}

describe("a fleet of 2,000", () => {
    before(async () => {
        clock = new Clock();
        server = await Server.start([], clock.environment);
        browser = await openBrowser();
        tenant = server.addTenant("big");
        server.cli(["tenant", "set", "big", "--max-agents", "100000"]);
        const events = Array.from({ length: AGENTS }, (_, i) => {
            const run = { agent: nameOf(i), id: crypto.randomUUID(), from: Date.now() - 60_000 };
            return event(tenant, run, "completed", 0, {});
        });
        for (let i = 0; i < events.length; i += 500)
            await server.send(tenant, "/api/v1/telemetry/batch", { events: events.slice(i, i + 500) });
        await register("zz-payroll", 1); // the last by name falls silent
        await sendRuns(server, tenant, runsOf("zz-payroll", 1, clock.now()));
        clock.advance(600);
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const open = (hash) => openAs(browser, server, tenant.email, hash, {});

    test("the silent agent is first, and every agent is counted", async () => {
        const storageState = await sessionOf(server, tenant.email);
        const page = await openPage(browser, server, { storageState });
        const busy = await meter(page);
        await page.goto(`${server.url}/#/t/big/fleet`);
        await page.locator("tbody tr").nth(20).waitFor();
        const took = Math.round(await busy());
        assert.ok(took > 0, "nothing was measured");
        assert.ok(took <= ROWS_MAX_MS, `rows after ${took} ms`);
        assert.match(await page.locator("tbody tr").first().innerText(), /Silent[\s\S]*zz-payroll/);
        const states = page.getByRole("group", { name: "State" });
        assert.deepEqual(await states.getByRole("button").allInnerTexts(), [
            "All 2,001",
            "Silent 1",
            "Active (no schedule) 2,000",
        ]);
        await shot(page, "fleet-2000");
        await states.getByRole("button", { name: "Silent 1" }).click();
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
        console.log(`# fleet of ${AGENTS}: rows after ${took} ms`);
        await close(page);
    });

    test("any row can be scrolled to, and few of them are drawn", async () => {
        const page = await open("/t/big/fleet");
        await page.locator("tbody tr").nth(20).waitFor();
        const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
        assert.ok((await nodes()) <= NODES_MAX, `${await nodes()} nodes at the top`);
        await scrollToRow(page, 0.5, nameOf(AGENTS / 2));
        assert.ok((await nodes()) <= NODES_MAX, `${await nodes()} nodes in the middle`);
        await scrollToRow(page, 1, nameOf(AGENTS - 1));
        assert.ok((await nodes()) <= NODES_MAX, `${await nodes()} nodes at the end`);
        await close(page);
    });

    test("scrolling does not block the page", async () => {
        const page = await open("/t/big/fleet");
        await page.locator("tbody tr").nth(20).waitFor();
        const busy = await meter(page);
        const before = await busy();
        await page.evaluate(async (frames) => {
            for (let frame = 0; frame < frames; frame++) {
                scrollBy(0, 120);
                await new Promise(requestAnimationFrame);
            }
        }, FRAMES);
        const mean = ((await busy()) - before) / FRAMES;
        assert.ok(mean > 0 && mean <= FRAME_MAX_MS, `a frame takes ${mean.toFixed(1)} ms`);
        console.log(`# fleet of ${AGENTS}: ${mean.toFixed(1)} ms a frame`);
        await close(page);
    });
});
