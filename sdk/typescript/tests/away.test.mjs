// A service that hangs, refuses, or is not itself; rotations that are interrupted.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { after, before, test } from "node:test";

import { Unavailable } from "../../../build/sdk/dist/esm/index.js";
import { LIBRARY, Scripted, Service, makeAgent, until } from "./service.mjs";

const BATCH = "/api/v1/telemetry/batch";
const service = new Service();
before(() => service.start());

/** A server that takes connections and says what `speak` does to them. */
async function raw(speak) {
    const sockets = new Set();
    const server = createServer((socket) => {
        sockets.add(socket);
        socket.on("error", () => {});
        speak(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    after(() => {
        for (const socket of sockets) socket.destroy();
        server.close();
    });
    return `http://127.0.0.1:${server.address().port}`;
}

test("a process ends in time though the service never answers", { timeout: 120_000 }, async () => {
    const url = await raw(() => {});
    const env = { ...service.workspace().environment, MUSTER_URL: url };
    const code = `import { Agent } from ${JSON.stringify(LIBRARY)};
        const agent = new Agent("a", { timeout: 3600, exitTimeout: 0.5, log: () => {} });
        await agent.run((run) => run.kpi("k", 1));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { env });
    after(() => child.kill("SIGKILL"));
    assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("closing ends what is under way and leaves the reports to the next process", async () => {
    const url = await raw(() => {});
    const workspace = service.workspace();
    const agent = makeAgent({ ...workspace.settings, url }, { timeout: 3600 });
    await agent.run((run) => run.step("kept"));
    assert.equal(await agent.close(0.1), false);
    const next = makeAgent({ ...workspace.settings, url }, { timeout: 3600 });
    assert.equal(next.stats.waiting, 3);
});

test("an answer that comes in drops is waited for only once", async () => {
    const url = await raw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        const drop = setInterval(() => socket.destroyed || socket.write(" "), 20);
        socket.on("close", () => clearInterval(drop));
    });
    const agent = makeAgent({ ...service.workspace().settings, url }, { timeout: 0.3 });
    await assert.rejects(agent.model(), Unavailable);
});

test("work that blocks the process for longer than the timeout is not an outage", async () => {
    const body = '{"model":"m"}';
    const url = await raw((socket) => {
        socket.on("data", () => {
            socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        });
    });
    const agent = makeAgent({ ...service.workspace().settings, url }, { timeout: 1 });
    const asked = agent.model();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);
    assert.equal(await asked, "m");
});

test("a connection that the service has closed meanwhile is not an outage", async () => {
    let answered = 0;
    const url = await raw((socket) => {
        socket.on("data", (data) => {
            if (!String(data).includes("/agents/model")) return socket.destroy();
            if (answered++ === 1) return socket.destroy(); // it was kept, and is closed now
            const body = '{"model":"m"}';
            socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        });
    });
    const agent = makeAgent({ ...service.workspace().settings, url });
    assert.equal(await agent.model(), "m");
    assert.equal(await agent.model(), "m");
    assert.equal(answered, 3);
});

test("Retry-After holds everything, and not for ever", async () => {
    const scripted = await new Scripted().start();
    scripted.script[BATCH] = [[429, { "Retry-After": "Infinity" }, { detail: "slow down" }]];
    const agent = makeAgent(scripted.settings);
    await agent.register();
    await agent.run((run) => run.kpi("k", 1));
    assert.equal(await agent.flush(60), false);
    const held = agent.sender.heldUntil - performance.now();
    assert.ok(held > 0 && held <= 3_600_000, `${held}`);
    assert.deepEqual(scripted.seen("/api/v1/telemetry/business"), []);
    delete scripted.script[BATCH];
    agent.sender.heldUntil = 0;
    agent.sender.lanes[0].backoff.succeeded();
    assert.ok(await agent.flush(120));
});

for (const status of [401, 403, 404, 302]) {
    test(`after ${status} the service is tried again every two minutes`, async () => {
        const scripted = await new Scripted().start();
        const problems = [];
        scripted.script[BATCH] = [[status, {}, "<html>"]];
        const agent = makeAgent(scripted.settings, { onError: ({ kind }) => problems.push(kind) });
        await agent.run((run) => run.step("kept"));
        for (let time = 1; time <= 2; time++) {
            assert.equal(await agent.flush(60), false);
            const held = agent.sender.heldUntil - performance.now();
            assert.ok(held > 0 && held <= 120_000, `${held}`);
            assert.equal(scripted.seen(BATCH).length, time);
            agent.sender.heldUntil = 0; // two minutes later
            agent.sender.lanes[0].backoff.succeeded();
        }
        assert.deepEqual(problems, ["refused"]);
        delete scripted.script[BATCH];
        assert.ok(await agent.flush(120));
    });
}

test("what is not the service's own answer counts as an outage", async () => {
    const scripted = await new Scripted().start();
    const page = "<html>";
    scripted.script["/api/v1/agents/register"] = [[200, {}, page], [200, {}, {}], [200, {}, { warnings: [] }]];
    scripted.script[BATCH] = [[200, {}, page], [202, {}, { results: null }]];
    const agent = makeAgent(scripted.settings);
    await agent.run((run) => run.step("x"));
    await until(() => agent.flush(120), "everything is sent");
    assert.equal(scripted.seen("/api/v1/agents/register").length, 3);
    assert.equal(scripted.seen(BATCH).length, 2);
    const kinds = [
        ["model", { model: "gpt" }, () => agent.model("other"), "gpt"],
        ["command-policy", { mode: "allow_all" }, () => agent.policy({ mode: "deny_all" }), { mode: "allow_all" }],
        ["config", { size: 5 }, () => agent.config({}), { size: 5 }],
        ["document", { document: "d" }, () => agent.document(null), { document: "d" }],
    ];
    for (const [kind, good, ask, wanted] of kinds) {
        const answers = [
            [200, { ETag: '"1"' }, good],
            [200, {}, page],
            [200, {}, []],
            [302, { Location: "/x" }, page],
            [404, {}, page],
            [403, {}, page],
            [503, {}, page],
        ];
        for (const answer of answers) {
            scripted.script[`/api/v1/agents/${kind}`] = [answer];
            assert.deepEqual(await ask(), wanted, `${kind} ${answer[0]}`);
        }
    }
    scripted.script["/api/v1/agents/document"] = [[404, {}, { detail: "There is no document" }]];
    assert.equal(await agent.document(), null);
    scripted.script["/api/v1/agents/model"] = [[404, {}, page]];
    const fresh = makeAgent({ ...scripted.settings, tenant: "fresh" });
    assert.equal(await fresh.model("fallback"), "fallback");
    await assert.rejects(fresh.model(), Unavailable);
});

test("a rotation that the service puts off does not hold the reports", async () => {
    const scripted = await new Scripted().start();
    const path = "/api/v1/agents/refresh-key";
    scripted.script[path] = [[429, { "Retry-After": "3000" }, { detail: "too many rotations" }]];
    const agent = makeAgent(scripted.settings, { rotateEvery: 0 });
    await until(() => scripted.seen(path).length > 0, "a rotation");
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
    assert.equal(scripted.seen(path).length, 1);
});

test("an errand that fails is kept, and reports go on", async () => {
    const scripted = await new Scripted().start();
    const { path } = makeAgent(scripted.settings).keys;
    mkdirSync(path); // so that no rotation can begin
    const agent = makeAgent(scripted.settings, { rotateEvery: 0, heartbeat: "60" });
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
    await until(() => agent.log.some((line) => line.includes("EISDIR")), "told");
    assert.equal(agent.log.length, 1);
    assert.equal(agent.sender.errands.length, 3); // the key, adoption and the heartbeat
    assert.deepEqual(scripted.seen("/api/v1/agents/refresh-key"), []);
    for (const wrong of ["soon", -1, {}, NaN]) {
        assert.throws(() => makeAgent(scripted.settings, { heartbeat: wrong }), /heartbeat: expected seconds/);
    }
});

test("a rotation whose answer was lost is done again by the same process", async () => {
    const workspace = service.workspace();
    const settings = { ...workspace.settings, token: workspace.agentKey("rotator") };
    const agent = makeAgent(settings, {}, "rotator");
    const { transport } = agent;
    const exchange = transport.exchange.bind(transport);
    transport.exchange = async (...request) => {
        await exchange(...request);
        throw new Unavailable("the answer was lost");
    };
    await assert.rejects(agent.rotateKey(), Unavailable);
    transport.exchange = exchange;
    agent.sender.errands[0].due = 0; // ten seconds later
    agent.sender.wake();
    await until(() => !agent.keys.unfinished && agent.keys.token !== settings.token, "a new key");
    service.cli("key", "list", "--tenant", workspace.tenant);
    await agent.run((run) => run.step("with the new key"));
    assert.ok(await agent.flush(120));
});

test("keys are rotated in the background", async () => {
    const workspace = service.workspace();
    const settings = { ...workspace.settings, token: workspace.agentKey("rotator") };
    const agent = makeAgent(settings, { rotateEvery: 0.2 }, "rotator");
    await until(() => agent.keys.token !== settings.token && !agent.keys.unfinished, "a new key");
    agent.rotateAt = agent.rotateEveryMs = Infinity; // only some rotations an hour are allowed
    await agent.run((run) => run.step("with the new key"));
    assert.ok(await agent.flush(120));
});

test("white space around settings does not matter", async () => {
    const { url, token, tenant, stateDir } = service.workspace().settings;
    const agent = makeAgent({ url: ` ${url}\n`, token: `${token}\n`, tenant: `${tenant} `, stateDir });
    await agent.run((run) => run.step("x"));
    assert.ok(await agent.flush(120));
});
