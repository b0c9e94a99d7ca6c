// The list of runs, and one run.

import assert from "node:assert/strict";
import { describe } from "node:test";

import { runsOf } from "./fleet.mjs";
import { shot } from "./muster.mjs";
import { count, fill, heading, live, option, rows, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const w = new Suite("runners");
let runs;

describe("runs", () => {
    w.begin(async () => {
        runs = [...runsOf("invoice-reader", 40), ...runsOf("lead-scorer", 30)];
        await w.runs(runs);
    });

    w.test("runs are listed newest first, and filters are kept in the address", "runs", async (page) => {
        await count(page, 50);
        await shot(page, "runs");
        await use(page, /^Failed/);
        await count(page, 14);
        await fill(page, { Agent: "lead-scorer" });
        await count(page, 6);
        assert.match(page.url(), /#\/t\/runners\/runs\?/);
        assert.match(page.url(), /status=failed/);
        assert.match(page.url(), /agent_name=lead-scorer/);
        await page.reload();
        await count(page, 6);
    });

    w.test("older runs are a link away, and Back returns", "runs", async (page) => {
        await count(page, 50);
        await page.getByRole("link", { name: "Older" }).click();
        await count(page, 20);
        assert.match(page.url(), /cursor=/);
        await page.goBack();
        await count(page, 50);
    });

    w.test("a new run appears without a reload, by the stream", "runs?agent_name=newcomer", async (page) => {
        await sees(page, "No runs match", live(page));
        const asked = page.asked.length;
        await w.runs(runsOf("newcomer", 1));
        await rows(page).first().waitFor();
        assert.ok(page.asked.length - asked < 4, page.asked.slice(asked).join("\n"));
    });

    w.test("a page whose stream is refused polls, and says so", "cost", async (page) => {
        await page.route("**/stream", (route) => route.abort());
        await page.clock.install();
        await w.go(page, "runs?agent_name=latecomer"); // the stream is cut off here
        await page.reload();
        await sees(page, "No runs match", page.getByText("Refreshing", { exact: true }));
        await w.runs(runsOf("latecomer", 1));
        await page.clock.runFor(5_000);
        await rows(page).first().waitFor();
    }, { fresh: true });

    const failed = () => `runs/${runs.find((run) => run.status === "failed").id}`;
    w.test("a failed run shows why before anything else", failed, async (page) => {
        await sees(page.getByRole("region", { name: "Why it failed" }), "UpstreamTimeout");
        await sees(page, ...["Timeline", "Errors", "Metrics", "Narrative"].map((name) => heading(page, name)));
        await page.locator(".chart canvas").first().waitFor();
        await shot(page, "run");
        const words = "The model gave no answer"; // said once, not at each place that has it
        assert.equal((await page.locator("main").innerText()).split(words).length - 1, 1);
        const errors = page.locator(".card.errors");
        await use(errors, /output, links/);
        const link = errors.getByRole("link", { name: "https://runbooks.example.org/timeout" });
        assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
        await errors.getByText("attempts", { exact: true }).waitFor();
    });

    for (const agent of [".", ".."])
        w.test("agents that browsers take for parts of a path have their page", "runs", async (page) => {
            await w.runs(runsOf(agent, 1));
            await w.go(page, `agents/${agent}`);
            await page.locator(".facts").first().waitFor();
            assert.ok((await page.locator("main h1").innerText()).startsWith(agent));
        });

    const completed = () => `runs/${runs[0].id}`;
    w.test("the narrative is grouped by category, or in the order of seq", completed, async (page) => {
        const groups = page.locator(".group h3");
        await groups.first().waitFor();
        const names = (await groups.allTextContents()).map((text) => text.split(" ")[0]);
        assert.deepEqual(names, ["started", "fetch", "parse", "model", "store", "completed"]);
        await use(page, "In order");
        await count(page, 0, ".group");
        assert.match(page.url(), /view=order/);
        const texts = await page.locator(".event .text").allTextContents();
        assert.equal(texts[0], "Woke up by schedule");
        assert.equal(texts.at(-1), "Stored 42 invoices");
    });

    w.test("'/' opens the search, and a run ID opens its run", "runs", async (page) => {
        await rows(page).first().waitFor();
        const search = page.getByRole("combobox", { name: "Search" });
        await page.keyboard.press("/");
        await search.fill(runs[3].id);
        await page.keyboard.press("Enter");
        await heading(page, "Narrative").waitFor();
        assert.ok(page.url().endsWith(runs[3].id));
        await page.keyboard.press("/");
        await search.fill("score");
        await option(page, "lead-scorer").waitFor();
        await shot(page, "search");
        await page.keyboard.press("Escape");
        await search.waitFor({ state: "detached" });
    });
});
