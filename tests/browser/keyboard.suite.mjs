// Every task without a mouse: from the sign-in to what hurts. Nothing here points or clicks.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openBrowser, openPage, PASSWORD, sharedServer } from "./muster.mjs";

const TABS_MAX = 150; // presses until something is reached

let server, browser, tenant, runs;

/** What has the focus, as a screen reader names it. */
const focused = (page) =>
    page.evaluate(() => {
        const one = document.activeElement;
        if (one === document.body || one.id === "main") return "";
        const label = one.getAttribute("aria-label") ?? one.labels?.[0]?.innerText;
        return (label ?? one.innerText ?? "").replace(/\s+/g, " ").trim();
    });

/** Waits until something that takes the focus may have this name: pages fill in after their title. */
async function awaitName(page, name) {
    const pattern = name instanceof RegExp ? name.source : null;
    const isThere = ([text, source]) =>
        [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")].some((one) => {
            const label = one.getAttribute("aria-label") ?? one.labels?.[0]?.innerText ?? one.innerText;
            const shown = (label ?? "").replace(/\s+/g, " ").trim();
            return source === null ? shown === text : new RegExp(source).test(shown);
        });
    await page.waitForFunction(isThere, [String(name), pattern]);
}

/** Presses Tab until the focus is on what has this name; it must be visible there. */
async function tabTo(page, name, key = "Tab") {
    await awaitName(page, name);
    const matches = (text) => (name instanceof RegExp ? name.test(text) : text === name);
    const met = [];
    for (let i = 0; i < TABS_MAX; i++) {
        await page.keyboard.press(key);
        const text = await focused(page);
        if (matches(text)) return;
        met.push(text);
    }
    assert.fail(`${name} was not reached: ${met.slice(-40).join(" | ")}`);
}

async function press(page, name) {
    await tabTo(page, name);
    await page.keyboard.press("Enter");
}

async function type(page, name, text) {
    await tabTo(page, name);
    await page.keyboard.type(text);
}

/** The search opens any page: Ctrl-K, also in a field, and its name. */
async function go(page, title, heading = title) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search pages" }).waitFor();
    await page.keyboard.type(title);
    await page.getByRole("option", { name: new RegExp(`^${title}`) }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

describe("the keyboard alone", () => {
    let page;

    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("keys-only", ADMIN);
        runs = runsOf("typist", 6);
        await sendRuns(server, tenant, runs);
        page = await openPage(browser, server);
        await page.goto(`${server.url}/#/t/keys-only/overview`);
        await page.getByLabel("E-mail").waitFor();
    });

    test("signs in, and skips the navigation", async () => {
        await page.keyboard.type(ADMIN); // the field has the focus
        await type(page, "Password", PASSWORD);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
        await page.locator(".tile").first().waitFor();
        await page.evaluate(() => document.activeElement.blur());
        await tabTo(page, "Skip to content");
        await page.keyboard.press("Enter");
        assert.equal(await page.evaluate(() => document.activeElement.id), "main");
        await press(page, "Close the tour");
        await page.locator(".tour").waitFor({ state: "detached" });
    });

    test("finds a failed run, reads it and goes to the one before", async () => {
        await go(page, "Runs");
        await press(page, /^Failed/);
        await page.waitForURL(/status=failed/);
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
        await press(page, "typist");
        await page.getByRole("region", { name: "Why it failed" }).waitFor();
        await press(page, /output/);
        await page.getByText("attempts", { exact: true }).waitFor();
        await page.goBack(); // Alt and the arrow key are the browser's own
        await page.locator("tbody tr").first().waitFor();
    });

    test("sets a model for an agent", async () => {
        await go(page, "Fleet");
        await press(page, "typist");
        await page.getByRole("heading", { level: 1, name: /typist/ }).waitFor();
        await press(page, "Model and policy");
        await page.getByLabel("Model for this agent").waitFor();
        await type(page, "Model for this agent", "small-model");
        await page.keyboard.press("Enter");
        await page.locator(".in-effect").getByText("small-model").first().waitFor();
    });

    test("creates a key, and revokes it", async () => {
        await go(page, "Keys", "Settings");
        await page.getByRole("button", { name: "New key" }).waitFor();
        await press(page, /New key/);
        await page.getByRole("dialog").waitFor();
        if ((await focused(page)) !== "Label") await tabTo(page, /^Label/);
        await page.keyboard.type("made by keys");
        await page.keyboard.press("Enter");
        await page.locator(".once code").waitFor();
        await press(page, "Done");
        await press(page, "Revoke key made by keys");
        await page.getByRole("dialog").waitFor();
        await press(page, "Revoke");
        await page.locator("tr", { hasText: "made by keys" }).waitFor({ state: "detached" });
    });

    test("adds a rule, and takes it away", async () => {
        await go(page, "Alert rules", "Alerts");
        await press(page, "Watch durations");
        await page.getByRole("dialog").waitFor();
        await type(page, /^Alert above/, "300");
        await page.keyboard.press("Enter");
        await page.getByText("95th percentile of the last 20 runs, all agents").waitFor();
        await press(page, /^Remove Above/);
        await page.getByRole("dialog").waitFor();
        await press(page, "Remove");
        await page.getByText("No durations are watched yet.").waitFor();
    });

    test("Escape closes what is open, and the focus returns to where it was", async () => {
        await go(page, "Runs");
        await tabTo(page, /Custom range/);
        await page.keyboard.press("Enter");
        const from = page.getByLabel("From", { exact: true });
        await from.waitFor();
        for (let i = 0; i < 100 && (await from.count()) > 0; i++) {
            await page.keyboard.press("Escape"); // it is heard a moment after it is drawn
            await page.evaluate(() => new Promise(requestAnimationFrame));
        }
        assert.equal(await from.count(), 0);
        await page.waitForFunction(() => /Custom range/.test(document.activeElement.innerText ?? document.activeElement.ariaLabel));
    });

    test("signs out", async () => {
        await press(page, /^Account and help/);
        await press(page, "Sign out");
        await page.getByLabel("Password").waitFor();
        await close(page);
    });
});
