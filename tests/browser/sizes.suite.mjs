// What is too large for every test run: `make test-sizes`. A fleet of 10,000, one of 2,000 at five
// runs a second, and runs of 10,000 and 100,000 events. The figures are printed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { event } from "./fleet.mjs";
import { close, openAs, openBrowser, request, Server, shot } from "./muster.mjs";

const NODES_MAX = 5_000;
const BYTES_A_MINUTE_MAX = 1_000_000;
const SECONDS = 60;
const RUNS_A_SECOND = 5;
const HEADS = 1_200; // bytes of the heads of a request and its answer
const BATCH = 1_000;

let server, browser;

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
        server = await Server.start();
        browser = await openBrowser();
    });

    after(() => server?.stop());

    const open = (tenant, hash) => openAs(browser, server, tenant.email, hash, {});

    test("10,000 agents are counted, listed and reached", async () => {
        const agents = 10_000;
        const { tenant } = await fill("huge", agents);
        const page = await open(tenant, "/t/huge/overview");
        const began = Date.now();
        await page.goto(`${server.url}/#/t/huge/fleet`);
        await page.locator("tbody tr").nth(20).waitFor();
        say(`fleet of ${agents}: rows after ${Date.now() - began} ms, ${await nodesOf(page)} nodes`);
        await page.getByRole("button", { name: "All 10,000", exact: true }).waitFor();
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        for (let turn = 0; turn < 3; turn++) // rows are measured on the way
            await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
        await page.getByText(nameOf(agents - 1)).waitFor();
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        await close(page);
    });

    test("a fleet of 2,000 at five runs a second costs less than 1 MB a minute", async () => {
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
        const before = bytes;
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
        say(`fleet of 2,000 at ${RUNS_A_SECOND} runs/s: ${bytes - before} bytes a minute`);
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
            const loading = Date.now();
            await page.getByRole("button", { name: "Load all events" }).click();
            await page.getByRole("button", { name: "Load all events" }).waitFor({ state: "detached", timeout: 300_000 });
            say(`run of ${n} events: all of them after ${Date.now() - loading} ms`);
            const lane = page.locator(".waterfall .lane").first();
            const ticks = await lane.locator(".tick").evaluateAll((all) =>
                all.map((one) => parseFloat(one.style.left)).sort((a, b) => a - b),
            );
            assert.ok(ticks.length > 50 && ticks.length <= 500, `${ticks.length} bins`);
            assert.ok(ticks[0] < 2 && ticks.at(-1) > 98, "the timeline shows the whole run");
            assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
            await page.getByRole("button", { name: "Jump to the end" }).last().click();
            await page.getByText(`step ${n - 1}`, { exact: true }).last().waitFor();
            await page.getByLabel("Search events", { exact: true }).fill(`step ${n - 2}`);
            await page.getByText(`1 of ${n.toLocaleString("en")} events`).waitFor();
            await page.getByLabel("Search events", { exact: true }).fill("");
            await page.getByLabel("Level", { exact: true }).selectOption("warning");
            await page.getByText(`${n / 1000 + 1} of ${n.toLocaleString("en")} events`).waitFor();
            await shot(page, `run-${n}`);
            await close(page);
        });
});
