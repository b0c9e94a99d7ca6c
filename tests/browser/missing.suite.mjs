// What is not there, and how a person finds what is: addresses of nothing, many models, the search.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { runsOf } from "./fleet.mjs";
import { close, shot } from "./muster.mjs";
import { routedPaths } from "./places.mjs";
import { count, gone, heading, option, rows, sees, titled, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const NO_RUN = "00000000-0000-4000-8000-000000000000";
const PLATFORM_ADMIN = "root@vain.example"; // knows what workspaces there are once they are loaded
const MODELS = Array.from({ length: 10 }, (_, i) => `model-${i}`);
const w = new Suite("vain");
let run;

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
    ["business?kpi=typist%2Fnothing", "Business", "KPI not found"],
    ["alerts?tab=webhooks&log=nothing", "Alerts", "Webhook not found"],
    ["alerts?tab=nothing", "Alerts", "Section not found"],
    ["settings?tab=nothing", "Settings", "Section not found"],
    ["agents/typist?tab=nothing", "typist", "Section not found"],
];

describe("what is not there", () => {
    w.begin(async () => {
        w.server.addTenant("shut");
        w.server.addUser(PLATFORM_ADMIN, "--role", "platform_admin");
        const business_kpis = [{ key: "pages", label: "Sheets typed", unit: "count", agg: "sum" }];
        await w.register("typist", { business_kpis });
        [run] = runsOf("typist", 1);
        await w.runs([run]);
        await w.business("typist", run.id, run.from, { pages: 3 });
        for (const [i, model] of MODELS.entries())
            await w.usage("typist", randomUUID(), run.from, model, 1000 * (MODELS.length - i));
    });

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

    for (const [path, title, back] of PAGES)
        w.test(`${path} says "${title}", and leads back`, () => path.replace("RUN", run.id), async (page) => {
            await titled(page, title);
            await page.waitForFunction(
                (name) => document.title.startsWith(name) && document.activeElement.id === "main",
                title, // both follow once it is drawn
            );
            assert.deepEqual(await said(page), {
                headings: [title],
                alert: title, // a screen reader says it when it appears
                title,
                last: "muster",
                loading: 0,
                focus: "main",
            });
            await page.locator("main [role=alert] a.button").click();
            await page.waitForURL(back);
            await gone(page, page.getByRole("heading", { level: 1, name: title }));
            await page.waitForFunction((was) => !document.title.startsWith(was), title);
        }, { fresh: true });

    for (const [path, title, text] of PARTS)
        w.test(`${path} says "${text}"`, path, async (page) => {
            await page.locator("main [role=alert]", { hasText: text }).waitFor();
            assert.ok((await page.locator("h1").innerText()).startsWith(title));
            await gone(page, page.locator(".skeleton").first());
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
            const page = await w.open("/t/nobodys/fleet", { email, fresh: true });
            await heading(page, "Workspace not found").waitFor();
            await page.clock.install();
            await page.reload();
            await heading(page, "Workspace not found").waitFor();
            await page.clock.runFor(120_000);
            const asked = page.asked.filter((url) => url.includes("/tenants/nobodys/"));
            assert.equal(asked.length, 2, `${email}:\n${asked.join("\n")}`); // before the reload, and after it
            const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
            const targets = await links.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
            assert.doesNotMatch(targets.join(" "), /nobodys/);
            return page;
        };
        await close(await look(PLATFORM_ADMIN));
        const page = await look(w.tenant.email);
        await w.go(page, "/");
        await page.getByRole("heading", { name: "Overview" }).waitFor(); // it is not remembered
        await shot(page, "after-unknown-workspace");
        await close(page);
    });

    w.test("every page of an unknown workspace is named after what is missing", "/t/nobodys/fleet", async (page) => {
        await heading(page, "Workspace not found").waitFor();
        await w.go(page, "/t/nobodys/runs");
        for (let i = 0; i < 2; i++) // what follows a drawing has run
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
        await page.waitForFunction(() => document.title.startsWith("Workspace not found"));
        await w.go(page, "runs");
        await page.waitForFunction(() => document.title === "Runs · vain · muster");
    }, { fresh: true });

    w.test("models beyond the palette are drawn some at a time", "cost?measure=tokens", async (page) => {
        const items = page.locator(".legend button");
        const legend = () =>
            items.evaluateAll((all) => all.map((one) => [one.textContent, one.querySelector("i").style.background]));
        const until = (hasText) => page.locator(".legend button", { hasText }).waitFor();
        await until("others");
        await sees(page, "Models 1 to 7 of 10, the largest first");
        const first = new Map(await legend());
        assert.deepEqual([...first.keys()], [...MODELS.slice(0, 7), "others"]);
        await use(page, "Show the next 3");
        await until("model-9");
        const second = new Map(await legend());
        assert.deepEqual([...second.keys()], MODELS.slice(7));
        assert.equal(new Set(second.values()).size, 3);
        await page.reload(); // it is kept in the address
        await until("model-9");
        await use(page, "Show the largest");
        await until("others");
        assert.deepEqual(new Map(await legend()), first);
    });

    w.test("the search finds KPIs, models and workspaces, and offers nothing that cannot match", "fleet", async (page) => {
        const field = page.getByRole("combobox", { name: "Search" });
        const find = async (text, name) => {
            await page.keyboard.press("/");
            await field.waitFor();
            await field.fill(text);
            await option(page, name).waitFor();
        };
        await find("sheets", /Sheets typed ?KPI of typist/);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 2, name: "Sheets typed" }).waitFor();
        await find("model-8", /model-8 ?Model/);
        await page.keyboard.press("Enter");
        await page.waitForURL(/cost\?model=model-8$/);
        await use(page, "Tokens"); // it has no price
        await sees(page, "Models 8 to 10 of 10");
        await find("zzzz", "Runs with “zzzz”");
        await count(page, 1, "[role=option]");
        await field.fill("e"); // more places than are shown
        await sees(page, option(page, "Runs with “e”"), option(page, /Sheets typed ?KPI of typist/));
        assert.equal(await page.locator("#found [role=option]").count(), 20);
        await page.keyboard.press("Escape");
        await gone(page, field);
    });

    w.test("what is typed before the search is drawn is not lost", "fleet", async (page) => {
        await rows(page).first().waitFor();
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
        await gone(page, field);
        await page.keyboard.press("/");
        await field.waitFor();
        assert.equal(await field.inputValue(), "");
        await page.keyboard.press("Escape");
    });
});
