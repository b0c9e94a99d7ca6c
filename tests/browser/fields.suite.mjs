// What people type and choose: errors at their fields, sorted tables, Back, times, help.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";

import { runsOf } from "./fleet.mjs";
import { shot } from "./muster.mjs";
import {
    button, dialogOf, errorOf, field, fill, form, gone, heading, isFocused, link, rows, sees, use,
} from "./portal.mjs";
import { Suite } from "./suite.mjs";

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

const MEMBER = "member@acme.example";
const w = new Suite("acme", { settings: [] });

describe("fields and tables", () => {
    w.begin(async () => {
        w.server.addUser(MEMBER, "--tenant", "acme", "--role", "member");
        await w.runs(runsOf("invoice-reader", 8));
    });

    w.test("an error stands at its field, without paths of the API", "alerts?tab=rules", async (page) => {
        await form(page, "Watch a KPI", { "KPI key": "tickets" }, "Add");
        assert.match(await errorOf(page, "Alert below"), /at least one/);
        await fill(page, { "Alert above": "abc" });
        await use(page, "Add");
        assert.match(await errorOf(page, "Alert above"), /Enter a number/);
        await shot(page, "field-error");
        await fill(page, { "Alert above": "100" });
        await use(page, "Add");
        await sees(page, "above 100 over the last 24 hours, all agents");
    });

    w.test("what the service refuses stands at its field, too", "alerts?tab=rules", async (page) => {
        await form(page, "Set a budget", { "US dollars": "much" }, "Add");
        assert.ok((await errorOf(page, "US dollars")).length > 5);
        assert.doesNotMatch(await dialogOf(page).innerText(), /budgets|›|Request /);
        await fill(page, { "US dollars": "12.50" });
        await use(page, "Add");
        await form(page, "Change $12.50", { "US dollars": "20", Per: "month" }, "Save");
        await sees(page.locator(".rules li"), "per month");
        assert.equal(await page.getByText("$12.50").count(), 0);
    });

    const maintenance = "alerts?tab=maintenance";
    w.test("an error takes the focus to its field, each time, and leaves it where a person moves it", maintenance, async (page) => {
        const dialog = dialogOf(page);
        const begins = field(dialog, "Begins at");
        await use(page, "Plan maintenance");
        const first = await field(dialog, "Agent").elementHandle();
        await page.waitForFunction((one) => one === document.activeElement, first);
        await fill(dialog, { When: "weekly" });
        for (let tries = 0; tries < 2; tries++) {
            await use(dialog, "Plan");
            assert.match(await errorOf(page, "Begins at"), /at least one day/);
            await page.keyboard.type("9");
            assert.ok(await isFocused(begins));
            assert.match(await begins.inputValue(), /9/);
            await page.keyboard.press("Tab");
            await page.keyboard.type("7");
            assert.match(await field(dialog, "Minutes").inputValue(), /7/);
        }
        await fill(dialog, { Monday: true, "Begins at": "25:00" });
        await use(dialog, "Plan");
        assert.ok((await errorOf(page, "Begins at")).length > 5); // by the service
        await use(dialog, "Cancel");
    });

    w.test("a wrong password is said at its field", "/account", async (page) => {
        const fields = { "Current password": "not the right one", "New password": "another slow heron at noon" };
        await fill(page, fields);
        await use(page, "Change password");
        const error = await errorOf(page, "Current password");
        assert.match(error, /wrong/);
        assert.doesNotMatch(error, /Ask an admin|Request /);
    });

    w.test("a JSON document is checked before it is saved", "agents/invoice-reader?tab=document", async (page) => {
        await fill(page, { Format: "json", Document: '{"half": ' });
        await use(page, "Save");
        assert.match(await errorOf(page, "Document"), /not valid JSON/);
        await fill(page, { Document: '{"whole": true}' });
        await use(page, "Save");
        await sees(page, "Version 1");
    });

    w.test("a heading sorts its table, both ways, and says so", "settings?tab=keys", async (page) => {
        for (const label of ["b-key", "a-key", "c-key"]) w.cli("key", "add", "--tenant", "acme", "--label", label);
        await page.reload();
        await sees(page, "b-key");
        const sorted = ["a-key", "b-key", "c-key"];
        for (const [way, wanted] of [["ascending", sorted], ["descending", [...sorted].reverse()]]) {
            await use(page, "Label");
            const labels = await page.locator("tbody tr td:nth-child(2)").allTextContents();
            assert.deepEqual(labels.filter((one) => one.endsWith("-key")), wanted);
            const head = page.getByRole("columnheader", { name: "Label" });
            assert.equal(await head.getAttribute("aria-sort"), way);
        }
    });

    w.test("Back undoes a filter, but not every letter of a search", "overview", async (page) => {
        await w.go(page, "fleet");
        await rows(page).first().waitFor();
        await fill(page, { Agent: "invoice" });
        await page.waitForURL(/q=invoice/);
        await page.getByRole("group", { name: "State" }).getByRole("button").nth(1).click();
        await page.waitForURL(/state=/);
        await page.goBack();
        await page.waitForURL((url) => !url.hash.includes("state="));
        assert.match(page.url(), /fleet\?q=invoice/);
        await page.goBack();
        await page.waitForURL(/overview/);
    });

    w.test("the message of a row can be selected, and a click opens the run", "runs", async (page) => {
        const message = page.locator("tbody tr .words").first();
        await message.waitFor();
        const { x, y, height } = await message.boundingBox();
        await page.mouse.move(x + 14, y + height / 2);
        await page.mouse.down();
        await page.mouse.move(x + 70, y + height / 2, { steps: 4 });
        await page.mouse.up();
        assert.notEqual(await page.evaluate(() => String(getSelection())), "");
        await page.evaluate(() => getSelection().removeAllRanges());
        await w.go(page, "runs");
        await message.click();
        await heading(page, "Narrative").waitFor();
    });

    const timezoneId = "America/Lima";
    const EXACT = /\d\d:\d\d:\d\d (GMT|UTC)/;
    const IN_LIMA = /\d\d:\d\d:\d\d GMT-5/;
    const IN_UTC = /\d\d:\d\d:\d\d UTC/;
    const FROM_NOW = /ago|now/;
    const says = (one, text) => one.filter({ hasText: text }).waitFor();

    w.test("exact times are reached with the keyboard on any page, and by a tap", "runs", async (page) => {
        const choose = async (name) => {
            await button(page, /^Account and help/).focus();
            await page.keyboard.press("Enter");
            const wanted = button(page, name);
            await wanted.waitFor();
            for (let i = 0; i < 10 && !(await isFocused(wanted)); i++) await page.keyboard.press("Tab");
            await page.keyboard.press("Enter");
            await gone(page, wanted);
        };
        const time = page.locator("tbody tr time").first();
        await says(time, FROM_NOW);
        for (const [name, text] of [
            ["Show exact times", IN_LIMA],
            ["Show times in UTC", IN_UTC],
            ["Show times from now", FROM_NOW],
        ]) {
            await choose(name);
            await says(time, text);
            await page.reload(); // the browser keeps it
            await says(time, text);
        }
        await page.locator("tbody tr a.row-link").first().click();
        const started = page.locator("dl.facts").first().locator("time").first();
        await says(started, FROM_NOW);
        for (const text of [EXACT, FROM_NOW]) {
            await started.tap();
            await says(started, text);
        }
    }, { timezoneId, hasTouch: true });

    w.test("help, the version and the way to connect an agent are always a click away", "cost", async (page) => {
        await use(page, /^Account and help/);
        await sees(page, /^muster \d+\.\d+\.\d+$/, page.getByRole("link", { name: "API and try-out" }));
        await shot(page, "user-menu");
        await link(page, "Connect an agent").click();
        await heading(page, "Connect an agent").waitFor();
        assert.equal(await button(page, "Copy the code").count(), 0);
        await use(page, "Create key");
        const key = await page.locator(".secret code").innerText();
        for (const name of ["curl", "Python library", "Node.js library", "OpenTelemetry"]) {
            await use(page, name);
            const text = await page.locator(".snippet pre").innerText();
            assert.ok(text.includes(key) && text.includes(w.server.url), name);
        }
        await button(page, "Copy the code").waitFor();
        await shot(page, "connect");
    });

    w.test("what a library tab says installs the library from this service and reports, as pasted", "connect", async (page) => {
        await use(page, "Create key");
        await page.locator(".secret code").waitFor();
        const installs = [
            ["Python library", "pip install", /^muster-\d+\.\d+\.\d+-py3-none-any\.whl$/],
            ["Node.js library", "npm install", /^muster-\d+\.\d+\.\d+\.tgz$/],
        ];
        for (const [n, [name, install, file]] of installs.entries()) {
            await use(page, name);
            const code = await page.locator(".snippet pre").innerText();
            const [first] = code.split("\n");
            const start = `${install} ${w.server.url}/sdk/`;
            assert.ok(first.startsWith(start), first);
            assert.match(first.slice(start.length), file);
            await sees(page, /is another project/);
            const folder = mkdtempSync(join(tmpdir(), "muster-paste-"));
            runInShell(folder, code);
            rmSync(folder, { recursive: true });
            const headers = { Authorization: `Bearer ${w.tenant.token}` };
            const path = "/api/v1/tenants/acme/dashboard/runs?agent_name=my-agent";
            const { runs } = await (await fetch(w.server.url + path, { headers })).json();
            assert.deepEqual(runs.map((run) => run.status), Array(n + 1).fill("completed"), name);
        }
        await shot(page, "connect-library");
    });

    w.test("a section that is not for a member is named, not replaced in silence", "settings?tab=keys", async (page) => {
        await sees(page, "Keys: only admins of this workspace can see it.");
    }, { email: MEMBER });
});
