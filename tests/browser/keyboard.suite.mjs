// Every task without a mouse, first part: signing in, finding and reading, and taking care of alerts
// and agents. keyboard_settings.suite.mjs has what is set. Nothing here points or clicks.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, PASSWORD } from "./muster.mjs";
import { codeOf } from "./totp.mjs";
import { openForKeys, theWorld, WALKER } from "./walk.mjs";

describe("the keyboard alone", () => {
    let keys, page, world;

    before(async () => {
        world = await theWorld();
        keys = await openForKeys("/t/walk/overview");
        ({ page } = keys);
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
    });

    after(() => page && close(page));

    const rows = (n) =>
        page.waitForFunction((n) => document.querySelectorAll("tbody:not(.gap) tr").length === n, n);

    test("a person is told of a wrong password, signs in, and skips the navigation", async () => {
        const guest = await openForKeys("/t/walk/overview", { stranger: true });
        await guest.page.getByLabel("E-mail").waitFor();
        await guest.kept(); // it is given the focus once it is drawn
        await guest.to("E-mail");
        assert.equal(guest.presses, 0, "the field has the focus at first");
        await guest.page.keyboard.type(WALKER);
        await guest.fill("Password", "not this one, surely");
        await guest.press("Enter");
        await guest.sees(guest.page.locator("[aria-invalid], [role=alert]").first());
        await guest.fill("Password", PASSWORD);
        await guest.press("Enter");
        await guest.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
        await guest.page.locator(".tile").first().waitFor();
        await guest.kept();
        await guest.to("Skip to content", "Shift+Tab");
        await guest.press("Enter");
        assert.ok((await guest.where()).main);
        await guest.use("Close the tour");
        await guest.gone(guest.page.locator(".tour"));
        await guest.use(/^Account and help/);
        await guest.use("Sign out");
        await guest.page.getByLabel("Password").waitFor();
        await close(guest.page);
    });

    test("a second factor is added, asked for at sign-in, and removed", async () => {
        await keys.go("Second factor", "Your account");
        await keys.use("Add a second factor");
        await keys.dialog();
        await keys.fill("Current password", PASSWORD);
        await keys.press("Enter");
        const secret = page.locator("dialog .secret code");
        await secret.waitFor();
        const key = (await secret.innerText()).replaceAll(" ", "");
        await keys.fill("Code", codeOf(key, Math.floor(world.clock.now() / 30_000)));
        await keys.press("Enter");
        await keys.sees("Your recovery codes");
        const [recovery] = (await page.locator(".once .secret code").innerText()).split(" ");
        const guest = await openForKeys("/t/walk/fleet", { stranger: true });
        await guest.page.getByLabel("E-mail").waitFor();
        await guest.fill("E-mail", WALKER);
        await guest.fill("Password", PASSWORD);
        await guest.press("Enter");
        await guest.page.getByLabel("Code").waitFor();
        await guest.fill("Code", recovery);
        await guest.press("Enter");
        await guest.page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
        await close(guest.page);
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await keys.use("Remove");
        await keys.dialog();
        await keys.fill("Current password", PASSWORD);
        await keys.press("Enter");
        await keys.sees(page.getByRole("button", { name: "Add a second factor" }));
    });

    test("another workspace is opened", async () => {
        await keys.go("Fleet");
        await keys.to("Workspace", "Shift+Tab");
        await keys.press("ArrowDown");
        await page.waitForURL(/\/t\/yonder\//);
        await keys.kept();
        await keys.to("Workspace");
        await keys.press("ArrowUp");
        await page.waitForURL(/\/t\/walk\//);
        await keys.kept();
    });

    test("a run is found by a search, a status, a facet and an order", async () => {
        await keys.go("Runs");
        await keys.use(/^Failed/);
        await rows(1);
        await keys.use(/^All \d/);
        await keys.fill("Search runs", "typist");
        await rows(6);
        await keys.use("Clear Search runs");
        await rows(10);
        await keys.kept();
        await keys.use(/^typist 6/); // a facet
        await page.waitForURL(/agent_name=typist/);
        await keys.use(/^Duration/);
        await page.waitForURL(/order=duration/);
        await keys.sees(page.locator("th[aria-sort=descending]"));
    });

    test("a view is saved, used and forgotten, and what is filtered is exported", async () => {
        await keys.go("Runs");
        await keys.use(/^Failed/);
        await page.waitForURL(/status=failed/);
        await keys.to("Views", "Shift+Tab");
        await keys.press("Enter");
        await keys.fill("Name", "what failed");
        await keys.press("Enter");
        await keys.sees("what failed");
        await keys.press("Escape");
        await keys.to("Views"); // its button has the focus again
        await keys.use(/^All \d/);
        await rows(10);
        await keys.to("Views", "Shift+Tab");
        await keys.press("Enter");
        await keys.use("what failed");
        await rows(1);
        await keys.kept();
        await keys.use("Views", "Space");
        await keys.use("Forget what failed");
        await keys.gone(page.getByText("what failed"));
        await keys.press("Escape");
        await keys.use("Export");
        const saved = page.waitForEvent("download");
        await keys.use("Download");
        assert.match((await saved).suggestedFilename(), /^walk-runs\.csv$/);
        await keys.kept();
        await keys.press("Escape");
    });

    test("a run is opened, read, and compared with the one before", async () => {
        await keys.go("Runs");
        await keys.use(/^Failed/);
        await rows(1);
        await keys.use("typist");
        await keys.sees(page.getByRole("region", { name: "Why it failed" }));
        await keys.use(/^output/);
        await keys.sees(page.getByText("attempts", { exact: true }));
        await keys.use(/^attempts/); // the tree folds
        await keys.use("In order");
        await page.waitForURL(/view=order/);
        await keys.to("Previous", "Shift+Tab");
        await keys.press("Enter");
        await keys.gone(page.getByRole("region", { name: "Why it failed" }));
        await keys.use("Next");
        await keys.sees(page.getByRole("region", { name: "Why it failed" }));
        await keys.use("Compare with the run before");
        await keys.sees(page.getByRole("heading", { name: "Compare two runs" }));
        const before = page.url();
        await keys.choose("Second run");
        await page.waitForFunction((was) => location.href !== was, before);
        await keys.kept();
    });

    test("a period is chosen, moved back, and typed", async () => {
        await keys.go("Runs");
        await keys.choose("Started in");
        await page.waitForURL(/since=30d/);
        await keys.use("Period before");
        await page.waitForURL(/since=.*%2F/);
        await keys.kept();
        await keys.use("Custom range");
        await keys.to("From");
        await page.keyboard.type("01022020");
        await keys.press("ArrowRight");
        await page.keyboard.type("0304AM");
        await keys.press("Enter");
        await page.waitForURL(/since=2020-01-02T03%3A04/);
        await keys.gone(page.getByLabel("From", { exact: true }));
        await keys.use("Custom range");
        await page.getByLabel("From", { exact: true }).waitFor();
        await keys.press("Escape");
        await page.getByLabel("From", { exact: true }).waitFor({ state: "detached" });
        await keys.to("Custom range");
    });

    test("a part of a chart is shown, its values are read, and a line is hidden", async () => {
        await keys.go("Cost");
        await keys.use("Tokens");
        await page.waitForURL(/measure=tokens/);
        await page.locator(".chart canvas").first().waitFor();
        await keys.to(/^Plot of/);
        await keys.press("ArrowRight");
        await keys.sees(page.locator(".chart .tooltip"));
        await keys.press("Shift+ArrowRight");
        await keys.press("Enter");
        await page.waitForURL(/range=.*%2F/);
        await keys.kept();
        await keys.use(/^Table of/);
        await keys.sees(page.locator(".chart-table table"));
        await keys.go("Overview");
        await keys.use("Failed"); // in the legend
        await keys.sees(page.locator('.legend button[aria-pressed="false"]', { hasText: "Failed" }));
    });

    test("a KPI is opened, drawn by day, and closed", async () => {
        await keys.go("Business");
        await keys.use(/^Pages typed/);
        await page.waitForURL(/kpi=typist/);
        await page.locator(".chart canvas").first().waitFor();
        await keys.kept();
        await keys.to("Bucket", "Shift+Tab");
        await keys.press("ArrowDown", 2);
        await page.waitForURL(/bucket=day/);
        await keys.use("Close");
        await keys.gone(page.locator(".kpi-detail"));
    });

    test("a workflow is found, and a step of its graph is opened", async () => {
        await keys.go("Workflows");
        await keys.use("month-end");
        await keys.sees(page.locator(".workflow-graph .node").first());
        await keys.use(/reader/);
        await keys.sees(page.getByRole("heading", { level: 1, name: /reader/ }));
    });

    test("the fleet is filtered, and a recent run of an agent is opened by arrow keys", async () => {
        await keys.go("Fleet");
        await keys.use(/^Silent 2/);
        await rows(2);
        await keys.use(/^All \d/);
        await keys.fill("Agent", "typ");
        await rows(1);
        await keys.use("typist");
        await keys.sees(page.getByRole("heading", { level: 1, name: /typist/ }));
        await keys.to(/^(Completed|Failed),/);
        const newest = (await keys.where()).name;
        await keys.press("ArrowLeft");
        assert.notEqual((await keys.where()).name, newest);
        await keys.press("Enter");
        await keys.sees(page.getByRole("heading", { name: "Narrative" }));
    });

    test("alerts are acknowledged together with a note, taken back, noted and muted", async () => {
        await keys.go("Alerts");
        await page.locator(".alert").nth(1).waitFor();
        await keys.choose("Kind");
        await page.waitForURL(/type=agent\.silent/);
        await page.locator(".alert").nth(1).waitFor();
        await keys.use(/^Acknowledge all 2/);
        await keys.dialog();
        await keys.fill("Note", "Power cut");
        await keys.use("Acknowledge");
        await keys.closed();
        await page.getByText("Power cut").nth(1).waitFor();
        await keys.sees("2 open, 0 not acknowledged");
        await keys.use("Take back");
        await keys.sees("2 open, 1 not acknowledged");
        await keys.use("Acknowledge"); // where Take back was, and where the focus is
        await keys.sees("2 open, 0 not acknowledged");
        await keys.use(/^Note for/);
        await keys.dialog();
        await keys.fill("Note", "The cable is out");
        await keys.use("Add");
        await keys.closed();
        await keys.sees("The cable is out");
        await keys.use(/^History of/);
        await keys.sees(page.locator(".alert-history li").first());
        await keys.use(/^Mute /);
        await keys.use("For an hour");
        await keys.sees(page.locator(".alert").getByText("Muted", { exact: true }));
    });

    test("an agent gets a schedule, which is paused, resumed and removed", async () => {
        await keys.go("typist", /typist/);
        await keys.use("Set a schedule");
        await keys.dialog();
        await keys.fill("Every", "3");
        await keys.press("Enter");
        await keys.closed();
        await keys.sees("every 3 h");
        await keys.use("Pause");
        await keys.sees("Nothing is expected of it");
        await keys.to("Resume"); // the same button
        await keys.press("Enter");
        await keys.gone(page.getByText("Nothing is expected of it"));
        await keys.use("Remove");
        await keys.sees("it can never be late or silent");
    });

    test("maintenance is planned every week, and removed", async () => {
        await keys.go("Alerts");
        await keys.use("Maintenance");
        await keys.use("Plan maintenance");
        await keys.dialog();
        await keys.fill("Note", "Moving house");
        await keys.choose("When");
        await keys.use("Friday", "Space");
        await keys.fill("Minutes", "15");
        await keys.press("Enter");
        await keys.closed();
        await keys.sees("Moving house");
        await keys.use("Remove Moving house");
        await keys.dialog();
        await keys.use("Remove");
        await keys.sees("No maintenance is planned.");
        await keys.to("Plan maintenance"); // what is left
    });

    test("an agent is disabled and enabled again, and another one is removed", async () => {
        await keys.go("typist", /typist/);
        await keys.use("Accept reports from this agent", "Space");
        await keys.dialog();
        await keys.use("Disable");
        await keys.closed();
        await keys.sees(page.locator(".enable", { hasText: "Disabled" }));
        await keys.to("Accept reports from this agent");
        await keys.press("Space");
        await keys.sees(page.locator(".enable", { hasText: "Enabled" }));
        await keys.go("reader", /reader/);
        await keys.use("Remove agent");
        await keys.dialog();
        await keys.fill(/^Type reader/, "reader");
        await keys.press("Enter");
        await keys.sees(page.getByRole("heading", { level: 1, name: "Fleet" }));
    });
});
