// The state folder and the spool on disks that refuse, fill up, move or belong to another.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { Worker } from "node:worker_threads";

import { LIBRARY, Scripted, Service, folder, makeAgent, until } from "./service.mjs";

const BATCH = "/api/v1/telemetry/batch";
const service = new Service();
before(() => service.start());

/** Replaces functions of a module of Node.js until the test has ended. */
function replace(context, module, functions) {
    const before = Object.fromEntries(Object.keys(functions).map((name) => [name, module[name]]));
    Object.assign(module, functions);
    syncBuiltinESMExports();
    const restore = () => {
        Object.assign(module, before);
        syncBuiltinESMExports();
    };
    context.after(restore);
    return restore;
}

const failing = (code) => () => {
    throw Object.assign(new Error(`${code}: refused by the test`), { code });
};

/** An agent whose service is away until `back` is called. */
async function waiting(options = {}) {
    const scripted = await new Scripted().start();
    scripted.script[BATCH] = [[503, {}, {}]];
    const agent = makeAgent(scripted.settings, options);
    const back = () => delete scripted.script[BATCH];
    const arrived = () =>
        scripted
            .seen(BATCH)
            .filter((request) => request.status === 202)
            .flatMap((request) => JSON.parse(request.body).events.map((event) => event.message));
    return { scripted, agent, back, arrived };
}

/** Runs a module that uses the library, until it ends; its exit code, or the signal. */
async function ran(code, env) {
    const text = `import { Agent } from ${JSON.stringify(LIBRARY)};\n${code}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", text], { env });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => said.push(part));
    const [status, signal] = await once(child, "exit");
    return { end: signal ?? status, said: Buffer.concat(said).toString() };
}

test("totals in many files of a dead process arrive in their order", async () => {
    const own = await new Service().start();
    const workspace = own.workspace();
    await own.kill();
    const dies = `
        const agent = new Agent("counter", { spoolMaxBytes: 1 << 20, log: () => {} });
        const run = agent.start();
        for (let i = 0; i < 2000; i++) run.llm("m", { input_tokens: 3 });
        process.kill(process.pid, "SIGKILL");`;
    assert.equal((await ran(dies, workspace.environment)).end, "SIGKILL");
    await own.start();
    const agent = makeAgent(workspace.settings, {}, "counter");
    const files = fs.readdirSync(agent.state).filter((name) => name.startsWith("reports"));
    assert.ok(files.length >= 8, `${files.length} files`);
    assert.ok(files.every((name) => /^reports-\d{16}-[\w.]+-\d{6}\.jsonl$/.test(name)));
    assert.ok(await agent.flush(120));
    const { calls, input_tokens } = (await workspace.usage()).m;
    assert.deepEqual([calls, input_tokens], [2000, 6000]);
});

for (const code of ["ENOSPC", "EIO", "EMFILE"]) {
    test(`a disk that refuses to write (${code}) costs no report`, async (context) => {
        const workspace = service.workspace();
        const agent = makeAgent(workspace.settings);
        const run = agent.start();
        run.step("on disk");
        const restore = replace(context, fs, { writeSync: failing(code), openSync: failing(code) });
        for (let i = 0; i < 200; i++) run.step(`in memory ${i}`);
        run.kpi("k", 5);
        run.complete();
        assert.ok(await agent.flush(120));
        restore();
        assert.equal((await workspace.events(run.id)).length, 203);
        assert.deepEqual(await workspace.kpis(), { k: 5 });
        assert.deepEqual([agent.stats.dropped, agent.stats.waiting], [0, 0]);
        const told = agent.log.filter((line) => line.includes("kept in memory"));
        assert.deepEqual([told.length, told[0].includes(code)], [2, true]); // one for each queue
    });
}

test("a folder that vanishes costs no report", async () => {
    const { agent, back, arrived } = await waiting({ spoolMaxBytes: 256 << 10 });
    const run = agent.start();
    for (let i = 0; i < 100; i++) run.step(`${i}`);
    fs.renameSync(agent.state, `${agent.state}.gone`);
    for (let i = 100; i < 300; i++) run.step(`${i}`);
    assert.equal(agent.stats.dropped, 0);
    back();
    agent.sender.lanes[0].backoff.succeeded();
    assert.ok(await agent.flush(120));
    const steps = arrived().slice(1);
    assert.deepEqual(
        steps,
        Array.from({ length: 300 }, (_, i) => `${i}`),
    );
});

test("a report that is larger than the spool is lost alone, and that is told", async () => {
    const problems = [];
    const onError = (problem) => problems.push(problem);
    const { agent, back, arrived } = await waiting({ spoolMaxBytes: 64 << 10, onError });
    const run = agent.start();
    for (let i = 0; i < 50; i++) run.step(`${i}`);
    run.step("large", { output: { a: Array(10).fill("y".repeat(16_000)) } });
    assert.equal(agent.stats.dropped, 1);
    await until(() => problems.length > 0, "told");
    assert.deepEqual([problems[0].kind, problems[0].count], ["dropped", 1]);
    run.complete();
    back();
    agent.sender.lanes[0].backoff.succeeded();
    assert.ok(await agent.flush(120));
    assert.equal(arrived().length, 52);
});

test("the end of a run says how many reports a full spool has cost", async () => {
    const { agent, scripted, back } = await waiting({ spoolMaxBytes: 64 << 10 });
    const run = agent.start();
    for (let i = 0; i < 1000; i++) run.step(`${i}`);
    const { dropped } = agent.stats;
    assert.ok(dropped > 100);
    const metadata = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key-${i}`, i]));
    run.complete("", { metadata });
    back();
    agent.sender.lanes[0].backoff.succeeded();
    assert.ok(await agent.flush(120));
    const { events } = JSON.parse(scripted.seen(BATCH).at(-1).body);
    assert.equal(events.at(-1).metadata["muster.dropped"], `${dropped}`);
    assert.ok(Object.keys(events.at(-1).metadata).length <= 100);
});

test("a file that cannot be taken over does not stop the agent, nor a room that vanishes", async (context) => {
    const scripted = await new Scripted().start();
    const { state } = makeAgent(scripted.settings, {}, "other");
    fs.mkdirSync(join(state, "events-0.0.0-1.jsonl")); // neither can be opened
    fs.writeFileSync(join(state, "key.json.1.0.next"), "");
    const { statSync } = fs;
    replace(context, fs, {
        statSync: (path, ...more) =>
            String(path).endsWith(".next") ? failing("ENOENT")() : statSync(path, ...more),
    });
    const agent = makeAgent(scripted.settings, {}, "other");
    assert.ok(fs.readdirSync(agent.state).length > 0);
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
    assert.deepEqual(agent.log, []);
});

test("an agent starts for a user without a home", async (context) => {
    const { url, token, tenant } = (await new Scripted().start()).settings;
    const temporary = folder();
    replace(context, os, { homedir: failing("ERR_SYSTEM_ERROR"), tmpdir: () => temporary });
    const agent = makeAgent({ url, token, tenant });
    assert.ok(agent.state.startsWith(join(temporary, "muster")));
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
});

test("a file system that becomes read-only does not change how the process ends", async () => {
    const workspace = service.workspace();
    const code = `
        import fs from "node:fs";
        import { syncBuiltinESMExports } from "node:module";
        const agent = new Agent("a", { url: "http://127.0.0.1:2", exitTimeout: 0.2, log: () => {} });
        await agent.run((run) => run.step("x"));
        const refuse = () => { throw Object.assign(new Error("EROFS"), { code: "EROFS" }); };
        for (const name of ["futimesSync", "renameSync", "rmSync", "ftruncateSync", "writeSync"])
            fs[name] = refuse;
        syncBuiltinESMExports();`;
    assert.deepEqual(await ran(code, workspace.environment), { end: 0, said: "" });
});

const IN_WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const { Agent } = require(workerData.library);
const agent = new Agent("workers", { ...workerData.settings, log: () => {} });
agent.sender.lanes[0].lingerMs = 3600000;
agent.start({ message: "from a worker" });
parentPort.postMessage("reported");
setInterval(() => {}, 1000);
`;

test("what a terminated worker thread left is sent by its process", async () => {
    const workspace = service.workspace();
    const library = LIBRARY.replace("/esm/", "/cjs/");
    const workerData = { library, settings: workspace.settings };
    const main = makeAgent(workspace.settings, {}, "workers");
    const worker = new Worker(IN_WORKER, { eval: true, workerData });
    await once(worker, "message");
    await main.flush(120);
    assert.deepEqual(await workspace.runs(), [], "a running thread keeps its files");
    await worker.terminate();
    await until(async () => {
        await main.flush(120);
        return (await workspace.runs()).length === 1;
    }, "the worker's report");
});

test("a key that was rotated is used from a folder that became read-only", async (context) => {
    const workspace = service.workspace();
    const settings = { ...workspace.settings, token: workspace.agentKey("rotator") };
    const first = makeAgent(settings, {}, "rotator");
    assert.ok(await first.rotateKey());
    await first.close(0);
    replace(context, fs, { accessSync: failing("EROFS") });
    const agent = makeAgent(settings, {}, "rotator");
    assert.equal(agent.keys.token, first.keys.token);
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
    await assert.rejects(agent.rotateKey(), /can only be rotated when the state folder/);
});

test("another spelling of the address has the same folder", async () => {
    const stateDir = folder();
    const settings = { token: "k", tenant: "acme", stateDir };
    const states = ["http://LocalHost:80", "http://localhost/", "https://localhost"].map(
        (url) => makeAgent({ ...settings, url }).state,
    );
    assert.equal(new Set(states).size, 1);
});
