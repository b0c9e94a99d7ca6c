// Every number leads to what it counts: the list behind it has exactly as many, in a range that
// begins within an hour, in the period before, in other time zones, for one agent, for nothing and
// for much.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { event } from "./fleet.mjs";
import { close } from "./muster.mjs";
import { card, count, isFocused, link, sees, titled, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const NOON = DAY / 2;
const ODD = "50 % & <more>/of"; // a type with what an address must escape
const WORKFLOW = "night & day";
const CROWD = 1_201; // runs: more than the 1,000 that an agent's page counts
const SILENT = ["silent-a", "silent-b", "silent-c"];

const today = Date.now() % DAY; // must not end during the test
const ahead = Math.round((NOON - today + (today > NOON ? DAY : 0)) / 1000);
const w = new Suite("numbers", { clock: true, ahead });
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
    const began = event(w.tenant, run, "started", 0, { workflow_run_id });
    if (status === "in_progress") return [began];
    const error = error_type === undefined ? {} : { error_type };
    return [began, event(w.tenant, run, status, 1000, { workflow_run_id, ...error })];
}

/** An agent with more runs than its page counts, two of each time; its tenant. */
async function fillCrowd() {
    const crowd = w.addTenant("crowd");
    const runOf = (i) => ({ agent: "crowd", id: randomUUID(), from: now - DAY + Math.floor(i / 2) * MINUTE });
    const kindOf = (i) => (i % 50 === 0 ? "started" : i % 4 === 0 ? "failed" : "completed");
    const events = Array.from({ length: CROWD }, (_, i) =>
        event(crowd, runOf(i), kindOf(i), 0, { agent_version: i % 5 === 0 ? "2" : "1", workflow_run_id: WORKFLOW }),
    );
    await w.events(events, crowd);
    return crowd;
}

async function fill() {
    const kpi = (key) => ({ key, label: key, unit: "count", agg: "sum" });
    await w.register("steady", { interval_seconds: 30 * 86_400, business_kpis: [kpi("volume"), kpi("lost")] });
    for (const name of ["never", ...SILENT]) await w.register(name, { interval_seconds: 60 });
    const quiet = SILENT.map((agent) => ({ id: randomUUID(), agent, at: now - 20 * DAY, status: "completed" }));
    await w.events([...runs, ...quiet].flatMap(eventsOf));
    await w.business("steady", runs[0].id, from - HOUR, { volume: 1, lost: 3 });
    await w.business("steady", runs[2].id, from + HOUR, { volume: 123_456_789_012, lost: 0 });
    for (const [agent, tokens] of [["steady", 9_000_000_000], ["free", 3]])
        await w.usage(agent, runs[2].id, now - MINUTE, "counted", tokens, { calls: 1 });
}

describe("numbers", () => {
    w.begin(async () => {
        w.cli("price", "set", "counted", "--input", "2", "--output", "2");
        now = w.clock.now();
        from = Math.floor(now / HOUR) * HOUR - 3 * DAY + 17 * MINUTE + 23_456;
        to = from + 30 * HOUR;
        runs = makeRuns();
        await fill();
        w.clock.advance(HOUR / 1000); // three agents fall silent
    });

    const rangeOf = (a, b) => encodeURIComponent(`${new Date(a).toISOString()}/${new Date(b).toISOString()}`);
    const overviewOf = (a, b) => `overview?range=${rangeOf(a, b)}`;
    const theRange = () => overviewOf(from, to);
    const tile = (page, name) => page.locator(".tile", { has: page.getByText(name, { exact: true }) });
    const fact = (page, name) => page.locator(".facts > div", { has: page.getByText(name, { exact: true }) }).first();
    const rowOf = (page, hasText) => page.locator("tbody tr", { hasText });
    const numberOf = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(",", ""));
    const countedIn = async (one) => numberOf(await one.innerText());

    /** How many runs the list says that it has; at most 50 of them are rows. */
    async function listedRuns(page) {
        await titled(page, "Runs");
        const none = page.getByRole("heading", { name: "No runs match these filters" });
        const some = page.locator(".facets summary .muted");
        await none.or(some).waitFor();
        if (await none.isVisible()) return 0;
        const n = await countedIn(some);
        await count(page, Math.min(n, 50));
        return n;
    }

    /** Follows a link of the page and returns, so that the next one can be followed. */
    async function follow(page, link, counted) {
        const address = page.url();
        await link.click();
        const n = await counted(page);
        await page.goto(address);
        return n;
    }

    /** The number that is shown is `n`, and so many runs are where it leads. */
    async function leadsTo(page, link, n, shown = link) {
        assert.equal(await countedIn(shown), n, `${link}`);
        assert.equal(await follow(page, link, listedRuns), n, `the list of ${link}`);
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
            await sees(shown, String(n));
            await leadsTo(page, tile(page, name), n, shown);
        }
        const bars = card(page, "Top errors").locator(".bars li");
        await bars.first().waitFor();
        const found = await bars.evaluateAll((all) =>
            all.map((one) => [one.querySelector(".name").innerText, Number(one.querySelector(".value").innerText)]),
        );
        assert.deepEqual(new Map(found), errors);
        for (const [name, n] of errors)
            assert.equal(await follow(page, link(card(page, "Top errors"), name), listedRuns), n, name);
        return all;
    }

    w.test("a range that begins and ends within an hour, in a zone that is half an hour off", theRange, async (page) => {
        const all = await checkOverview(page, from, to);
        await card(page, "Runs per hour").locator(".chart-table summary").click();
        const cells = page.locator(".chart-table tbody tr td:last-child");
        await cells.first().waitFor();
        const totals = await cells.allInnerTexts();
        const sum = totals.reduce((sum, text) => sum + numberOf(`0${text}`), 0);
        assert.equal(sum, all, `what the chart shows: ${totals}`);
    }, { timezoneId: "America/St_Johns" });

    w.test("the period before it, on the other side of the world", theRange, async (page) => {
        await sees(tile(page, "Runs"), String(expected(from, to).runs));
        await use(page, "Period before");
        await page.waitForURL((url) => decodeURIComponent(url.hash).includes(new Date(2 * from - to).toISOString()));
        await checkOverview(page, 2 * from - to, from);
    }, { timezoneId: "Pacific/Auckland" });

    w.test("the last days, and a time without any runs", "overview?range=7d", async (page) => {
        await checkOverview(page, now - 7 * DAY, now + DAY);
        await w.go(page, overviewOf(now - 90 * DAY, now - 80 * DAY));
        await sees(card(page, "Top errors"), "No failed runs in this period");
        for (const name of ["Runs", "Failed runs"])
            await leadsTo(page, tile(page, name), 0, tile(page, name).locator("b"));
    });

    const inRange = () => `runs?since=${rangeOf(from, to)}`;
    w.test("failed runs without a type are a filter that can be removed", inRange, async (page) => {
        const facet = page.locator('section[aria-label="Error types"]');
        await use(facet, "no error type 3");
        await page.waitForURL(/untyped=true/);
        await sees(page, "3 runs match");
        await use(facet, /^Flood/);
        await page.waitForURL(/error_type=Flood/);
        assert.doesNotMatch(page.url(), /untyped/);
        await sees(page, "60 runs match");
        await page.goBack();
        await use(page, /No error type/);
        await sees(page, `${expected(from, to).runs} runs match`);
    });

    w.test("one agent: its runs, its failures, its errors and its cost", "agents/steady", async (page) => {
        const own = runs.filter((run) => run.agent === "steady");
        const failed = own.filter((run) => run.status === "failed");
        for (const [name, n] of [["Runs", own.length], ["Failed", failed.length]])
            await leadsTo(page, fact(page, name).getByRole("link").first(), n);
        await w.go(page, `agents/steady?tab=activity&range=${rangeOf(from, to)}`);
        const bars = card(page, "Errors").locator(".bars li");
        await bars.first().waitFor();
        for (const [name, n] of [["Timeout", 2], ["no error type", 1]]) {
            const bar = bars.filter({ has: link(page, name) });
            await leadsTo(page, bar.getByRole("link"), n, bar.locator(".value"));
        }
        await w.go(page, "cost?range=today");
        const top = card(page, "Top agents").locator(".bars li", { hasText: "steady" });
        const cost = await top.locator(".value").innerText();
        assert.match(cost, /^\$18,000/);
        await top.getByRole("link").click();
        await page.getByText(`${cost} in all`, { exact: true }).waitFor();
    });

    test("of more runs than are counted, those that are counted are listed", async () => {
        const crowd = await fillCrowd();
        const page = await w.open("/t/crowd/agents/crowd", { email: crowd.email });
        const versions = card(page, "Versions").locator("tbody tr");
        const links = [
            fact(page, "Runs").getByRole("link", { name: "the newest 999" }), // the 1,000th is of the time of the next
            fact(page, "Runs").getByRole("link", { name: "running" }),
            fact(page, "Failed").getByRole("link"),
            ...[0, 1].map((i) => versions.nth(i).locator("td.number a")),
        ];
        let all = 0;
        for (const [i, link] of links.entries()) {
            const n = await countedIn(link);
            assert.ok(n > 0, `number ${i}`);
            await leadsTo(page, link, n);
            if (i >= 3) all += n;
        }
        assert.equal(all, 999, "the versions of the same runs");
        await sees(fact(page, "Failed"), /of the newest 999/);
        await w.go(page, "/t/crowd/workflows?since=7d");
        const row = rowOf(page, WORKFLOW);
        const failed = Array.from({ length: CROWD }, (_, i) => i).filter((i) => i % 4 === 0 && i % 50 !== 0);
        for (const [i, n] of [CROWD, failed.length].entries()) {
            const link = row.locator("td.number a").nth(i);
            const text = await link.innerText();
            assert.match(text, /^[\d,]+ or more$/);
            assert.ok(numberOf(text) < n, `${text} of ${n}`);
            assert.equal(await follow(page, link, listedRuns), n);
        }
        await row.locator("a.row-link").click();
        await page.locator(".facts").getByRole("link", { name: "1,000 runs or more" }).click();
        assert.equal(await listedRuns(page), CROWD);
        await close(page);
    });

    w.test("the runs of a workflow, and those of it that failed", "workflows?since=30d", async (page) => {
        const own = runs.filter((run) => run.workflow_run_id === WORKFLOW);
        const failed = own.filter((run) => run.status === "failed");
        const row = rowOf(page, WORKFLOW);
        for (const [i, n] of [own.length, failed.length].entries())
            await leadsTo(page, row.locator("td.number a").nth(i), n);
        await row.locator("a.row-link").click();
        await leadsTo(page, page.locator(".facts").getByRole("link", { name: `${own.length} runs` }), own.length);
    });

    w.test("the runs of an agent of the fleet that are in progress, and what it cost today", "fleet", async (page) => {
        const ofAgent = (name) => page.locator("tbody tr", { has: link(page, name) }).locator("td.number a");
        await leadsTo(page, ofAgent("free").first(), 1);
        const cost = ofAgent("steady").last();
        const text = await cost.innerText();
        assert.match(text, /^\$18,000/);
        await cost.click();
        await page.getByText(`${text} in all`, { exact: true }).waitFor();
    });

    w.test("agents by state, and the agents that are silent", "overview?range=7d", async (page) => {
        const states = card(page, "Agents").locator("tbody tr");
        const silent = tile(page, "Silent or late agents");
        await silent.getByText("3", { exact: true }).waitFor();
        const inFleet = async () => {
            await titled(page, "Fleet");
            await page.locator("table.fleet").waitFor();
            return Number(await page.locator("table.fleet").getAttribute("aria-rowcount")) - 1;
        };
        assert.equal(await follow(page, silent, inFleet), 3);
        await states.first().waitFor();
        const shown = (await states.allInnerTexts()).map((text) => Number(/\d+\s*$/.exec(text)[0]));
        assert.equal(shown.reduce((sum, n) => sum + n), 7);
        for (const [i, n] of shown.entries()) {
            await states.nth(i).waitFor();
            assert.equal(await follow(page, states.nth(i).getByRole("link"), inFleet), n, `state ${i}`);
        }
    });

    w.test("open alerts, what models cost today, and a KPI that grew from 1 to more than 10^11", theRange, async (page) => {
        await page.getByRole("link", { name: "Alerts 7" }).click(); // three are silent, three fail, a run is stuck
        await sees(page, "7 open, 7 not acknowledged");
        await count(page, 7, ".alert");
        await w.go(page, theRange);
        const today = tile(page, "Cost today (UTC)");
        const cost = await today.locator("b").filter({ hasText: "$" }).innerText();
        assert.match(cost, /^\$18,000/);
        await today.click();
        const total = page.locator(".totals > div", { has: page.getByText("Cost", { exact: true }) });
        assert.ok((await total.innerText()).endsWith(cost), cost);
        await w.go(page, theRange);
        const moved = card(page, "KPIs that moved").locator("tbody tr", { hasText: "volume" });
        const value = await moved.locator("b").innerText();
        assert.match(value, /^123/);
        await moved.getByRole("link").click();
        await page.locator(".facts, .kpi").getByText(value, { exact: true }).first().waitFor();
        const reports = page.locator(".kpi-detail .facts").getByRole("link");
        const n = await countedIn(reports);
        await reports.click();
        const reporters = card(page, "Runs that reported it");
        await reporters.locator("tbody tr").first().waitFor();
        assert.equal(await reporters.locator("tbody tr").count(), n);
        await sees(reporters, n === 1 ? "1 run" : `${n} runs`);
        const run = reporters.locator(`a.row-link[href*="${runs[2].id}"]`);
        await run.focus();
        await w.business("steady", runs[3].id, from + HOUR, { volume: 1 });
        await sees(reporters, `${n + 1} runs`); // by itself
        assert.ok(await isFocused(run), "the list was emptied");
        await run.click();
        await page.waitForURL(new RegExp(runs[2].id));
        await card(page, "Business values").getByRole("link", { name: /^123/ }).waitFor(); // what the run reported
    });
});
