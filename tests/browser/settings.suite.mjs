// Settings of a workspace and of the platform, webhooks, and the first event.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";

import { MailServer } from "./mail.mjs";
import { close, openAs, openBrowser, PASSWORD, Server, shot } from "./muster.mjs";

let server, browser, tenant, receiver, received, mail;
const ROOT_ADMIN = "root@example.org";

describe("settings and platform", () => {
    before(async () => {
        mail = await MailServer.start();
        server = await Server.start([
            ...["--webhook-allow-http", "1", "--webhook-allow-private", "1"],
            ...["--smtp-url", mail.url, "--smtp-from", "muster@example.org"],
            ...["--public-url", "http://muster.example"],
        ]);
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        server.addUser(ROOT_ADMIN, "--role", "platform_admin");
        received = [];
        receiver = createServer((request, reply) => {
            received.push(request.headers);
            reply.writeHead(request.url === "/broken" ? 500 : 204).end();
        });
        await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    });

    after(async () => {
        receiver?.close();
        await server?.stop();
        mail?.stop();
    });

    const settings = (tab, email = tenant.email, options = undefined) =>
        openAs(browser, server, email, `/t/acme/settings?tab=${tab}`, options);
    const platform = (tab) => openAs(browser, server, ROOT_ADMIN, `/platform?tab=${tab}`);
    const button = (page, name) => page.getByRole("button", { name, exact: true });
    const inDialog = (page, name) => page.getByRole("dialog").getByRole("button", { name });

    test("users are added, given another role, and removed", async () => {
        const page = await settings("users");
        await button(page, "Add user").click();
        await page.getByLabel("E-mail").fill("bob@acme.example");
        await page.getByLabel("First password").fill(PASSWORD);
        await inDialog(page, "Add").click();
        await page.getByLabel("Role of bob@acme.example").selectOption("admin");
        await page.waitForFunction(() => !document.querySelector("dialog"));
        await shot(page, "settings-users");
        const bob = await settings("users", "bob@acme.example");
        await button(bob, "Add user").waitFor();
        await close(bob);
        await button(page, "Remove bob@acme.example").click();
        await inDialog(page, "Remove").click();
        await button(page, "Remove bob@acme.example").waitFor({ state: "detached" });
        await close(page);
    });

    test("a key that only reads is created and can read, not report", async () => {
        const page = await settings("keys");
        await button(page, "New key").click();
        await page.getByLabel("Label").fill("wall screen");
        await page.getByLabel("It may").selectOption("read");
        await page.getByText("reports nothing").waitFor();
        await inDialog(page, "Create key").click();
        await page.getByText("only reads").waitFor();
        const token = await page.locator("code").getByText("mst_ro_").textContent();
        await shot(page, "settings-keys-read-only");
        const headers = { Authorization: `Bearer ${token}` };
        const read = await fetch(`${server.url}/api/v1/tenants/acme/agents`, { headers });
        assert.equal(read.status, 200);
        const beat = `${server.url}/api/v1/heartbeat?client_id=x`;
        assert.equal((await fetch(beat, { method: "POST", headers })).status, 403);
        await close(page);
    });

    test("the workspace's model and policy apply to its agents", async () => {
        const page = await settings("defaults");
        await page.getByLabel("Default model").fill("house-model");
        await button(page, "Set").click();
        await page.locator(".in-effect strong").getByText("house-model").waitFor();
        await page.getByLabel("Agents may run").selectOption("denylist");
        await page.getByLabel("Denied commands").fill("sudo *");
        await button(page, "Save policy").click();
        await page.getByText("version 1").waitFor();
        await shot(page, "settings-defaults");
        assert.match(server.cli(["model", "show", "--tenant", "acme", "--agent", "any"]), /house-model/);
        await close(page);
    });

    test("the audit log shows who did it, is filtered, and is checked", async () => {
        const page = await settings("audit");
        await page.locator("tbody tr").nth(3).waitFor();
        await button(page, "Check integrity").click();
        await page.getByText("entries, unaltered").waitFor();
        await shot(page, "settings-audit");
        await page.getByLabel("Action", { exact: true }).fill("model.set");
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
        await page.getByText("admin@acme.example").first().waitFor();
        await page.getByLabel("Who", { exact: true }).fill("admin@acme.example");
        await page.waitForURL(/actor=admin/);
        await page.locator("tbody tr").waitFor();
        await page.reload(); // the filters are kept in the address
        await page.locator("tbody tr").waitFor();
        await page.getByLabel("Who", { exact: true }).fill("nobody@acme.example");
        await page.getByText("No entries match").waitFor();
        await close(page);
    });

    test("nothing is deleted without a warning and a confirmation", async () => {
        const limits = () => JSON.parse(server.cli(["retention", "show", "--tenant", "acme", "--json"]));
        const page = await settings("retention");
        const put = () => page.waitForResponse((reply) => reply.request().method() === "PUT");
        await page.getByLabel("Always keep failed runs").fill("5");
        await Promise.all([put(), button(page, "Save").click()]);
        await page.getByText("Saved.").waitFor();
        await page.getByLabel("Runs and events").fill("90");
        await button(page, "Save").click();
        await page.getByRole("dialog").getByText("90 days").waitFor();
        assert.equal(limits().events_days, null);
        assert.ok(await inDialog(page, "Delete older data").isDisabled());
        await inDialog(page, "Cancel").click();
        await button(page, "Save").click();
        await page.getByLabel("Type acme to confirm").fill("acme");
        await shot(page, "settings-retention");
        await Promise.all([put(), inDialog(page, "Delete older data").click()]);
        await page.waitForFunction(() => !document.querySelector("dialog"));
        assert.deepEqual([limits().events_days, limits().keep_failed_runs], [90, 5]);
        await page.getByLabel("Runs and events").fill("");
        await Promise.all([put(), button(page, "Save").click()]);
        assert.equal(await page.getByRole("dialog").count(), 0);
        assert.equal(limits().events_days, null);
        server.addUser("reader@acme.example", "--tenant", "acme", "--role", "member");
        const reader = await settings("retention", "reader@acme.example");
        await reader.getByText("forever").first().waitFor();
        assert.equal(await button(reader, "Save").count(), 0);
        await close(reader);
        await close(page);
    });

    test("the catalog decides about a parameter, not the agent that declares it", async () => {
        const params = ["region", "api_token"].map((key) => ({ key }));
        await server.send(tenant, "/api/v1/agents/register", {
            agent_name: "poller",
            config_schema: { params },
        });
        const page = await settings("values");
        const row = (key) => page.locator("tr", { hasText: key });
        await row("api_token").getByText("secret").waitFor();
        await row("api_token").getByText("Nobody").waitFor();
        await button(page, "Change region").click();
        await page.getByLabel("Can be set by").selectOption("member");
        await page.getByLabel("Values visible to").selectOption("admin");
        await inDialog(page, "Save").click();
        await row("region").getByText("Admins and members").waitFor();
        await row("region").getByText("Admins", { exact: true }).waitFor();
        await button(page, "Change api_token").click();
        await page.getByLabel("Secret: values must refer to the vault").uncheck();
        await inDialog(page, "Save").click();
        await row("api_token").getByText("secret").waitFor({ state: "detached" });
        await shot(page, "settings-catalog");
        server.addUser("member@acme.example", "--tenant", "acme", "--role", "member");
        const home = "/t/acme/agents/poller?tab=values";
        const reader = await openAs(browser, server, "member@acme.example", home);
        await button(reader, "Edit region").click(); // a member may, now
        await reader.getByLabel("Value", { exact: true }).fill("eu");
        await inDialog(reader, "Save").click();
        await reader.locator("tr", { hasText: "region" }).getByText("hidden").waitFor();
        assert.equal(await button(reader, "Edit api_token").count(), 0);
        await reader.goto(`${server.url}/#/t/acme/settings?tab=values`);
        await reader.getByText("Admins and members").waitFor();
        assert.equal(await button(reader, "Change region").count(), 0);
        await close(reader);
        await close(page);
    });

    test("an admin of a workspace sees its plan and its usage", async () => {
        const page = await settings("plan");
        await page.getByText("1 of 1,000").waitFor();
        await page.getByText("The plan is set by a platform admin").waitFor();
        await shot(page, "settings-plan");
        await close(page);
    });

    test("people change their own password", async () => {
        const page = await settings("you", tenant.email, {});
        const changed = "eight quick otters at dusk";
        await page.getByLabel("Current password").fill("certainly not this one");
        await page.getByLabel("New password").fill(changed);
        await button(page, "Change password").click();
        await page.locator("[aria-invalid]").waitFor();
        await page.getByLabel("Current password").fill(PASSWORD);
        await button(page, "Change password").click();
        await page.getByText("Your other sessions have ended").waitFor();
        await server.forgetSessions();
        server.cli(["user", "passwd", tenant.email, "--password-stdin"], `${PASSWORD}\n`);
        await close(page);
    });

    test("a webhook is created, tested, shows failures, and is removed", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/alerts?tab=webhooks");
        const { port } = receiver.address();
        for (const name of ["works", "broken"]) {
            await button(page, "New webhook").click();
            await page.getByLabel("URL").fill(`http://127.0.0.1:${port}/${name}`);
            await page.getByLabel("Label").fill(name);
            await page.getByLabel("run.failed").check();
            await inDialog(page, "Create webhook").click();
            const secret = await page.locator(".once code").innerText();
            assert.match(secret, /^whsec_/);
            await button(page, "Done").click();
        }
        const card = (name) => page.locator(".card", { hasText: `/${name}` });
        await card("works").getByText("run.failed · nothing delivered yet").waitFor();
        await card("works").getByRole("button", { name: "Send a test" }).click();
        await page.getByText(/Delivered in \d+ ms/).waitFor();
        await card("broken").getByRole("button", { name: "Send a test" }).click();
        await page.getByText(/Not delivered after/).waitFor();
        assert.ok(received.every((headers) => headers["webhook-signature"]));
        await card("works").getByRole("button", { name: "Delivery log" }).click();
        await shot(page, "webhooks");
        await page.getByRole("switch", { name: "Send to broken" }).click();
        await card("broken").getByText("Off").waitFor();
        await button(page, "Remove broken").click();
        await inDialog(page, "Remove").click();
        await button(page, "Remove broken").waitFor({ state: "detached" });
        await close(page);
    });

    test("a webhook that sends mail is created, tested and removed", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/alerts?tab=webhooks");
        await button(page, "New webhook").click();
        await page.getByLabel("Format").selectOption("email");
        await page.getByLabel("E-mail address").fill("on-call@acme.example");
        await page.getByLabel("Label").fill("mailbox");
        await inDialog(page, "Create webhook").click();
        const card = page.locator(".card", { hasText: "mailto:on-call@acme.example" });
        await card.getByText("Not used yet").waitFor();
        await card.getByRole("button", { name: "Send a test" }).click();
        assert.match(await mail.next(), /test/i);
        await card.getByText(/Delivered in \d+ ms/).waitFor();
        await button(page, "Remove mailbox").click();
        await inDialog(page, "Remove").click();
        await card.waitFor({ state: "detached" });
        await close(page);
    });

    test("a webhook with a forbidden URL is refused with a message", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/alerts?tab=webhooks");
        await button(page, "New webhook").click();
        await page.getByLabel("URL").fill("ftp://example.org/");
        await inDialog(page, "Create webhook").click();
        await page.locator("dialog [aria-invalid]").waitFor();
        await close(page);
    });

    test("the platform creates workspaces and changes their plans", async () => {
        const page = await platform("tenants");
        await button(page, "New workspace").click();
        await page.getByLabel("Name").fill("Neue Köpfe");
        assert.equal(await page.getByLabel("Slug").inputValue(), "neue-kopfe");
        await inDialog(page, "Save").click();
        await button(page, "Change the plan of neue-kopfe").click();
        await page.getByLabel("Agent limit").fill("7");
        await inDialog(page, "Save").click();
        await page.getByRole("row", { name: /Neue Köpfe.*7/ }).waitFor();
        await shot(page, "platform");
        await close(page);
    });

    test("the platform creates and removes users", async () => {
        const page = await platform("users");
        await button(page, "New user").click();
        await page.getByLabel("E-mail").fill("eve@example.org");
        await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
        await inDialog(page, "Save").click();
        await button(page, "Change eve@example.org").click();
        await page.getByLabel("Role").selectOption("platform_admin");
        await inDialog(page, "Save").click();
        await page.getByRole("row", { name: /eve@example.org platform admin/ }).waitFor();
        await button(page, "Remove eve@example.org").click();
        await inDialog(page, "Remove").click();
        await button(page, "Remove eve@example.org").waitFor({ state: "detached" });
        await close(page);
    });

    test("prices are set, imported and removed, and workspaces see them", async () => {
        const page = await platform("prices");
        await button(page, "Set a price").click();
        await page.getByLabel("Model").last().fill("dear-one");
        await page.getByLabel("Input", { exact: true }).fill("3");
        await page.getByLabel("Output").fill("cheap");
        await inDialog(page, "Save").click();
        await page.locator("dialog [aria-invalid]").waitFor();
        await page.getByLabel("Output").fill("15");
        await inDialog(page, "Save").click();
        await page.getByText("dear-one").waitFor();
        await button(page, "Import").click();
        await page.getByLabel("File", { exact: true }).setInputFiles({
            name: "prices.json",
            mimeType: "application/json",
            buffer: Buffer.from('{"prices":[{"model":"plain-one","input":"1","output":"2"}]}'),
        });
        await inDialog(page, "Import").click();
        await page.getByText("1 added").waitFor();
        await inDialog(page, "Close").click();
        await page.getByText("plain-one").waitFor();
        const reader = await settings("prices");
        await reader.getByText("plain-one").waitFor();
        await reader.getByText("as the providers published them up to 2025-11-01").waitFor();
        await reader.getByRole("row", { name: /plain-one.*set or imported/ }).waitFor();
        await reader.getByRole("row", { name: /^gpt-5-mini.*built in, 2025-11-01/ }).waitFor();
        assert.equal(await reader.getByRole("button", { name: "Set a price" }).count(), 0);
        await close(reader);
        await button(page, "Remove the price of plain-one").click();
        await inDialog(page, "Remove").click();
        await button(page, "Remove the price of plain-one").waitFor({ state: "detached" });
        await close(page);
    });

    test("the master key is rotated while people are signed in", async () => {
        const page = await platform("vault");
        await button(page, "Rotate master key").click();
        await inDialog(page, "Rotate").click();
        await page.getByText("Back up the new master key").waitFor();
        await close(page);
    });

    test("the platform is closed to admins of a workspace", async () => {
        const page = await openAs(browser, server, tenant.email, "/platform");
        await page.getByText("This page is for platform admins").waitFor();
        assert.equal(await page.getByRole("link", { name: "Platform" }).count(), 0);
        await close(page);
    });

    test("a new workspace shows how to start, and its first event shows the fleet", async () => {
        const newcomer = server.addTenant("newcomer");
        const page = await openAs(browser, server, newcomer.email, "/t/newcomer/overview");
        await button(page, "Create key").waitFor();
        assert.equal(await page.getByLabel("Period").count(), 0, "a period of nothing cannot be chosen");
        await page.goto(`${server.url}/#/t/newcomer/fleet`);
        await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
        await button(page, "Create key").click();
        const key = await page.locator(".secret code").innerText();
        const texts = new Map();
        for (const name of ["curl", "Python", "JavaScript"]) {
            await button(page, name).click();
            const text = await page.locator(".snippet pre").innerText();
            assert.ok(text.includes(key) && text.includes("newcomer") && text.includes(server.url));
            texts.set(name, text);
        }
        await shot(page, "start");
        const code = texts.get("JavaScript");
        await new Function("fetch", "crypto", `return (async () => { ${code} })()`)(fetch, crypto);
        await page.getByRole("link", { name: "my-agent" }).waitFor(); // without a reload
        execFileSync("/bin/sh", ["-c", texts.get("curl")], { stdio: "ignore" });
        execFileSync("/usr/bin/python3", ["-c", texts.get("Python")]);
        await page.waitForFunction(
            () => document.querySelectorAll(".squares a.good").length === 3,
        );
        await close(page);
    });
});
