// The tree of spans on the page of a run that came by OpenTelemetry.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { shot } from "./muster.mjs";
import { count, gone, heading, nodesOf, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const newTrace = () => randomBytes(16).toString("hex");
/** The run of a trace. */
const runOf = (trace) => trace.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
const TRACE = newTrace();
const id = (n) => String(n).padStart(16, "0");
const began = Date.now() - 60_000;
const nano = (ms) => `${began + ms}000000`;

function span(n, parent, name, from, to, more = {}) {
    return {
        traceId: TRACE,
        spanId: id(n),
        parentSpanId: parent ? id(parent) : "",
        name,
        startTimeUnixNano: nano(from),
        endTimeUnixNano: nano(to),
        ...more,
    };
}

const RESOURCE = {
    attributes: [{ key: "service.name", value: { stringValue: "invoice-reader" } }],
};
// In no order: children before their parent, and one whose parent never comes.
const SPANS = [
    span(5, 4, "execute_tool look_up_a_customer_by_a_rather_long_name", 2000, 2600),
    span(4, 1, "invoke_agent planner", 1500, 5200),
    span(6, 4, "chat gpt-5", 2700, 5000, {
        status: { code: 2, message: "The model gave no answer" },
        attributes: [{ key: "error.type", value: { stringValue: "UpstreamTimeout" } }],
    }),
    span(2, 1, "fetch mailbox", 100, 1400),
    span(3, 2, "GET /messages", 200, 1300),
    span(1, 0, "read invoices", 0, 6000),
    span(7, 99, "a stray one", 5300, 5301),
];
const ORDER = [
    ["read invoices", 1],
    ["fetch mailbox", 2],
    ["GET /messages", 3],
    ["invoke_agent planner", 2],
    ["execute_tool look_up_a_customer_by_a_rather_long_name", 3],
    ["chat gpt-5", 3],
    ["a stray one", 1],
];

const LONG = 1_500; // spans of a long trace, more than a page loads at first
const LOAD_AGAIN_MS = 40_000; // a page with so much is loaded again after half a minute
const PATIENCE_MS = 120_000;
const REST_MS = 200; // a load takes real time; each jump of the clock may begin others
const NODES_MAX = 5_000;

const w = new Suite("spanners");

const sendSpans = (spans) =>
    w.send("/v1/traces", { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ spans }] }] });

describe("spans", () => {
    w.begin(async () => {
        await sendSpans(SPANS);
        const body = { stringValue: "12 messages" };
        const logRecords = [{ traceId: TRACE, spanId: id(2), timeUnixNano: nano(700), body }];
        await w.send("/v1/logs", { resourceLogs: [{ resource: RESOURCE, scopeLogs: [{ logRecords }] }] });
    });

    const TREE = `runs/${runOf(TRACE)}`;
    const tree = (page) => page.getByRole("tree", { name: "Spans" }).waitFor();
    const items = (page) => page.getByRole("treeitem");
    const item = (page, name) => items(page).filter({ hasText: name }).first();
    const drawn = (page, n) => count(page, n, '[role="treeitem"]');
    const onSpan = (page, name) =>
        page.waitForFunction((text) => document.activeElement.querySelector(".text")?.textContent === text, name);

    w.test("spans are a tree by their parents, in the order of their start", TREE, async (page) => {
        await tree(page);
        const found = await items(page).evaluateAll((all) =>
            all.map((one) => [one.querySelector(".text").textContent, Number(one.getAttribute("aria-level"))]),
        );
        assert.deepEqual(found, ORDER);
        assert.equal(await page.getByRole("heading", { name: "Timeline" }).count(), 0);
        await shot(page, "spans");
    });

    w.test("a bar is as long as its span, and one that failed says why", TREE, async (page) => {
        await tree(page);
        const box = async (name, part) => item(page, name).locator(part).boundingBox();
        const lane = await box("read invoices", ".lane");
        const bar = await box("invoke_agent planner", ".bar");
        assert.ok(Math.abs(bar.width / lane.width - 3700 / 6000) < 0.02);
        assert.ok(Math.abs((bar.x - lane.x) / lane.width - 1500 / 6000) < 0.02);
        assert.equal(await item(page, "invoke_agent planner").locator(".value").textContent(), "3.7 s");
        const failed = item(page, "chat gpt-5");
        assert.match(await failed.textContent(), /failed.*UpstreamTimeout/);
        const colour = (of) => of.locator(".bar").evaluate((one) => getComputedStyle(one).backgroundColor);
        assert.notEqual(await colour(failed), await colour(item(page, "read invoices")));
        assert.equal(await item(page, "fetch mailbox").locator(".tick").count(), 1);
    });

    w.test("spans fold by a click", TREE, async (page) => {
        const planner = item(page, "invoke_agent planner");
        assert.equal(await planner.getAttribute("aria-expanded"), "true");
        await planner.click();
        await drawn(page, 5);
        assert.equal(await planner.getAttribute("aria-expanded"), "false");
        assert.match(await planner.textContent(), /2 children/);
    });

    w.test("the keyboard moves, folds and opens as in any tree", TREE, async (page) => {
        await item(page, "read invoices").focus();
        const press = async (key, wanted) => {
            await page.keyboard.press(key);
            await onSpan(page, wanted);
        };
        await press("ArrowDown", "fetch mailbox");
        await press("ArrowRight", "GET /messages");
        await press("ArrowLeft", "fetch mailbox");
        await press("ArrowLeft", "fetch mailbox"); // folds it
        await page.waitForFunction(() => document.activeElement.getAttribute("aria-expanded") === "false");
        await press("ArrowDown", "invoke_agent planner");
        await press("End", "a stray one");
        await press("Home", "read invoices");
        await page.keyboard.press("Enter");
        await drawn(page, 2);
        await page.keyboard.press("ArrowRight");
        await drawn(page, 6);
        const names = (await items(page).locator(".text").allTextContents()).map((text) => text.trim());
        assert.deepEqual(names, ORDER.map(([name]) => name).filter((n) => n !== "GET /messages"));
        await onSpan(page, "read invoices");
        assert.equal(await page.locator('[role="treeitem"][tabindex="0"]').count(), 1);
    });

    w.test("a narrow window shows names above their bars, and nothing sideways", TREE, async (page) => {
        await tree(page);
        const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(over <= 0, `${over} pixels too wide`);
        const name = await item(page, "chat gpt-5").locator(".name").boundingBox();
        const lane = await item(page, "chat gpt-5").locator(".lane").boundingBox();
        assert.ok(name.y + name.height <= lane.y + 1);
        assert.ok(lane.width > 250);
        await shot(page, "spans-narrow");
    }, { viewport: { width: 380, height: 800 } });

    /** Spans of a long trace, children of its root, which has the number 1. */
    const calls = (traceId, from, to) =>
        Array.from({ length: to - from }, (_, n) => ({
            ...span(from + n + 2, 1, `call ${from + n}`, from + n, from + n + 1),
            traceId,
        }));

    async function loadAll(page) {
        await sees(page, "The tree has the first 1,000 events");
        await use(page, "Load more");
        await gone(page, "The tree has the first");
    }

    w.test("a long trace is loaded in parts, and few of its rows are drawn", "overview", async (page) => {
        const trace = newTrace();
        await sendSpans([{ ...span(1, 0, "the root", 0, LONG), traceId: trace }]);
        for (let i = 0; i < LONG; i += 500) await sendSpans(calls(trace, i, i + 500));
        await w.go(page, `runs/${runOf(trace)}`);
        await tree(page);
        await heading(page, "Timeline").waitFor(); // of the whole run
        await loadAll(page);
        assert.ok((await items(page).count()) < 200, `${await items(page).count()} rows`);
        assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
        await items(page).first().focus();
        await page.keyboard.press("End");
        await onSpan(page, `call ${LONG - 1}`);
        const { y } = await item(page, `call ${LONG - 1}`).boundingBox();
        assert.ok(y >= 0 && y <= page.viewportSize().height, `the last is at ${y}`);
        assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes at the end`);
        await page.keyboard.press("Home");
        await onSpan(page, "the root");
        await page.keyboard.press("ArrowLeft"); // folds all of it
        await drawn(page, 1);
    });

    w.test("spans of a long trace that goes on follow those that were loaded", "/nowhere", async (page) => {
        const trace = newTrace(); // its root is not over
        for (let i = 0; i < 1200; i += 400) await sendSpans(calls(trace, i, i + 400));
        await page.clock.install();
        await w.go(page, `runs/${runOf(trace)}`);
        await loadAll(page);
        await sendSpans(calls(trace, 1200, 1210));
        await items(page).first().focus();
        const last = () =>
            page.evaluate(() => {
                const tree = document.querySelector('[role="tree"]');
                const key = new KeyboardEvent("keydown", { key: "End", bubbles: true });
                (document.activeElement.closest('[role="treeitem"]') ?? tree).dispatchEvent(key);
                return document.activeElement.querySelector(".text")?.textContent;
            });
        const until = Date.now() + PATIENCE_MS;
        while ((await last()) !== "call 1209" && Date.now() < until) {
            await page.clock.runFor(LOAD_AGAIN_MS);
            await delay(REST_MS);
        }
        assert.equal(await last(), "call 1209");
    }, { fresh: true });
});
