// Whatever an agent passes in, it goes on, its run closes, and what can be reported is.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Service, makeAgent } from "./service.mjs";

const service = new Service();
before(() => service.start());

/** An agent whose problems are collected. */
function watched(workspace, options = {}) {
    const problems = [];
    const agent = makeAgent(workspace.settings, { onError: (each) => problems.push(each), ...options });
    return { agent, problems };
}

const branching = () => {
    const root = { name: "root", children: [] };
    for (let i = 0; i < 6; i++) root.children.push({ name: i, parent: root });
    return root;
};

const odd = () => {
    const error = new Error("odd");
    Object.defineProperty(error, "name", {
        get() {
            throw new Error("no name");
        },
    });
    return error;
};

test("a run closes whatever its end is given", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const ends = [
        (run) => run.fail(new Error("caf\udce9 \0")),
        (run) => run.fail(odd()),
        (run) => run.fail(null),
        (run) => run.complete("x", { output: [1, 2] }),
        (run) => run.complete("x", { output: "text" }),
        (run) => run.complete("x", { recordsProcessed: 1e30 }),
        (run) => run.complete("x", { recordsProcessed: NaN, metadata: "text" }),
        (run) => run.complete("x", null),
        (run) => run.complete({}, { output: branching() }),
        (run) => run.complete("x", { output: { a: 10n ** 400n, b: new Map([[1, new Set([2])]]) } }),
    ];
    for (const end of ends) end(agent.start());
    assert.ok(await agent.flush(120));
    assert.deepEqual(problems, []);
    const runs = await workspace.runs();
    assert.equal(runs.length, ends.length);
    assert.deepEqual(
        runs.filter((run) => !["completed", "failed"].includes(run.status)),
        [],
    );
});

test("a value that refers to itself is followed once, and a large one for a while", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    run.step("a tree", { output: branching() });
    run.step("a list", { output: { list: Array(1e6).fill(1), more: Array(500).fill("x") } });
    run.complete();
    assert.ok(await agent.flush(120));
    const [, tree, list] = await workspace.events(run.id);
    assert.equal(tree.output.children[5].parent, "<cycle>");
    assert.ok(list.output.list.length <= 10_000);
    assert.equal(list.output.more, "…");
    assert.deepEqual(problems, []);
});

test("links, metrics and metadata of any kind arrive as far as they make sense", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    run.step("one", { links: null, metadata: null, metrics: null });
    run.step("two", { links: "http://a/", metadata: "said", metrics: { a: "4", b: true, c: " " } });
    run.step("three", { links: 5, output: Buffer.from("abc") });
    run.step("four", null);
    run.progress("3", 10);
    run.progress(undefined, undefined);
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(problems, []);
    const [, one, two, three, , progress] = await workspace.events(run.id);
    assert.deepEqual([one.links, one.metadata], [[], {}]);
    assert.deepEqual(two.links, ["http://a/"]);
    assert.deepEqual([two.metadata, two.metrics], [{ value: "said" }, { a: 4, b: 1 }]);
    assert.deepEqual([three.links, three.output], [["5"], { value: "<3 bytes>" }]);
    assert.deepEqual([progress.message, progress.metrics], ["3 of 10", { done: 3, total: 10 }]);
});

test("what cannot be reported is told each time, in the log once, and never thrown", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start({ runId: "no-uuid" });
    for (let i = 0; i < 3; i++) {
        run.kpi("k", undefined);
        run.breakdown("k", { by: "country" });
    }
    run.breakdown("k", null, { slices: 7 });
    run.llm("m", { input_tokens: NaN, output_tokens: -4 }, "many");
    run.llm("m", { input_tokens: 1e30 });
    run.llm(null, null, null);
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(new Set(problems.map(({ kind }) => kind)), new Set(["invalid"]));
    const told = problems.map(({ detail }) => detail).filter((each) => !each.startsWith("the service"));
    assert.equal(told.length, 7);
    assert.match(told[0], /^runId: TypeError: expected a UUID, got 'no-uuid'; a new one is used$/);
    assert.match(told[1], /^run\.kpi\(\): TypeError: k: expected a number or a text, got undefined$/);
    const logged = agent.log.filter((line) => line.includes("TypeError"));
    assert.equal(logged.length, 3);
    assert.equal((await workspace.usage()).m.input_tokens, Number.MAX_SAFE_INTEGER);
    assert.equal((await workspace.events(run.id)).at(-1).event, "completed");
});

test("a run can have the id of a trace", async () => {
    const workspace = service.workspace();
    const { agent } = watched(workspace);
    const run = agent.start({ runId: "4BF92F3577B34DA6A3CE929D0E0E4736" });
    assert.equal(run.id, "4bf92f35-77b3-4da6-a3ce-929d0e0e4736");
    run.complete();
    assert.ok(await agent.flush(120));
    assert.equal((await workspace.runs())[0].run_id, run.id);
});

test("an event that is too large arrives without its output", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    const metadata = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key-${i}`, i]));
    run.step("large", { metadata, output: { a: Array(400).fill("y".repeat(16_000)) } });
    run.step("wide", { metadata: { ...metadata, ...wide() }, links: Array(50).fill("z".repeat(16_384)) });
    run.step("after it");
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(problems, []);
    const [, large, wideOne, after] = await workspace.events(run.id);
    assert.match(large.metadata["muster.cut"], /^output of \d{7} bytes left out$/);
    assert.deepEqual([large.message, large.output, large.metadata["key-7"]], ["large", null, "7"]);
    assert.match(wideOne.metadata["muster.cut"], /^\d{7} bytes left out$/);
    assert.equal(after.message, "after it");
});

const wide = () => Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`key-${i}`, "w".repeat(16_384)]));

test("a report that the service finds too large is told, and does not block those behind it", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    const body = { event: "in_progress", message: "left by an earlier version", output: "o".repeat(6e6) };
    agent.sender.lanes[0].queue.append(JSON.stringify(body));
    run.step("behind it");
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(
        problems.map(({ kind, detail }) => [kind, detail.includes("413")]),
        [["invalid", true]],
    );
    assert.equal((await workspace.events(run.id)).length, 3);
});

test("a closing event that the service refuses is sent again without what may be wrong", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    run.step("before");
    const { id, seq } = run;
    const identity = { agent_name: "collector", client_id: workspace.tenant, run_id: id };
    const timestamp = new Date().toISOString();
    agent.emit("events", { ...identity, event: "failed", timestamp, seq, level: "error", output: 7 });
    assert.ok(await agent.flush(120));
    assert.deepEqual(
        problems.map(({ kind, count }) => [kind, count]),
        [["invalid", 1]],
    );
    const last = (await workspace.events(id)).at(-1);
    assert.equal(last.event, "failed");
    assert.match(last.metadata["muster.cut"], /^422: events\.\d\.output/);
});

test("one bad KPI or breakdown costs no other, and a run may have any number", async () => {
    const workspace = service.workspace();
    const { agent, problems } = watched(workspace);
    const run = agent.start();
    for (let i = 0; i < 250; i++) run.kpi(`k-${i}`, i);
    run.breakdown("k-1", ["a", "b"], { points: [{ a: "x", value: 1 }] });
    run.breakdown("k-2", "country", { slices: { DE: 2, FR: NaN } });
    run.complete();
    assert.ok(await agent.flush(120));
    const found = await workspace.kpis();
    for (let i = 0; i < 250; i++) assert.equal(found[`k-${i}`], i, `k-${i}`);
    assert.equal(problems.length, 1);
    assert.deepEqual(problems[0].reports[0].breakdowns[0].metric, "k-1");
    assert.deepEqual((await breakdown(workspace, "k-2", "country")).rows, [
        { dimensions: { country: "DE" }, value: 2 },
    ]);
});

const breakdown = (workspace, metric, by) =>
    workspace.read(`business/breakdown?agent_name=collector&metric=${metric}&by=${by}`);

test("a clock that is set back during a run does not make its figures old", async (context) => {
    const workspace = service.workspace();
    const { agent } = watched(workspace);
    const run = agent.start();
    run.kpi("k", 1);
    assert.ok(await agent.flush(120));
    const { now } = Date;
    context.after(() => (Date.now = now));
    Date.now = () => now() - 3_600_000;
    run.kpi("k", 11, { add: true });
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(await workspace.kpis(), { k: 12 });
});

test("what was declared and reported about KPIs and outputs is read back as it was", async () => {
    const workspace = service.workspace();
    const { agent } = watched(workspace, {
        kpis: [{ key: "revenue", label: "Revenue", unit: "money:EUR", agg: "max" }, "invoices"],
        outputs: ["ledger", { key: "report", type: "file" }],
    });
    const run = agent.start();
    run.kpi("revenue", 12.5);
    run.kpi("invoices", 5);
    run.breakdown("invoices", "country", { slices: { DE: 4, FR: 1 } });
    run.breakdown("revenue", ["country", "kind"], {
        points: [{ country: "DE", kind: "new", value: 12.5 }],
    });
    run.complete();
    assert.ok(await agent.flush(120));
    const { kpis } = await workspace.read("business/summary");
    const { label, unit, agg, value } = kpis.find(({ key }) => key === "revenue");
    assert.deepEqual([label, unit, agg, value], ["Revenue", "money:EUR", "max", 12.5]);
    assert.deepEqual((await breakdown(workspace, "invoices", "country")).rows, [
        { dimensions: { country: "DE" }, value: 4 },
        { dimensions: { country: "FR" }, value: 1 },
    ]);
    assert.deepEqual((await breakdown(workspace, "revenue", "country,kind")).rows, [
        { dimensions: { country: "DE", kind: "new" }, value: 12.5 },
    ]);
    const { outputs } = await workspace.read("agents/collector");
    assert.deepEqual(
        outputs.map(({ key, type }) => [key, type]),
        [
            ["ledger", "any"],
            ["report", "file"],
        ],
    );
});
