// What an agent reports arrives, whatever it passes in.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, test } from "node:test";

import { Agent, currentRun, tokensOf } from "../../../build/sdk/dist/esm/index.js";
import { Service, folder, makeAgent } from "./service.mjs";

const service = new Service();
before(() => service.start());

test("a run opens, steps and closes", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings, { version: "1.4" });
    let id;
    await agent.run(
        (run) => {
            id = run.id;
            assert.equal(currentRun(), run);
            run.step("Read", { category: "inbox", metrics: { mails: 3 }, source: "a.ts:1" });
            run.complete("Done", { recordsProcessed: 3, output: { nested: [1] } });
        },
        { message: "Begin", workflowRunId: "w-1", metadata: { host: "h" } },
    );
    assert.ok(await agent.flush(120));
    const [first, step, last] = await workspace.events(id);
    assert.deepEqual(
        [first.event, step.event, last.event],
        ["started", "in_progress", "completed"],
    );
    assert.deepEqual([first.seq, step.seq, last.seq], [0, 1, 2]);
    assert.deepEqual([first.metadata, first.workflow_run_id], [{ host: "h" }, "w-1"]);
    assert.deepEqual([step.metrics, step.category], [{ mails: 3 }, "inbox"]);
    assert.deepEqual([last.records_processed, last.output], [3, { nested: [1] }]);
    assert.equal(last.agent_version, "1.4");
});

test("progress is reported once a second and at the end", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings);
    let id;
    await agent.run((run) => {
        id = run.id;
        for (let done = 0; done <= 100; done++) run.progress(done, 100);
    });
    assert.ok(await agent.flush(120));
    const steps = (await workspace.events(id)).filter((one) => one.event === "in_progress");
    assert.ok(steps.length >= 2 && steps.length < 20, `${steps.length} steps`);
    assert.deepEqual(steps.at(-1).metrics, { done: 100, total: 100 });
});

test("an error fails the run and is thrown again", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings);
    let id;
    const work = async (run) => {
        id = run.id;
        throw new RangeError("too far");
    };
    await assert.rejects(agent.run(work), RangeError);
    assert.ok(await agent.flush(120));
    const last = (await workspace.events(id)).at(-1);
    assert.deepEqual([last.event, last.error_type], ["failed", "RangeError"]);
    assert.equal(last.error_message, "too far");
    assert.match(last.output.traceback, /reporting\.test\.mjs/);
});

test("KPIs, breakdowns and tokens arrive in one request each", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings, {
        kpis: ["invoices", { key: "total", unit: "money:EUR" }],
    });
    await agent.run((run) => {
        for (let i = 0; i < 5; i++) {
            run.kpi("invoices", 1, { add: true });
            run.llm("gpt", { prompt_tokens: 10, completion_tokens: 1 });
        }
        run.kpi("total", 12.5);
        run.breakdown("invoices", "country", { slices: { DE: 4, FR: 1 } });
        run.breakdown("invoices", { by: ["a", "b"], points: [{ a: "x", b: "y", value: 5 }] });
    });
    assert.ok(await agent.flush(120));
    assert.deepEqual(await workspace.kpis(), { invoices: 5, total: 12.5 });
    const { input_tokens, output_tokens, calls } = (await workspace.usage()).gpt;
    assert.deepEqual([input_tokens, output_tokens, calls], [50, 5, 5]);
    assert.equal(agent.stats.sent, 2 + 1 + 1);
});

test("cached tokens cost what the provider takes for them", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings);
    await agent.run((run) => {
        run.llm("gpt-5", { prompt_tokens: 1200, prompt_tokens_details: { cached_tokens: 400 } });
        run.llm("claude-sonnet-4-5", { input_tokens: 800, cache_read_input_tokens: 400 });
        run.llm("gpt-4.1", { input_tokens: 800, cache_read_tokens: 400 });
    });
    assert.ok(await agent.flush(120));
    const costs = Object.entries(await workspace.usage()).map(([model, { cost }]) => [model, cost]);
    assert.deepEqual(Object.fromEntries(costs), {
        "gpt-5": "0.00105",
        "claude-sonnet-4-5": "0.00252",
        "gpt-4.1": "0.0018",
    });
});

test("registration declares what was given", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings, {
        description: "Reads",
        interval: 3600,
        inputs: ["mailbox"],
        config: [
            { key: "mode", choices: ["fast", "slow"], default: "fast", restartRequired: true },
            { key: "size", value_type: "integer", restart_required: false }, // as the API has them
        ],
    });
    assert.deepEqual(await agent.register(), []);
    const found = await workspace.read("agents/collector");
    assert.deepEqual([found.interval_seconds, found.description], [3600, "Reads"]);
    const [mode, size] = found.config_schema.params;
    assert.deepEqual([mode.opciones, mode.restart_required], [["fast", "slow"], true]);
    assert.deepEqual([size.value_type, size.restart_required], ["integer", false]);
});

test("a wrong declaration is named at once", () => {
    const settings = { url: "http://127.0.0.1:9", token: "t", tenant: "x", stateDir: folder() };
    const wrong = [
        ["", {}, /^name: expected the agent's name, got ""$/],
        [undefined, {}, /^name: expected the agent's name, got undefined$/],
        ["a", { kpis: "invoices" }, /^kpis: expected a list, got "invoices"$/],
        ["a", { config: { key: "x" } }, /^config: expected a list, got {"key":"x"}$/],
        ["a", { inputs: [3] }, /^inputs: expected a name or an object, got 3$/],
        [
            "a",
            { config: [{ key: "x", valuetype: "list" }] },
            /^config: x has an unknown member "valuetype"; known are key, label, valueType, required, help, default, choices, restartRequired$/,
        ],
        ["a", { kpis: [{ key: "x", aggregation: "sum" }] }, /^kpis: x has an unknown member "aggregation"/],
    ];
    for (const [name, more, message] of wrong) {
        assert.throws(() => new Agent(name, { ...settings, ...more }), { message });
    }
});

test("a refused registration says what is wrong, and reports go on", async () => {
    const workspace = service.workspace();
    const problems = [];
    const agent = makeAgent(workspace.settings, {
        interval: "soon",
        onError: (problem) => problems.push(problem),
    });
    const id = await agent.run((run) => {
        run.step("still reported");
        return run.id;
    });
    assert.ok(await agent.flush(120));
    assert.deepEqual(
        problems.map((problem) => [problem.kind, problem.count]),
        [["invalid", 1]],
    );
    assert.match(
        problems[0].detail,
        /^the service refused the registration of collector: 422: interval_seconds: .*, got "soon"$/,
    );
    assert.equal((await workspace.events(id)).length, 3);
});

test("awkward values arrive as text instead of breaking the agent", async () => {
    const workspace = service.workspace();
    const problems = [];
    const agent = makeAgent(workspace.settings, { onError: (problem) => problems.push(problem) });
    const loop = {};
    loop.loop = loop;
    const awkward = {
        toString() {
            throw new Error("no text");
        },
        get value() {
            throw new Error("no value");
        },
    };
    const run = agent.start();
    run.step("x".repeat(20000) + "\0\ud800", {
        level: "l".repeat(99),
        metrics: { nan: NaN, big: 2n ** 70n, text: "t", ok: 1 },
        metadata: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [n, n])),
        output: { awkward, loop, nan: Infinity, symbol: Symbol("s") },
    });
    run.step(awkward);
    run.kpi("nothing", NaN);
    run.llm(awkward);
    run.complete();
    assert.ok(await agent.flush(120));
    assert.deepEqual(
        problems.map(({ detail }) => detail),
        ["run.kpi(): TypeError: nothing: expected a number or a text, got NaN"],
    );
    const step = (await workspace.events(run.id))[1];
    assert.equal(step.message.length, 16384);
    assert.deepEqual(step.metrics, { big: 2 ** 70, ok: 1 });
    assert.equal(Object.keys(step.metadata).length, 100);
});

test("runs at the same time do not mix", async () => {
    const workspace = service.workspace();
    const agent = makeAgent(workspace.settings);
    const work = async (name) => {
        for (let i = 0; i < 30; i++) {
            currentRun().step(`${name}-${i}`);
            await null;
        }
        return currentRun().id;
    };
    const task = agent.task(work);
    const ids = await Promise.all(["a", "b", "c"].map((name) => task(name)));
    assert.ok(await agent.flush(120));
    for (const [index, name] of ["a", "b", "c"].entries()) {
        const said = (await workspace.events(ids[index]))
            .slice(1, -1)
            .map((event) => event.message);
        assert.deepEqual(
            said,
            Array.from({ length: 30 }, (_, i) => `${name}-${i}`),
        );
    }
});

test("pulls answer what the service says", async () => {
    const workspace = service.workspace();
    const options = {
        token: workspace.agentKey("collector"),
        config: [{ key: "size", value_type: "integer", default: "5" }],
    };
    const agent = makeAgent(workspace.settings, options);
    await agent.register();
    assert.equal(await agent.model(), null);
    assert.equal(await agent.model("m"), "m");
    assert.equal(await agent.document(), null);
    assert.equal((await agent.policy()).mode, "deny_all");
    assert.deepEqual(await agent.config(), { size: 5 });
    service.cli("model", "set", "small", "--tenant", workspace.tenant);
    assert.equal(await agent.model("m"), "small");
    const file = join(folder(), "rules.yaml");
    writeFileSync(file, "rules:\n  - no “shouting”\n");
    const where = ["--tenant", workspace.tenant, "--agent", "collector"];
    service.cli("document", "set", file, "--format", "yaml", ...where);
    const found = await agent.document();
    const { format, document, version } = found;
    assert.deepEqual([format, document, version], ["yaml", readFileSync(file, "utf8"), 1]);
    assert.deepEqual(await agent.document(), found); // unchanged: from disk
    await agent.heartbeat();
});

test("usage of any provider becomes four disjoint counts", () => {
    const counts = (usage) => Object.values(tokensOf(usage)).slice(0, 4);
    const cached = { cached_tokens: 60 };
    const cases = [
        [
            { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: cached },
            [40, 20, 60, 0],
        ],
        [{ input_tokens: 100, output_tokens: 20, input_tokens_details: cached }, [40, 20, 60, 0]],
        [
            {
                input_tokens: 10,
                output_tokens: 5,
                cache_read_input_tokens: 70,
                cache_creation_input_tokens: 30,
            },
            [10, 5, 70, 30],
        ],
        [{ inputTokens: 90, outputTokens: 5, cachedInputTokens: 40 }, [50, 5, 40, 0]],
        [
            { promptTokenCount: 50, candidatesTokenCount: 9, cachedContentTokenCount: 20 },
            [30, 9, 20, 0],
        ],
        [{ prompt_tokens: 5, prompt_tokens_details: cached }, [5, 0, 60, 0]],
        [undefined, [0, 0, 0, 0]],
    ];
    for (const [usage, wanted] of cases) assert.deepEqual(counts(usage), wanted);
});

test("the library loads as CommonJS too, and a disabled agent does nothing", async () => {
    const required = createRequire(import.meta.url)("../../../build/sdk/dist/cjs/index.js");
    assert.equal(typeof required.Agent, "function");
    assert.throws(() => new Agent("a", { token: "t", tenant: "x" }), /MUSTER_URL/);
    process.env.MUSTER_DISABLED = "1";
    try {
        const agent = new Agent("a", { stateDir: folder() });
        await agent.run((run) => run.step("nothing"));
        assert.ok(await agent.flush());
        assert.equal(await agent.model("m"), "m");
        assert.equal(agent.state, undefined);
    } finally {
        delete process.env.MUSTER_DISABLED;
    }
});

test("many agents in a process share one listener at its exit", () => {
    const { settings } = service.workspace();
    const before = process.listenerCount("beforeExit");
    const agents = Array.from({ length: 12 }, () => makeAgent(settings));
    assert.ok(process.listenerCount("beforeExit") <= Math.max(before, 1));
    return Promise.all(agents.map((agent) => agent.close()));
});
