// The real binary with a browser in front of it. Nothing here sleeps: a start waits for the line
// that the server prints, a page for what it should show.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
    closeSync,
    mkdirSync,
    mkdtempSync,
    openSync,
    rmSync,
    writeFileSync,
    writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

import { chromium } from "playwright-core";

import { ROOT } from "./root.mjs";

export const BINARY = process.env.MUSTER_TEST_BINARY ?? join(ROOT, "build/release/muster");
/** The same program with its clocks to be moved; users never get it. */
export const CLOCK_BINARY = join(dirname(BINARY), "muster_test_clock");
const SHOTS = join(ROOT, "build/browser");
export const ADMIN = "admin@acme.example"; // of the tenants on the shared server
export const PASSWORD = "seven slow herons at noon";
const NO_LIMIT = "1000000000";
const SIZE = { width: 1280, height: 860 };

/** Chromium in a container: as root, with little shared memory, without background requests. */
const FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
];

/** fetch() on a connection that the server has closed meanwhile fails: then a new one is taken. A
 *  clock that is moved ends connections that were idle. */
export async function request(url, options) {
    try {
        return await fetch(url, options);
    } catch (error) {
        if (!["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(error.cause?.code)) throw error;
        return fetch(url, options);
    }
}

function environment() {
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith("MUSTER_"));
    return Object.fromEntries(clean);
}

/** Moves the clocks of a server that is started with its environment. */
export class Clock {
    constructor() {
        this.folder = mkdtempSync(join(tmpdir(), "muster-clock-"));
        this.path = join(this.folder, "clock");
        this.environment = { MUSTER_TEST_CLOCK: this.path };
        this.us = 0n;
        writeFileSync(this.path, Buffer.alloc(16));
    }

    /** Time passes, by the wall and by the monotonic clock: the first number is for both. */
    advance(seconds) {
        this.us += BigInt(seconds) * 1_000_000n;
        const passed = Buffer.alloc(8);
        passed.writeBigInt64LE(this.us);
        const file = openSync(this.path, "r+"); // in place: it is mapped
        writeSync(file, passed, 0, 8, 0);
        closeSync(file);
    }

    /** What the server takes for the time, in milliseconds. */
    now() {
        return Date.now() + Number(this.us / 1000n);
    }

    remove() {
        rmSync(this.folder, { recursive: true, force: true });
    }
}

/** `muster serve` on a new embedded store. */
export class Server {
    static async start(settings = [], more = {}) {
        const server = new Server();
        server.folder = mkdtempSync(join(tmpdir(), "muster-browser-"));
        server.data = join(server.folder, "data");
        server.settings = settings;
        server.environment = { ...environment(), ...more };
        server.binary = "MUSTER_TEST_CLOCK" in more ? CLOCK_BINARY : BINARY;
        server.sessions = new Map();
        server.left = new Map(); // pages that tests have left, by who is logged in
        await server.begin("127.0.0.1:0");
        return server;
    }

    async begin(address) {
        this.process = spawn(
            this.binary,
            ["serve", "--data", this.data, "--listen", address, ...this.settings],
            { env: this.environment, stdio: ["ignore", "pipe", "ignore"] },
        );
        this.lines = [];
        this.url = await new Promise((resolve, reject) => {
            createInterface({ input: this.process.stdout }).on("line", (line) => {
                this.lines.push(line);
                const found = /^muster: listening on (\S+:\d+)$/.exec(line);
                if (found) resolve(`http://${found[1]}`);
            });
            this.process.once("exit", () =>
                reject(new Error(`the server did not start: ${this.lines.join("\n")}`)),
            );
        });
    }

    cli(words, input = "") {
        return execFileSync(this.binary, [...words, "--data", this.data], {
            env: environment(),
            encoding: "utf8",
            input,
        }).trim();
    }

    /** A new tenant with a workspace key, room for many agents, and an admin. */
    addTenant(slug, email = `admin@${slug}.example`) {
        const plan = ["--rate-limit", NO_LIMIT, "--max-agents", "1000"];
        this.cli(["tenant", "add", slug, ...plan]);
        this.addUser(email, "--tenant", slug, "--role", "admin");
        return { slug, email, token: this.cli(["key", "add", "--tenant", slug]) };
    }

    addUser(email, ...role) {
        this.cli(["user", "add", email, ...role, "--password-stdin"], `${PASSWORD}\n`);
    }

    /** Sends JSON as an agent does; the answer must be good. */
    async send(tenant, path, body) {
        const reply = await request(this.url + path, {
            method: "POST",
            headers: {
                Authorization: `Bearer ${tenant.token}`,
                "Content-Type": "application/json",
            },
            body: JSON.stringify(body),
        });
        const text = await reply.text();
        if (!reply.ok) throw new Error(`POST ${path}: ${reply.status} ${text}`);
        return JSON.parse(text);
    }

    /** As if its machine were away for a while: at the same address, with the same data. */
    async end() {
        const ended = new Promise((resolve) => this.process.once("exit", resolve));
        this.process.kill("SIGTERM");
        const status = await ended;
        if (status !== 0) throw new Error(`the server ended with ${status}`);
    }

    async beginAgain() {
        await this.begin(new URL(this.url).host);
    }

    /** Their sessions have ended: the next user logs in again. */
    async forgetPeople() {
        const pages = [...this.left.values()].flat();
        this.left.clear();
        this.sessions.clear();
        for (const page of pages) await page.context().close();
    }

    async stop() {
        await this.forgetPeople();
        await this.end();
        rmSync(this.folder, { recursive: true, force: true });
    }
}

let server;

/** One for all suites of a process that want no more than a tenant of their own on it, and that leave
 * everything else as it was. The same person is admin of all of these tenants. */
export async function sharedServer() {
    server ??= Server.start();
    return server;
}

after(async () => (await server)?.stop());

/** A user who is logged in and uses the API without a page. */
export class Person {
    static async logIn(server, email, password = PASSWORD) {
        const person = new Person();
        person.url = server.url;
        person.headers = { "Content-Type": "application/json" };
        const reply = await person.exchange("POST", "/api/v1/auth/login", { email, password });
        person.headers.Cookie = reply.headers.get("set-cookie").split(";")[0];
        person.headers["X-CSRF-Token"] = (await reply.json()).csrf_token;
        return person;
    }

    async exchange(method, path, body) {
        const reply = await request(this.url + path, {
            method,
            headers: this.headers,
            body: JSON.stringify(body),
        });
        if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
        return reply;
    }

    async ask(method, path, body) {
        return (await this.exchange(method, path, body)).json();
    }
}

let browser;

/** One for all suites of a process; each page is a context of its own. */
export async function openBrowser() {
    browser ??= await chromium.launch({
        executablePath: process.env.MUSTER_TEST_CHROMIUM ?? "/usr/bin/chromium",
        args: FLAGS,
    });
    return browser;
}

after(() => browser?.close());

/** A page that remembers what must never happen: errors, refused content, other hosts. */
export async function openPage(browser, server, options = {}) {
    const context = await browser.newContext({
        viewport: SIZE,
        colorScheme: "light",
        reducedMotion: "reduce", // what moves for ever is drawn for ever
        ...options,
    });
    const page = await context.newPage();
    page.troubles = [];
    page.asked = [];
    page.on("pageerror", (error) => page.troubles.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
        page.troubles.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
    });
    page.on("console", (message) => {
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
            page.troubles.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
        page.asked.push(request.url());
        if (!request.url().startsWith(server.url) && !request.url().startsWith("data:"))
            page.troubles.push(`another host: ${request.url()}`);
    });
    return page;
}

/** Keeps what the page looks like now under build/browser; as PNG, which takes longer, for the docs. */
export async function shot(page, name) {
    const type = process.env.MUSTER_TEST_SHOTS ?? "jpeg";
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({
        type,
        path: join(SHOTS, `${name}.${type}`),
        animations: "disabled",
        ...(type === "jpeg" ? { quality: 80 } : {}),
    });
}

/** The cookie of a logged-in user, as a browser keeps it; one per user. */
export async function sessionOf(server, email, password = PASSWORD) {
    if (!server.sessions.has(email)) {
        const person = await Person.logIn(server, email, password);
        const [name, value] = person.headers.Cookie.split("=");
        const { hostname } = new URL(server.url);
        const cookie = { name, value, domain: hostname, path: "/", expires: -1 };
        server.sessions.set(email, {
            cookies: [{ ...cookie, httpOnly: true, secure: false, sameSite: "Strict" }],
            origins: [],
        });
    }
    return server.sessions.get(email);
}

/** A page where a user is logged in, at `hash`: one that another test left, or a new one. A
 * test that does more to a page than a person can asks for one of its own, by any options. */
export async function openAs(browser, server, email, hash, options) {
    const left = options === undefined ? server.left.get(email)?.pop() : undefined;
    const storageState = await sessionOf(server, email);
    const page = left ?? (await openPage(browser, server, { storageState, ...options }));
    page.troubles.length = page.asked.length = 0;
    if (options === undefined) page.leave = { server, email };
    await page.goto(`${server.url}/#${hash}`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    return page;
}

/** The end of a test's page, in which nothing may have gone wrong. */
export async function close(page) {
    assert.deepEqual(page.troubles, []);
    if (page.leave === undefined) return page.context().close();
    const { server, email } = page.leave;
    await page.setViewportSize(SIZE);
    await page.goto(`${server.url}/#/left`); // what was open on it is not any more
    await page.getByText("There is no such page").waitFor();
    server.left.set(email, [...(server.left.get(email) ?? []), page]);
    return undefined;
}
