// Every task without a mouse, first part: signing in, finding and reading, and taking care of alerts
// and agents. keyboard_settings.suite.mjs has what is set. Nothing here points or clicks.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, PASSWORD } from "./muster.mjs";
import { button, count, heading, signedIn, titled } from "./portal.mjs";
import { codeOf } from "./totp.mjs";
import { openForKeys, theWorld, WALKER } from "./walk.mjs";

describe("the keyboard alone", () => {
    let keys, page, world;

    before(async () => {
        world = await theWorld();
        keys = await openForKeys("/t/walk/overview");
        ({ page } = keys);
        await signedIn(page);
    });

    after(() => page && close(page));

    const rows = (n) => count(page, n);

    test("a person is told of a wrong password, signs in, and skips the navigation", async () => {
        const guest = await openForKeys("/t/walk/overview", { stranger: true });
        await guest.page.getByLabel("E-mail").waitFor();
        await guest.kept(); // it is given the focus once it is drawn
        await guest.to("E-mail");
        assert.equal(guest.presses, 0, "the field has the focus at first");
        await guest.page.keyboard.type(WALKER);
        await guest.fill("Password", "not this one, surely");
        await guest.press("Enter");
        await guest.sees(guest.page.locator("[aria-invalid], [role=alert]"));
        await guest.fill("Password", PASSWORD);
        await guest.press("Enter");
        await titled(guest.page, "Overview");
        await guest.sees(guest.page.locator(".tile"));
        await guest.back("Skip to content");
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
        await keys.form("Add a second factor", { "Current password": PASSWORD });
        const key = (await page.locator("dialog .secret code").innerText()).replaceAll(" ", "");
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
        await titled(guest.page, "Fleet");
        await close(guest.page);
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await keys.form("Remove", { "Current password": PASSWORD });
        await keys.sees(button(page, "Add a second factor"));
    });

    test("another workspace is opened", async () => {
        await keys.go("Fleet");
        await keys.back("Workspace", "ArrowDown");
        await keys.at(/\/t\/yonder\//);
        await keys.kept();
        await keys.use("Workspace", "ArrowUp");
        await keys.at(/\/t\/walk\//);
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
        await keys.at(/agent_name=typist/);
        await keys.use(/^Duration/);
        await keys.at(/order=duration/);
        await keys.sees(page.locator("th[aria-sort=descending]"));
    });

    test("a view is saved, used and forgotten, and what is filtered is exported", async () => {
        await keys.go("Runs");
        await keys.use(/^Failed/);
        await keys.at(/status=failed/);
        await keys.back("Views");
        await keys.fill("Name", "what failed");
        await keys.press("Enter");
        await keys.sees("what failed");
        await keys.press("Escape");
        await keys.to("Views"); // its button has the focus again
        await page.reload(); // the browser keeps it
        await rows(1);
        await keys.use(/^All \d/);
        await rows(10);
        await keys.back("Views");
        await keys.use("what failed");
        await rows(1);
        await keys.kept();
        await keys.use("Views", "Space");
        await keys.use("Forget what failed");
        await keys.gone("what failed");
        await keys.press("Escape");
        await keys.use("Export");
        const saved = page.waitForEvent("download");
        await keys.use("Download");
        assert.match((await saved).suggestedFilename(), /^walk-runs\.csv$/);
        await keys.kept();
        await keys.press("Escape");
    });

    test("a run is opened, read, and compared with the one before", async () => {
        const why = page.getByRole("region", { name: "Why it failed" });
        await keys.go("Runs");
        await keys.use(/^Failed/);
        await rows(1);
        await keys.use("typist");
        await keys.sees(why);
        await keys.use(/^output/);
        await keys.sees(page.getByText("attempts", { exact: true }));
        await keys.use(/^attempts/); // the tree folds
        await keys.use("In order");
        await keys.at(/view=order/);
        await keys.back("Previous");
        await keys.gone(why);
        await keys.use("Next");
        await keys.sees(why);
        await keys.use("Compare with the run before");
        await keys.sees(heading(page, "Compare two runs"));
        const before = page.url();
        await keys.choose("Second run");
        await page.waitForFunction((was) => location.href !== was, before);
        await keys.kept();
    });

    test("a period is chosen, moved back, and typed", async () => {
        const from = page.getByLabel("From", { exact: true });
        await keys.go("Runs");
        await keys.choose("Started in");
        await keys.at(/since=30d/);
        await keys.use("Period before");
        await keys.at(/since=.*%2F/);
        await keys.kept();
        await keys.use("Custom range");
        await keys.to("From");
        await page.keyboard.type("01022020");
        await keys.press("ArrowRight");
        await page.keyboard.type("0304AM");
        await keys.press("Enter");
        await keys.at(/since=2020-01-02T03%3A04/);
        await keys.gone(from);
        await keys.use("Custom range");
        await from.waitFor();
        await keys.press("Escape");
        await from.waitFor({ state: "detached" });
        await keys.to("Custom range");
    });

    test("a part of a chart is shown, its values are read, and a line is hidden", async () => {
        await keys.go("Cost");
        await keys.use("Tokens");
        await keys.at(/measure=tokens/);
        await page.locator(".chart canvas").first().waitFor();
        await keys.use(/^Plot of/, "ArrowRight");
        await keys.sees(page.locator(".chart .tooltip"));
        await keys.press("Shift+ArrowRight");
        await keys.press("Enter");
        await keys.at(/range=.*%2F/);
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
        await keys.at(/kpi=typist/);
        await page.locator(".chart canvas").first().waitFor();
        await keys.kept();
        await keys.back("Bucket", "ArrowDown");
        await keys.press("ArrowDown");
        await keys.at(/bucket=day/);
        await keys.use("Close");
        await keys.gone(page.locator(".kpi-detail"));
    });

    test("a workflow is found, and a step of its graph is opened", async () => {
        await keys.go("Workflows");
        await keys.use("month-end");
        await keys.sees(page.locator(".workflow-graph .node"));
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
        await keys.sees(heading(page, "Narrative"));
    });

    test("alerts are acknowledged together with a note, taken back, noted and muted", async () => {
        await keys.go("Alerts");
        await page.locator(".alert").nth(1).waitFor();
        await keys.choose("Kind");
        await keys.at(/type=agent\.silent/);
        await page.locator(".alert").nth(1).waitFor();
        await keys.set(/^Acknowledge all 2/, { Note: "Power cut" }, "Acknowledge");
        await page.getByText("Power cut").nth(1).waitFor();
        await keys.sees("2 open, 0 not acknowledged");
        await keys.use("Take back");
        await keys.sees("2 open, 1 not acknowledged");
        await keys.use("Acknowledge"); // where Take back was, and where the focus is
        await keys.sees("2 open, 0 not acknowledged");
        await keys.set(/^Note for/, { Note: "The cable is out" }, "Add");
        await keys.sees("The cable is out");
        await keys.use(/^History of/);
        await keys.sees(page.locator(".alert-history li"));
        await keys.use(/^Mute /);
        await keys.use("For an hour");
        await keys.sees(page.locator(".alert").getByText("Muted", { exact: true }));
    });

    test("an agent gets a schedule, which is paused, resumed and removed", async () => {
        await keys.go("typist", /typist/);
        await keys.set("Set a schedule", { Every: "3" });
        await keys.sees("every 3 h");
        await keys.use("Pause");
        await keys.sees("Nothing is expected of it");
        await keys.use("Resume"); // the same button
        await keys.gone("Nothing is expected of it");
        await keys.use("Remove");
        await keys.sees("it can never be late or silent");
    });

    test("maintenance is planned every week, and removed", async () => {
        await keys.go("Alerts");
        await keys.use("Maintenance");
        await keys.set("Plan maintenance", { Note: "Moving house", When: 1, Friday: true, Minutes: "15" });
        await keys.sees("Moving house");
        await keys.form("Remove Moving house", {}, "Remove");
        await keys.sees("No maintenance is planned.");
        await keys.to("Plan maintenance"); // what is left
    });

    test("an agent is disabled and enabled again, and another one is removed", async () => {
        const accept = "Accept reports from this agent";
        await keys.go("typist", /typist/);
        await keys.use(accept, "Space");
        await keys.dialog();
        await keys.use("Disable");
        await keys.closed();
        await keys.sees(page.locator(".enable", { hasText: "Disabled" }));
        await keys.use(accept, "Space");
        await keys.sees(page.locator(".enable", { hasText: "Enabled" }));
        await keys.go("reader", /reader/);
        await keys.form("Remove agent", { "Type reader…": "reader" });
        await keys.sees(page.getByRole("heading", { level: 1, name: "Fleet" }));
    });
});
