// Everyday behaviour on every page: hover, copy, go back, open many tabs, lose the connection.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { runsOf } from "./fleet.mjs";
import { close, PASSWORD, shot } from "./muster.mjs";
import { button, dialogOf, fill, gone, heading, isFocused, live, option, rows, sees, signedIn, signIn, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const w = new Suite("acme", { settings: [] });
let runs;

/** What browsers say of a tab that is in front, or not. */
const show = (page, state) =>
    page.evaluate((value) => {
        Object.defineProperty(document, "visibilityState", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }, state);

describe("habits", () => {
    w.begin(async () => {
        runs = runsOf("invoice-reader", 60);
        await w.runs(runs);
    });

    const narrative = (page) => heading(page, "Narrative").waitFor();
    const scrolled = (page) => page.evaluate(() => scrollY);

    w.test("the exact time is shown on hover, also in rows that are links", "fleet", async (page) => {
        const time = rows(page).first().locator("time").first();
        for (const name of ["fleet", "runs"]) {
            await w.go(page, name);
            await time.waitFor();
            await time.hover();
            const title = await time.evaluate((element) => {
                const { x, y, width, height } = element.getBoundingClientRect();
                return document.elementFromPoint(x + width / 2, y + height / 2).title;
            });
            assert.match(title, /^\d+ \w+ \d{4}(,| at) \d\d:\d\d:\d\d/, name);
        }
        await time.click(); // it passes clicks on
        await narrative(page);
    });

    w.test("copy buttons work, also without a clipboard", () => `runs/${runs[0].id}`, async (page) => {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await page.evaluate(() => (window.board = navigator.clipboard));
        const copies = async (name, text) => {
            const one = page.getByRole("button", { name });
            await one.click();
            await one.getByText("Copied").waitFor({ state: "attached" });
            assert.equal(await page.evaluate(() => window.board.readText()), text);
        };
        await copies(`Copy ${runs[0].id}`, runs[0].id);
        await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
        await copies("Copy a link to this run", page.url());
    }, { fresh: true });

    w.test("a page names its subject in its title", () => `runs/${runs[0].id}`, async (page) => {
        const named = (start) => page.waitForFunction((text) => document.title.startsWith(text), start);
        await named(`Run ${runs[0].id.slice(0, 8)} · acme · muster`);
        await w.go(page, "agents/invoice-reader");
        await named("invoice-reader · acme");
    });

    w.test("a link opens its page at the top, and Back restores the scroll position", () => `runs/${runs[1].id}`, async (page) => {
        await narrative(page); // it is cached from now on
        await w.go(page, "runs");
        const link = rows(page).nth(1).getByRole("link");
        await link.waitFor();
        await page.setViewportSize({ width: 1280, height: 200 });
        await link.scrollIntoViewIfNeeded();
        const left = await scrolled(page);
        assert.ok(left > 0);
        await link.click();
        await narrative(page);
        assert.equal(await scrolled(page), 0);
        await page.goBack();
        await page.waitForFunction((y) => scrollY === y, left);
    });

    /** With a clock that stands still between the frames. */
    async function drawn(page, one) {
        while ((await one.count()) === 0) await page.clock.runFor(1);
    }

    /** Goes back to the list of runs, which was scrolled to `left`: its rows have not come yet, so it is
     * shorter than that. Time passes only when it is told to. */
    async function backToShortList() {
        const page = await w.open("runs", { fresh: true });
        const link = rows(page).nth(30).getByRole("link");
        await link.waitFor();
        await page.setViewportSize({ width: 1280, height: 200 });
        await link.scrollIntoViewIfNeeded();
        const left = await scrolled(page);
        await link.click();
        await narrative(page);
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        await page.locator("#main").evaluate(({ style }) => {
            style.maxHeight = "500px";
            style.overflow = "clip";
        });
        await page.goBack();
        const at = async () => {
            await page.clock.runFor(200); // some frames
            return scrolled(page);
        };
        await drawn(page, rows(page).first());
        const half = await at();
        assert.ok(half > 50 && half < left - 100, `${half} of ${left}`);
        const grow = async () => {
            await page.locator("#main").evaluate((main) => main.removeAttribute("style"));
            return at();
        };
        return { page, left, half, at, grow };
    }

    for (const [name, wait, is] of [
        ["a page that is slow to become long is scrolled once it is", 8_000, "left"],
        ["a page that stays short is left alone after ten seconds", 10_000, "half"],
    ])
        test(name, async () => {
            const short = await backToShortList();
            await short.page.clock.runFor(wait);
            assert.equal(await short.grow(), short[is]);
            await close(short.page);
        });

    test("who scrolls or presses a key meanwhile stays there", async () => {
        for (const leave of [
            (page) => page.evaluate(() => scrollBy(0, -30)), // as a scrollbar does: without an event before
            (page) => page.keyboard.press("Shift"),
        ]) {
            const { page, left, at, grow } = await backToShortList();
            await leave(page);
            const there = await at();
            assert.equal(await grow(), there);
            assert.ok(there < left);
            await close(page);
        }
    });

    test("a page that is left while it is short keeps its position", async () => {
        const { page, left, at, grow } = await backToShortList();
        await page.goForward();
        await drawn(page, page.getByRole("heading", { name: "Narrative" }));
        await page.goBack();
        await drawn(page, rows(page).first());
        assert.ok((await at()) < left);
        assert.equal(await grow(), left);
        await close(page);
    });

    w.test("menus and dialogs close as expected, and return the focus", "cost", async (page) => {
        const menu = button(page, "Export");
        const sheet = page.locator(".sheet");
        await menu.click();
        await sheet.waitFor();
        await page.keyboard.press("Escape");
        await gone(page, sheet);
        assert.ok(await isFocused(menu));
        await menu.click();
        await heading(page, "Cost").click();
        await gone(page, sheet);
        await w.go(page, "settings?tab=keys");
        await use(page, "New key");
        const label = page.getByLabel("Label");
        await label.fill("half of a label");
        const box = await label.boundingBox();
        await page.mouse.move(box.x + 20, box.y + 10); // a selection that ends outside
        await page.mouse.down();
        await page.mouse.move(10, 10);
        await page.mouse.up();
        assert.equal(await label.inputValue(), "half of a label");
        await use(dialogOf(page), "Cancel");
        await gone(page, dialogOf(page));
        await page.waitForFunction(() => document.activeElement.textContent.includes("New key"));
        await use(page, "New key");
        await dialogOf(page).waitFor();
        await page.mouse.click(10, 10);
        await gone(page, dialogOf(page));
    });

    w.test("the search finds sections of pages, and keeps the selected one in view", "fleet", async (page) => {
        await rows(page).first().waitFor();
        await page.setViewportSize({ width: 1280, height: 300 });
        await page.keyboard.press("/");
        const search = page.getByRole("combobox", { name: "Search" });
        for (const [text, name] of [["webh", "Webhooks"], ["e", "invoice-reader"]]) {
            await search.fill(text);
            await option(page, name).waitFor();
        }
        const n = await page.getByRole("option").count();
        for (let i = 1; i < n; i++) await page.keyboard.press("ArrowDown");
        const list = await page.getByRole("listbox").boundingBox();
        const chosen = await page.getByRole("option", { selected: true }).boundingBox();
        assert.ok(chosen.y + chosen.height <= list.y + list.height + 1, JSON.stringify(chosen));
        await search.fill("audit");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Audit log" }).waitFor();
    });

    w.test("an unknown address, and a page that fails to load, say what to do", "nowhere", async (page) => {
        await sees(page, "Page not found");
        await page.route("**/assets/cost-*.js", (route) => route.abort());
        await w.go(page, "cost");
        await sees(page, "Could not load this page");
        await shot(page, "not-loaded");
        await page.unroute("**/assets/cost-*.js");
        await use(page, "Reload");
        await sees(page, "No tokens in this period");
    }, { fresh: true });

    w.test("a hidden tab closes its stream, and catches up later", "runs?agent_name=hidden", async (page) => {
        await sees(page, live(page), "No runs match");
        await show(page, "hidden");
        await page.getByText("Refreshing", { exact: true }).waitFor();
        await w.runs(runsOf("hidden", 1));
        await show(page, "visible");
        await sees(page, rows(page), live(page));
    }, { fresh: true });

    w.test("many tabs are open at once, and each works", "runs", async (first) => {
        let page = first;
        for (let i = 0; i < 6; i++) {
            await live(page).waitFor();
            await show(page, "hidden");
            page = await first.context().newPage();
            await w.go(page, "runs");
        }
        await rows(page).first().waitFor();
    }, { fresh: true });

    w.test("the next person to sign in in the same tab sees nothing of the one before", "settings?tab=keys", async (page) => {
        const other = w.addTenant("other");
        await rows(page).first().waitFor();
        await page.context().clearCookies();
        await w.go(page, "settings"); // unless the stream has shown it already
        await sees(page, "Your session has ended");
        await page.route("**/api/v1/tenants/acme/**", () => {}); // never answered
        await page.evaluate(() => history.back());
        await signIn(page, other.email, PASSWORD);
        await signedIn(page);
        assert.equal(await rows(page).count(), 0);
        await page.context().close();
    }, { fresh: true });

    w.test("within a second of its end, the badge says that the service is away", "/nowhere", async (page) => {
        await page.clock.install();
        await w.go(page, "fleet");
        await sees(page, live(page), rows(page));
        await page.clock.pauseAt(Date.now() + 60_000);
        await w.server.end();
        await gone(page, live(page));
        await page.clock.runFor(1_000);
        await page.getByText("Not connected", { exact: true }).waitFor();
        await page.clock.runFor(20_000);
        await sees(page, /^as of \d+ (s|min) ago$/);
        await w.server.beginAgain();
        await page.clock.resume();
        await live(page).waitFor();
    }, { fresh: true });

    const returned = "runs?agent_name=returned";
    w.test("an unreachable service is reported, and pages recover when it is back", returned, async (page) => {
        const failed = (of, path) => of.waitForEvent("requestfailed", (one) => one.url().endsWith(path));
        await sees(page, live(page), "No runs match");
        const other = await w.open("fleet", { fresh: true });
        await rows(other).first().waitFor();
        await w.server.end();
        await page.getByText("Not connected", { exact: true }).waitFor();
        await w.go(other, "cost"); // neither its file nor its data is cached
        await sees(other, "This page opens when it is back");
        await shot(other, "away");
        await Promise.all([failed(other, "/livez"), use(other, "Reload")]);
        assert.equal(await other.getByText("This page opens when it is back").count(), 1); // still ours
        await w.go(page, returned);
        await sees(page.locator("main"), "The service cannot be reached");
        await use(page, /^Account and help/);
        await Promise.all([failed(page, "/auth/logout"), use(page, "Sign out")]); // without an error in the page
        await w.server.beginAgain();
        await w.runs(runsOf("returned", 1));
        await sees(page, rows(page), live(page)); // by itself
        await gone(page.locator("main"), page.locator("main").getByRole("alert"));
        await sees(other, "No tokens in this period"); // by itself
        await close(other);
    }, { fresh: true });
});
