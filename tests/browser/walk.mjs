// A workspace in which every task can be done, and two people who may do all of them.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { after } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { Keys } from "./keys.mjs";
import { Clock, openBrowser, openPage, Server, sessionOf } from "./muster.mjs";

export const WALKER = "walker@example.org";
export const SETTER = "setter@example.org"; // a session makes a limited number of requests a minute
const DAY = 86_400_000;
const SILENT_S = 7200;

let world;

function listen() {
    const receiver = createServer((request, reply) => reply.writeHead(204).end());
    return new Promise((resolve) => receiver.listen(0, "127.0.0.1", () => resolve(receiver)));
}

async function reportUsage(server, tenant, run_id) {
    for (let back = 1; back <= 4; back++) {
        const timestamp = new Date(Date.now() - back * DAY).toISOString();
        const report = { agent_name: "typist", run_id, timestamp };
        const usage = { input_tokens: 1000 * back, output_tokens: 10 };
        await server.send(tenant, "/api/v1/telemetry/llm", { ...report, ...usage, model: "unheard-of" });
        await server.send(tenant, "/api/v1/telemetry/business", {
            ...report,
            run_id: randomUUID(), // a run has one value of a KPI
            metrics: { pages: 10 * back },
        });
    }
}

async function fill(server, tenant) {
    const send = (path, body) => server.send(tenant, path, body);
    await send("/api/v1/agents/register", {
        agent_name: "typist",
        business_kpis: [{ key: "pages", label: "Pages typed", unit: "count", agg: "sum" }],
        config_schema: { params: [{ key: "region" }] },
    });
    const runs = runsOf("typist", 6);
    await sendRuns(server, tenant, runs);
    await reportUsage(server, tenant, runs[0].id);
    const steps = ["reader", "writer"].map((agent, i) => ({
        agent,
        id: randomUUID(),
        from: Date.now() - 60_000 + 1000 * i,
    }));
    const of = { workflow_run_id: "month-end" };
    await send("/api/v1/telemetry/batch", {
        events: steps.flatMap((run) => [
            event(tenant, run, "started", 0, of),
            event(tenant, run, "completed", 900, { ...of, duration_ms: 900 }),
        ]),
    });
    for (const agent_name of ["sleeper", "dozer"]) {
        await send("/api/v1/agents/register", { agent_name, interval_seconds: 3600 });
        await sendRuns(server, tenant, runsOf(agent_name, 1));
    }
}

async function build() {
    const clock = new Clock();
    const local = ["--webhook-allow-http", "1", "--webhook-allow-private", "1"];
    const server = await Server.start(local, clock.environment);
    const receiver = await listen();
    for (const email of [WALKER, SETTER]) server.addUser(email, "--role", "platform_admin");
    const tenant = server.addTenant("walk");
    server.addTenant("yonder");
    await fill(server, tenant);
    clock.advance(SILENT_S); // two agents fall silent
    const browser = await openBrowser();
    return { clock, server, receiver, tenant, browser, hook: `http://127.0.0.1:${receiver.address().port}/` };
}

/** Built once, for all suites that walk in it. */
export function theWorld() {
    world ??= build();
    return world;
}

after(async () => {
    const built = await world;
    if (built === undefined) return;
    built.receiver.close();
    built.receiver.closeAllConnections();
    await built.server.stop();
    built.clock.remove();
});

/** A page with nothing but keys; signed in, unless it is a stranger's. */
export async function openForKeys(hash, { email = WALKER, stranger = false } = {}) {
    const { browser, server } = await theWorld();
    const storageState = stranger ? undefined : await sessionOf(server, email);
    const page = await openPage(browser, server, { timezoneId: "UTC", storageState });
    await page.goto(`${server.url}/#${hash}`);
    return new Keys(page);
}
