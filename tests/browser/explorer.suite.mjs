// The runs explorer: search, order, columns, views, export; and one run and two compared.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";

const LONG = 10_000; // events of the long run, more than a page loads at first
const NODES_MAX = 5_000;

let server, browser, tenant, runs, long, twins;

/** Two runs that differ in a step, a metric, their tokens and their output. */
const TWINS = [
    { agent_version: "1.0.0", steps: ["fetch", "parse"], rows: 10, tokens: 1000, output: { total: 3, items: { a: 1, b: 2 } } },
    { agent_version: "2.0.0", steps: ["fetch", "fetch", "parse"], rows: 12, tokens: 3000, output: { total: 4, items: { a: 1, c: 5 } } },
];

describe("runs explorer", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("explorer", ADMIN);
        runs = [...runsOf("invoice-reader", 12), ...runsOf("lead-scorer", 6)];
        await sendRuns(server, tenant, runs);
        await server.send(tenant, "/api/v1/telemetry/llm", {
            agent_name: "lead-scorer",
            run_id: runs[12].id,
            timestamp: new Date(runs[12].from).toISOString(),
            model: "small",
            input_tokens: 1200,
            output_tokens: 34,
        });
        const [first] = runsOf("long-runner", 1);
        long = { ...first, length: 3_600_000, from: first.from - 3_600_000 };
        await sendLong();
        await sendTwins(server.addTenant("twins", ADMIN));
    });

    /** The first twin is the older one; each is of a workflow. */
    async function sendTwins(of) {
        twins = runsOf("twin", 2).reverse();
        for (const [i, run] of twins.entries()) {
            const { agent_version, steps, rows, tokens, output } = TWINS[i];
            const more = { agent_version, workflow_run_id: `night ${i + 1}` };
            const events = [
                event(of, run, "started", 0, more),
                ...steps.map((category, n) => event(of, run, "in_progress", n + 1, { ...more, category })),
                event(of, run, "completed", 9000, { ...more, output, metrics: { rows } }),
            ];
            await server.send(of, "/api/v1/telemetry/batch", { events });
            await server.send(of, "/api/v1/telemetry/llm", {
                agent_name: run.agent,
                run_id: run.id,
                timestamp: new Date(run.from).toISOString(),
                model: "small",
                input_tokens: tokens,
                output_tokens: 0,
            });
        }
    }

    /** Steps over an hour, the last of them an error. */
    async function sendLong() {
        const steps = Array.from({ length: LONG }, (_, i) =>
            event(tenant, long, "in_progress", (i * long.length) / LONG, {
                seq: i + 1,
                category: "work",
                message: `step ${i}`,
                level: i % 2_000 === 1_000 ? "warning" : "info",
            }),
        );
        for (let i = 0; i < steps.length; i += 500)
            await server.send(tenant, "/api/v1/telemetry/batch", { events: steps.slice(i, i + 500) });
    }

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);
    const rows = (page) => page.locator("tbody tr");
    const button = (page, name) => page.getByRole("button", { name, exact: true });
    const until = (page, n) =>
        page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, n);

    test("runs are found by a part of a name, an error or a message", async () => {
        const page = await open("/t/explorer/runs");
        await until(page, 19);
        const search = page.getByLabel("Search runs", { exact: true });
        await search.fill("upstreamtime");
        await until(page, runs.filter((run) => run.status === "failed").length);
        await search.fill("LEAD");
        await until(page, 6);
        assert.match(page.url(), /q=LEAD/);
        await search.fill("");
        await page.getByLabel("Error type", { exact: true }).fill("UpstreamTimeout");
        await until(page, runs.filter((run) => run.status === "failed").length);
        await page.getByLabel("Error type", { exact: true }).fill("");
        await page.getByLabel("Version", { exact: true }).fill("9.9");
        await page.getByText("No runs match").waitFor();
        await button(page, "Show all runs").click();
        await until(page, 19);
        await close(page);
    });

    test("a search that finds nothing says where it looked, and goes on in all time", async () => {
        const of = server.addTenant("searched", ADMIN);
        const now = Date.now();
        const [old, recent] = [runsOf("clerk", 1, now - 10 * 86_400_000)[0], runsOf("clerk", 1, now)[0]];
        await server.send(of, "/api/v1/telemetry/batch", {
            events: [
                event(of, old, "started", 0),
                event(of, old, "completed", 9000, { message: "Checked the zebra crossing" }),
                event(of, recent, "started", 0, { message: "A zebra at the start" }),
                event(of, recent, "in_progress", 1, { message: "An ordinary step" }),
            ],
        });
        const page = await open("/t/searched/runs");
        await until(page, 1);
        await page.getByLabel("Search runs", { exact: true }).fill("zebra");
        const none = page.locator(".empty");
        await none.getByText(/Searched for zebra in runs of the last 7 days: .* or the title .* Earlier steps are not/).waitFor();
        await shot(page, "no-runs-match");
        await button(page, "Search all time").click();
        await until(page, 1);
        assert.equal(await page.getByLabel("Search runs", { exact: true }).inputValue(), "zebra");
        assert.match(await rows(page).first().innerText(), /zebra crossing/);
        await page.getByLabel("Search runs", { exact: true }).fill("giraffe");
        await none.getByText("in runs of all time").waitFor();
        assert.equal(await button(page, "Search all time").count(), 0);
        await close(page);
    });

    test("each value of a filter has its number of runs, and leads to as many", async () => {
        const page = await open("/t/explorer/runs");
        await until(page, 19);
        const facet = (name) => page.getByRole("region", { name, exact: true });
        const value = (of, name) => facet(of).getByRole("button", { name });
        const failed = runs.filter((run) => run.status === "failed");
        await value("Agents", "invoice-reader 12").waitFor();
        await value("Agents", "lead-scorer 6").waitFor();
        await value("Error types", `UpstreamTimeout ${failed.length}`).waitFor();
        await page.getByRole("button", { name: `Failed ${failed.length}`, exact: true }).waitFor();
        await value("Agents", "lead-scorer 6").click();
        await until(page, 6);
        const theirs = failed.filter((run) => run.agent === "lead-scorer").length;
        await value("Error types", `UpstreamTimeout ${theirs}`).click();
        await until(page, theirs);
        await value("Agents", `invoice-reader ${failed.length - theirs}`).waitFor(); // instead of it
        assert.match(page.url(), /agent_name=lead-scorer/);
        assert.equal(await value("Agents", "lead-scorer").getAttribute("aria-pressed"), "true");
        await shot(page, "facets");
        await value("Agents", "lead-scorer").click(); // clears it
        await until(page, failed.length);
        await close(page);
    });

    test("a part of an agent's name does not empty the list", async () => {
        const page = await open("/t/explorer/runs");
        await until(page, 19);
        const list = await page.getByLabel("Agent", { exact: true }).getAttribute("list");
        await page.locator(`#${list} option`).first().waitFor({ state: "attached" });
        const asked = page.asked.length;
        await page.getByLabel("Agent", { exact: true }).fill("lead");
        await page.getByLabel("Agent", { exact: true }).fill("lead-scorer");
        await until(page, 6);
        assert.deepEqual(page.asked.slice(asked).filter((url) => /agent_name=lead(&|$)/.test(url)), []);
        await close(page);
    });

    test("names that come after a part was typed count for it", async () => {
        const page = await open("/t/explorer/cost", {});
        let answer;
        const asked = new Promise((resolve) => {
            void page.route(/\/agents\?(.*&)?limit=500/, (route) => {
                answer = () => route.continue();
                resolve();
            });
        });
        await page.goto(`${server.url}/#/t/explorer/runs`);
        await until(page, 19);
        await asked;
        const field = page.getByLabel("Agent", { exact: true });
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        await field.focus();
        await page.keyboard.type("lead");
        await answer();
        await page.locator(`#${await field.getAttribute("list")} option`).first().waitFor({ state: "attached" });
        await page.clock.runFor(300);
        assert.doesNotMatch(page.url(), /agent_name/);
        await page.keyboard.type("-scorer");
        await page.clock.runFor(300);
        await page.waitForURL(/agent_name=lead-scorer$/);
        await close(page);
    });

    test("what is typed while a search begins is not lost", async () => {
        const page = await open("/t/explorer/runs", {});
        await until(page, 19);
        const search = page.getByLabel("Search runs", { exact: true });
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
        await close(page);
    });

    test("a heading sorts all runs, not only the page, and says so in the address", async () => {
        const page = await open("/t/explorer/runs?agent_name=invoice-reader");
        await until(page, 12);
        await button(page, "Duration").click();
        await page.waitForURL(/order=duration/);
        await page.locator('th[aria-sort="descending"]').waitFor();
        const first = () => rows(page).first().locator("a.row-link").getAttribute("href");
        await page.waitForFunction(
            (id) => document.querySelector("tbody a.row-link")?.href.endsWith(id),
            runs[11].id, // the longest of them, but for those that say no duration
        );
        await button(page, "Duration").click();
        await page.waitForURL(/ascending=true/);
        await page.waitForFunction(
            (id) => document.querySelector("tbody a.row-link")?.href.endsWith(id),
            runs[0].id,
        );
        assert.ok((await first()).endsWith(runs[0].id));
        await page.goBack();
        await page.locator('th[aria-sort="descending"]').waitFor();
        await close(page);
    });

    test("every column can be sorted by, what runs spent too", async () => {
        const page = await open("/t/twins/runs");
        await until(page, 2);
        const heads = page.locator("thead th");
        const names = (await heads.allInnerTexts()).map((name) => name.replace(/[↑↓]/, "").trim());
        assert.ok(names.length >= 10, names.join());
        for (const name of names) {
            await heads.filter({ hasText: name }).getByRole("button").click();
            await page.waitForFunction(
                (name) =>
                    [...document.querySelectorAll('th:not([aria-sort="none"])')].some((one) =>
                        one.textContent.startsWith(name),
                    ),
                name,
            );
            await until(page, 2);
        }
        const first = (id) =>
            page.waitForFunction((id) => document.querySelector("tbody a.row-link")?.href.endsWith(id), id);
        await page.goto(`${server.url}/#/t/twins/runs`);
        await button(page, "Tokens").click();
        await page.waitForURL(/order=tokens/);
        await first(twins[1].id);
        await button(page, "Tokens").click();
        await page.waitForURL(/ascending=true/);
        await first(twins[0].id);
        await close(page);
    });

    test("tokens, cost and version of a run are in its row", async () => {
        const page = await open("/t/explorer/runs?agent_name=lead-scorer");
        await until(page, 6);
        const row = rows(page).filter({ has: page.locator(`a[href$="${runs[12].id}"]`) });
        await row.getByText("1,234").waitFor();
        await row.getByText("no price").waitFor();
        await row.getByText("1.4.0").waitFor();
        await shot(page, "explorer");
        await close(page);
    });

    test("new runs wait above the list until they are wanted", async () => {
        const page = await open("/t/explorer/runs?agent_name=invoice-reader");
        await until(page, 12);
        await page.getByText("Live", { exact: true }).waitFor();
        const before = await rows(page).first().locator("a").getAttribute("href");
        await sendRuns(server, tenant, runsOf("invoice-reader", 2, Date.now() + 1_200_000));
        await button(page, "2 new runs").waitFor();
        assert.equal(await rows(page).first().locator("a").getAttribute("href"), before);
        assert.equal(await rows(page).count(), 12);
        await button(page, "2 new runs").click();
        await until(page, 14);
        await button(page, "2 new runs").waitFor({ state: "detached" });
        await close(page);
    });

    test("a view is saved, opened again, and forgotten", async () => {
        const page = await open("/t/explorer/runs?status=failed&q=timeout", {});
        await rows(page).first().waitFor();
        await button(page, "Views").click();
        await page.getByLabel("Name").fill("Time-outs");
        await button(page, "Save this view").click();
        await page.getByRole("link", { name: "Time-outs" }).waitFor();
        await page.goto(`${server.url}/#/t/explorer/runs`);
        await page.reload();
        await rows(page).first().waitFor();
        await button(page, "Views").click();
        await page.getByRole("link", { name: "Time-outs" }).click();
        await page.waitForURL(/status=failed&q=timeout/);
        await button(page, "Views").click();
        await button(page, "Forget Time-outs").click();
        await page.getByRole("link", { name: "Time-outs" }).waitFor({ state: "detached" });
        await close(page);
    });

    test("an export has exactly the runs that the filters leave", async () => {
        const page = await open("/t/explorer/runs?status=failed&agent_name=lead-scorer");
        await rows(page).first().waitFor();
        const shown = await rows(page).count();
        await button(page, "Export").click();
        const [download] = await Promise.all([
            page.waitForEvent("download"),
            button(page, "Download").click(),
        ]);
        const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
        assert.equal(lines[0].split(",")[0], "run_id");
        const ids = lines.slice(1).flatMap((line) => /^[0-9a-f-]{36}/.exec(line) ?? []);
        const wanted = runs.filter((run) => run.agent === "lead-scorer" && run.status === "failed");
        assert.deepEqual(ids.sort(), wanted.map((run) => run.id).sort());
        assert.equal(ids.length, shown);
        const events = page.getByRole("link", { name: "All events of the period instead" });
        assert.match(await events.getAttribute("href"), /export\/events\?format=csv&time_range=7d$/);
        await close(page);
    });

    test("a run leads to those before and after it, and is compared with the one before", async () => {
        const page = await open(`/t/explorer/runs/${runs[13].id}`);
        const link = (name) => page.getByRole("link", { name, exact: true });
        await link("Previous").waitFor();
        assert.ok((await link("Previous").getAttribute("href")).endsWith(runs[14].id));
        assert.ok((await link("Next").getAttribute("href")).endsWith(runs[12].id));
        const raw = await page.request.get(new URL(await link("Raw JSON").getAttribute("href"), server.url).href);
        const { run, events } = await raw.json();
        assert.deepEqual([run.run_id, events.length], [runs[13].id, 10]);
        await link("Compare with the run before").click();
        await page.getByRole("heading", { name: "Compare two runs" }).waitFor();
        const row = (name) => rows(page).filter({ hasText: name }).first();
        await row("Duration").waitFor();
        assert.match(await row("Duration").getAttribute("class"), /differs/);
        assert.doesNotMatch(await row("Version").getAttribute("class"), /differs/);
        await row("fetch").waitFor();
        await shot(page, "compare");
        await page.getByLabel("First run").selectOption(runs[16].id); // any other run of the agent
        await page.locator(`tbody a[href$="${runs[16].id}"]`).waitFor();
        assert.match(page.url(), new RegExp(`a=${runs[16].id}`));
        await close(page);
    });

    test("two runs are compared by steps, metrics, tokens and output", async () => {
        const page = await open(`/t/twins/compare?a=${twins[0].id}&b=${twins[1].id}`);
        const row = (card, name) =>
            page
                .locator(".card")
                .filter({ has: page.getByRole("heading", { name: card }) })
                .locator("tbody tr")
                .filter({ has: page.getByText(name, { exact: true }) });
        const sides = async (card, name) => (await row(card, name).locator("td").allInnerTexts()).slice(1);
        await row("At a glance", "Tokens").getByText("3,000").waitFor();
        assert.deepEqual(await sides("At a glance", "Tokens"), ["1,000", "3,000"]);
        assert.deepEqual(await sides("Steps by category", "fetch"), ["1", "2"]);
        assert.deepEqual(await sides("Steps by category", "parse"), ["1", "1"]);
        assert.deepEqual(await sides("Metrics", "rows"), ["10", "12"]);
        assert.deepEqual(await sides("Output", "total"), ["3", "4"]);
        assert.deepEqual(await sides("Output", "items.b"), ["2", "–"]);
        assert.deepEqual(await sides("Output", "items.c"), ["–", "5"]);
        assert.equal(await row("Output", "items.a").count(), 0); // it is the same
        const differs = async (name) => /differs/.test(await row("Steps", name).getAttribute("class"));
        assert.deepEqual([await differs("fetch"), await differs("parse")], [true, false]);
        await close(page);
    });

    test("versions and workflows have their numbers of runs, too", async () => {
        const page = await open("/t/twins/runs");
        await until(page, 2);
        const value = (of, name) =>
            page.getByRole("region", { name: of, exact: true }).getByRole("button", { name });
        await value("Versions", "2.0.0 1").click();
        await until(page, 1);
        assert.match(page.url(), /version=2\.0\.0/);
        await value("Versions", "2.0.0").click();
        await until(page, 2);
        await value("Workflow runs", /night 1/).click();
        await until(page, 1);
        assert.match(page.url(), /workflow_run_id=night/);
        await close(page);
    });

    test("a long run is drawn whole, searched, filtered, and read from its end", async () => {
        const page = await open(`/t/explorer/runs/${long.id}`);
        const ticks = page.locator(".waterfall .tick");
        await ticks.first().waitFor();
        const at = await ticks.evaluateAll((all) => all.map((one) => parseFloat(one.style.left)));
        assert.ok(at.length > 150 && at.length <= 200, `${at.length} ticks`);
        const gaps = at.slice(1).map((left, i) => left - at[i]);
        assert.ok(Math.max(...gaps) < 2, "nothing of the timeline is left out");
        const legend = page.locator(".card", { has: page.locator(".waterfall") }).getByLabel("Legend");
        const fillOf = (found) =>
            found.evaluate((one) => {
                const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
                return [backgroundColor, backgroundImage, opacity].join(" ");
            });
        const bar = page.locator(".waterfall .lane .bar").first();
        assert.equal(await fillOf(legend.locator("i.bar").first()), await fillOf(bar));
        assert.deepEqual((await legend.locator("span").allInnerTexts()).map((text) => text.trim()), [
            "first to last event",
            "until the next event of the run",
            "with an error",
        ]);
        const events = page.locator(".card:not(.errors) .events .event");
        await events.first().waitFor();
        await button(page, "Jump to the end").click();
        await events.getByText(`step ${LONG - 1}`, { exact: true }).waitFor();
        await button(page, "Show earlier events").waitFor();
        const loaded = page.asked.filter((url) => url.includes("/events?"));
        assert.ok(loaded.length <= 12, `the run was loaded whole: ${loaded}`);
        await page.getByLabel("Level").selectOption("warning");
        await page.getByText("5 of 10,000 events").waitFor();
        await page.waitForFunction(() => document.querySelectorAll(".event.warn").length === 5);
        assert.equal(await events.count(), 5);
        await page.getByLabel("Search events").fill("step 7000");
        await page.getByText("1 of 10,000 events").waitFor();
        await events.getByText("step 7000", { exact: true }).waitFor();
        await close(page);
    });

    test("a long run loads as it is scrolled, and few of its events are drawn", async () => {
        const page = await open(`/t/explorer/runs/${long.id}`);
        const seen = (i) =>
            page.waitForFunction((text) => {
                scrollTo(0, document.body.scrollHeight);
                const all = [...document.querySelectorAll(".event .text")];
                return all.some((one) => one.textContent === text);
            }, `step ${i}`);
        for (const i of [150, 350, 550, 750, 950]) await seen(i);
        await page.waitForFunction(() => document.querySelectorAll(".event").length <= 400);
        const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
        assert.ok(nodes <= NODES_MAX, `${nodes} nodes`);
        await page.evaluate(() => scrollTo(0, 0));
        await page.getByText("step 0", { exact: true }).waitFor();
        await button(page, "By category").click();
        await button(page, "Show work").click();
        await page.locator(".group").getByText("step 5", { exact: true }).waitFor();
        await close(page);
    });
});
