// Every task without a mouse, second part: what is set, for a workspace, a person and the platform; and
// that the service has it then.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, PASSWORD, Person } from "./muster.mjs";
import { button, row, signedIn, titled } from "./portal.mjs";
import { openForKeys, SETTER, theWorld } from "./walk.mjs";

describe("the keyboard alone, in settings", () => {
    let keys, page, world;

    before(async () => {
        world = await theWorld();
        keys = await openForKeys("/t/walk/settings", { email: SETTER });
        ({ page } = keys);
        await signedIn(page);
    });

    after(() => page && close(page));

    const rowOf = (text) => row(page, text);
    /** What a command says of the workspace. */
    const stored = (...words) => world.server.cli([...words, "--tenant", "walk"]);

    test("a key is created, rotated and revoked", async () => {
        await keys.go("Keys", "Settings");
        await keys.form("New key", { Label: "made by keys" });
        await keys.sees(page.locator(".once code"));
        await keys.use("Copy the secret");
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await keys.confirm("Rotate key made by keys", "Rotate");
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.confirm(/^Revoke.* made by keys$/, "Revoke");
    });

    test("people are invited and added, given another role, and removed", async () => {
        await keys.go("Settings");
        await keys.form("Invite", { "E-mail": "guest@example.org" });
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.gone(page.locator(".once"));
        await keys.confirm("Revoke the invitation of guest@example.org", "Revoke");
        await keys.gone(rowOf("guest@example.org"));
        await keys.set("Add user", { "E-mail": "aide@example.org", "First password": PASSWORD });
        await keys.sees(rowOf("aide@example.org"));
        await keys.choose("Role of aide@example.org");
        while (!/aide@example.org.*\badmin\b/.test(stored("user", "list"))) await page.waitForTimeout(50);
        await keys.confirm("Remove aide@example.org", "Remove");
        await keys.gone(rowOf("aide@example.org"));
    });

    test("the workspace's model and policy apply to its agents", async () => {
        await keys.go("Model and policy", "Settings");
        await keys.fill("Default model", "house-model");
        await keys.press("Enter");
        await keys.sees(page.locator(".in-effect strong", { hasText: "house-model" }));
        assert.match(stored("model", "show", "--agent", "any"), /house-model/);
        await keys.choose("Agents may run");
        await keys.fill(/^(Denied|Allowed) commands/, "sudo *");
        await keys.use("Save policy");
        await keys.sees("version 1");
    });

    test("a value, a secret and a parameter of the catalog are set", async () => {
        await keys.go("Secrets", "Settings");
        await keys.set("New secret", { Name: "mailbox", Value: "hunter2hunter2" });
        await keys.sees(rowOf("vault:mailbox"));
        await keys.confirm("Remove mailbox", "Remove");
        await keys.sees("No secrets");
        await keys.go("Configuration", "Settings");
        await keys.set("Set a value", { Key: "region", Value: "eu" });
        await keys.set("Change region", { "Can be set by": 1 }, "Save");
        await keys.sees(rowOf("region").getByText("Admins and members"));
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
        await keys.at(/action=secret/);
        await keys.go("Plan and usage", "Settings");
        await keys.use("Prices"); // a tab
        await keys.fill("Model", "gpt-5-mini");
        await keys.sees(rowOf("gpt-5-mini"));
    });

    test("rules are added, changed, paused and removed, and a budget is set", async () => {
        const person = await Person.signIn(world.server, SETTER);
        const reminders = async () => (await person.ask("GET", "/api/v1/tenants/walk/rules")).reminder_hours;
        const before = await reminders();
        await keys.go("Alert rules", "Alerts");
        await keys.use("Failed runs", "Space");
        await keys.sees(page.getByRole("switch", { name: "Failed runs", checked: false }));
        await keys.choose("Reminders");
        while ((await reminders()) === before) await page.waitForTimeout(50);
        await keys.set("Watch failures", { "Alert above…": "25" });
        await keys.use("Pause Above 25 %");
        await keys.sees(page.getByText("Paused", { exact: true }));
        await keys.set("Change Above 25 %", { "Alert above…": "30" });
        await keys.use("Resume Above 30 %");
        await keys.gone(page.getByText("Paused", { exact: true }));
        await keys.confirm("Remove Above 30 %", "Remove");
        await keys.sees("No failure rates are watched yet.");
        await keys.set("Watch durations", { "Alert above…": "300" });
        await keys.sees("95th percentile of the last 20 runs, all agents");
        await keys.set("Watch a KPI", { "KPI key…": "pages", "Alert above…": "1000" });
        await keys.confirm("Remove Pages typed", "Remove");
        await keys.sees("No KPI rules yet.");
        await keys.set("Set a budget", { "US dollars": "25.00", Per: 1 }, "Add");
        await keys.sees("per month");
        await keys.confirm("Remove $25.00", "Remove");
        await keys.sees("No budgets yet.");
    });

    test("a webhook is created, tested, read about, switched off and removed", async () => {
        await keys.go("Webhooks", "Alerts");
        await keys.form("New webhook", { URL: world.hook, Label: "pager", "run.failed": true });
        await keys.sees(page.locator(".once code"));
        await keys.use("Done");
        await keys.use("Send a test");
        await keys.sees(/Delivered in \d+ ms/);
        await keys.back("Delivery log", "Space");
        await keys.sees(button(page, "Hide log"));
        await keys.back("Send to pager", "Space");
        await keys.sees(page.getByText("Off", { exact: true }));
        await keys.confirm("Remove pager", "Remove");
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
        const diff = (kind) => page.locator(`.diff .${kind}`);
        await keys.sees(diff("removed").getByText("-first text"), diff("added").getByText("+second text"));
        await page.waitForURL(/changes=2/); // a link to them
        await keys.confirm("Restore version 1", "Restore");
        await keys.sees("Version 3 by");
        assert.equal(stored("document", "show", "--agent", "typist"), "first text");
        await keys.back("Model and policy");
        await keys.fill("Model for this agent", "small-model");
        await keys.press("Enter");
        await keys.sees(page.locator(".in-effect").getByText("small-model"));
    });

    test("a model is priced where its price is missed, and the price is removed", async () => {
        await keys.go("Cost");
        await keys.set("Set a price for unheard-of", { Input: "3", Output: "15" });
        await keys.gone("A model has no price");
        await keys.go("Platform");
        await keys.use("Prices");
        await keys.fill("Model", "unheard");
        await keys.sees(rowOf("unheard-of"));
        await keys.confirm("Remove the price of unheard-of", "Remove");
        await keys.sees("No prices match");
    });

    test("code to connect an agent is found, filled with a key, and copied", async () => {
        await keys.go("Runs");
        await keys.back(/^Account and help/);
        await keys.use("Connect an agent");
        await titled(page, "Connect an agent");
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
        await keys.sees("Your other sessions have ended");
        await keys.form("New token", { Name: "laptop" });
        await keys.sees(/^mst_pat_/);
        await keys.use("Done");
        await keys.confirm("Delete token laptop", "Delete");
        await keys.sees("No tokens");
        await keys.choose("Times");
        await keys.choose("Colours", 2);
        await page.waitForFunction(() => getComputedStyle(document.documentElement).colorScheme.includes("dark"));
        await keys.to("Colours");
        await keys.press("ArrowUp", 2);
        await keys.back("Times", "ArrowUp");
    });

    test("the platform gets a workspace, a plan, a user and a group, and a new master key", async () => {
        await keys.go("Platform");
        await keys.set("New workspace", { Name: "Zenith" });
        await keys.set("Change the plan of zenith", { "Agent limit": "7" });
        await keys.sees(page.getByRole("row", { name: /Zenith.*7/ }));
        await keys.back("Users");
        await keys.set("New user", { "E-mail": "eve@example.org", Password: PASSWORD });
        await keys.sees(rowOf("eve@example.org"));
        await keys.confirm("Remove eve@example.org", "Remove");
        await keys.gone(rowOf("eve@example.org"));
        await keys.back("Groups");
        await keys.set("Add group", { Group: "typists" });
        await keys.confirm(/^Remove typists/, "Remove");
        await keys.sees("No group gives a role yet");
        await keys.back("Vault");
        await keys.confirm("Rotate master key", "Rotate");
        await keys.sees("Back up the new master key");
    });
});
