// The list of runs, and one run.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";

let server, browser, tenant, runs;

describe("runs", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("runners", ADMIN);
        runs = [...runsOf("invoice-reader", 40), ...runsOf("lead-scorer", 30)];
        await sendRuns(server, tenant, runs);
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);
    const rows = (page) => page.locator("tbody tr");

    test("runs are listed newest first, and filters are kept in the address", async () => {
        const page = await open("/t/runners/runs");
        await rows(page).nth(49).waitFor();
        await shot(page, "runs");
        await page.getByRole("button", { name: "Failed" }).click();
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 14);
        await page.getByLabel("Agent", { exact: true }).fill("lead-scorer");
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 6);
        assert.match(page.url(), /#\/t\/runners\/runs\?/);
        assert.match(page.url(), /status=failed/);
        assert.match(page.url(), /agent_name=lead-scorer/);
        await page.reload();
        await rows(page).nth(5).waitFor();
        assert.equal(await rows(page).count(), 6);
        await close(page);
    });

    test("the filter suggests the names of agents", async () => {
        const page = await open("/t/runners/runs");
        await rows(page).first().waitFor();
        const list = await page.getByLabel("Agent", { exact: true }).getAttribute("list");
        const known = page.locator(`#${list} option`);
        await known.first().waitFor({ state: "attached" });
        const names = await known.evaluateAll((all) => all.map((one) => one.value));
        assert.deepEqual(names, ["invoice-reader", "lead-scorer"]);
        await close(page);
    });

    test("older runs are a link away, and Back returns", async () => {
        const page = await open("/t/runners/runs");
        await rows(page).nth(49).waitFor();
        await page.getByRole("link", { name: "Older" }).click();
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 20);
        assert.match(page.url(), /cursor=/);
        await page.goBack();
        await rows(page).nth(49).waitFor();
        await close(page);
    });

    test("a new run appears without a reload, by the stream", async () => {
        const page = await open("/t/runners/runs?agent_name=newcomer");
        await page.getByText("No runs match").waitFor();
        await page.getByText("Live", { exact: true }).waitFor();
        const asked = page.asked.length;
        await sendRuns(server, tenant, runsOf("newcomer", 1));
        await rows(page).first().waitFor();
        assert.ok(page.asked.length - asked < 4, page.asked.slice(asked).join("\n"));
        await close(page);
    });

    test("a page whose stream is refused polls, and says so", async () => {
        const page = await open("/t/runners/cost", {}); // the stream is cut off on the next page
        await page.route("**/stream", (route) => route.abort());
        await page.clock.install();
        await page.goto(`${server.url}/#/t/runners/runs?agent_name=latecomer`);
        await page.reload();
        await page.getByText("No runs match").waitFor();
        await page.getByText("Refreshing", { exact: true }).waitFor();
        await sendRuns(server, tenant, runsOf("latecomer", 1));
        await page.clock.runFor(5_000);
        await rows(page).first().waitFor();
        await close(page);
    });

    test("a failed run shows why before anything else", async () => {
        const failed = runs.find((run) => run.status === "failed");
        const page = await open(`/t/runners/runs/${failed.id}`);
        await page
            .getByRole("region", { name: "Why it failed" })
            .getByText("UpstreamTimeout")
            .waitFor();
        for (const name of ["Timeline", "Errors", "Metrics", "Narrative"])
            await page.getByRole("heading", { name, exact: true }).waitFor();
        await page.locator(".chart canvas").first().waitFor();
        await shot(page, "run");
        const words = "The model gave no answer"; // said once, not at each place that has it
        assert.equal((await page.locator("main").innerText()).split(words).length - 1, 1);
        const errors = page.locator(".card.errors");
        await errors.getByRole("button", { name: "output, links" }).click();
        const link = errors.getByRole("link", { name: "https://runbooks.example.org/timeout" });
        assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
        await errors.getByText("attempts", { exact: true }).waitFor();
        await close(page);
    });

    test("agents that browsers take for parts of a path have their page", async () => {
        for (const agent of [".", ".."]) {
            await sendRuns(server, tenant, runsOf(agent, 1));
            const page = await open(`/t/runners/agents/${agent}`);
            await page.locator(".facts").first().waitFor();
            assert.ok((await page.locator("main h1").innerText()).startsWith(agent));
            await close(page);
        }
    });

    test("the narrative is grouped by category, or in the order of seq", async () => {
        const page = await open(`/t/runners/runs/${runs[0].id}`);
        const groups = page.locator(".group h3");
        await groups.first().waitFor();
        const names = (await groups.allTextContents()).map((text) => text.split(" ")[0]);
        assert.deepEqual(names, ["started", "fetch", "parse", "model", "store", "completed"]);
        await page.getByRole("button", { name: "In order" }).click();
        await page.waitForFunction(() => document.querySelectorAll(".group").length === 0);
        assert.match(page.url(), /view=order/);
        const texts = await page.locator(".event .text").allTextContents();
        assert.equal(texts[0], "Woke up by schedule");
        assert.equal(texts.at(-1), "Stored 42 invoices");
        await page.context().close();
    });

    test("an unknown run is said to be one", async () => {
        const page = await open("/t/runners/runs/00000000-0000-4000-8000-000000000000");
        await page.getByRole("heading", { name: "Run not found" }).waitFor();
        await close(page);
    });

    test("'/' opens the search, and a run ID opens its run", async () => {
        const page = await open("/t/runners/runs");
        await rows(page).first().waitFor();
        await page.keyboard.press("/");
        await page.getByRole("combobox", { name: "Search" }).fill(runs[3].id);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        assert.ok(page.url().endsWith(runs[3].id));
        await page.keyboard.press("/");
        await page.getByRole("combobox", { name: "Search" }).fill("score");
        await page.getByRole("option", { name: "lead-scorer" }).waitFor();
        await shot(page, "search");
        await page.keyboard.press("Escape");
        await page.getByRole("combobox", { name: "Search" }).waitFor({ state: "detached" });
        await close(page);
    });
});
