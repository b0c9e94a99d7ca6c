// The runs explorer: search, order, columns, views, export; and one run and two compared.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";

const LONG = 2_600; // events of the long run, more than a page loads at first

let server, browser, tenant, runs, long;

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
    });

    /** Steps over an hour, the last of them an error. */
    async function sendLong() {
        const steps = Array.from({ length: LONG }, (_, i) =>
            event(tenant, long, "in_progress", (i * long.length) / LONG, {
                seq: i + 1,
                category: "work",
                message: `step ${i}`,
                level: i % 500 === 250 ? "warning" : "info",
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
        await link("Raw JSON").waitFor();
        await link("Compare with the run before").click();
        await page.getByRole("heading", { name: "Compare two runs" }).waitFor();
        const row = (name) => rows(page).filter({ hasText: name }).first();
        await row("Duration").waitFor();
        assert.match(await row("Duration").getAttribute("class"), /differs/);
        assert.doesNotMatch(await row("Version").getAttribute("class"), /differs/);
        await row("fetch").waitFor();
        await shot(page, "compare");
        await close(page);
    });

    test("a long run is drawn whole, searched, filtered, and read from its end", async () => {
        const page = await open(`/t/explorer/runs/${long.id}`);
        await page.getByText("600 events of this run are not loaded yet").waitFor();
        await button(page, "Load all events").click();
        await button(page, "Load all events").waitFor({ state: "detached" });
        const at = await page
            .locator(".waterfall .tick")
            .evaluateAll((all) => all.map((one) => parseFloat(one.style.left)));
        assert.ok(at.length > 300 && at.length <= 400, `${at.length} ticks`);
        const gaps = at.slice(1).map((left, i) => left - at[i]);
        assert.ok(Math.max(...gaps) < 1, "nothing of the timeline is left out");
        const events = page.locator(".events .event");
        await button(page, "Jump to the end").click();
        await events.getByText(`step ${LONG - 1}`, { exact: true }).waitFor();
        await page.getByRole("button", { name: /earlier/ }).waitFor();
        await page.getByLabel("Level").selectOption("warning");
        await page.getByText("5 of 2,600 events").waitFor();
        assert.equal(await events.count(), 5);
        await page.getByLabel("Search events").fill("step 750");
        await page.getByText("1 of 2,600 events").waitFor();
        await events.getByText("step 750", { exact: true }).waitFor();
        await close(page);
    });
});
