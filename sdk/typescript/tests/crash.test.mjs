// Kill the agent and the service at random instants: every report that was made is found once.
//
// The agent prints a line when `run.step` has returned; from then on it must not be lost.
// The clock for its end starts with the second line: the first request loads fetch().

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { LIBRARY, Service, makeAgent } from "./service.mjs";

const ROUNDS = 2;
const AGENT = `
import { writeSync } from "node:fs";
import { Agent } from ${JSON.stringify(LIBRARY)};
const agent = new Agent("victim", { exitTimeout: 20, log: () => {} });
const run = agent.start();
const steps = Number(process.argv[1]);
for (let i = 0; i < steps; i++) {
    run.step(run.id + " " + i);
    writeSync(1, run.id + " " + i + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 1));
}
run.complete();
`;

function startAgent(workspace, steps) {
    const command = ["--input-type=module", "-e", AGENT, `${steps}`];
    const stdio = ["ignore", "pipe", "inherit"];
    return spawn(process.execPath, command, { env: workspace.environment, stdio });
}

/** What the agent has printed when it has ended, by itself or by a kill after `killAfter` ms. */
async function linesOf(agent, killAfter) {
    const ended = once(agent, "exit");
    const lines = [];
    for await (const line of createInterface({ input: agent.stdout })) {
        if (lines.push(line) === 2 && killAfter) setTimeout(() => agent.kill("SIGKILL"), killAfter);
    }
    await ended;
    return lines;
}

test("every report made before a kill arrives exactly once", async () => {
    const service = await new Service().start();
    const workspace = service.workspace();
    let stop = false;
    const killer = (async () => {
        while (!stop) {
            await sleep(50 + Math.random() * 200);
            await service.kill();
            await sleep(Math.random() * 100);
            await service.start();
        }
    })();
    const made = [];
    for (let round = 0; round < ROUNDS; round++) {
        const agent = startAgent(workspace, 1e9);
        made.push(...(await linesOf(agent, 200 + Math.random() * 600)));
    }
    stop = true;
    await killer;
    made.push(...(await linesOf(startAgent(workspace, 3))));
    const found = new Map();
    for (const run of await workspace.runs()) {
        for (const { message } of await workspace.events(run.run_id)) {
            found.set(message, (found.get(message) ?? 0) + 1);
        }
    }
    assert.ok(made.length > 20, "too few to mean anything");
    assert.deepEqual(
        made.filter((line) => line.split(" ").length === 2 && found.get(line) !== 1),
        [],
    );
    assert.deepEqual(
        [...found].filter(([message, count]) => message && count > 1),
        [],
    );
});

// Reports steps, a KPI and tokens of a model of its own, and dies at its last.
const COUNTER = `
import { Agent } from ${JSON.stringify(LIBRARY)};
const [name, steps] = [process.argv[1], Number(process.argv[2])];
const agent = new Agent("victim", { spoolMaxBytes: 1 << 20, log: () => {} });
const run = agent.start();
for (let i = 0; i < steps; i++) {
    run.step(name);
    run.kpi(name, 1, { add: true });
    run.llm(name, { input_tokens: 7, output_tokens: 2 });
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
process.kill(process.pid, "SIGKILL");
`;

test("KPIs and tokens of killed agents arrive to the last one", async () => {
    const service = await new Service().start();
    const workspace = service.workspace();
    const wanted = {};
    for (let round = 0; round < ROUNDS; round++) {
        const [name, steps] = [`round-${round}`, 600 + Math.floor(Math.random() * 300)];
        wanted[name] = steps;
        const command = ["--input-type=module", "-e", COUNTER, name, `${steps}`];
        const agent = spawn(process.execPath, command, { env: workspace.environment });
        const ended = once(agent, "exit");
        await sleep(150 + Math.random() * 150); // it has begun, or it has not
        await service.kill();
        await ended;
        if (round < ROUNDS - 1) await service.start();
    }
    await service.start();
    assert.ok(await makeAgent(workspace.settings, {}, "victim").flush(120));
    const [kpis, usage, runs] = [await workspace.kpis(), await workspace.usage(), {}];
    for (const { run_id } of await workspace.runs()) {
        const [, ...steps] = await workspace.events(run_id);
        runs[steps[0].message] = steps.length;
    }
    assert.deepEqual([kpis, runs], [wanted, wanted]);
    for (const [name, steps] of Object.entries(wanted)) {
        const { calls, input_tokens, output_tokens } = usage[name];
        assert.deepEqual([calls, input_tokens, output_tokens], [steps, 7 * steps, 2 * steps], name);
    }
});

test("a running process keeps its files", async () => {
    const service = await new Service().start();
    const workspace = service.workspace();
    await service.kill(); // so that the agent's reports stay in its spool
    const agent = startAgent(workspace, 1e9);
    await once(agent.stdout, "data");
    const other = makeAgent(workspace.settings, {}, "victim");
    assert.equal(other.stats.waiting, 0);
    const ended = once(agent, "exit");
    agent.kill("SIGKILL");
    await ended;
    await other.flush(0.01);
    assert.ok(other.stats.waiting > 0, "what a dead process left is adopted");
});

// Rotates its key, and dies at the named point.
const ROTATOR = `
import { Agent } from ${JSON.stringify(LIBRARY)};
const point = process.argv[1];
const agent = new Agent("rotator", { log: () => {} });
const { transport } = agent;
const exchange = transport.exchange.bind(transport);
const die = () => process.kill(process.pid, "SIGKILL");
transport.exchange = async (method, path, ...rest) => {
    const asked = path.endsWith("refresh-key");
    if (asked && point === "before the request") die();
    if (path.endsWith("limits") && point === "after the write") die();
    const answer = await exchange(method, path, ...rest);
    if (asked && point === "after the answer") die();
    return answer;
};
await agent.rotateKey();
`;

test("a rotation that is killed leaves a key that works", async () => {
    const service = await new Service().start();
    for (const point of ["before the request", "after the answer", "after the write"]) {
        const workspace = service.workspace();
        const given = workspace.agentKey("rotator");
        const env = { ...workspace.environment, MUSTER_TOKEN: given };
        const command = ["--input-type=module", "-e", ROTATOR, point];
        const [, signal] = await once(spawn(process.execPath, command, { env }), "exit");
        assert.equal(signal, "SIGKILL", point);
        const settings = { ...workspace.settings, token: given };
        const agent = makeAgent(settings, {}, "rotator");
        await agent.run((run) => run.step("alive"));
        assert.ok(await agent.flush(120), point);
        assert.equal(agent.keys.unfinished, false, point);
        assert.notEqual(agent.keys.token, given, point);
    }
});
