// What is too large for every test run: `make test-sizes`. A fleet of 10,000, one of 2,000 at five
// runs a second, and runs of 10,000 and 100,000 events. The figures are printed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { event } from "./fleet.mjs";
import { close, meter, openPage, scrollFrames, scrollToRow, sessionOf, shot, watchRequests } from "./muster.mjs";
import { button, card, fill, live, nodesOf, rows, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const NODES_MAX = 5_000;
const BYTES_A_MINUTE_MAX = 1_000_000;
// Processor time of the main thread, which other work of the machine does not add to.
const ROWS_MAX_MS = 1_000; // until the rows are there
const FRAME_MAX_MS = 1_000 / 60; // of a frame while scrolling, on average
const FRAMES = 120;
const BUSY_MAX = 0.1; // of the time, while a page is left open
const SECONDS = 60;
const RUNS_A_SECOND = 5;
const w = new Suite("small", { clock: true });

const nameOf = (i) => `agent-${String(i).padStart(5, "0")}`;
const say = (text) => console.log(`# ${text}`);

/** One run of each agent. */
async function fillFleet(slug, agents) {
    const tenant = w.addTenant(slug);
    w.cli("tenant", "set", slug, "--max-agents", "100000");
    const runOf = (_, i) => ({ agent: nameOf(i), id: randomUUID(), from: Date.now() - 60_000 });
    const runs = Array.from({ length: agents }, runOf);
    await w.events(runs.map((run) => event(tenant, run, "completed", 0, { duration_ms: 5 })), tenant);
    return { tenant, runs };
}

/** A run over an hour: a warning in every thousand, the last step an error. */
async function sendRun(tenant, n) {
    const run = { agent: `runner-of-${n}`, id: randomUUID(), from: Date.now() - 3_600_000 };
    const levelOf = (i) => (i === n - 1 ? "error" : i % 1000 === 500 ? "warning" : "info");
    const stepOf = (i) => ({ seq: i + 1, category: "work", message: `step ${i}`, level: levelOf(i) });
    await w.events(
        Array.from({ length: n }, (_, i) => event(tenant, run, "in_progress", (i * 3_600_000) / n, stepOf(i))),
        tenant,
    );
    return run;
}

describe("large workspaces", () => {
    w.begin();

    /** The fleet in a new page, and the processor time until its rows are there. */
    async function openFleet(tenant) {
        const storageState = await sessionOf(w.server, tenant.email);
        const page = await openPage(w.browser, w.server, { storageState });
        const busy = await meter(page);
        const began = Date.now();
        await w.go(page, `/t/${tenant.slug}/fleet`);
        await rows(page).nth(20).waitFor();
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
        const mean = await scrollFrames(page, busy, FRAMES, 60);
        say(`fleet of ${name}: ${mean.toFixed(1)} ms of processor time per frame while scrolling`);
        assert.ok(mean > 0 && mean <= FRAME_MAX_MS, `${mean} ms per frame`);
    }

    test("10,000 agents are counted, listed and reached, the silent one first", async () => {
        const agents = 10_000;
        const { tenant } = await fillFleet("huge", agents);
        await w.register("zz-payroll", { interval_seconds: 1 }, tenant); // the last by name
        const run = { agent: "zz-payroll", id: randomUUID(), from: w.clock.now() };
        await w.events([event(tenant, run, "completed", 0)], tenant);
        w.clock.advance(600);
        const { page, busy } = await openFleet(tenant);
        const states = page.getByRole("group", { name: "State" });
        await button(states, "Silent 1").waitFor();
        const counted = ["All 10,001", "Silent 1", "Active (no schedule) 10,000"];
        assert.deepEqual(await states.getByRole("button").allInnerTexts(), counted);
        assert.match(await rows(page).first().innerText(), /Silent[\s\S]*zz-payroll/);
        await scroll(page, busy, tenant.slug);
        await scrollToRow(page, 1, nameOf(agents - 1));
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        await close(page);
    });

    test("a fleet of 2,000 is drawn within a second, and scrolls at 60 frames a second", async () => {
        const { tenant } = await fillFleet("large", 2_000);
        const { page, busy } = await openFleet(tenant);
        await scroll(page, busy, tenant.slug);
        assert.ok((await nodesOf(page)) <= NODES_MAX);
        await close(page);
    });

    test("a fleet of 2,000 at five runs a second costs 1 MB a minute and a tenth of the time", async () => {
        const { tenant, runs } = await fillFleet("busy", 2_000);
        const page = await w.open("/nowhere", { email: tenant.email, fresh: true });
        await page.clock.install();
        await page.goto("about:blank");
        const seen = watchRequests(page, w.server);
        await w.go(page, "/t/busy/fleet");
        await sees(page, live(page));
        await rows(page).nth(20).waitFor();
        await seen.settle();
        const busy = await meter(page);
        const [before, lists, worked] = [seen.bytes, seen.lists(), await busy()];
        for (let second = 0; second < SECONDS; second++) {
            const events = Array.from({ length: RUNS_A_SECOND }, (_, k) => {
                const { agent } = runs[(second * RUNS_A_SECOND + k) * 6 % runs.length];
                const run = { agent, id: randomUUID(), from: Date.now() };
                return event(tenant, run, "completed", 0, { duration_ms: 5 });
            });
            await w.events(events, tenant);
            await page.clock.runFor(1_000);
            await seen.settle();
        }
        const bytes = seen.bytes - before;
        const share = ((await busy()) - worked) / (SECONDS * 1_000);
        say(`fleet of 2,000 at ${RUNS_A_SECOND} runs/s: ${bytes} bytes a minute, ` +
            `${(share * 100).toFixed(1)} % of the main thread`);
        assert.ok(share > 0 && share <= BUSY_MAX, `${share} of the main thread`);
        assert.ok(seen.lists() - lists > 2, "the list was not loaded again: nothing was live");
        assert.ok(bytes <= BYTES_A_MINUTE_MAX, `${bytes} bytes`);
        await close(page);
    });

    for (const n of [10_000, 100_000])
        test(`a run of ${n} events is paged, searched, filtered and binned`, async () => {
            const slug = `long-${n}`;
            const tenant = w.addTenant(slug);
            const run = await sendRun(tenant, n);
            const page = await w.open(`/t/${slug}/runs`, { email: tenant.email, fresh: true });
            const began = Date.now();
            await w.go(page, `/t/${slug}/runs/${run.id}?view=order`);
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
            const narrative = card(page, /^Narrative/);
            const jumped = Date.now();
            await use(narrative, "Jump to the end");
            await narrative.getByText(`step ${n - 1}`, { exact: true }).waitFor();
            say(`run of ${n} events: its end after ${Date.now() - jumped} ms`);
            const searched = Date.now();
            await fill(page, { "Search events": `step ${n - 2}` });
            await sees(narrative, `1 of ${n.toLocaleString("en")} events`);
            say(`run of ${n} events: searched after ${Date.now() - searched} ms`);
            await fill(page, { "Search events": "" });
            await narrative.getByText(`step ${n - 1}`, { exact: true }).waitFor(); // at the end again
            await fill(narrative, { Level: "warning" });
            await sees(narrative, `${n / 1000 + 1} of ${n.toLocaleString("en")} events`);
            assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
            await shot(page, `run-${n}`);
            await close(page);
        });
});
