// What is not there, and how a person finds what is: addresses of nothing, many models, the search.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";
import { routedPaths } from "./places.mjs";

const NO_RUN = "00000000-0000-4000-8000-000000000000";
const PLATFORM_ADMIN = "root@vain.example"; // knows what workspaces there are once they are loaded
const MODELS = Array.from({ length: 10 }, (_, i) => `model-${i}`);

let server, browser, tenant, run;

/** Instead of a page: its address, its heading, and where its link leads. */
const PAGES = [
    ["/t/vain/nowhere", "Page not found", /overview$/],
    ["/nowhere/at/all", "Page not found", /overview$/],
    ["/t/nobodys/fleet", "Workspace not found", /overview$/],
    ["/t/shut/overview", "Workspace not found", /overview$/],
    ["/t/vain/agents/nobody", "Agent not found", /\/t\/vain\/fleet$/],
    [`/t/vain/runs/${NO_RUN}`, "Run not found", /\/t\/vain\/runs$/],
    ["/t/vain/runs/not-an-id", "Run not found", /\/t\/vain\/runs$/],
    [`/t/vain/compare?a=${NO_RUN}&b=RUN`, "Run not found", /\/t\/vain\/runs$/],
    ["/t/vain/workflows/never", "Workflow not found", /\/t\/vain\/workflows$/],
];

/** Within a page: its address, its heading, and what it says. */
const PARTS = [
    ["/t/vain/business?kpi=typist%2Fnothing", "Business", "KPI not found"],
    ["/t/vain/alerts?tab=webhooks&log=nothing", "Alerts", "Webhook not found"],
    ["/t/vain/alerts?tab=nothing", "Alerts", "Section not found"],
    ["/t/vain/settings?tab=nothing", "Settings", "Section not found"],
    ["/t/vain/agents/typist?tab=nothing", "typist", "Section not found"],
];

describe("what is not there", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("vain", ADMIN);
        server.addTenant("shut");
        server.addUser(PLATFORM_ADMIN, "--role", "platform_admin");
        await server.send(tenant, "/api/v1/agents/register", {
            agent_name: "typist",
            business_kpis: [{ key: "pages", label: "Sheets typed", unit: "count", agg: "sum" }],
        });
        [run] = runsOf("typist", 1);
        await sendRuns(server, tenant, [run]);
        const report = { agent_name: "typist", timestamp: new Date(run.from).toISOString() };
        await server.send(tenant, "/api/v1/telemetry/business", {
            ...report,
            run_id: run.id,
            metrics: { pages: 3 },
        });
        for (const [i, model] of MODELS.entries())
            await server.send(tenant, "/api/v1/telemetry/llm", {
                ...report,
                run_id: randomUUID(),
                model,
                input_tokens: 1000 * (MODELS.length - i),
            });
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);

    /** How the page says it. */
    const said = (page) =>
        page.evaluate(() => ({
            headings: [...document.querySelectorAll("h1")].map((one) => one.textContent),
            alert: document.querySelector("main [role=alert] h1")?.textContent,
            title: document.title.split(" · ")[0],
            last: document.title.split(" · ").at(-1),
            loading: document.querySelectorAll(".skeleton").length,
            focus: document.activeElement.id,
        }));

    for (const [path, heading, back] of PAGES)
        test(`${path} says "${heading}", and leads back`, async () => {
            const page = await open(path.replace("RUN", run.id), {});
            await page.getByRole("heading", { level: 1, name: heading }).waitFor();
            await page.waitForFunction(
                (name) => document.title.startsWith(name) && document.activeElement.id === "main",
                heading, // both follow once it is drawn
            );
            assert.deepEqual(await said(page), {
                headings: [heading],
                alert: heading, // a screen reader says it when it appears
                title: heading,
                last: "muster",
                loading: 0,
                focus: "main",
            });
            await page.locator("main [role=alert] a.button").click();
            await page.waitForURL(back);
            await page.getByRole("heading", { level: 1, name: heading }).waitFor({ state: "detached" });
            await page.waitForFunction((was) => !document.title.startsWith(was), heading);
            await close(page);
        });

    for (const [path, heading, text] of PARTS)
        test(`${path} says "${text}"`, async () => {
            const page = await open(path);
            await page.locator("main [role=alert]", { hasText: text }).waitFor();
            assert.ok((await page.locator("h1").innerText()).startsWith(heading));
            await page.locator(".skeleton").first().waitFor({ state: "detached" });
            await close(page);
        });

    test("every page with a name in its address says when nothing has that name", () => {
        const named = routedPaths().pages.filter((path) => /:(?!slug)/.test(path));
        const isTried = (path) => {
            const pattern = new RegExp(`^${path.replace(/:\w+/g, "[^/?]+")}$`);
            return PAGES.some(([hash]) => pattern.test(hash.split("?")[0]));
        };
        assert.ok(named.length >= 3, String(named));
        assert.deepEqual(named.filter((path) => !isTried(path)), []);
    });

    test("an unknown workspace is asked for once, and the menu is that of a known one", async () => {
        const look = async (email) => {
            const page = await openAs(browser, server, email, "/t/nobodys/fleet", {});
            await page.getByRole("heading", { name: "Workspace not found" }).waitFor();
            await page.clock.install();
            await page.reload();
            await page.getByRole("heading", { name: "Workspace not found" }).waitFor();
            await page.clock.runFor(120_000);
            const asked = page.asked.filter((url) => url.includes("/tenants/nobodys/"));
            assert.equal(asked.length, 2, `${email}:\n${asked.join("\n")}`); // before the reload, and after it
            const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
            const targets = await links.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
            assert.doesNotMatch(targets.join(" "), /nobodys/);
            return page;
        };
        await close(await look(PLATFORM_ADMIN));
        const page = await look(tenant.email);
        await page.goto(`${server.url}/#/`);
        await page.getByRole("heading", { name: "Overview" }).waitFor(); // it is not remembered
        await shot(page, "after-unknown-workspace");
        await close(page);
    });

    test("every page of an unknown workspace is named after what is missing", async () => {
        const page = await open("/t/nobodys/fleet", {});
        await page.getByRole("heading", { name: "Workspace not found" }).waitFor();
        await page.goto(`${server.url}/#/t/nobodys/runs`);
        for (let i = 0; i < 2; i++) // what follows a drawing has run
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
        await page.waitForFunction(() => document.title.startsWith("Workspace not found"));
        await page.goto(`${server.url}/#/t/vain/runs`);
        await page.waitForFunction(() => document.title === "Runs · vain · muster");
        await close(page);
    });

    test("models beyond the palette are drawn some at a time", async () => {
        const page = await open("/t/vain/cost?measure=tokens");
        const legend = () =>
            page.locator(".legend button").evaluateAll((all) =>
                all.map((one) => [one.textContent, one.querySelector("i").style.background]),
            );
        const until = (name) => page.locator(".legend button", { hasText: name }).waitFor();
        await until("others");
        await page.getByText("Models 1 to 7 of 10, the largest first").waitFor();
        const first = new Map(await legend());
        assert.deepEqual([...first.keys()], [...MODELS.slice(0, 7), "others"]);
        await page.getByRole("button", { name: "Show the next 3" }).click();
        await until("model-9");
        const second = await legend();
        assert.deepEqual(second.map(([name]) => name), MODELS.slice(7));
        assert.equal(new Set(second.map(([, colour]) => colour)).size, 3);
        await page.reload(); // it is kept in the address
        await until("model-9");
        await page.getByRole("button", { name: "Show the largest" }).click();
        await until("others");
        assert.deepEqual(new Map(await legend()), first);
        await close(page);
    });

    test("the search finds KPIs, models and workspaces, and offers nothing that cannot match", async () => {
        const page = await open("/t/vain/fleet");
        const field = page.getByRole("combobox", { name: "Search" });
        const search = async (text) => {
            await page.keyboard.press("/");
            await field.waitFor();
            await field.fill(text);
        };
        await search("sheets");
        await page.getByRole("option", { name: /Sheets typed ?KPI of typist/ }).waitFor();
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 2, name: "Sheets typed" }).waitFor();
        await search("model-8");
        await page.getByRole("option", { name: /model-8 ?Model/ }).waitFor();
        await page.keyboard.press("Enter");
        await page.waitForURL(/cost\?model=model-8$/);
        await page.getByRole("button", { name: "Tokens" }).click(); // it has no price
        await page.getByText("Models 8 to 10 of 10").waitFor();
        await search("zzzz");
        await page.waitForFunction(() => document.querySelectorAll("[role=option]").length === 1);
        await page.getByRole("option", { name: "Runs with “zzzz”" }).waitFor();
        await field.fill("e"); // more places than are shown
        await page.getByRole("option", { name: "Runs with “e”" }).waitFor();
        await page.getByRole("option", { name: /Sheets typed ?KPI of typist/ }).waitFor();
        assert.equal(await page.locator("#found [role=option]").count(), 20);
        await page.keyboard.press("Escape");
        await field.waitFor({ state: "detached" });
        await close(page);
    });

    test("what is typed before the search is drawn is not lost", async () => {
        const page = await open("/t/vain/fleet");
        await page.locator("tbody tr").first().waitFor();
        const press = async (...keys) => {
            for (const key of keys) // as keys that a busy page gets all at once
                document.activeElement.dispatchEvent(
                    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
                );
            for (let turn = 0; turn < 20; turn++) await null; // what follows before the next key
            const { value } = document.activeElement;
            return { value, entry: document.querySelector("[role=option]")?.innerText };
        };
        await page.evaluate(`window.press = ${press}`);
        const first = await page.evaluate(() => press("/", "c", "l", "a"));
        assert.equal(first.value, "cla");
        assert.match(first.entry, /cla/i, "Enter opens it");
        const field = page.getByRole("combobox", { name: "Search" });
        await page.keyboard.type("ude");
        assert.equal(await field.inputValue(), "claude");
        const again = await page.evaluate(async () => {
            await press("Escape"); // the next key opens the search, however soon it comes
            return press("/");
        });
        assert.equal(again.value, "", "with nothing typed");
        await page.keyboard.press("Escape");
        await field.waitFor({ state: "detached" });
        await page.keyboard.press("/");
        await field.waitFor();
        assert.equal(await field.inputValue(), "");
        await page.keyboard.press("Escape");
        await close(page);
    });
});
