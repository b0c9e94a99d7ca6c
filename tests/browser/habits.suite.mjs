// Everyday behaviour on every page: hover, copy, go back, open many tabs, lose the connection.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { close, openAs, openBrowser, openPage, PASSWORD, Server, shot } from "./muster.mjs";

let server, browser, tenant, runs;

describe("habits", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        runs = runsOf("invoice-reader", 60);
        await sendRuns(server, tenant, runs);
    });

    after(async () => {
        await server?.stop();
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);
    const rows = (page) => page.locator("tbody tr");
    const button = (page, name) => page.getByRole("button", { name, exact: true });

    test("the exact time is shown on hover, also in rows that are links", async () => {
        const page = await open("/t/acme/fleet");
        for (const name of ["fleet", "runs"]) {
            await page.goto(`${server.url}/#/t/acme/${name}`);
            const time = rows(page).first().locator("time").first();
            await time.waitFor();
            await time.hover();
            const title = await time.evaluate((element) => {
                const { x, y, width, height } = element.getBoundingClientRect();
                return document.elementFromPoint(x + width / 2, y + height / 2).title;
            });
            assert.match(title, /^\d+ \w+ \d{4}(,| at) \d\d:\d\d:\d\d/, name);
        }
        await rows(page).first().locator("time").first().click(); // it passes clicks on
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        await close(page);
    });

    test("copy buttons work, also without a clipboard", async () => {
        const page = await open(`/t/acme/runs/${runs[0].id}`, {});
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await page.evaluate(() => (window.board = navigator.clipboard));
        const copied = () => page.evaluate(() => window.board.readText());
        const id = page.getByRole("button", { name: `Copy ${runs[0].id}` });
        await id.click();
        await id.getByText("Copied").waitFor({ state: "attached" });
        assert.equal(await copied(), runs[0].id);
        await page.evaluate(() => {
            Object.defineProperty(navigator, "clipboard", { value: undefined });
        });
        const link = page.getByRole("button", { name: "Copy a link to this run" });
        await link.click();
        await link.getByText("Copied").waitFor({ state: "attached" });
        assert.equal(await copied(), page.url());
        await close(page);
    });

    test("a page names its subject in its title", async () => {
        const page = await open(`/t/acme/runs/${runs[0].id}`);
        await page.waitForFunction(
            (id) => document.title === `Run ${id.slice(0, 8)} · acme · muster`,
            runs[0].id,
        );
        await page.goto(`${server.url}/#/t/acme/agents/invoice-reader`);
        await page.waitForFunction(() => document.title.startsWith("invoice-reader · acme"));
        await close(page);
    });

    test("a link opens its page at the top, and Back restores the scroll position", async () => {
        const page = await open(`/t/acme/runs/${runs[1].id}`);
        await page.getByRole("heading", { name: "Narrative" }).waitFor(); // it is cached from now on
        await page.goto(`${server.url}/#/t/acme/runs`);
        const link = rows(page).nth(1).getByRole("link");
        await link.waitFor();
        await page.setViewportSize({ width: 1280, height: 200 });
        await link.scrollIntoViewIfNeeded();
        const left = await page.evaluate(() => scrollY);
        assert.ok(left > 0);
        await link.click();
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        assert.equal(await page.evaluate(() => scrollY), 0);
        await page.goBack();
        await page.waitForFunction((y) => scrollY === y, left);
        await close(page);
    });

    /** With a clock that stands still between the frames. */
    async function drawn(page, one) {
        while ((await one.count()) === 0) await page.clock.runFor(1);
    }

    /** Goes back to the list of runs, which was scrolled to `left`: its rows have not come yet, so it is
     * shorter than that. Time passes only when it is told to. */
    async function backToShortList() {
        const page = await open("/t/acme/runs", {});
        const link = rows(page).nth(30).getByRole("link");
        await link.waitFor();
        await page.setViewportSize({ width: 1280, height: 200 });
        await link.scrollIntoViewIfNeeded();
        const left = await page.evaluate(() => scrollY);
        await link.click();
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        await page.locator("#main").evaluate(({ style }) => {
            style.maxHeight = "500px";
            style.overflow = "clip";
        });
        await page.goBack();
        const at = async () => {
            await page.clock.runFor(200); // some frames
            return page.evaluate(() => scrollY);
        };
        await drawn(page, rows(page).first());
        const half = await at();
        assert.ok(half > 50 && half < left - 100, `${half} of ${left}`);
        const grow = () => page.locator("#main").evaluate((main) => main.removeAttribute("style"));
        return { page, left, half, at, grow };
    }

    test("a page that is slow to become long is scrolled once it is", async () => {
        const { page, left, half, at, grow } = await backToShortList();
        await page.clock.runFor(8_000);
        assert.equal(await at(), half);
        await grow();
        assert.equal(await at(), left);
        await close(page);
    });

    test("a page that stays short is left alone after ten seconds", async () => {
        const { page, half, at, grow } = await backToShortList();
        await page.clock.runFor(10_000);
        await grow();
        assert.equal(await at(), half);
        await close(page);
    });

    test("who scrolls or presses a key meanwhile stays there", async () => {
        for (const leave of [
            (page) => page.evaluate(() => scrollBy(0, -30)), // as a scrollbar does: without an event before
            (page) => page.keyboard.press("Shift"),
        ]) {
            const { page, left, at, grow } = await backToShortList();
            await leave(page);
            const there = await at();
            await grow();
            assert.equal(await at(), there);
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
        await grow();
        assert.equal(await at(), left);
        await close(page);
    });

    test("menus and dialogs close as expected, and return the focus", async () => {
        const page = await open("/t/acme/cost");
        const menu = button(page, "Export");
        await menu.click();
        await page.locator(".sheet").waitFor();
        await page.keyboard.press("Escape");
        await page.locator(".sheet").waitFor({ state: "detached" });
        assert.ok(await menu.evaluate((one) => one === document.activeElement));
        await menu.click();
        await page.getByRole("heading", { name: "Cost", exact: true }).click();
        await page.locator(".sheet").waitFor({ state: "detached" });
        await page.goto(`${server.url}/#/t/acme/settings?tab=keys`);
        const opener = button(page, "New key");
        await opener.click();
        const label = page.getByLabel("Label");
        await label.fill("half of a label");
        const box = await label.boundingBox();
        await page.mouse.move(box.x + 20, box.y + 10); // a selection that ends outside
        await page.mouse.down();
        await page.mouse.move(10, 10);
        await page.mouse.up();
        assert.equal(await label.inputValue(), "half of a label");
        await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await page.waitForFunction(() => document.activeElement.textContent.includes("New key"));
        await opener.click();
        await page.getByRole("dialog").waitFor();
        await page.mouse.click(10, 10);
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await close(page);
    });

    test("the search finds sections of pages, and keeps the selected one in view", async () => {
        const page = await open("/t/acme/fleet");
        await rows(page).first().waitFor();
        await page.setViewportSize({ width: 1280, height: 300 });
        await page.keyboard.press("/");
        const field = page.getByRole("combobox", { name: "Search" });
        await field.fill("webh");
        await page.getByRole("option", { name: "Webhooks" }).waitFor();
        await field.fill("e");
        await page.getByRole("option", { name: "invoice-reader" }).waitFor();
        const n = await page.getByRole("option").count();
        for (let i = 1; i < n; i++) await page.keyboard.press("ArrowDown");
        const last = page.getByRole("option", { selected: true });
        const [list, chosen] = [
            await page.getByRole("listbox").boundingBox(),
            await last.boundingBox(),
        ];
        assert.ok(chosen.y + chosen.height <= list.y + list.height + 1, JSON.stringify(chosen));
        await field.fill("audit");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Audit log" }).waitFor();
        await close(page);
    });

    test("an unknown address, and a page that fails to load, say what to do", async () => {
        const page = await open("/t/acme/nowhere", {});
        await page.getByText("Page not found").waitFor();
        await page.route("**/assets/cost-*.js", (route) => route.abort());
        await page.goto(`${server.url}/#/t/acme/cost`);
        await page.getByText("Could not load this page").waitFor();
        await shot(page, "not-loaded");
        await page.unroute("**/assets/cost-*.js");
        await button(page, "Reload").click();
        await page.getByText("No tokens in this period").waitFor();
        await close(page);
    });

    test("a hidden tab closes its stream, and catches up later", async () => {
        const page = await open("/t/acme/runs?agent_name=hidden", {});
        await page.getByText("Live", { exact: true }).waitFor();
        await page.getByText("No runs match").waitFor();
        const look = (state) =>
            page.evaluate((now) => {
                Object.defineProperty(document, "visibilityState", {
                    value: now,
                    configurable: true,
                });
                document.dispatchEvent(new Event("visibilitychange"));
            }, state);
        await look("hidden");
        await page.getByText("Refreshing", { exact: true }).waitFor();
        await sendRuns(server, tenant, runsOf("hidden", 1));
        await look("visible");
        await rows(page).first().waitFor();
        await page.getByText("Live", { exact: true }).waitFor();
        await close(page);
    });

    test("many tabs are open at once, and each works", async () => {
        const first = await open("/t/acme/runs", {});
        const pages = [first];
        for (let i = 0; i < 6; i++) {
            await pages.at(-1).getByText("Live", { exact: true }).waitFor();
            await pages.at(-1).evaluate(() => {
                Object.defineProperty(document, "visibilityState", { value: "hidden" });
                document.dispatchEvent(new Event("visibilitychange"));
            });
            const page = await first.context().newPage();
            await page.goto(`${server.url}/#/t/acme/runs`);
            pages.push(page);
        }
        await rows(pages.at(-1)).first().waitFor();
        await close(first);
    });

    test("the next person to sign in in the same tab sees nothing of the one before", async () => {
        const other = server.addTenant("other");
        const page = await open("/t/acme/settings?tab=keys", {});
        await rows(page).first().waitFor();
        await page.context().clearCookies();
        await page.goto(`${server.url}/#/t/acme/settings`); // unless the stream has shown it already
        await page.getByText("Your session has ended").waitFor();
        await page.route("**/api/v1/tenants/acme/**", () => {}); // never answered
        await page.evaluate(() => history.back());
        await page.getByLabel("E-mail").fill(other.email);
        await page.getByLabel("Password").fill(PASSWORD);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
        assert.equal(await rows(page).count(), 0);
        await page.context().close();
    });

    test("within a second of its end, the badge says that the service is away", async () => {
        const page = await open("/nowhere", {});
        await page.clock.install();
        await page.goto(`${server.url}/#/t/acme/fleet`);
        await page.getByText("Live", { exact: true }).waitFor();
        await rows(page).first().waitFor();
        await page.clock.pauseAt(Date.now() + 60_000);
        await server.end();
        await page.getByText("Live", { exact: true }).waitFor({ state: "detached" });
        await page.clock.runFor(1_000);
        await page.getByText("Not connected", { exact: true }).waitFor();
        await page.clock.runFor(20_000);
        await page.getByText(/^as of \d+ (s|min) ago$/).waitFor();
        await server.beginAgain();
        await page.clock.resume();
        await page.getByText("Live", { exact: true }).waitFor();
        await close(page);
    });

    test("an unreachable service is reported, and pages recover when it is back", async () => {
        const page = await open("/t/acme/runs?agent_name=returned", {});
        await page.getByText("Live", { exact: true }).waitFor();
        await page.getByText("No runs match").waitFor();
        const other = await open("/t/acme/fleet", {});
        await rows(other).first().waitFor();
        await server.end();
        await page.getByText("Not connected", { exact: true }).waitFor();
        await other.goto(`${server.url}/#/t/acme/cost`); // neither its file nor its data is cached
        await other.getByText("This page opens when it is back").waitFor();
        await shot(other, "away");
        const refused = other.waitForEvent("requestfailed", (one) => one.url().endsWith("/livez"));
        await button(other, "Reload").click();
        await refused;
        assert.equal(await other.getByText("This page opens when it is back").count(), 1); // still ours
        await page.goto(`${server.url}/#/t/acme/runs?agent_name=returned`);
        await page.locator("main").getByText("The service cannot be reached").waitFor();
        await page.getByRole("button", { name: "Account and help" }).click();
        const failed = page.waitForEvent("requestfailed", (one) => one.url().endsWith("/auth/logout"));
        await button(page, "Sign out").click(); // fails, without an error in the page
        await failed;
        await server.beginAgain();
        await sendRuns(server, tenant, runsOf("returned", 1));
        await rows(page).first().waitFor(); // by itself
        await page.getByText("Live", { exact: true }).waitFor();
        await page.locator("main").getByRole("alert").waitFor({ state: "detached" });
        await other.getByText("No tokens in this period").waitFor(); // by itself
        await close(other);
        await close(page);
    });
});
