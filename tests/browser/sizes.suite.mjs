// What is too large for every test run: `make test-sizes`. A fleet of 10,000, one of 2,000 at five
// runs a second, and runs of 10,000 and 100,000 events. The figures are printed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { event } from "./fleet.mjs";
import {
    Clock,
    close,
    meter,
    openAs,
    openBrowser,
    openPage,
    request,
    scrollToRow,
    Server,
    sessionOf,
    shot,
} from "./muster.mjs";

const NODES_MAX = 5_000;
const BYTES_A_MINUTE_MAX = 1_000_000;
// Processor time of the main thread, which other work of the machine does not add to.
const ROWS_MAX_MS = 1_000; // until the rows are there
const FRAME_MAX_MS = 1_000 / 60; // of a frame while scrolling, on average
const FRAMES = 120;
const BUSY_MAX = 0.1; // of the time, while a page is left open
const SECONDS = 60;
const RUNS_A_SECOND = 5;
const HEADS = 1_200; // bytes of the heads of a request and its answer
const BATCH = 1_000;

let server, browser, clock;

const nameOf = (i) => `agent-${String(i).padStart(5, "0")}`;
const nodesOf = (page) => page.evaluate(() => document.querySelectorAll("*").length);
const say = (text) => console.log(`# ${text}`);

async function sendAll(tenant, events) {
    for (let i = 0; i < events.length; i += BATCH)
        await server.send(tenant, "/api/v1/telemetry/batch", { events: events.slice(i, i + BATCH) });
}

/** One run of each agent. */
async function fill(slug, agents) {
    const tenant = server.addTenant(slug);
    server.cli(["tenant", "set", slug, "--max-agents", "100000"]);
    const runs = Array.from({ length: agents }, (_, i) => ({
        agent: nameOf(i),
        id: randomUUID(),
        from: Date.now() - 60_000,
    }));
    await sendAll(tenant, runs.map((run) => event(tenant, run, "completed", 0, { duration_ms: 5 })));
    return { tenant, runs };
}

/** A run over an hour: a warning in every thousand, the last step an error. */
async function sendRun(tenant, n) {
    const run = { agent: `runner-of-${n}`, id: randomUUID(), from: Date.now() - 3_600_000 };
    for (let first = 0; first < n; first += BATCH) {
        const events = Array.from({ length: Math.min(BATCH, n - first) }, (_, k) => {
            const i = first + k;
            return event(tenant, run, "in_progress", (i * 3_600_000) / n, {
                seq: i + 1,
                category: "work",
                message: `step ${i}`,
                level: i === n - 1 ? "error" : i % 1000 === 500 ? "warning" : "info",
            });
        });
        await server.send(tenant, "/api/v1/telemetry/batch", { events });
    }
    return run;
}

describe("large workspaces", () => {
    before(async () => {
        clock = new Clock();
        server = await Server.start([], clock.environment);
        browser = await openBrowser();
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const open = (tenant, hash) => openAs(browser, server, tenant.email, hash, {});

    /** The fleet in a new page, and the processor time until its rows are there. */
    async function openFleet(tenant) {
        const storageState = await sessionOf(server, tenant.email);
        const page = await openPage(browser, server, { storageState });
        const busy = await meter(page);
        const began = Date.now();
        await page.goto(`${server.url}/#/t/${tenant.slug}/fleet`);
        await page.locator("tbody tr").nth(20).waitFor();
        const took = Math.round(await busy());
        const nodes = await nodesOf(page);
        say(`fleet of ${tenant.slug}: rows after ${took} ms of processor time, ` +
            `${Date.now() - began} ms in all, ${nodes} nodes`);
        assert.ok(took > 0 && took <= ROWS_MAX_MS, `rows after ${took} ms`);
        assert.ok(nodes <= NODES_MAX, `${nodes} nodes`);
        return { page, busy };
    }

    /** Scrolls like a person, and says what a frame costs. */
    async function scroll(page, busy, name) {
        const before = await busy();
        await page.evaluate(async (frames) => {
            for (let frame = 0; frame < frames; frame++) {
                scrollBy(0, 60);
                await new Promise(requestAnimationFrame);
            }
        }, FRAMES);
        const mean = ((await busy()) - before) / FRAMES;
        say(`fleet of ${name}: ${mean.toFixed(1)} ms of processor time per frame while scrolling`);
        assert.ok(mean > 0 && mean <= FRAME_MAX_MS, `${mean} ms per frame`);
    }

    test("10,000 agents are counted, listed and reached, the silent one first", async () => {
        const agents = 10_000;
        const { tenant } = await fill("huge", agents);
        const payroll = { agent_name: "zz-payroll", interval_seconds: 1 }; // the last by name
        await server.send(tenant, "/api/v1/agents/register", payroll);
        const run = { agent: "zz-payroll", id: randomUUID(), from: clock.now() };
        await server.send(tenant, "/api/v1/telemetry", event(tenant, run, "completed", 0, {}));
        clock.advance(600);
        const { page, busy } = await openFleet(tenant);
        const states = page.getByRole("group", { name: "State" });
        await states.getByRole("button", { name: "Silent 1", exact: true }).waitFor();
        assert.deepEqual(await states.getByRole("button").allInnerTexts(), [
            "All 10,001",
            "Silent 1",
            "Active (no schedule) 10,000",
        ]);
        assert.match(await page.locator("tbody tr").first().innerText(), /Silent[\s\S]*zz-payroll/);
        await scroll(page, busy, tenant.slug);
        await scrollToRow(page, 1, nameOf(agents - 1));
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        await close(page);
    });

    test("a fleet of 2,000 is drawn within a second, and scrolls at 60 frames a second", async () => {
        const { tenant } = await fill("large", 2_000);
        const { page, busy } = await openFleet(tenant);
        await scroll(page, busy, tenant.slug);
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        await close(page);
    });

    test("a fleet of 2,000 at five runs a second costs 1 MB a minute and a tenth of the time", async () => {
        const { tenant, runs } = await fill("busy", 2_000);
        const page = await open(tenant, "/nowhere");
        await page.clock.install();
        await page.goto("about:blank");
        const waits = new Set();
        let [bytes, lists] = [0, 0];
        page.on("request", (one) => {
            if (!one.url().includes("/api/") || one.url().endsWith("/stream")) return;
            waits.add(one);
            if (one.url().includes("/agents?")) lists++;
        });
        page.on("requestfailed", (one) => waits.delete(one));
        page.on("response", (response) => {
            if (!waits.delete(response.request())) return;
            bytes += HEADS + Number(response.headers()["content-length"] ?? 0);
        });
        const settle = async () => {
            for (let i = 0; i < 5_000 && waits.size > 0; i++) await request(`${server.url}/livez`);
            assert.equal(waits.size, 0, "requests are still under way");
        };
        await page.goto(`${server.url}/#/t/busy/fleet`);
        await page.getByText("Live", { exact: true }).waitFor();
        await page.locator("tbody tr").nth(20).waitFor();
        await settle();
        const busy = await meter(page);
        const [before, worked] = [bytes, await busy()];
        lists = 0;
        for (let second = 0; second < SECONDS; second++) {
            const events = Array.from({ length: RUNS_A_SECOND }, (_, k) => {
                const { agent } = runs[(second * RUNS_A_SECOND + k) * 6 % runs.length];
                const run = { agent, id: randomUUID(), from: Date.now() };
                return event(tenant, run, "completed", 0, { duration_ms: 5 });
            });
            await server.send(tenant, "/api/v1/telemetry/batch", { events });
            await page.clock.runFor(1_000);
            await settle();
        }
        const share = ((await busy()) - worked) / (SECONDS * 1_000);
        say(`fleet of 2,000 at ${RUNS_A_SECOND} runs/s: ${bytes - before} bytes a minute, ` +
            `${(share * 100).toFixed(1)} % of the main thread`);
        assert.ok(share > 0 && share <= BUSY_MAX, `${share} of the main thread`);
        assert.ok(lists > 2, `${lists} loads of the list: nothing was live`);
        assert.ok(bytes - before <= BYTES_A_MINUTE_MAX, `${bytes - before} bytes`);
        await close(page);
    });

    for (const n of [10_000, 100_000])
        test(`a run of ${n} events is paged, searched, filtered and binned`, async () => {
            const slug = `long-${n}`;
            const tenant = server.addTenant(slug);
            const run = await sendRun(tenant, n);
            const page = await open(tenant, `/t/${slug}/runs`);
            const began = Date.now();
            await page.goto(`${server.url}/#/t/${slug}/runs/${run.id}?view=order`);
            await page.locator(".event").first().waitFor();
            say(`run of ${n} events: shown after ${Date.now() - began} ms`);
            const lane = page.locator(".waterfall .lane").first();
            await lane.locator(".tick").first().waitFor();
            say(`run of ${n} events: timeline after ${Date.now() - began} ms`);
            const ticks = await lane.locator(".tick").evaluateAll((all) =>
                all.map((one) => parseFloat(one.style.left)).sort((a, b) => a - b),
            );
            assert.ok(ticks.length > 50 && ticks.length <= 500, `${ticks.length} bins`);
            assert.ok(ticks[0] < 2 && ticks.at(-1) > 98, "the timeline shows the whole run");
            assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
            const narrative = page.locator(".card", {
                has: page.getByRole("heading", { name: "Narrative" }),
            });
            const jumped = Date.now();
            await narrative.getByRole("button", { name: "Jump to the end" }).click();
            await narrative.getByText(`step ${n - 1}`, { exact: true }).waitFor();
            say(`run of ${n} events: its end after ${Date.now() - jumped} ms`);
            const searched = Date.now();
            await page.getByLabel("Search events", { exact: true }).fill(`step ${n - 2}`);
            await narrative.getByText(`1 of ${n.toLocaleString("en")} events`).waitFor();
            say(`run of ${n} events: searched after ${Date.now() - searched} ms`);
            await page.getByLabel("Search events", { exact: true }).fill("");
            await narrative.getByText(`step ${n - 1}`, { exact: true }).waitFor(); // at the end again
            await narrative.getByLabel("Level").selectOption("warning");
            await narrative.getByText(`${n / 1000 + 1} of ${n.toLocaleString("en")} events`).waitFor();
            assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
            await shot(page, `run-${n}`);
            await close(page);
        });
});
