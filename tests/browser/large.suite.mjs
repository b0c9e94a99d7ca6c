// A fleet of thousands: trouble first, counted by the server, and as light as a small one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { event, runsOf } from "./fleet.mjs";
import { close, meter, openPage, scrollFrames, scrollToRow, sessionOf, shot } from "./muster.mjs";
import { count, nodesOf, rows, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const AGENTS = 2000;
const NODES_MAX = 5000;
// Processor time of the main thread: other work of the machine adds nothing.
const ROWS_MAX_MS = 2_000; // until the rows are there
const FRAME_MAX_MS = 50; // a frame while scrolling, on average
const w = new Suite("big", { clock: true });

const nameOf = (i) => `agent-${String(i).padStart(4, "0")}`;

describe("a fleet of 2,000", () => {
    w.begin(async () => {
        w.cli("tenant", "set", "big", "--max-agents", "100000");
        const runOf = (i) => ({ agent: nameOf(i), id: crypto.randomUUID(), from: Date.now() - 60_000 });
        await w.events(Array.from({ length: AGENTS }, (_, i) => event(w.tenant, runOf(i), "completed", 0)));
        await w.register("zz-payroll", { interval_seconds: 1 }); // the last by name falls silent
        await w.runs(runsOf("zz-payroll", 1, w.clock.now()));
        w.clock.advance(600);
    });

    test("the silent agent is first, and every agent is counted", async () => {
        const storageState = await sessionOf(w.server, w.tenant.email);
        const page = await openPage(w.browser, w.server, { storageState });
        const busy = await meter(page);
        await w.go(page, "fleet");
        await rows(page).nth(20).waitFor();
        const took = Math.round(await busy());
        assert.ok(took > 0, "nothing was measured");
        assert.ok(took <= ROWS_MAX_MS, `rows after ${took} ms`);
        assert.match(await rows(page).first().innerText(), /Silent[\s\S]*zz-payroll/);
        const states = page.getByRole("group", { name: "State" });
        const counted = ["All 2,001", "Silent 1", "Active (no schedule) 2,000"];
        assert.deepEqual(await states.getByRole("button").allInnerTexts(), counted);
        await shot(page, "fleet-2000");
        await use(states, "Silent 1");
        await count(page, 1);
        console.log(`# fleet of ${AGENTS}: rows after ${took} ms`);
        await close(page);
    });

    w.test("any row can be scrolled to, and few of them are drawn, without blocking the page", "fleet", async (page) => {
        await rows(page).nth(20).waitFor();
        const fewNodes = async (where) =>
            assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes ${where}`);
        await fewNodes("at the top");
        const frame = await scrollFrames(page, await meter(page), 60, 120);
        assert.ok(frame > 0 && frame <= FRAME_MAX_MS, `a frame takes ${frame.toFixed(1)} ms`);
        console.log(`# fleet of ${AGENTS}: ${frame.toFixed(1)} ms a frame`);
        await scrollToRow(page, 0.5, nameOf(AGENTS / 2));
        await fewNodes("in the middle");
        await scrollToRow(page, 1, nameOf(AGENTS - 1));
        await fewNodes("at the end");
    }, { fresh: true });
});
