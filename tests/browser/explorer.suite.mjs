// The runs explorer: search, order, columns, views, export; and one run and two compared.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import { event, runsOf } from "./fleet.mjs";
import { close, shot } from "./muster.mjs";
import {
    button, card, count, download, field, fill, gone, heading, link, live, nodesOf, rows, sees, use,
} from "./portal.mjs";
import { Suite } from "./suite.mjs";

const LONG = 10_000; // events of the long run, more than a page loads at first
const NODES_MAX = 5_000;
const w = new Suite("explorer");

let runs, long, twins;

/** Two runs that differ in a step, a metric, their tokens and their output. */
const TWINS = [
    { agent_version: "1.0.0", steps: ["fetch", "parse"], rows: 10, tokens: 1000, output: { total: 3, items: { a: 1, b: 2 } } },
    { agent_version: "2.0.0", steps: ["fetch", "fetch", "parse"], rows: 12, tokens: 3000, output: { total: 4, items: { a: 1, c: 5 } } },
];

/** The first twin is the older one; each is of a workflow. */
async function sendTwins(of) {
    twins = runsOf("twin", 2).reverse();
    for (const [i, run] of twins.entries()) {
        const { agent_version, steps, rows, tokens, output } = TWINS[i];
        const more = { agent_version, workflow_run_id: `night ${i + 1}` };
        await w.events([
            event(of, run, "started", 0, more),
            ...steps.map((category, n) => event(of, run, "in_progress", n + 1, { ...more, category })),
            event(of, run, "completed", 9000, { ...more, output, metrics: { rows } }),
        ], of);
        await w.usage(run.agent, run.id, run.from, "small", tokens, {}, of);
    }
}

/** A run over an hour, whose steps are a warning now and then. */
async function sendLong() {
    const [first] = runsOf("long-runner", 1);
    long = { ...first, length: 3_600_000, from: first.from - 3_600_000 };
    const stepOf = (i) => ({
        seq: i + 1,
        category: "work",
        message: `step ${i}`,
        level: i % 2_000 === 1_000 ? "warning" : "info",
    });
    const at = (i) => (i * long.length) / LONG;
    await w.events(Array.from({ length: LONG }, (_, i) => event(w.tenant, long, "in_progress", at(i), stepOf(i))));
}

describe("runs explorer", () => {
    w.begin(async () => {
        runs = [...runsOf("invoice-reader", 12), ...runsOf("lead-scorer", 6)];
        await w.runs(runs);
        await w.usage("lead-scorer", runs[12].id, runs[12].from, "small", 1200, { output_tokens: 34 });
        await sendLong();
        await sendTwins(w.addTenant("twins"));
    });

    /** A value of a filter, with its number of runs. */
    const value = (page, of, name) =>
        page.getByRole("region", { name: of, exact: true }).getByRole("button", { name });
    const failedOf = (agent) => runs.filter((run) => run.status === "failed" && (!agent || run.agent === agent));
    const firstIs = (page, { id }) =>
        page.waitForFunction((id) => document.querySelector("tbody a.row-link")?.href.endsWith(id), id);

    w.test("runs are found by a part of a name, an error or a message", "runs", async (page) => {
        await count(page, 19);
        for (const [fields, n] of [
            [{ "Search runs": "upstreamtime" }, failedOf().length],
            [{ "Search runs": "LEAD" }, 6],
            [{ "Search runs": "", "Error type": "UpstreamTimeout" }, failedOf().length],
        ]) {
            await fill(page, fields);
            await count(page, n);
        }
        assert.match(page.url(), /error_type=UpstreamTimeout/);
        await fill(page, { "Error type": "", Version: "9.9" });
        await sees(page, "No runs match");
        await use(page, "Show all runs");
        await count(page, 19);
    });

    test("a search that finds nothing says where it looked, and goes on in all time", async () => {
        const of = w.addTenant("searched");
        const now = Date.now();
        const [old, recent] = [runsOf("clerk", 1, now - 10 * 86_400_000)[0], runsOf("clerk", 1, now)[0]];
        await w.events([
            event(of, old, "started", 0),
            event(of, old, "completed", 9000, { message: "Checked the zebra crossing" }),
            event(of, recent, "started", 0, { message: "A zebra at the start" }),
            event(of, recent, "in_progress", 1, { message: "An ordinary step" }),
        ], of);
        const page = await w.open("/t/searched/runs");
        const none = page.locator(".empty");
        await count(page, 1);
        await fill(page, { "Search runs": "zebra" });
        await sees(none, /Searched for zebra in runs of the last 7 days: .* or the title .* Earlier steps are not/);
        await shot(page, "no-runs-match");
        await use(page, "Search all time");
        await count(page, 1);
        assert.equal(await field(page, "Search runs").inputValue(), "zebra");
        assert.match(await rows(page).first().innerText(), /zebra crossing/);
        await fill(page, { "Search runs": "giraffe" });
        await sees(none, "in runs of all time");
        assert.equal(await button(page, "Search all time").count(), 0);
        await close(page);
    });

    w.test("each value of a filter has its number of runs, and leads to as many", "runs", async (page) => {
        const failed = failedOf().length;
        const theirs = failedOf("lead-scorer").length;
        await sees(page, value(page, "Agents", "invoice-reader 12"), button(page, `Failed ${failed}`));
        await value(page, "Error types", `UpstreamTimeout ${failed}`).waitFor();
        await value(page, "Agents", "lead-scorer 6").click();
        await count(page, 6);
        await value(page, "Error types", `UpstreamTimeout ${theirs}`).click();
        await count(page, theirs);
        await value(page, "Agents", `invoice-reader ${failed - theirs}`).waitFor(); // instead of it
        assert.match(page.url(), /agent_name=lead-scorer/);
        assert.equal(await value(page, "Agents", "lead-scorer").getAttribute("aria-pressed"), "true");
        await shot(page, "facets");
        await value(page, "Agents", "lead-scorer").click(); // clears it
        await count(page, failed);
    });

    w.test("versions and workflows have their numbers of runs, too", "/t/twins/runs", async (page) => {
        await count(page, 2);
        await value(page, "Versions", "2.0.0 1").click();
        await count(page, 1);
        assert.match(page.url(), /version=2\.0\.0/);
        await value(page, "Versions", "2.0.0").click();
        await count(page, 2);
        await value(page, "Workflow runs", /night 1/).click();
        await count(page, 1);
        assert.match(page.url(), /workflow_run_id=night/);
    });

    w.test("a part of an agent's name does not empty the list", "runs", async (page) => {
        await count(page, 19);
        const known = page.locator(`#${await field(page, "Agent").getAttribute("list")} option`);
        await known.first().waitFor({ state: "attached" });
        const names = await known.evaluateAll((all) => all.map((one) => one.value));
        assert.deepEqual(names, ["invoice-reader", "lead-scorer", "long-runner"]);
        const asked = page.asked.length;
        await fill(page, { Agent: "lead" });
        await fill(page, { Agent: "lead-scorer" });
        await count(page, 6);
        assert.deepEqual(page.asked.slice(asked).filter((url) => /agent_name=lead(&|$)/.test(url)), []);
    });

    w.test("names that come after a part was typed count for it", "cost", async (page) => {
        let answer;
        const asked = new Promise((resolve) => {
            void page.route(/\/agents\?(.*&)?limit=500/, (route) => {
                answer = () => route.continue();
                resolve();
            });
        });
        await w.go(page, "runs");
        await count(page, 19);
        await asked;
        const agent = field(page, "Agent");
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        await agent.focus();
        await page.keyboard.type("lead");
        await answer();
        await page.locator(`#${await agent.getAttribute("list")} option`).first().waitFor({ state: "attached" });
        await page.clock.runFor(300);
        assert.doesNotMatch(page.url(), /agent_name/);
        await page.keyboard.type("-scorer");
        await page.clock.runFor(300);
        await page.waitForURL(/agent_name=lead-scorer$/);
    }, { fresh: true });

    w.test("what is typed while a search begins is not lost", "runs", async (page) => {
        await count(page, 19);
        const search = field(page, "Search runs");
        await page.clock.install(); // from here on, time passes only when it is told to
        await page.clock.pauseAt(Date.now() + 60_000);
        await search.focus();
        await page.keyboard.type("lead");
        await page.clock.runFor(300); // the pause after which the field tells what is in it
        await page.waitForURL(/q=lead$/);
        await page.keyboard.type("-s");
        await page.clock.runFor(200);
        assert.equal(await search.inputValue(), "lead-s");
        await page.keyboard.type("core ");
        await page.clock.runFor(1000);
        await page.waitForURL(/q=lead-score$/);
        assert.equal(await search.inputValue(), "lead-score ", "a word may follow");
    }, { fresh: true });

    const readers = "runs?agent_name=invoice-reader";
    w.test("a heading sorts all runs, not only the page, and says so in the address", readers, async (page) => {
        const sorted = (way) => page.locator(`th[aria-sort="${way}"]`).waitFor();
        await count(page, 12);
        await use(page, "Duration");
        await page.waitForURL(/order=duration/);
        await sorted("descending");
        await firstIs(page, runs[11]); // the longest of them, but for those that say no duration
        await use(page, "Duration");
        await page.waitForURL(/ascending=true/);
        await firstIs(page, runs[0]);
        await page.goBack();
        await sorted("descending");
    });

    w.test("every column can be sorted by, what runs spent too", "/t/twins/runs", async (page) => {
        await count(page, 2);
        const heads = page.locator("thead th");
        const names = (await heads.allInnerTexts()).map((name) => name.replace(/[↑↓]/, "").trim());
        assert.ok(names.length >= 10, names.join());
        for (const name of names) {
            await heads.filter({ hasText: name }).getByRole("button").click();
            await page.locator('th:not([aria-sort="none"])', { hasText: name }).waitFor();
            await count(page, 2);
        }
        await w.go(page, "/t/twins/runs");
        await use(page, "Tokens");
        await page.waitForURL(/order=tokens/);
        await firstIs(page, twins[1]);
        await use(page, "Tokens");
        await page.waitForURL(/ascending=true/);
        await firstIs(page, twins[0]);
    });

    w.test("tokens, cost and version of a run are in its row", "runs?agent_name=lead-scorer", async (page) => {
        await count(page, 6);
        const row = rows(page).filter({ has: page.locator(`a[href$="${runs[12].id}"]`) });
        await sees(row, "1,234", "no price", "1.4.0");
        await shot(page, "explorer");
    });

    w.test("new runs wait above the list until they are wanted", readers, async (page) => {
        await count(page, 12);
        await live(page).waitFor();
        const first = () => rows(page).first().locator("a").getAttribute("href");
        const before = await first();
        await w.runs(runsOf("invoice-reader", 2, Date.now() + 1_200_000));
        await button(page, "2 new runs").waitFor();
        assert.deepEqual([await first(), await rows(page).count()], [before, 12]);
        await use(page, "2 new runs");
        await count(page, 14);
        await gone(page, button(page, "2 new runs"));
    });

    const theirs = "runs?status=failed&agent_name=lead-scorer";
    w.test("an export has exactly the runs that the filters leave", theirs, async (page) => {
        await rows(page).first().waitFor();
        const shown = await rows(page).count();
        await use(page, "Export");
        const lines = readFileSync((await download(page)).path, "utf8").trim().split("\n");
        assert.equal(lines[0].split(",")[0], "run_id");
        const ids = lines.slice(1).flatMap((line) => /^[0-9a-f-]{36}/.exec(line) ?? []);
        assert.deepEqual(ids.sort(), failedOf("lead-scorer").map((run) => run.id).sort());
        assert.equal(ids.length, shown);
        const events = page.getByRole("link", { name: "All events of the period instead" });
        assert.match(await events.getAttribute("href"), /export\/events\?format=csv&time_range=7d$/);
    });

    const middle = () => `runs/${runs[13].id}`;
    w.test("a run leads to those before and after it, and is compared with the one before", middle, async (page) => {
        const leadsTo = async (name) => link(page, name).getAttribute("href");
        await link(page, "Previous").waitFor();
        assert.ok((await leadsTo("Previous")).endsWith(runs[14].id));
        assert.ok((await leadsTo("Next")).endsWith(runs[12].id));
        const raw = await page.request.get(new URL(await leadsTo("Raw JSON"), w.server.url).href);
        const { run, events } = await raw.json();
        assert.deepEqual([run.run_id, events.length], [runs[13].id, 10]);
        await link(page, "Compare with the run before").click();
        await heading(page, "Compare two runs").waitFor();
        const row = (name) => rows(page).filter({ hasText: name }).first();
        await sees(page, row("Duration"), row("fetch"));
        assert.match(await row("Duration").getAttribute("class"), /differs/);
        assert.doesNotMatch(await row("Version").getAttribute("class"), /differs/);
        await shot(page, "compare");
        await fill(page, { "First run": runs[16].id }); // any other run of the agent
        await page.locator(`tbody a[href$="${runs[16].id}"]`).waitFor();
        assert.match(page.url(), new RegExp(`a=${runs[16].id}`));
    });

    const both = () => `/t/twins/compare?a=${twins[0].id}&b=${twins[1].id}`;
    w.test("two runs are compared by steps, metrics, tokens and output", both, async (page) => {
        const row = (of, name) =>
            card(page, of).locator("tbody tr").filter({ has: page.getByText(name, { exact: true }) });
        await sees(row("At a glance", "Tokens"), "3,000");
        for (const [of, name, ...sides] of [
            ["At a glance", "Tokens", "1,000", "3,000"],
            ["Steps by category", "fetch", "1", "2"],
            ["Steps by category", "parse", "1", "1"],
            [/^Metrics/, "rows", "10", "12"],
            [/^Output/, "total", "3", "4"],
            [/^Output/, "items.b", "2", "–"],
            [/^Output/, "items.c", "–", "5"],
        ]) {
            assert.deepEqual((await row(of, name).locator("td").allInnerTexts()).slice(1), sides, name);
            assert.equal(/differs/.test(await row(of, name).getAttribute("class")), sides[0] !== sides[1], name);
        }
        assert.equal(await row(/^Output/, "items.a").count(), 0); // it is the same
    });

    const whole = () => `runs/${long.id}`;
    w.test("a long run is drawn whole, searched, filtered, and read from its end", whole, async (page) => {
        const ticks = page.locator(".waterfall .tick");
        await ticks.first().waitFor();
        const at = await ticks.evaluateAll((all) => all.map((one) => parseFloat(one.style.left)));
        assert.ok(at.length > 150 && at.length <= 200, `${at.length} ticks`);
        const gaps = at.slice(1).map((left, i) => left - at[i]);
        assert.ok(Math.max(...gaps) < 2, "nothing of the timeline is left out");
        const legend = page.locator(".card", { has: page.locator(".waterfall") }).getByLabel("Legend");
        const fillOf = (found) =>
            found.first().evaluate((one) => {
                const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
                return [backgroundColor, backgroundImage, opacity].join(" ");
            });
        assert.equal(await fillOf(legend.locator("i.bar")), await fillOf(page.locator(".waterfall .lane .bar")));
        assert.deepEqual((await legend.locator("span").allInnerTexts()).map((text) => text.trim()), [
            "first to last event",
            "until the next event of the run",
            "with an error",
        ]);
        const events = page.locator(".card:not(.errors) .events .event");
        await events.first().waitFor();
        await use(page, "Jump to the end");
        await events.getByText(`step ${LONG - 1}`, { exact: true }).waitFor();
        await button(page, "Show earlier events").waitFor();
        const loaded = page.asked.filter((url) => url.includes("/events?"));
        assert.ok(loaded.length <= 12, `the run was loaded whole: ${loaded}`);
        await fill(page, { Level: "warning" });
        await sees(page, "5 of 10,000 events");
        await count(page, 5, ".event.warn");
        assert.equal(await events.count(), 5);
        await fill(page, { "Search events": "step 7000" });
        await sees(page, "1 of 10,000 events");
        await events.getByText("step 7000", { exact: true }).waitFor();
    });

    w.test("a long run loads as it is scrolled, and few of its events are drawn", whole, async (page) => {
        const seen = (i) =>
            page.waitForFunction((text) => {
                scrollTo(0, document.body.scrollHeight);
                return [...document.querySelectorAll(".event .text")].some((one) => one.textContent === text);
            }, `step ${i}`);
        for (const i of [150, 350, 550, 750, 950]) await seen(i);
        await page.waitForFunction(() => document.querySelectorAll(".event").length <= 400);
        assert.ok((await nodesOf(page)) <= NODES_MAX, `${await nodesOf(page)} nodes`);
        await page.evaluate(() => scrollTo(0, 0));
        await page.getByText("step 0", { exact: true }).waitFor();
        await use(page, "By category", "Show work");
        await page.locator(".group").getByText("step 5", { exact: true }).waitFor();
    });
});
