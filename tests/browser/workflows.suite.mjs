// Workflows: the list, and the graph of one with parallel branches and the contract on each link.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";

import { event } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";

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

let server, browser, tenant, ids;

describe("workflows", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("chains", ADMIN);
        for (const [agent_name, io] of Object.entries(AGENTS))
            await server.send(tenant, "/api/v1/agents/register", { agent_name, ...io });
        const from = Date.now() - 600_000;
        ids = new Map(RUNS.map(([agent]) => [agent, randomUUID()]));
        const events = RUNS.flatMap(([agent, start, end]) => {
            const run = { agent, id: ids.get(agent), from };
            const more = { workflow_run_id: "night 1" };
            const last = agent === "payer" ? "failed" : "completed";
            return [
                event(tenant, run, "started", start * 1000, more),
                event(tenant, run, last, end * 1000, { ...more, duration_ms: (end - start) * 1000 }),
            ];
        });
        await server.send(tenant, "/api/v1/telemetry/batch", { events });
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);

    test("a workflow is found in the list, and its graph shows branches and contracts", async () => {
        const page = await open("/t/chains/overview");
        await page.getByRole("link", { name: "Workflows", exact: true }).click();
        const row = page.locator("tbody tr");
        await page.getByRole("link", { name: "night 1" }).waitFor(); // the overview has rows, too
        assert.match(await row.first().innerText(), /Failed[\s\S]*night 1[\s\S]*reader, matcher, checker, payer/);
        await page.getByRole("link", { name: "night 1" }).click();
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
        await close(page);
    });

    test("the table says the same in words", async () => {
        const page = await open("/t/chains/workflows/night%201");
        const row = (agent) => page.locator("tbody tr").filter({ has: page.getByRole("link", { name: agent, exact: true }) });
        await row("payer").waitFor();
        const words = (await row("payer").innerText()).replace(/\s+/g, " ");
        assert.match(words, /matcher \(order\).*checker/);
        assert.match(words, /missing inputs.*iban is missing.*checked is boolean, not string/);
        assert.match((await row("matcher").innerText()).replace(/\s+/g, " "), /reader \(invoice\).*all inputs provided/);
        assert.match(await row("reader").innerText(), /first step/);
        await close(page);
    });

    test("where links are left out, later runs are not taken for first steps", async () => {
        const more = { workflow_run_id: "wide" };
        for (const [layer, status] of [[0, "completed"], [10_000, "completed"]]) {
            const runs = Array.from({ length: 75 }, () => ({ agent: "echo", id: randomUUID(), from: Date.now() - 600_000 }));
            const events = runs.flatMap((run) => [
                event(tenant, run, "started", layer, more),
                event(tenant, run, status, layer + 1000, more),
            ]);
            await server.send(tenant, "/api/v1/telemetry/batch", { events });
        }
        const page = await open("/t/chains/workflows/wide");
        await page.getByText("Only the first 4,950 links between runs are shown").waitFor();
        await page.getByRole("link", { name: "150 runs", exact: true }).waitFor(); // all of them
        const cells = await page.locator("tbody tr").allInnerTexts();
        const saying = (words) => cells.filter((text) => text.includes(words)).length;
        const [first, unknown] = [saying("first step"), saying("not checked")];
        assert.equal(first, 75);
        assert.equal(unknown, 9); // of the second layer: 66 runs have 75 links each
        assert.equal(await page.locator(".workflow-graph .node").count(), 141);
        await page.getByText("The graph has the first 141 runs; the table has all.").waitFor();
        await close(page);
    });

    test("the graph is read and used with the keyboard, on a telephone too", async () => {
        const page = await open("/t/chains/workflows/night%201");
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
        assert.ok(await node.evaluate((one) => one === document.activeElement));
        await page.keyboard.press("Enter");
        await page.waitForURL(new RegExp(`runs/${ids.get("checker")}`));
        await close(page);
    });
});
