// The sender and the spool: what is retried, what is given up, and what is kept.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";

import { BudgetExceeded, Refused, Unavailable } from "../../../build/sdk/dist/esm/index.js";
import { Scripted, Service, folder, makeAgent, until } from "./service.mjs";

const BATCH = "/api/v1/telemetry/batch";
const messages = (request) => JSON.parse(request.body).events.map((event) => event.message);
const service = new Service();
before(() => service.start());

// Most of these wait for a time to pass: they do so together.
describe("the sender", { concurrency: true }, () => {
    test("an invalid event is isolated and the others arrive", async () => {
        const workspace = service.workspace();
        const problems = [];
        const agent = makeAgent(workspace.settings, {
            onError: (problem) => problems.push(problem),
        });
        const run = agent.start();
        for (let i = 0; i < 40; i++) {
            run.step(`${i}`);
            if (i === 7 || i === 23)
                agent.emit("events", { event: "no such event", message: `${i}` });
        }
        run.complete();
        assert.ok(await agent.flush(120));
        assert.equal((await workspace.events(run.id)).length, 42);
        const bad = problems.flatMap((problem) => problem.reports.map((report) => report.message));
        assert.deepEqual([bad, agent.stats.invalid, agent.stats.waiting], [["7", "23"], 2, 0]);
    });

    test("a batch that is refused without naming an event is halved", async () => {
        const scripted = await new Scripted().start();
        const problems = [];
        const refuse = [413, {}, { detail: "too large", limit: 1, unit: "events" }];
        scripted.script[BATCH] = [refuse, refuse, refuse, [202, {}, { results: [] }]];
        const agent = makeAgent(scripted.settings, { onError: (each) => problems.push(each) });
        const run = agent.start();
        for (let i = 0; i < 7; i++) run.step(`${i}`);
        assert.ok(await agent.flush(120));
        const sizes = scripted.seen(BATCH).map((request) => messages(request).length);
        assert.deepEqual(sizes, [8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert.deepEqual(problems, []);
    });

    test("a rejected event is reported and not retried", async () => {
        const workspace = service.workspace();
        const kinds = new Set();
        const onError = (problem) => kinds.add(problem.kind);
        const agent = makeAgent(workspace.settings, { onError });
        await agent.register();
        service.cli("agent", "disable", "collector", "--tenant", workspace.tenant);
        await agent.run((run) => run.kpi("k", 1));
        assert.ok(await agent.flush(120));
        assert.deepEqual([...kinds], ["rejected"]);
        assert.deepEqual([agent.stats.rejected, agent.stats.waiting], [3, 0]);
    });

    test("the wait between attempts is random and grows to a limit", async () => {
        const { backoff } = makeAgent((await new Scripted().start()).settings).sender.lanes[0];
        const waits = [];
        for (let i = 0; i < 400; i++) {
            backoff.failed(100_000);
            waits.push(backoff.notBefore - 100_000);
        }
        assert.ok(waits[0] <= 1000 && waits.every((wait) => wait >= 0 && wait <= 60_000));
        const late = waits.slice(20);
        assert.ok(Math.min(...late) < 10_000 && Math.max(...late) > 50_000, "full jitter");
        backoff.succeeded();
        assert.equal(backoff.notBefore, 0);
    });

    test("a hundred events are sent at once and fewer after a while", async () => {
        const scripted = await new Scripted().start();
        const agent = makeAgent(scripted.settings);
        const lane = agent.sender.lanes[0];
        assert.deepEqual([lane.full, lane.lingerMs], [100, 2000]);
        lane.lingerMs = 3_600_000; // so that only their number can send them
        const run = agent.start();
        for (let i = 0; i < 99; i++) run.step(`${i}`);
        await until(() => scripted.seen(BATCH).length === 1, "a full batch");
        lane.lingerMs = 500;
        const began = performance.now();
        run.step("alone");
        await until(() => scripted.seen(BATCH).length === 2, "a batch of one");
        assert.ok(scripted.seen(BATCH)[1].at - began >= 500);
        const sizes = scripted.seen(BATCH).map((request) => messages(request).length);
        assert.deepEqual(sizes, [100, 1]);
    });

    test("Retry-After is honoured", async () => {
        const scripted = await new Scripted().start();
        scripted.script[BATCH] = [
            [429, { "Retry-After": "2" }, { detail: "slow down" }],
            [202, {}, {}],
        ];
        const agent = makeAgent(scripted.settings);
        agent.start();
        assert.equal(await agent.flush(1), false, "a hurry does not override it");
        await until(() => scripted.seen(BATCH).length === 2, "a second attempt");
        const [first, second] = scripted.seen(BATCH);
        assert.ok(second.at - first.at >= 1900);
    });

    for (const status of [401, 403, 302]) {
        test(`${status} stops the sending with one message and keeps the spool`, async () => {
            const scripted = await new Scripted().start();
            const problems = [];
            scripted.script[BATCH] = [
                [status, { Location: "http://127.0.0.1:9/" }, { detail: "no" }],
            ];
            const onError = (problem) => problems.push(problem.kind);
            const agent = makeAgent(scripted.settings, { onError });
            await agent.run((run) => run.step("kept"));
            assert.equal(await agent.flush(60), false);
            agent.start();
            assert.equal(await agent.flush(0.2), false);
            await agent.close(0);
            assert.equal(scripted.seen(BATCH).length, 1);
            assert.deepEqual(problems, ["refused"]);
            assert.equal(agent.log.length, 1);
            delete scripted.script[BATCH];
            await until(async () => {
                const after = makeAgent(scripted.settings);
                return (await after.flush(120)) && scripted.seen(BATCH).length > 1;
            }, "the kept reports");
            assert.deepEqual(messages(scripted.seen(BATCH)[1]), ["", "kept", "", ""]);
        });
    }

    test("an outage is said once and everything arrives after it", async () => {
        const own = await new Service().start();
        const workspace = own.workspace();
        const agent = makeAgent(workspace.settings);
        await agent.register();
        await own.kill();
        const run = agent.start();
        for (let i = 0; i < 250; i++) run.step(`${i}`);
        run.kpi("k", 2);
        run.complete();
        assert.equal(await agent.flush(0.5), false);
        assert.equal(agent.stats.waiting, 253);
        await own.start();
        assert.ok(await agent.flush(120));
        assert.equal((await workspace.events(run.id)).length, 252);
        assert.deepEqual(await workspace.kpis(), { k: 2 });
        assert.equal(agent.log.filter((line) => line.includes("sent later")).length, 1);
    });

    test("a full spool loses its oldest reports and counts them", async () => {
        const scripted = await new Scripted().start();
        scripted.script[BATCH] = [[503, { "Retry-After": "60" }, {}]];
        const agent = makeAgent(scripted.settings, { spoolMaxBytes: 64 * 1024 });
        const run = agent.start();
        for (let i = 0; i < 2000; i++) run.step(`${i}`);
        const { dropped, waiting } = agent.stats;
        assert.ok(dropped > 1000 && dropped + waiting === 2001);
        const files = readdirSync(agent.state).map(
            (name) => statSync(join(agent.state, name)).size,
        );
        assert.ok(files.reduce((sum, size) => sum + size, 0) <= 64 * 1024);
    });

    test("a torn line is skipped", async () => {
        const scripted = await new Scripted().start();
        scripted.script[BATCH] = [[401, {}, {}]];
        const first = makeAgent(scripted.settings);
        first.start({ message: "whole" });
        await first.close(0);
        await until(
            () => readdirSync(first.state).some((n) => /^events-\d{16}-0\.0\.0-\d{6}/.test(n)),
            "given up",
        );
        const name = readdirSync(first.state).find((each) => each.startsWith("events"));
        writeFileSync(join(first.state, name), '{"event":"torn by a power fail', { flag: "a" });
        delete scripted.script[BATCH];
        assert.ok(await makeAgent(scripted.settings).flush(120));
        assert.deepEqual(messages(scripted.seen(BATCH).at(-1)), ["whole"]);
    });

    test("the last known good answer is used while the service is away, not after a refusal", async () => {
        const scripted = await new Scripted().start();
        const path = "/api/v1/agents/config";
        scripted.script[path] = [
            [200, { ETag: '"1"' }, { secret: "s" }],
            [304, {}, null],
            [503, {}, {}],
            [401, {}, {}],
        ];
        scripted.script["/api/v1/agents/model"] = [[503, {}, {}]];
        await makeAgent(scripted.settings).config();
        const agent = makeAgent(scripted.settings);
        assert.deepEqual(await agent.config(), { secret: "s" });
        assert.deepEqual(await agent.config(), { secret: "s" });
        const etags = scripted.seen(path).map((request) => request.etag);
        assert.deepEqual(etags, [undefined, '"1"', '"1"']);
        assert.equal(statSync(join(agent.state, "config.json")).mode & 0o777, 0o600);
        await assert.rejects(agent.config({}), Refused);
        assert.equal(await agent.model("m"), "m");
        await assert.rejects(agent.model(), Unavailable);
    });

    test("a hard budget that is exceeded is thrown, whatever is known", async () => {
        const scripted = await new Scripted().start();
        const detail = "The hard budget of 1.00 USD per day for LLM cost is exceeded";
        scripted.script["/api/v1/agents/model"] = [
            [200, { ETag: '"1"' }, { model: "a" }],
            [402, {}, { detail }],
        ];
        const agent = makeAgent(scripted.settings);
        assert.equal(await agent.model(), "a");
        const stopped = (error) => error instanceof BudgetExceeded && error.detail === detail;
        await assert.rejects(agent.model("m"), stopped);
    });

    test("a service that was killed leaves what it last said", async () => {
        const own = await new Service().start();
        const workspace = own.workspace();
        const options = {
            token: workspace.agentKey("collector"),
            config: [{ key: "size", value_type: "integer", default: "5" }],
        };
        const first = makeAgent(workspace.settings, options);
        await first.register();
        assert.deepEqual(await first.config(), { size: 5 });
        await own.kill();
        const agent = makeAgent(workspace.settings, options); // started during the outage
        assert.deepEqual(await agent.config(), { size: 5 });
        await assert.rejects(agent.model(), Unavailable);
        await own.start();
        own.cli("model", "set", "small", "--tenant", workspace.tenant);
        assert.equal(await agent.model(), "small");
    });

    test("a rotated key is used at once and by the next process", async () => {
        const workspace = service.workspace();
        const settings = { ...workspace.settings, token: workspace.agentKey("rotator") };
        const agent = makeAgent(settings, {}, "rotator");
        assert.ok(await agent.rotateKey());
        assert.notEqual(agent.keys.token, settings.token);
        const kept = JSON.parse(readFileSync(agent.keys.path, "utf8"));
        assert.deepEqual([kept.token, kept.rotating], [agent.keys.token, false]);
        const again = makeAgent(settings, {}, "rotator"); // the environment still has the first key
        assert.equal(again.keys.token, agent.keys.token);
        assert.ok(await again.rotateKey());
        assert.equal(await agent.rotateKey(), false);
        assert.equal(agent.keys.token, again.keys.token);
    });

    test("a disk that refuses stops the rotation before the request", async () => {
        const scripted = await new Scripted().start();
        const agent = makeAgent(scripted.settings);
        mkdirSync(agent.keys.path); // a file cannot be written where a folder is
        await assert.rejects(agent.rotateKey(), { code: "EISDIR" });
        assert.equal(agent.keys.token, scripted.settings.token);
        assert.deepEqual(scripted.seen("/api/v1/agents/refresh-key"), []);
    });

    test("a configuration can be kept off the disk", async () => {
        const scripted = await new Scripted().start();
        scripted.script["/api/v1/agents/config"] = [[200, { ETag: '"1"' }, { secret: "s" }]];
        const agent = makeAgent(scripted.settings);
        assert.deepEqual(await agent.config(undefined, { keep: false }), { secret: "s" });
        assert.ok(!readdirSync(agent.state).includes("config.json"));
    });

    test("an agent without a folder reports from memory", async () => {
        const workspace = service.workspace();
        const file = join(folder(), "file");
        writeFileSync(file, "");
        const agent = makeAgent(workspace.settings, { stateDir: join(file, "below") });
        const id = await agent.run((run) => {
            run.step("still here");
            return run.id;
        });
        assert.ok(await agent.flush(120));
        assert.equal((await workspace.events(id)).length, 3);
        assert.match(agent.log[0], /a crash loses reports/);
    });

    test("heartbeats are sent in the background and name the process", async () => {
        const scripted = await new Scripted().start();
        makeAgent(scripted.settings, { heartbeat: 0.05 });
        const path = "/api/v1/heartbeat";
        await until(() => scripted.seen(path).length >= 2, "two heartbeats");
        const { query } = scripted.seen(path)[0];
        assert.match(new URLSearchParams(query).get("client_id"), /^collector@.+:\d+$/);
    });
});
