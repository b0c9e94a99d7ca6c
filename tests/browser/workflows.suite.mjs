// Workflows: the list, and the graph of one with parallel branches and the contract on each link.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe } from "node:test";

import { event } from "./fleet.mjs";
import { shot } from "./muster.mjs";
import { isFocused, link, rows, sees } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const field = (key, type) => ({ key, type, required: true });
const AGENTS = {
    reader: { outputs: [field("invoice", "string"), field("amount", "number")] },
    matcher: { inputs: [field("invoice", "string")], outputs: [field("order", "string")] },
    checker: { inputs: [field("amount", "number")], outputs: [field("checked", "boolean")] },
    payer: { inputs: [field("order", "string"), field("checked", "string"), field("iban", "string")] },
};
// agent, start and end in seconds: matcher and checker are parallel
const RUNS = [
    ["reader", 0, 20],
    ["matcher", 21, 60],
    ["checker", 22, 50],
    ["payer", 61, 70],
];

const w = new Suite("chains");
const ids = new Map(RUNS.map(([agent]) => [agent, randomUUID()]));

describe("workflows", () => {
    w.begin(async () => {
        for (const [agent, io] of Object.entries(AGENTS)) await w.register(agent, io);
        const from = Date.now() - 600_000;
        const events = RUNS.flatMap(([agent, start, end]) => {
            const run = { agent, id: ids.get(agent), from };
            const more = { workflow_run_id: "night 1" };
            const last = agent === "payer" ? "failed" : "completed";
            return [
                event(w.tenant, run, "started", start * 1000, more),
                event(w.tenant, run, last, end * 1000, { ...more, duration_ms: (end - start) * 1000 }),
            ];
        });
        await w.events(events);
    });

    w.test("a workflow is found in the list, and its graph shows branches and contracts", "overview", async (page) => {
        await link(page, "Workflows").click();
        await link(page, "night 1").waitFor(); // the overview has rows, too
        assert.match(await rows(page).first().innerText(), /Failed[\s\S]*night 1[\s\S]*reader, matcher, checker, payer/);
        await link(page, "night 1").click();
        const graph = page.locator(".workflow-graph");
        await graph.locator(".node").nth(3).waitFor();
        assert.equal(await graph.locator(".edge").count(), 4);
        assert.equal(await graph.locator(".edge.good").count(), 2);
        assert.equal(await graph.locator(".edge.bad").count(), 2); // the payer lacks what it needs
        const boxes = await graph.locator(".node").evaluateAll((all) =>
            all.map((one) => [one.querySelector("title").textContent.split(":")[0], one.getBoundingClientRect()]),
        );
        const at = new Map(boxes);
        assert.equal(at.get("matcher").y, at.get("checker").y, "parallel runs stand side by side");
        assert.ok(at.get("reader").y < at.get("matcher").y && at.get("matcher").y < at.get("payer").y);
        await shot(page, "workflow");
    });

    w.test("the table says the same in words", "workflows/night%201", async (page) => {
        const row = (agent) => rows(page).filter({ has: link(page, agent) });
        await row("payer").waitFor();
        const words = (await row("payer").innerText()).replace(/\s+/g, " ");
        assert.match(words, /matcher \(order\).*checker/);
        assert.match(words, /missing inputs.*iban is missing.*checked is boolean, not string/);
        assert.match((await row("matcher").innerText()).replace(/\s+/g, " "), /reader \(invoice\).*all inputs provided/);
        assert.match(await row("reader").innerText(), /first step/);
    });

    w.test("where links are left out, later runs are not taken for first steps", "overview", async (page) => {
        const more = { workflow_run_id: "wide" };
        const stepsOf = (layer) => {
            const run = { agent: "echo", id: randomUUID(), from: Date.now() - 600_000 + layer };
            return [event(w.tenant, run, "started", 0, more), event(w.tenant, run, "completed", 1000, more)];
        };
        for (const layer of [0, 10_000]) await w.events(Array.from({ length: 75 }, () => stepsOf(layer)).flat());
        await w.go(page, "workflows/wide");
        await sees(page, "Only the first 4,950 links between runs are shown");
        await link(page, "150 runs").waitFor(); // all of them
        const cells = await rows(page).allInnerTexts();
        const saying = (words) => cells.filter((text) => text.includes(words)).length;
        const [first, unknown] = [saying("first step"), saying("not checked")];
        assert.equal(first, 75);
        assert.equal(unknown, 9); // of the second layer: 66 runs have 75 links each
        assert.equal(await page.locator(".workflow-graph .node").count(), 141);
        await sees(page, "The graph has the first 141 runs; the table has all.");
    });

    w.test("the graph is read and used with the keyboard, on a telephone too", "workflows/night%201", async (page) => {
        await page.setViewportSize({ width: 320, height: 700 });
        const graph = page.getByRole("region", { name: "Graph of the workflow" });
        const node = graph.getByRole("link", { name: "checker: Completed, 28 s" });
        await node.waitFor();
        await page.waitForFunction(() => {
            const one = document.querySelector(".workflow-graph .scroll");
            return one.scrollWidth <= one.clientWidth; // two branches fit side by side
        });
        await shot(page, "workflow-narrow");
        await graph.focus();
        for (let i = 0; i < 3; i++) await page.keyboard.press("Tab"); // the third of the four
        assert.ok(await isFocused(node));
        await page.keyboard.press("Enter");
        await page.waitForURL(new RegExp(`runs/${ids.get("checker")}`));
    });
});
