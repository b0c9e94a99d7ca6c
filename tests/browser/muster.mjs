// The real binary with a browser in front of it. A start awaits the line that the server prints, a
// test awaits what the page should show; only a service that says it is busy is asked again later.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
    closeSync,
    existsSync,
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
import { setTimeout } from "node:timers/promises";

import { chromium } from "playwright-core";

import { ROOT } from "./root.mjs";

const BUILDS = ["build/release/muster", "build/dev/muster"].map((path) => join(ROOT, path));
export const BINARY = process.env.MUSTER_TEST_BINARY ?? BUILDS.find(existsSync) ?? BUILDS[0];
/** Loaded before the program: a password costs little, and its clocks can be moved. */
export const HOOKS = ["muster_cheap_hash.so", "muster_test_clock.so"]
    .map((name) => join(dirname(BINARY), name))
    .filter((path) => existsSync(path))
    .join(":");
const SHOTS = join(ROOT, "build/browser");
const SESSION_MS = 20_000;
export const ADMIN = "admin@acme.example"; // of the tenants on the shared server
export const PASSWORD = "seven slow herons at noon";
const NO_LIMIT = "1000000000";
const PATIENCE_MS = Number(process.env.MUSTER_TEST_WAIT_MS ?? 120_000); // ends a test that waits in vain: much longer than a busy machine takes
const HEADS = 1_200; // bytes of the heads of a request and its answer
const COMPRESSED_FROM = 2_000; // bytes; less is not worth it
const SIZE = { width: 1280, height: 860 };

/** Chromium in a container: as root, with little shared memory, and without background traffic. */
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

/** fetch(), retried once when the kept-alive connection was closed by the server: moving the clock
 * times out idle connections. */
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
    return { ...Object.fromEntries(clean), LD_PRELOAD: HOOKS, MUSTER_ALLOW_ROOT: "1" };
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

    /** Advances the wall clock and the monotonic clock, which both add the first number. */
    advance(seconds) {
        this.us += BigInt(seconds) * 1_000_000n;
        const passed = Buffer.alloc(8);
        passed.writeBigInt64LE(this.us);
        const file = openSync(this.path, "r+"); // in place: it is mapped
        writeSync(file, passed, 0, 8, 0);
        closeSync(file);
    }

    /** The server's time in milliseconds. */
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
        server.sessions = new Map();
        server.idlePages = new Map(); // pages that tests have closed, by e-mail
        await server.begin("127.0.0.1:0");
        return server;
    }

    async begin(address) {
        this.process = spawn(
            BINARY,
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
        return execFileSync(BINARY, [...words, "--data", this.data], {
            env: environment(),
            encoding: "utf8",
            input,
        }).trim();
    }

    /** A new tenant with a workspace key, a high agent limit, and an admin. */
    addTenant(slug, email = `admin@${slug}.example`) {
        const plan = ["--rate-limit", NO_LIMIT, "--max-agents", "1000"];
        this.cli(["tenant", "add", slug, ...plan]);
        this.addUser(email, "--tenant", slug, "--role", "admin");
        return { slug, email, token: this.cli(["key", "add", "--tenant", slug]) };
    }

    addUser(email, ...role) {
        this.cli(["user", "add", email, ...role, "--password-stdin"], `${PASSWORD}\n`);
    }

    /** Sends JSON as an agent does: again while the service is busy. Fails unless the answer is 2xx. */
    async send(tenant, path, body) {
        const until = Date.now() + PATIENCE_MS;
        let reply = await this.post(tenant, path, body);
        while (reply.status === 503 && Date.now() < until) {
            await reply.text();
            await setTimeout(1000 * Number(reply.headers.get("retry-after") ?? 1));
            reply = await this.post(tenant, path, body);
        }
        const text = await reply.text();
        if (!reply.ok) throw new Error(`POST ${path}: ${reply.status} ${text}`);
        return JSON.parse(text);
    }

    post(tenant, path, body) {
        return request(this.url + path, {
            method: "POST",
            headers: {
                Authorization: `Bearer ${tenant.token}`,
                "Content-Type": "application/json",
            },
            body: JSON.stringify(body),
        });
    }

    /** Stops the process; beginAgain() restarts it at the same address with the same data. */
    async end() {
        const ended = new Promise((resolve) => this.process.once("exit", resolve));
        this.process.kill("SIGTERM");
        const status = await ended;
        if (status !== 0) throw new Error(`the server ended with ${status}`);
    }

    async beginAgain() {
        await this.begin(new URL(this.url).host);
    }

    /** After sessions have ended: the next page signs in again. */
    async forgetSessions() {
        const pages = [...this.idlePages.values()].flat();
        this.idlePages.clear();
        this.sessions.clear();
        for (const page of pages) await page.context().close();
    }

    async stop() {
        await this.forgetSessions();
        await this.end();
        rmSync(this.folder, { recursive: true, force: true });
    }
}

let server;

/** One server for all suites that need only a tenant of their own and change nothing else. ADMIN is
 * an admin of all of these tenants. */
export async function sharedServer() {
    server ??= Server.start();
    return server;
}

after(async () => (await server)?.stop());

/** A signed-in person who uses the API without a page. */
export class Person {
    static async signIn(server, email, password = PASSWORD) {
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

/** The first that is there: the headless shell takes half of the work. Debian's script for it leaves a
 * process behind when it is killed. */
const CHROMIUM =
    process.env.MUSTER_TEST_CHROMIUM ??
    ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path));

/** A browser of one's own, with further flags; the caller closes it. */
export function launchBrowser(more = []) {
    return chromium.launch({
        executablePath: CHROMIUM,
        args: [...FLAGS, ...more],
        timeout: PATIENCE_MS,
    });
}

/** One browser for all suites; each page has its own context. */
export async function openBrowser() {
    browser ??= await launchBrowser();
    return browser;
}

after(() => browser?.close());

/** A page that records what must never happen: errors, blocked content, other hosts. */
export async function openPage(browser, server, options = {}) {
    const context = await browser.newContext({
        viewport: SIZE,
        colorScheme: "light",
        reducedMotion: "reduce", // endless animations would be drawn endlessly
        ...options,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.troubles = [];
    page.asked = [];
    page.on("pageerror", (error) => page.troubles.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
        page.troubles.push(`dialog: ${dialog.message()}`);
        dialog.dismiss().catch(() => {}); // the page may have closed
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

/** Weighs what the page loads, compressed, but for the addresses that contain `except`. The function
 * that it returns gives what was loaded so far: [{ url, bytes }]. */
export function weigh(page, except) {
    const loads = [];
    page.on("requestfinished", (request) => {
        if (request.url().includes(except)) return;
        const load = async () => {
            const { responseBodySize } = await request.sizes();
            return { url: request.url(), bytes: responseBodySize };
        };
        loads.push(load().catch(() => undefined)); // a page that closes tells no sizes
    });
    return async () => (await Promise.all(loads)).filter((one) => one !== undefined);
}

/** Counts the bytes of what the page's stream tells, with the names of its fields. */
export async function watchStreamBytes(page) {
    const FIELDS = "id: \nevent: \ndata: \n\n".length + 8; // and the frame of a chunk
    const debug = await page.context().newCDPSession(page);
    const told = { bytes: 0, messages: 0 };
    debug.on("Network.eventSourceMessageReceived", ({ eventName, eventId, data }) => {
        told.bytes += FIELDS + eventName.length + eventId.length + Buffer.byteLength(data);
        told.messages++;
    });
    await debug.send("Network.enable");
    return told;
}

/** Counts the bytes of the page's requests to the API, and keeps those that are under way. */
export function watchRequests(page, server) {
    const waits = new Set();
    const seen = { bytes: 0, urls: [], notModified: 0, plain: [] };
    page.on("request", (one) => {
        if (!one.url().includes("/api/") || one.url().endsWith("/stream")) return;
        waits.add(one);
        seen.urls.push(one.url());
    });
    page.on("requestfailed", (one) => waits.delete(one));
    page.on("response", (response) => {
        if (!waits.delete(response.request())) return;
        const known = response.status() === 304;
        const body = known ? 0 : Number(response.headers()["content-length"] ?? 0);
        if (known) seen.notModified++;
        else if (body > COMPRESSED_FROM && !response.headers()["content-encoding"]) seen.plain.push(response.url());
        seen.bytes += HEADS + body;
    });
    seen.lists = () => seen.urls.filter((url) => url.includes("/agents?")).length;
    /** Until the page waits for nothing: asks the service itself meanwhile, which takes its turn. */
    seen.settle = async () => {
        for (let i = 0; i < 5_000 && waits.size > 0; i++) await request(`${server.url}/livez`);
        assert.equal(waits.size, 0, "requests are still under way");
    };
    return seen;
}

export const sumBytes = (sizes) => sizes.reduce((all, one) => all + one.bytes, 0);

/** Processor time of the page's main thread so far, in ms: other work of the machine adds nothing. */
export async function meter(page) {
    const debug = await page.context().newCDPSession(page);
    await debug.send("Performance.enable", { timeDomain: "threadTicks" });
    return async () => {
        const { metrics } = await debug.send("Performance.getMetrics");
        return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    };
}

/** Scrolls like a person, by so many pixels a frame; the processor time of a frame in ms. */
export async function scrollFrames(page, busy, frames, pixels) {
    const before = await busy();
    await page.evaluate(
        async ([frames, pixels]) => {
            for (let frame = 0; frame < frames; frame++) {
                scrollBy(0, pixels);
                await new Promise(requestAnimationFrame);
            }
        },
        [frames, pixels],
    );
    return ((await busy()) - before) / frames;
}

/** Scrolls to this part of the page, 1 being its end, until a row with this link is drawn. Again at each
 * frame: rows are measured when they are drawn, and what is not drawn is then higher or lower. */
export async function scrollToRow(page, part, name) {
    const isThere = ([to, text]) => {
        scrollTo(0, document.body.scrollHeight * to);
        return [...document.querySelectorAll("tbody a.row-link")].some((one) => one.textContent === text);
    };
    await page.waitForFunction(isThere, [part, name]);
}

/** Saves a screenshot under build/browser; as PNG, which is slower, for the docs. */
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

/** The session cookie of a person, as a browser stores it. A session may make 600 requests a minute,
 * which quick tests exceed: after a while a person signs in again. */
export async function sessionOf(server, email, password = PASSWORD) {
    const known = server.sessions.get(email);
    if (known && known.until > Date.now()) return known.state;
    const person = await Person.signIn(server, email, password);
    const [name, value] = person.headers.Cookie.split("=");
    const { hostname } = new URL(server.url);
    const cookie = { name, value, domain: hostname, path: "/", expires: -1 };
    const cookies = [{ ...cookie, httpOnly: true, secure: false, sameSite: "Strict" }];
    const state = { cookies, origins: [] };
    server.sessions.set(email, { state, until: Date.now() + SESSION_MS });
    return state;
}

/** A signed-in page at `hash`: one that another test has closed, or a new one. With options it is
 * always new: for tests that do more to a page than a person can. */
export async function openAs(browser, server, email, hash, options) {
    const idle = options === undefined ? server.idlePages.get(email)?.pop() : undefined;
    const storageState = await sessionOf(server, email);
    const page = idle ?? (await openPage(browser, server, { storageState, ...options }));
    if (idle && page.session !== storageState) {
        await page.context().addCookies(storageState.cookies);
        await page.goto("about:blank"); // it knows the token of the session before
    }
    page.session = storageState;
    page.troubles.length = page.asked.length = 0;
    if (options === undefined) page.owner = { server, email };
    await page.goto(`${server.url}/#${hash}`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    return page;
}

/** Closes a test's page; fails when it has recorded any trouble. */
export async function close(page) {
    assert.deepEqual(page.troubles, []);
    if (page.owner === undefined) return page.context().close();
    const { server, email } = page.owner;
    await page.setViewportSize(SIZE);
    await page.goto(`${server.url}/#/idle`); // unmounts everything that was open
    await page.getByText("Page not found").waitFor();
    server.idlePages.set(email, [...(server.idlePages.get(email) ?? []), page]);
    return undefined;
}
