// Settings of a workspace and of the platform, webhooks, and the first event. That each is done with keys
// alone, keyboard_settings.suite.mjs shows; here is what follows from it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";

import { MailServer } from "./mail.mjs";
import { close, PASSWORD, request, shot } from "./muster.mjs";
import { button, count, dialogOf, fill, form, gone, link, row, rows, sees, titled, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const email = "root@example.org";
const settings = [];
const w = new Suite("acme", { settings });
let receiver, received, mail;

describe("settings and platform", () => {
    before(async () => {
        mail = await MailServer.start();
        settings.push(
            ...["--webhook-allow-http", "1", "--webhook-allow-private", "1"],
            ...["--smtp-url", mail.url, "--smtp-from", "muster@example.org"],
            ...["--public-url", "http://muster.example"],
        );
        received = [];
        receiver = createServer((request, reply) => {
            received.push(request.headers);
            reply.writeHead(request.url === "/broken" ? 500 : 204).end();
        });
        await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    });

    w.begin(() => w.server.addUser(email, "--role", "platform_admin"));

    after(() => {
        receiver?.close();
        mail?.stop();
    });

    const addMember = (name) => w.server.addUser(`${name}@acme.example`, "--tenant", "acme", "--role", "member");

    w.test("a key that only reads is created and can read, not report", "settings?tab=keys", async (page) => {
        await use(page, "New key");
        await fill(page, { Label: "wall screen", "It may": "read" });
        await sees(page, "reports nothing");
        await use(dialogOf(page), "Create key");
        await sees(page, "only reads");
        const token = await page.locator("code").getByText("mst_ro_").textContent();
        await shot(page, "settings-keys-read-only");
        const headers = { Authorization: `Bearer ${token}` };
        const statusOf = async (path, method) => (await request(w.server.url + path, { method, headers })).status;
        assert.equal(await statusOf("/api/v1/tenants/acme/agents", "GET"), 200);
        assert.equal(await statusOf("/api/v1/heartbeat?client_id=x", "POST"), 403);
    });

    w.test("the audit log shows who did it, is filtered, and is checked", "settings?tab=audit", async (page) => {
        w.cli("model", "set", "house-model", "--tenant", "acme");
        await page.reload();
        await rows(page).nth(3).waitFor();
        await use(page, "Check integrity");
        await sees(page, "entries, unaltered");
        await shot(page, "settings-audit");
        await fill(page, { Action: "key.add", Who: "admin@acme.example" });
        await page.waitForURL(/actor=admin/);
        await count(page, 1);
        await page.reload(); // the filters are kept in the address
        await count(page, 1);
        await fill(page, { Who: "nobody@acme.example" });
        await sees(page, "No entries match");
    });

    w.test("nothing is deleted without a warning and a confirmation", "settings?tab=retention", async (page) => {
        const limits = () => JSON.parse(w.cli("retention", "show", "--tenant", "acme", "--json"));
        const put = () => page.waitForResponse((reply) => reply.request().method() === "PUT");
        await fill(page, { "Always keep failed runs": "5" });
        await Promise.all([put(), use(page, "Save")]);
        await sees(page, "Saved.");
        await fill(page, { "Runs and events": "90" });
        await use(page, "Save");
        await sees(dialogOf(page), "90 days");
        assert.equal(limits().events_days, null);
        assert.ok(await button(dialogOf(page), "Delete older data").isDisabled());
        await use(dialogOf(page), "Cancel");
        await use(page, "Save");
        await fill(page, { "Type acme to confirm": "acme" });
        await shot(page, "settings-retention");
        await Promise.all([put(), use(dialogOf(page), "Delete older data")]);
        await gone(page, dialogOf(page));
        assert.deepEqual([limits().events_days, limits().keep_failed_runs], [90, 5]);
        await fill(page, { "Runs and events": "" });
        await Promise.all([put(), use(page, "Save")]);
        assert.deepEqual([await dialogOf(page).count(), limits().events_days], [0, null]);
        addMember("reader");
        const reader = await w.open("settings?tab=retention", { email: "reader@acme.example" });
        await sees(reader, "forever");
        assert.equal(await button(reader, "Save").count(), 0);
        await close(reader);
    });

    w.test("the catalog decides about a parameter, not the agent that declares it", "overview", async (page) => {
        await w.register("poller", { config_schema: { params: [{ key: "region" }, { key: "api_token" }] } });
        await w.go(page, "settings?tab=values");
        await sees(row(page, "api_token"), "secret", "Nobody");
        await form(page, "Change region", { "Can be set by": "member", "Values visible to": "admin" }, "Save");
        const admins = row(page, "region").getByText("Admins", { exact: true });
        await sees(row(page, "region"), "Admins and members", admins);
        const open = { "Secret: values must refer to the vault": false };
        await form(page, "Change api_token", open, "Save");
        await gone(row(page, "api_token"), "secret");
        await shot(page, "settings-catalog");
        addMember("member");
        const reader = await w.open("agents/poller?tab=values", { email: "member@acme.example" });
        await form(reader, "Edit region", { Value: "eu" }, "Save"); // a member may, now
        await sees(row(reader, "region"), "hidden");
        assert.equal(await button(reader, "Edit api_token").count(), 0);
        await w.go(reader, "settings?tab=values");
        await sees(reader, "Admins and members");
        assert.equal(await button(reader, "Change region").count(), 0);
        await close(reader);
    });

    w.test("an admin of a workspace sees its plan and its usage", "settings?tab=plan", async (page) => {
        await sees(page, "1 of 1,000", "The plan is set by a platform admin");
        await shot(page, "settings-plan");
    });

    w.test("a webhook is created, tested, shows failures, and is removed", "alerts?tab=webhooks", async (page) => {
        const { port } = receiver.address();
        for (const name of ["works", "broken"]) {
            const fields = { URL: `http://127.0.0.1:${port}/${name}`, Label: name, "run.failed": true };
            await form(page, "New webhook", fields, "Create webhook");
            assert.match(await page.locator(".once code").innerText(), /^whsec_/);
            await use(page, "Done");
        }
        const card = (name) => page.locator(".card", { hasText: `/${name}` });
        await sees(card("works"), "run.failed · nothing delivered yet");
        await use(card("works"), "Send a test");
        await sees(page, /Delivered in \d+ ms/);
        await use(card("broken"), "Send a test");
        await sees(page, /Not delivered after/);
        assert.ok(received.every((headers) => headers["webhook-signature"]));
        await use(card("works"), "Delivery log");
        await shot(page, "webhooks");
        await page.getByRole("switch", { name: "Send to broken" }).click();
        await sees(card("broken"), "Off");
        await form(page, "Remove broken", {}, "Remove");
        await gone(page, button(page, "Remove broken"));
    });

    w.test("a webhook that sends mail is created, tested and removed", "alerts?tab=webhooks", async (page) => {
        const fields = { Format: "email", "E-mail address": "on-call@acme.example", Label: "mailbox" };
        await form(page, "New webhook", fields, "Create webhook");
        const card = page.locator(".card", { hasText: "mailto:on-call@acme.example" });
        await sees(card, "Not used yet");
        await use(card, "Send a test");
        assert.match(await mail.next(), /test/i);
        await sees(card, /Delivered in \d+ ms/);
        await form(page, "Remove mailbox", {}, "Remove");
        await gone(page, card);
        await form(page, "New webhook", { URL: "ftp://example.org/" }, "Create webhook");
        await page.locator("dialog [aria-invalid]").waitFor(); // a URL that is forbidden
    });

    w.test("the platform gives a user another role", "/platform?tab=users", async (page) => {
        await form(page, "New user", { "E-mail": "eve@example.org", Password: PASSWORD }, "Save");
        await form(page, "Change eve@example.org", { Role: "platform_admin" }, "Save");
        await page.getByRole("row", { name: /eve@example.org platform admin/ }).waitFor();
    }, { email });

    w.test("prices are set, imported and removed, and workspaces see them", "/platform?tab=prices", async (page) => {
        await form(page, "Set a price", { Model: "dear-one", Input: "3", Output: "cheap" }, "Save");
        await page.locator("dialog [aria-invalid]").waitFor();
        await fill(dialogOf(page), { Output: "15" });
        await use(dialogOf(page), "Save");
        await sees(page, "dear-one");
        await use(page, "Import");
        await page.getByLabel("File", { exact: true }).setInputFiles({
            name: "prices.json",
            mimeType: "application/json",
            buffer: Buffer.from('{"prices":[{"model":"plain-one","input":"1","output":"2"}]}'),
        });
        await use(dialogOf(page), "Import");
        await sees(page, "1 added");
        await use(dialogOf(page), "Close");
        await sees(page, "plain-one");
        const reader = await w.open("settings?tab=prices");
        await sees(reader, "plain-one", "as the providers published them up to 2025-11-01");
        await reader.getByRole("row", { name: /plain-one.*set or imported/ }).waitFor();
        await reader.getByRole("row", { name: /^gpt-5-mini.*built in, 2025-11-01/ }).waitFor();
        assert.equal(await reader.getByRole("button", { name: "Set a price" }).count(), 0);
        await close(reader);
        await form(page, "Remove the price of plain-one", {}, "Remove");
        await gone(page, button(page, "Remove the price of plain-one"));
    }, { email });

    w.test("the platform is closed to admins of a workspace", "/platform", async (page) => {
        await sees(page, "This page is for platform admins");
        assert.equal(await page.getByRole("link", { name: "Platform" }).count(), 0);
    });

    test("a new workspace shows how to start, and its first event shows the fleet", async () => {
        const newcomer = w.addTenant("newcomer");
        const page = await w.open("/t/newcomer/overview", { email: newcomer.email });
        await button(page, "Create key").waitFor();
        assert.equal(await page.getByLabel("Period").count(), 0, "a period of nothing cannot be chosen");
        await w.go(page, "/t/newcomer/fleet");
        await titled(page, "Fleet");
        await use(page, "Create key");
        const key = await page.locator(".secret code").innerText();
        const texts = new Map();
        for (const name of ["curl", "Python", "JavaScript"]) {
            await use(page, name);
            const text = await page.locator(".snippet pre").innerText();
            assert.ok(text.includes(key) && text.includes("newcomer") && text.includes(w.server.url));
            texts.set(name, text);
        }
        await shot(page, "start");
        const code = texts.get("JavaScript");
        await new Function("fetch", "crypto", `return (async () => { ${code} })()`)(fetch, crypto);
        await link(page, "my-agent").waitFor(); // without a reload
        execFileSync("/bin/sh", ["-c", texts.get("curl")], { stdio: "ignore" });
        execFileSync("/usr/bin/python3", ["-c", texts.get("Python")]);
        await count(page, 3, ".squares a.good");
        await close(page);
    });
});
