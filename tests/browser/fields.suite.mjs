// What people type and choose: errors at their fields, sorted tables, Back, times, help.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { close, openAs, openBrowser, Server, shot } from "./muster.mjs";

/** Runs a script in a folder with a virtual environment; pip and npm reach no registry. */
function runInShell(folder, script) {
    const nowhere = { PIP_NO_INDEX: "1", npm_config_registry: "http://127.0.0.1:9/", npm_config_audit: "false",
        npm_config_update_notifier: "false", npm_config_fund: "false", npm_config_fetch_retries: "0" };
    const clean = Object.entries(process.env).filter(([name]) => !/^(MUSTER_|PYTHON)/.test(name));
    const env = { ...Object.fromEntries(clean), ...nowhere, HOME: folder, no_proxy: "*" };
    if (script.startsWith("pip")) // which is half of the work
        execFileSync("/usr/bin/python3", ["-m", "venv", join(folder, "venv")]);
    env.PATH = `${join(folder, "venv/bin")}:${env.PATH}`;
    return execFileSync("bash", ["-e"], { cwd: folder, env, input: script, encoding: "utf8" });
}

let server, browser, tenant;

describe("fields and tables", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        server.addUser("member@acme.example", "--tenant", "acme", "--role", "member");
        await sendRuns(server, tenant, runsOf("invoice-reader", 8));
    });

    after(async () => {
        await server?.stop();
    });

    const open = (hash, email = tenant.email) => openAs(browser, server, email, hash);
    const button = (page, name) => page.getByRole("button", { name, exact: true });

    /** The field's error, which the field itself refers to and which has the focus. */
    const errorOf = async (page, label) => {
        const field = page.getByLabel(label, { exact: true });
        await page.locator('[aria-invalid="true"]').first().waitFor();
        assert.equal(await field.getAttribute("aria-invalid"), "true", label);
        const ids = (await field.getAttribute("aria-describedby")).split(" ");
        assert.ok(await field.evaluate((one) => one === document.activeElement), "has the focus");
        return page.locator(`#${ids[0]}`).innerText();
    };

    test("an error stands at its field, without paths of the API", async () => {
        const page = await open("/t/acme/alerts?tab=rules");
        await button(page, "Watch a KPI").click();
        await page.getByLabel("KPI key").fill("tickets");
        await button(page, "Add").click();
        assert.match(await errorOf(page, "Alert below"), /at least one/);
        await page.getByLabel("Alert above").fill("abc");
        await button(page, "Add").click();
        assert.match(await errorOf(page, "Alert above"), /Enter a number/);
        await shot(page, "field-error");
        await page.getByLabel("Alert above").fill("100");
        await button(page, "Add").click();
        await page.getByText("above 100 over the last 24 hours, all agents").waitFor();
        await close(page);
    });

    test("what the service refuses stands at its field, too", async () => {
        const page = await open("/t/acme/alerts?tab=rules");
        await button(page, "Set a budget").click();
        await page.getByLabel("US dollars").fill("much");
        await button(page, "Add").click();
        assert.ok((await errorOf(page, "US dollars")).length > 5);
        const text = await page.getByRole("dialog").innerText();
        assert.doesNotMatch(text, /budgets|›|Request /);
        await button(page, "Cancel").click();
        await close(page);
    });

    test("an error takes the focus to its field, each time, and leaves it where a person moves it", async () => {
        const page = await open("/t/acme/alerts?tab=maintenance");
        await button(page, "Plan maintenance").click();
        const dialog = page.getByRole("dialog");
        const first = await dialog.getByLabel("Agent", { exact: true }).elementHandle();
        await page.waitForFunction((one) => one === document.activeElement, first);
        await dialog.getByLabel("When").selectOption("weekly");
        for (let tries = 0; tries < 2; tries++) {
            await button(dialog, "Plan").click();
            assert.match(await errorOf(page, "Begins at"), /at least one day/);
            await page.keyboard.type("9");
            assert.ok(await dialog.getByLabel("Begins at").evaluate((one) => one === document.activeElement));
            assert.match(await dialog.getByLabel("Begins at").inputValue(), /9/);
            await page.keyboard.press("Tab");
            await page.keyboard.type("7");
            assert.match(await dialog.getByLabel("Minutes").inputValue(), /7/);
        }
        await dialog.getByLabel("Monday").check();
        await dialog.getByLabel("Begins at").fill("25:00");
        await button(dialog, "Plan").click();
        assert.ok((await errorOf(page, "Begins at")).length > 5); // by the service
        await button(dialog, "Cancel").click();
        await close(page);
    });

    test("a wrong password is said at its field", async () => {
        const page = await open("/account");
        await page.getByLabel("Current password").fill("not the right one");
        await page.getByLabel("New password").fill("another slow heron at noon");
        await button(page, "Change password").click();
        const error = await errorOf(page, "Current password");
        assert.match(error, /wrong/);
        assert.doesNotMatch(error, /Ask an admin|Request /);
        await close(page);
    });

    test("a JSON document is checked before it is saved", async () => {
        const page = await open("/t/acme/agents/invoice-reader?tab=document");
        await page.getByLabel("Format").selectOption("json");
        await page.getByLabel("Document", { exact: true }).fill('{"half": ');
        await button(page, "Save").click();
        assert.match(await errorOf(page, "Document"), /not valid JSON/);
        await page.getByLabel("Document", { exact: true }).fill('{"whole": true}');
        await button(page, "Save").click();
        await page.getByText("Version 1", { exact: false }).first().waitFor();
        await close(page);
    });

    test("a rule can be changed", async () => {
        const page = await open("/t/acme/alerts?tab=rules");
        await button(page, "Set a budget").click();
        await page.getByLabel("US dollars").fill("12.50");
        await button(page, "Add").click();
        await button(page, "Change $12.50").click();
        await page.getByLabel("US dollars").fill("20");
        await page.getByLabel("Per").selectOption("month");
        await button(page, "Save").click();
        await page.locator(".rules li").getByText("per month").waitFor();
        assert.equal(await page.getByText("$12.50").count(), 0);
        await close(page);
    });

    test("a heading sorts its table, both ways, and says so", async () => {
        for (const label of ["b-key", "a-key", "c-key"])
            server.cli(["key", "add", "--tenant", "acme", "--label", label]);
        const page = await open("/t/acme/settings?tab=keys");
        const labels = async () =>
            (await page.locator("tbody tr td:nth-child(2)").allTextContents()).filter((one) =>
                one.endsWith("-key"),
            );
        await button(page, "Label").click();
        assert.deepEqual(await labels(), ["a-key", "b-key", "c-key"]);
        const head = page.getByRole("columnheader", { name: "Label" });
        assert.equal(await head.getAttribute("aria-sort"), "ascending");
        await button(page, "Label").click();
        assert.deepEqual(await labels(), ["c-key", "b-key", "a-key"]);
        assert.equal(await head.getAttribute("aria-sort"), "descending");
        await close(page);
    });

    test("Back undoes a filter, but not every letter of a search", async () => {
        const page = await open("/t/acme/overview");
        await page.goto(`${server.url}/#/t/acme/fleet`);
        await page.locator("tbody tr").first().waitFor();
        await page.getByLabel("Agent", { exact: true }).fill("invoice");
        await page.waitForURL(/q=invoice/);
        await page.getByRole("group", { name: "State" }).getByRole("button").nth(1).click();
        await page.waitForURL(/state=/);
        await page.goBack();
        await page.waitForURL((url) => !url.hash.includes("state="));
        assert.match(page.url(), /fleet\?q=invoice/);
        await page.goBack();
        await page.waitForURL(/overview/);
        await close(page);
    });

    test("the message of a row can be selected, and a click opens the run", async () => {
        const page = await open("/t/acme/runs");
        const message = page.locator("tbody tr .words").first();
        await message.waitFor();
        const { x, y, height } = await message.boundingBox();
        await page.mouse.move(x + 14, y + height / 2);
        await page.mouse.down();
        await page.mouse.move(x + 70, y + height / 2, { steps: 4 });
        await page.mouse.up();
        assert.notEqual(await page.evaluate(() => String(getSelection())), "");
        await page.evaluate(() => getSelection().removeAllRanges());
        await page.goto(`${server.url}/#/t/acme/runs`);
        await message.click();
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        await close(page);
    });

    test("times are exact and in UTC when a person chooses so", async () => {
        const page = await openAs(browser, server, tenant.email, "/account", {
            timezoneId: "America/Lima",
        });
        await page.getByLabel("Times").selectOption("exact");
        await page.goto(`${server.url}/#/t/acme/runs`);
        const time = page.locator("tbody tr time").first();
        await time.waitFor();
        assert.match(await time.innerText(), /\d\d:\d\d:\d\d GMT-5/);
        await page.goto(`${server.url}/#/account`);
        await page.getByLabel("Time zone").selectOption("UTC");
        await page.goto(`${server.url}/#/t/acme/runs`);
        await time.waitFor();
        assert.match(await time.innerText(), /\d\d:\d\d:\d\d UTC/);
        await page.reload();
        await time.waitFor();
        assert.match(await time.innerText(), /UTC/);
        await close(page);
    });

    const EXACT = /\d\d:\d\d:\d\d (GMT|UTC)/;
    const FROM_NOW = /ago|now/;
    const says = (one, text) => one.filter({ hasText: text }).waitFor();

    test("exact times are reached with the keyboard on any page, and by a tap", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/runs", {
            timezoneId: "America/Lima",
            hasTouch: true,
        });
        const choose = async (name) => {
            await page.getByRole("button", { name: "Account and help" }).focus();
            await page.keyboard.press("Enter");
            const wanted = button(page, name);
            await wanted.waitFor();
            for (let i = 0; i < 10; i++) {
                await page.keyboard.press("Tab");
                if (await wanted.evaluate((one) => one === document.activeElement)) break;
            }
            await page.keyboard.press("Enter");
            await wanted.waitFor({ state: "detached" });
        };
        const time = page.locator("tbody tr time").first();
        await says(time, FROM_NOW);
        await choose("Show exact times");
        await says(time, /\d\d:\d\d:\d\d GMT-5/);
        await choose("Show times in UTC");
        await says(time, /\d\d:\d\d:\d\d UTC/);
        await choose("Show times from now");
        await says(time, FROM_NOW);
        await page.locator("tbody tr a.row-link").first().click();
        const started = page.locator("dl.facts").first().locator("time").first();
        await says(started, FROM_NOW);
        await started.tap();
        await says(started, EXACT);
        await started.tap();
        await says(started, FROM_NOW);
        await close(page);
    });

    test("help, the version and the way to connect an agent are always a click away", async () => {
        const page = await open("/t/acme/cost");
        await page.getByRole("button", { name: "Account and help" }).click();
        await page.getByText(/^muster \d+\.\d+\.\d+$/).waitFor();
        await page.getByRole("link", { name: "API and try-out" }).waitFor();
        await shot(page, "user-menu");
        await page.getByRole("link", { name: "Connect an agent" }).click();
        await page.getByRole("heading", { name: "Connect an agent" }).waitFor();
        assert.equal(await page.getByRole("button", { name: "Copy the code" }).count(), 0);
        await button(page, "Create key").click();
        const key = await page.locator(".secret code").innerText();
        for (const name of ["curl", "Python library", "Node.js library", "OpenTelemetry"]) {
            await button(page, name).click();
            const text = await page.locator(".snippet pre").innerText();
            assert.ok(text.includes(key) && text.includes(server.url), name);
        }
        await page.getByRole("button", { name: "Copy the code" }).waitFor();
        await shot(page, "connect");
        await close(page);
    });

    test("what a library tab says installs the library from this service and reports, as pasted", async () => {
        const page = await open("/t/acme/connect");
        await button(page, "Create key").click();
        await page.locator(".secret code").waitFor();
        const installs = [
            ["Python library", "pip install", /^muster-\d+\.\d+\.\d+-py3-none-any\.whl$/],
            ["Node.js library", "npm install", /^muster-\d+\.\d+\.\d+\.tgz$/],
        ];
        for (const [n, [name, install, file]] of installs.entries()) {
            await button(page, name).click();
            const code = await page.locator(".snippet pre").innerText();
            const [first] = code.split("\n");
            const start = `${install} ${server.url}/sdk/`;
            assert.ok(first.startsWith(start), first);
            assert.match(first.slice(start.length), file);
            await page.getByText(/is another project/).waitFor();
            const folder = mkdtempSync(join(tmpdir(), "muster-paste-"));
            runInShell(folder, code);
            rmSync(folder, { recursive: true });
            const headers = { Authorization: `Bearer ${tenant.token}` };
            const path = "/api/v1/tenants/acme/dashboard/runs?agent_name=my-agent";
            const { runs } = await (await fetch(server.url + path, { headers })).json();
            assert.deepEqual(runs.map((run) => run.status), Array(n + 1).fill("completed"), name);
        }
        await shot(page, "connect-library");
        await close(page);
    });

    test("a section that is not for a member is named, not replaced in silence", async () => {
        const page = await open("/t/acme/settings?tab=keys", "member@acme.example");
        await page.getByText("Keys: only admins of this workspace can see it.").waitFor();
        await close(page);
    });
});
