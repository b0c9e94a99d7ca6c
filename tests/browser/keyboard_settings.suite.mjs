// Every task without a mouse, second part: what is set, for a workspace, a person and the platform.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, PASSWORD } from "./muster.mjs";
import { openForKeys, SETTER, theWorld } from "./walk.mjs";

describe("the keyboard alone, in settings", () => {
    let keys, page, world;

    before(async () => {
        world = await theWorld();
        keys = await openForKeys("/t/walk/settings", { email: SETTER });
        ({ page } = keys);
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
    });

    after(() => page && close(page));

    const row = (text) => page.locator("tr", { hasText: text });

    /** Presses the button, and confirms what it asks. */
    async function confirm(button, verb) {
        await keys.use(button);
        await keys.dialog();
        await keys.use(verb);
        await keys.closed();
    }

    test("a key is created, rotated and revoked", async () => {
        await keys.go("Keys", "Settings");
        await keys.use("New key");
        await keys.dialog();
        await keys.fill("Label", "made by keys");
        await keys.press("Enter");
        await keys.sees(page.locator(".once code"));
        await keys.use("Copy the secret");
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await confirm("Rotate key made by keys", "Rotate");
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.use(/^Revoke.* made by keys$/);
        await keys.dialog();
        await keys.use("Revoke");
        await keys.closed();
    });

    test("people are invited and added, given another role, and removed", async () => {
        await keys.go("Settings");
        await keys.use("Invite");
        await keys.dialog();
        await keys.fill("E-mail", "guest@example.org");
        await keys.press("Enter");
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await confirm("Revoke the invitation of guest@example.org", "Revoke");
        await keys.gone(row("guest@example.org"));
        await keys.use("Add user");
        await keys.dialog();
        await keys.fill("E-mail", "aide@example.org");
        await keys.fill("First password", PASSWORD);
        await keys.press("Enter");
        await keys.closed();
        await keys.sees(row("aide@example.org"));
        await keys.choose("Role of aide@example.org");
        await page.waitForFunction(
            () => document.querySelector("tr:has(select) option:checked")?.value === "admin",
        );
        await confirm("Remove aide@example.org", "Remove");
        await keys.gone(row("aide@example.org"));
    });

    test("a model and a policy are set for the workspace", async () => {
        await keys.go("Model and policy", "Settings");
        await keys.fill("Default model", "house-model");
        await keys.press("Enter");
        await keys.sees(page.locator(".in-effect strong", { hasText: "house-model" }));
        await keys.choose("Agents may run");
        await keys.fill(/^(Denied|Allowed) commands/, "sudo *");
        await keys.use("Save policy");
        await keys.sees("version 1");
    });

    test("a value, a secret and a parameter of the catalog are set", async () => {
        await keys.go("Secrets", "Settings");
        await keys.use("New secret");
        await keys.dialog();
        await keys.fill("Name", "mailbox");
        await keys.fill("Value", "hunter2hunter2");
        await keys.press("Enter");
        await keys.closed();
        await keys.sees(row("vault:mailbox"));
        await confirm("Remove mailbox", "Remove");
        await keys.sees("No secrets");
        await keys.go("Configuration", "Settings");
        await keys.use("Set a value");
        await keys.dialog();
        await keys.fill("Key", "region");
        await keys.fill("Value", "eu");
        await keys.press("Enter");
        await keys.closed();
        await keys.use("Change region");
        await keys.dialog();
        await keys.choose("Can be set by");
        await keys.use("Save");
        await keys.closed();
        await keys.sees(row("region").getByText("Admins and members").first());
    });

    test("what is kept is limited, and confirmed by typing", async () => {
        await keys.go("Retention", "Settings");
        await keys.fill("Runs and events", "90");
        await keys.press("Enter");
        await keys.dialog();
        await keys.fill("Type walk to confirm", "walk");
        await keys.press("Enter");
        await keys.closed();
        await keys.sees("Saved.");
        await keys.go("Audit log", "Settings");
        await keys.use("Check integrity");
        await keys.sees("entries, unaltered");
        await keys.fill("Action", "secret.");
        await page.waitForURL(/action=secret/);
        await keys.go("Plan and usage", "Settings");
        await keys.use("Prices"); // a tab
        await keys.fill("Model", "gpt-5-mini");
        await keys.sees(row("gpt-5-mini").first());
    });

    test("rules are added, changed, paused and removed, and a budget is set", async () => {
        await keys.go("Alert rules", "Alerts");
        await keys.use("Failed runs", "Space");
        await keys.sees(page.getByRole("switch", { name: "Failed runs", checked: false }));
        await keys.choose("Reminders");
        await keys.use("Watch failures");
        await keys.dialog();
        await keys.fill(/^Alert above/, "25");
        await keys.press("Enter");
        await keys.closed();
        await keys.use("Pause Above 25 %");
        await keys.sees(page.getByText("Paused", { exact: true }));
        await keys.use("Change Above 25 %");
        await keys.dialog();
        await keys.fill(/^Alert above/, "30");
        await keys.press("Enter");
        await keys.closed();
        await keys.use("Resume Above 30 %");
        await keys.gone(page.getByText("Paused", { exact: true }));
        await confirm("Remove Above 30 %", "Remove");
        await keys.sees("No failure rates are watched yet.");
        await keys.use("Watch a KPI");
        await keys.dialog();
        await keys.fill(/^KPI key/, "pages");
        await keys.fill(/^Alert above/, "1000");
        await keys.press("Enter");
        await keys.closed();
        await confirm("Remove Pages typed", "Remove");
        await keys.sees("No KPI rules yet.");
        await keys.use("Set a budget");
        await keys.dialog();
        await keys.fill("US dollars", "25.00");
        await keys.choose("Per");
        await keys.use("Add");
        await keys.closed();
        await keys.sees("per month");
        await confirm("Remove $25.00", "Remove");
        await keys.sees("No budgets yet.");
    });

    test("a webhook is created, tested, read about, switched off and removed", async () => {
        await keys.go("Webhooks", "Alerts");
        await keys.use("New webhook");
        await keys.dialog();
        await keys.fill("URL", world.hook);
        await keys.fill("Label", "pager");
        await keys.use("run.failed", "Space");
        await keys.press("Enter");
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.use("Send a test");
        await keys.sees(page.getByText(/Delivered in \d+ ms/));
        await keys.to("Delivery log", "Shift+Tab");
        await keys.press("Space");
        await keys.sees(page.getByRole("button", { name: "Hide log" }));
        await keys.to("Send to pager", "Shift+Tab");
        await keys.press("Space");
        await keys.sees(page.getByText("Off", { exact: true }));
        await confirm("Remove pager", "Remove");
        await keys.sees("No webhooks yet");
    });

    test("an agent's document is written, compared and restored, and its model set", async () => {
        await keys.go("typist", /typist/);
        await keys.use("Document");
        for (const [i, text] of ["first text", "second text"].entries()) {
            await keys.fill("Document", text);
            await keys.use("Save");
            await keys.sees(`Version ${i + 1} by`);
        }
        await keys.use("Changes of version 2");
        await keys.sees(page.locator(".diff"));
        await confirm("Restore version 1", "Restore");
        await keys.sees("Version 3 by");
        await keys.to("Model and policy", "Shift+Tab");
        await keys.press("Enter");
        await keys.fill("Model for this agent", "small-model");
        await keys.press("Enter");
        await keys.sees(page.locator(".in-effect").getByText("small-model").first());
    });

    test("a model is priced where its price is missed, and the price is removed", async () => {
        await keys.go("Cost");
        await keys.use("Set a price for unheard-of");
        await keys.dialog();
        await keys.fill("Input", "3");
        await keys.fill("Output", "15");
        await keys.press("Enter");
        await keys.closed();
        await keys.gone(page.getByText("A model has no price"));
        await keys.go("Platform");
        await keys.use("Prices");
        await keys.fill("Model", "unheard");
        await keys.sees(row("unheard-of"));
        await confirm("Remove the price of unheard-of", "Remove");
        await keys.sees("No prices match");
    });

    test("code to connect an agent is found, filled with a key, and copied", async () => {
        await keys.go("Runs");
        await keys.to(/^Account and help/, "Shift+Tab");
        await keys.press("Enter");
        await keys.use("Connect an agent");
        await keys.sees(page.getByRole("heading", { level: 1, name: "Connect an agent" }));
        await keys.use("Create key");
        await keys.sees(page.locator(".secret code"));
        await keys.use("Python");
        await keys.sees(page.locator(".snippet", { hasText: "import" }));
        await keys.use("Copy the code");
        await keys.kept();
    });

    test("a person's own password, tokens, times and colours are changed", async () => {
        await keys.go("Your password", "Your account");
        await keys.fill("Current password", "not this one, surely");
        await keys.fill("New password", "eight quick otters at dusk");
        await keys.press("Enter");
        await keys.sees(page.locator("[aria-invalid]"));
        assert.equal((await keys.where()).name, "Current password");
        await keys.fill("Current password", PASSWORD);
        await keys.press("Enter");
        await keys.sees("Password changed.");
        await keys.use("New token");
        await keys.dialog();
        await keys.fill("Name", "laptop");
        await keys.press("Enter");
        await keys.sees(page.getByText(/^mst_pat_/));
        await keys.use("Done");
        await confirm("Delete token laptop", "Delete");
        await keys.sees("No tokens");
        await keys.choose("Times");
        await keys.choose("Colours", 2);
        await page.waitForFunction(() => getComputedStyle(document.documentElement).colorScheme.includes("dark"));
        await keys.to("Colours");
        await keys.press("ArrowUp", 2);
        await keys.to("Times", "Shift+Tab");
        await keys.press("ArrowUp");
    });

    test("the platform gets a workspace, a plan, a user and a group, and a new master key", async () => {
        await keys.go("Platform");
        await keys.use("New workspace");
        await keys.dialog();
        await keys.fill("Name", "Zenith");
        await keys.press("Enter");
        await keys.closed();
        await keys.use("Change the plan of zenith");
        await keys.dialog();
        await keys.fill("Agent limit", "7");
        await keys.press("Enter");
        await keys.closed();
        await keys.to("Users", "Shift+Tab");
        await keys.press("Enter");
        await keys.use("New user");
        await keys.dialog();
        await keys.fill("E-mail", "eve@example.org");
        await keys.fill("Password", PASSWORD);
        await keys.press("Enter");
        await keys.closed();
        await keys.sees(row("eve@example.org"));
        await confirm("Remove eve@example.org", "Remove");
        await keys.gone(row("eve@example.org"));
        await keys.to("Groups", "Shift+Tab");
        await keys.press("Enter");
        await keys.use("Add group");
        await keys.dialog();
        await keys.fill("Group", "typists");
        await keys.press("Enter");
        await keys.closed();
        await confirm(/^Remove typists/, "Remove");
        await keys.sees("No group gives a role yet");
        await keys.to("Vault", "Shift+Tab");
        await keys.press("Enter");
        await confirm("Rotate master key", "Rotate");
        await keys.sees("Back up the new master key");
    });
});
