// The real binary on loopback, and a server that gives the answers it is told to.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { Agent } from "../../../build/sdk/dist/esm/index.js";

const HERE = dirname(fileURLToPath(import.meta.url));
export const LIBRARY = join(HERE, "../../../build/sdk/dist/esm/index.js");
const BINARY = process.env.MUSTER_TEST_BINARY ?? join(HERE, "../../../build/release/muster");
const NO_LIMIT = "1000000000";

for (const name of Object.keys(process.env)) {
    if (/^MUSTER_(?!TEST)/.test(name)) delete process.env[name];
}

const folders = [];
process.once("exit", () => {
    for (const made of folders) rmSync(made, { recursive: true, force: true });
});

/** A folder that is removed at the end. */
export function folder() {
    const made = mkdtempSync(join(tmpdir(), "muster-sdk-"));
    folders.push(made);
    return made;
}

export class Service {
    constructor() {
        this.data = join(folder(), "data");
        this.listen = "127.0.0.1:0";
        this.tenants = 0;
        after(() => this.process?.kill("SIGKILL"));
    }

    async start() {
        const options = { stdio: ["ignore", "pipe", "ignore"] };
        const serve = ["serve", "--data", this.data, "--listen", this.listen];
        this.process = spawn(BINARY, serve, options);
        for await (const line of createInterface({ input: this.process.stdout })) {
            const found = /^muster: listening on (\S+)/.exec(line);
            if (!found) continue;
            this.listen = found[1]; // it comes back at the same address
            this.url = `http://${found[1]}`;
            return this;
        }
        throw new Error("the service did not start");
    }

    async kill() {
        const ended = once(this.process, "exit");
        this.process.kill("SIGKILL");
        await ended;
    }

    cli(...args) {
        return execFileSync(BINARY, [...args, "--data", this.data], { encoding: "utf8" }).trim();
    }

    workspace() {
        const tenant = `tenant-${++this.tenants}`;
        this.cli("tenant", "add", tenant, "--rate-limit", NO_LIMIT);
        return new Workspace(this, tenant, this.cli("key", "add", "--tenant", tenant));
    }
}

export class Workspace {
    constructor(service, tenant, token) {
        Object.assign(this, { service, tenant, token, state: folder() });
    }

    get settings() {
        return {
            url: this.service.url,
            token: this.token,
            tenant: this.tenant,
            stateDir: this.state,
        };
    }

    get environment() {
        const { url, token, tenant, stateDir } = this.settings;
        return {
            ...process.env,
            MUSTER_URL: url,
            MUSTER_TOKEN: token,
            MUSTER_TENANT: tenant,
            MUSTER_STATE_DIR: stateDir,
        };
    }

    agentKey(agent) {
        return this.service.cli("key", "add", "--tenant", this.tenant, "--agent", agent);
    }

    async read(path) {
        const headers = { Authorization: `Bearer ${this.token}` };
        const url = `${this.service.url}/api/v1/tenants/${this.tenant}/${path}`;
        const answer = await fetch(url, { headers });
        assert.equal(answer.status, 200, path);
        return answer.json();
    }

    runs = async () => (await this.read("dashboard/runs?limit=1000")).runs;
    events = async (run) => (await this.read(`runs/${run}/events`)).events;
    kpis = async () =>
        Object.fromEntries((await this.read("business/summary")).kpis.map((k) => [k.key, k.value]));
    usage = async () =>
        Object.fromEntries(
            (await this.read("llm/usage?group_by=model")).groups.map((g) => [g.model, g]),
        );
}

/** An agent that is closed at the end and writes no log. */
export function makeAgent(settings, options = {}, name = "collector") {
    const log = [];
    const agent = new Agent(name, {
        log: (text) => log.push(text),
        timeout: 60, // the machine may be busy
        ...settings,
        ...options,
    });
    agent.log = log;
    after(() => agent.close(0));
    return agent;
}

/** Answers requests for a path with what `script` says, the last answer for ever. */
export class Scripted {
    requests = [];
    script = {};

    async start() {
        this.http = createServer(async (request, response) => {
            let body = "";
            for await (const part of request) body += part;
            const [path, query] = request.url.split("?");
            const token = (request.headers.authorization ?? "").split(" ")[1];
            const etag = request.headers["if-none-match"];
            const answers = this.script[path] ?? [];
            const [status, headers, sent] = answers[0] ?? this.good(path);
            const at = performance.now();
            this.requests.push({ path, query, token, body, etag, at, status });
            if (answers.length > 1) answers.shift();
            response.writeHead(status, headers);
            const text = typeof sent === "string" ? sent : JSON.stringify(sent);
            response.end(status === 304 ? undefined : text);
        });
        this.http.listen(0, "127.0.0.1");
        await once(this.http, "listening");
        after(() => {
            this.http.closeAllConnections();
            this.http.close();
        });
        const url = `http://127.0.0.1:${this.http.address().port}`;
        this.settings = { url, token: "k", tenant: "acme", stateDir: folder() };
        return this;
    }

    good(path) {
        if (path.endsWith("/register")) return [200, {}, { warnings: [] }];
        return [202, {}, path.endsWith("/batch") ? { results: [] } : { status: "accepted" }];
    }

    seen = (path) => this.requests.filter((request) => request.path === path);
}

/** Until `condition` holds. */
export async function until(condition, what) {
    for (const deadline = performance.now() + 120_000; !(await condition());) {
        assert.ok(performance.now() < deadline, `never: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}
