// Every number leads to what it counts: the list behind it has exactly as many, in a range that
// begins within an hour, in the period before, in other time zones, for one agent, for nothing and
// for much.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { event } from "./fleet.mjs";
import { Clock, close, openAs, openBrowser, Server } from "./muster.mjs";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const NOON = DAY / 2;
const ODD = "50 % & <more>/of"; // a type with what an address must escape
const WORKFLOW = "night & day";
const CROWD = 1_201; // runs: more than the 1,000 that an agent's page counts
const BATCH = 1_000;
const SILENT = ["silent-a", "silent-b", "silent-c"];

let server, browser, tenant, clock;
let now, from, to; // the service's time, and a range that is not on the hour
let runs;

/** Runs at the edges of the range, and many inside. */
function makeRuns() {
    const run = (agent, at, status, error_type) => ({ id: randomUUID(), agent, at, status, error_type });
    const step = (...of) => ({ ...run(...of), workflow_run_id: WORKFLOW });
    return [
        run("steady", from - 1, "completed"), // ends within the range, but began before it
        run("steady", from - 2 * MINUTE, "failed", "Timeout"), // in the same hour as its beginning
        run("steady", from, "completed"),
        run("steady", from + MINUTE, "failed", "Timeout"),
        run("free", from + HOUR, "failed", ODD),
        run("free", from + 2 * HOUR, "failed", undefined),
        run("free", from + 2 * HOUR + MINUTE, "failed", undefined),
        run("steady", from + 3 * HOUR, "failed", undefined),
        run("free", from + 4 * HOUR, "in_progress"),
        run("steady", to - 1, "failed", "Timeout"),
        run("steady", to, "failed", "Timeout"), // the end is not part of it
        run("free", from - 5 * HOUR, "failed", "Refused"),
        step("free", from - 4 * HOUR, "completed"),
        step("free", from - 4 * HOUR + MINUTE, "failed", "Refused"),
        step("steady", from - 4 * HOUR + 2 * MINUTE, "failed", "Refused"),
        ...Array.from({ length: 60 }, (_, i) => run("busy", from + 6 * HOUR + i * MINUTE, "failed", "Flood")),
    ];
}

function eventsOf({ id, agent, at, status, error_type, workflow_run_id = null }) {
    const run = { id, agent, from: at };
    const began = event(tenant, run, "started", 0, { workflow_run_id });
    if (status === "in_progress") return [began];
    const error = error_type === undefined ? {} : { error_type };
    return [began, event(tenant, run, status, 1000, { workflow_run_id, ...error })];
}

/** An agent with more runs than its page counts, two of each time; its tenant. */
async function fillCrowd() {
    const crowd = server.addTenant("crowd");
    const runOf = (i) => ({ agent: "crowd", id: randomUUID(), from: now - DAY + Math.floor(i / 2) * MINUTE });
    for (let first = 0; first < CROWD; first += BATCH) {
        const events = Array.from({ length: Math.min(BATCH, CROWD - first) }, (_, k) => {
            const i = first + k;
            const more = { agent_version: i % 5 === 0 ? "2" : "1", workflow_run_id: WORKFLOW };
            if (i % 50 === 0) return event(crowd, runOf(i), "started", 0, more);
            return event(crowd, runOf(i), i % 4 === 0 ? "failed" : "completed", 0, more);
        });
        await server.send(crowd, "/api/v1/telemetry/batch", { events });
    }
    return crowd;
}

async function fill() {
    const send = (path, body) => server.send(tenant, path, body);
    const kpi = (key) => ({ key, label: key, unit: "count", agg: "sum" });
    await send("/api/v1/agents/register", {
        ...{ agent_name: "steady", interval_seconds: 30 * 86_400 },
        business_kpis: [kpi("volume"), kpi("lost")],
    });
    await send("/api/v1/agents/register", { agent_name: "never", interval_seconds: 60 });
    for (const agent_name of SILENT)
        await send("/api/v1/agents/register", { agent_name, interval_seconds: 60 });
    const quiet = SILENT.map((agent) => ({ id: randomUUID(), agent, at: now - 20 * DAY, status: "completed" }));
    const events = [...runs, ...quiet].flatMap(eventsOf);
    await send("/api/v1/telemetry/batch", { events });
    const report = (run_id, at, metrics) =>
        send("/api/v1/telemetry/business", {
            ...{ agent_name: "steady", run_id, timestamp: new Date(at).toISOString() },
            metrics,
        });
    await report(runs[0].id, from - HOUR, { volume: 1, lost: 3 });
    await report(runs[2].id, from + HOUR, { volume: 123_456_789_012, lost: 0 });
    for (const [agent_name, input_tokens] of [["steady", 9_000_000_000], ["free", 3]])
        await send("/api/v1/telemetry/llm", {
            ...{ agent_name, run_id: runs[2].id, model: "counted", calls: 1 },
            ...{ input_tokens, timestamp: new Date(now - MINUTE).toISOString() },
        });
}

describe("numbers", () => {
    before(async () => {
        clock = new Clock();
        const today = Date.now() % DAY; // "today" must not end during the test
        clock.advance(Math.round((NOON - today + (today > NOON ? DAY : 0)) / 1000));
        server = await Server.start([], clock.environment);
        browser = await openBrowser();
        tenant = server.addTenant("numbers");
        server.cli(["price", "set", "counted", "--input", "2", "--output", "2"]);
        now = clock.now();
        from = Math.floor(now / HOUR) * HOUR - 3 * DAY + 17 * MINUTE + 23_456;
        to = from + 30 * HOUR;
        runs = makeRuns();
        await fill();
        clock.advance(HOUR / 1000); // three agents fall silent
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);
    const rangeOf = (a, b) => `${new Date(a).toISOString()}/${new Date(b).toISOString()}`;
    const overviewOf = (range) => `/t/numbers/overview?range=${encodeURIComponent(range)}`;
    const card = (page, name) => page.locator(".card", { has: page.getByRole("heading", { name, exact: true }) });
    const tile = (page, name) => page.locator(".tile", { has: page.getByText(name, { exact: true }) });
    const numberOf = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(",", ""));

    /** How many runs the list says that it has; at most 50 of them are rows. */
    async function listedRuns(page) {
        await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
        const none = page.getByRole("heading", { name: "No runs match these filters" });
        const some = page.locator(".facets summary .muted");
        await none.or(some).waitFor();
        if (await none.isVisible()) return 0;
        const n = numberOf(await some.innerText());
        await page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === Math.min(n, 50), n);
        return n;
    }

    /** Follows a link of the page and returns, so that the next one can be followed. */
    async function follow(page, link, count) {
        const address = page.url();
        await link.click();
        const n = await count(page);
        await page.goto(address);
        return n;
    }

    /** What the overview should say about the runs between two times. */
    function expected(a, b) {
        const inside = runs.filter((run) => run.at >= a && run.at < b);
        const failed = inside.filter((run) => run.status === "failed");
        const errors = new Map();
        for (const { error_type } of failed) {
            const name = error_type ?? "no error type";
            errors.set(name, (errors.get(name) ?? 0) + 1);
        }
        return { runs: inside.length, failed: failed.length, errors };
    }

    async function checkOverview(page, a, b) {
        const { runs: all, failed, errors } = expected(a, b);
        for (const [name, n] of [["Runs", all], ["Failed runs", failed]]) {
            const shown = tile(page, name).locator("b");
            await shown.getByText(String(n)).first().waitFor();
            assert.equal(numberOf(await shown.innerText()), n, name);
            assert.equal(await follow(page, tile(page, name), listedRuns), n, `the list of ${name}`);
        }
        const bars = card(page, "Top errors").locator(".bars li");
        await bars.first().waitFor();
        const found = await bars.evaluateAll((all) =>
            all.map((one) => [one.querySelector(".name").innerText, Number(one.querySelector(".value").innerText)]),
        );
        assert.deepEqual(new Map(found), errors);
        for (const [name, n] of errors) {
            const link = card(page, "Top errors").getByRole("link", { name, exact: true });
            assert.equal(await follow(page, link, listedRuns), n, `the list of ${name}`);
        }
        return all;
    }

    test("a range that begins and ends within an hour, in a zone that is half an hour off", async () => {
        const page = await open(overviewOf(rangeOf(from, to)), { timezoneId: "America/St_Johns" });
        const all = await checkOverview(page, from, to);
        await card(page, "Runs per hour").locator(".chart-table summary").click();
        const cells = page.locator(".chart-table tbody tr td:last-child");
        await cells.first().waitFor();
        const totals = await cells.allInnerTexts();
        const sum = totals.reduce((sum, text) => sum + numberOf(`0${text}`), 0);
        assert.equal(sum, all, `what the chart shows: ${totals}`);
        await close(page);
    });

    test("the period before it, on the other side of the world", async () => {
        const page = await open(overviewOf(rangeOf(from, to)), { timezoneId: "Pacific/Auckland" });
        await tile(page, "Runs").getByText(String(expected(from, to).runs)).waitFor();
        await page.getByRole("button", { name: "Period before" }).click();
        await page.waitForURL((url) => decodeURIComponent(url.hash).includes(new Date(2 * from - to).toISOString()));
        await checkOverview(page, 2 * from - to, from);
        await close(page);
    });

    test("the last days, and a time without any runs", async () => {
        const page = await open("/t/numbers/overview?range=7d");
        await checkOverview(page, now - 7 * DAY, now + DAY);
        await page.goto(`${server.url}/#${overviewOf(rangeOf(now - 90 * DAY, now - 80 * DAY))}`);
        await card(page, "Top errors").getByText("No failed runs in this period").waitFor();
        for (const name of ["Runs", "Failed runs"]) {
            assert.equal((await tile(page, name).locator("b").innerText()).trim(), "0");
            assert.equal(await follow(page, tile(page, name), listedRuns), 0);
        }
        await close(page);
    });

    test("failed runs without a type are a filter that can be removed", async () => {
        const page = await open(`/t/numbers/runs?since=${encodeURIComponent(rangeOf(from, to))}`);
        const facet = page.locator('section[aria-label="Error types"]');
        await facet.getByRole("button", { name: "no error type 3" }).click();
        await page.waitForURL(/untyped=true/);
        await page.getByText("3 runs match").waitFor();
        await facet.getByRole("button", { name: /^Flood/ }).click();
        await page.waitForURL(/error_type=Flood/);
        assert.doesNotMatch(page.url(), /untyped/);
        await page.getByText("60 runs match").waitFor();
        await page.goBack();
        await page.getByRole("button", { name: /No error type/ }).click();
        await page.getByText(`${expected(from, to).runs} runs match`).waitFor();
        await close(page);
    });

    test("one agent: its runs, its failures, its errors and its cost", async () => {
        const page = await open("/t/numbers/agents/steady");
        const own = runs.filter((run) => run.agent === "steady");
        const failed = own.filter((run) => run.status === "failed");
        const fact = (name) => page.locator(".facts > div", { has: page.getByText(name, { exact: true }) }).first();
        for (const [name, n] of [["Runs", own.length], ["Failed", failed.length]]) {
            const link = fact(name).getByRole("link").first();
            assert.equal(numberOf(await link.innerText()), n, name);
            assert.equal(await follow(page, link, listedRuns), n, `the list of ${name}`);
        }
        const range = encodeURIComponent(rangeOf(from, to));
        await page.goto(`${server.url}/#/t/numbers/agents/steady?tab=activity&range=${range}`);
        const bars = card(page, "Errors").locator(".bars li");
        await bars.first().waitFor();
        for (const [name, n] of [["Timeout", 2], ["no error type", 1]]) {
            const bar = bars.filter({ has: page.getByRole("link", { name, exact: true }) });
            assert.equal(Number(await bar.locator(".value").innerText()), n);
            assert.equal(await follow(page, bar.getByRole("link"), listedRuns), n);
        }
        await page.goto(`${server.url}/#/t/numbers/cost?range=today`);
        const top = card(page, "Top agents").locator(".bars li", { hasText: "steady" });
        const cost = await top.locator(".value").innerText();
        assert.match(cost, /^\$18,000/);
        await top.getByRole("link").click();
        await page.getByText(`${cost} in all`, { exact: true }).waitFor();
        await close(page);
    });

    test("of more runs than are counted, those that are counted are listed", async () => {
        const crowd = await fillCrowd();
        const page = await openAs(browser, server, crowd.email, "/t/crowd/agents/crowd");
        const fact = (name) => page.locator(".facts > div", { has: page.getByText(name, { exact: true }) }).first();
        const versions = card(page, "Versions").locator("tbody tr");
        const links = [
            fact("Runs").getByRole("link", { name: "the newest 999" }), // the 1,000th is of the time of the next
            fact("Runs").getByRole("link", { name: "running" }),
            fact("Failed").getByRole("link"),
            ...[0, 1].map((i) => versions.nth(i).locator("td.number a")),
        ];
        let all = 0;
        for (const [i, link] of links.entries()) {
            const n = numberOf(await link.innerText());
            assert.ok(n > 0, `number ${i}`);
            assert.equal(await follow(page, link, listedRuns), n, `the list of number ${i}`);
            if (i >= 3) all += n;
        }
        assert.equal(all, 999, "the versions of the same runs");
        await fact("Failed").getByText(/of the newest 999/).waitFor();
        await page.goto(`${server.url}/#/t/crowd/workflows?since=7d`);
        const row = page.locator("tbody tr", { hasText: WORKFLOW });
        const failed = Array.from({ length: CROWD }, (_, i) => i).filter((i) => i % 4 === 0 && i % 50 !== 0);
        for (const [i, n] of [CROWD, failed.length].entries()) {
            const text = await row.locator("td.number a").nth(i).innerText();
            assert.match(text, /^[\d,]+ or more$/);
            assert.ok(numberOf(text) < n, `${text} of ${n}`);
            assert.equal(await follow(page, row.locator("td.number a").nth(i), listedRuns), n);
        }
        await row.locator("a.row-link").click();
        await page.locator(".facts").getByRole("link", { name: "1,000 runs or more" }).click();
        assert.equal(await listedRuns(page), CROWD);
        await close(page);
    });

    test("the runs of a workflow, and those of it that failed", async () => {
        const own = runs.filter((run) => run.workflow_run_id === WORKFLOW);
        const failed = own.filter((run) => run.status === "failed");
        const page = await open("/t/numbers/workflows?since=30d");
        const row = page.locator("tbody tr", { hasText: WORKFLOW });
        for (const [i, n] of [own.length, failed.length].entries()) {
            const link = row.locator("td.number a").nth(i);
            assert.equal(Number(await link.innerText()), n);
            assert.equal(await follow(page, link, listedRuns), n);
        }
        await row.locator("a.row-link").click();
        const link = page.locator(".facts").getByRole("link", { name: `${own.length} runs` });
        assert.equal(await follow(page, link, listedRuns), own.length);
        await close(page);
    });

    test("the runs of an agent of the fleet that are in progress, and what it cost today", async () => {
        const page = await open("/t/numbers/fleet");
        const row = (name) => page.locator("tbody tr", { has: page.getByRole("link", { name, exact: true }) });
        const running = row("free").locator("td.number a").first();
        assert.equal(await running.innerText(), "1");
        assert.equal(await follow(page, running, listedRuns), 1);
        const cost = row("steady").locator("td.number a").last();
        const text = await cost.innerText();
        assert.match(text, /^\$18,000/);
        await cost.click();
        await page.getByText(`${text} in all`, { exact: true }).waitFor();
        await close(page);
    });

    test("agents by state, and the agents that are silent", async () => {
        const page = await open("/t/numbers/overview?range=7d");
        const rows = card(page, "Agents").locator("tbody tr");
        await tile(page, "Silent or late agents").getByText("3", { exact: true }).waitFor();
        const inFleet = async (there) => {
            await there.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
            await there.locator("table.fleet").waitFor();
            return Number(await there.locator("table.fleet").getAttribute("aria-rowcount")) - 1;
        };
        assert.equal(await follow(page, tile(page, "Silent or late agents"), inFleet), 3);
        await rows.first().waitFor();
        const shown = await rows.allInnerTexts();
        assert.equal(shown.reduce((sum, text) => sum + Number(/\d+\s*$/.exec(text)[0]), 0), 7);
        for (const [i, text] of shown.entries()) {
            await rows.nth(i).waitFor();
            const n = await follow(page, rows.nth(i).getByRole("link"), inFleet);
            assert.equal(n, Number(/\d+\s*$/.exec(text)[0]), text);
        }
        await close(page);
    });

    test("open alerts, what models cost today, and a KPI that grew from 1 to more than 10^11", async () => {
        const page = await open(overviewOf(rangeOf(from, to)));
        await page.getByRole("link", { name: "Alerts 7" }).click(); // three are silent, three fail, a run is stuck
        await page.getByText("7 open, 7 not acknowledged").waitFor();
        await page.locator(".alert").nth(6).waitFor();
        assert.equal(await page.locator(".alert").count(), 7);
        await page.goto(`${server.url}/#${overviewOf(rangeOf(from, to))}`);
        const cost = await tile(page, "Cost today (UTC)").locator("b").filter({ hasText: "$" }).innerText();
        assert.match(cost, /^\$18,000/);
        await tile(page, "Cost today (UTC)").click();
        const fact = page.locator(".totals > div", { has: page.getByText("Cost", { exact: true }) });
        assert.ok((await fact.innerText()).endsWith(cost), cost);
        await page.goto(`${server.url}/#${overviewOf(rangeOf(from, to))}`);
        const row = card(page, "KPIs that moved").locator("tbody tr", { hasText: "volume" });
        const value = await row.locator("b").innerText();
        assert.match(value, /^123/);
        await row.getByRole("link").click();
        await page.locator(".facts, .kpi").getByText(value, { exact: true }).first().waitFor();
        const reports = page.locator(".kpi-detail .facts").getByRole("link");
        const n = Number(await reports.innerText());
        await reports.click();
        await card(page, "Runs that reported it").locator("tbody tr").first().waitFor();
        assert.equal(await card(page, "Runs that reported it").locator("tbody tr").count(), n);
        await card(page, "Runs that reported it").getByText(n === 1 ? "1 run" : `${n} runs`).waitFor();
        const link = card(page, "Runs that reported it").locator(`a.row-link[href*="${runs[2].id}"]`);
        await link.focus();
        await server.send(tenant, "/api/v1/telemetry/business", {
            ...{ agent_name: "steady", run_id: runs[3].id, timestamp: new Date(from + HOUR).toISOString() },
            metrics: { volume: 1 },
        });
        await card(page, "Runs that reported it").getByText(`${n + 1} runs`).waitFor(); // by itself
        assert.ok(await link.evaluate((one) => one === document.activeElement), "the list was emptied");
        await link.click();
        await page.waitForURL(new RegExp(runs[2].id));
        await card(page, "Business values").getByRole("link", { name: /^123/ }).waitFor(); // what the run reported
        await close(page);
    });
});
