// From a new service to its first user at work: set-up, the first workspace, log-in, log-out.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { close, openAs, openBrowser, openPage, PASSWORD, Server, shot } from "./muster.mjs";

let server, browser;

describe("set-up and log-in", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
    });

    after(async () => {
        await server?.stop();
    });

    test("the link that a new service prints makes the first admin and a workspace", async () => {
        const link = server.lines.join("\n").match(/\S*(\/#\/setup\?code=\S+)/);
        assert.ok(link, `no link in: ${server.lines.join("\n")}`);
        const page = await openPage(browser, server);
        await page.goto(server.url);
        await page.getByText("Nobody has an account yet").waitFor();
        await page.goto(server.url + link[1]);
        await page.getByRole("heading", { name: "Set up muster" }).waitFor();
        await page.getByLabel("Your e-mail").fill("ada@example.org");
        await page.getByLabel("Password").fill("password1234");
        await shot(page, "set-up");
        await page.getByRole("button", { name: "Make the account" }).click();
        await page.getByRole("alert").waitFor(); // a password that anybody would try
        await page.getByLabel("Password").fill(PASSWORD);
        await page.getByRole("button", { name: "Make the account" }).click();
        await page.getByRole("heading", { name: "Make the first workspace" }).waitFor();
        await page.getByLabel("Name").fill("Acme & Söhne");
        assert.equal(await page.getByLabel("Slug").inputValue(), "acme-sohne");
        await shot(page, "first-workspace");
        await page.getByRole("button", { name: "Make the workspace" }).click();
        await page.getByRole("heading", { name: "Fleet" }).waitFor();
        assert.match(page.url(), /#\/t\/acme-sohne\/fleet$/);
        await close(page);
    });

    test("a wrong password is told, the right one leads to where the link went", async () => {
        server.addTenant("zeta");
        const page = await openPage(browser, server);
        await page.goto(`${server.url}/#/t/zeta/runs?status=failed`);
        await page.getByLabel("E-mail").fill("admin@zeta.example");
        await page.getByLabel("Password").fill("certainly not this one");
        await page.getByRole("button", { name: "Log in" }).click();
        await page.getByRole("alert").waitFor();
        await page.getByLabel("Password").fill(PASSWORD);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Runs" }).waitFor();
        assert.match(page.url(), /#\/t\/zeta\/runs\?status=failed$/);
        await close(page);
    });

    test("a user who logs out is out, and a session that ended asks for the password again", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/zeta/runs", {});
        const cookies = await page.context().cookies();
        assert.ok(cookies.every((one) => one.httpOnly && one.sameSite === "Strict"));
        await page.getByRole("button", { name: "Log out" }).click();
        await server.forgetPeople();
        await page.getByRole("button", { name: "Log in" }).waitFor();
        await page.context().addCookies(cookies); // the old session is over, not only forgotten
        await page.reload();
        await page.getByRole("button", { name: "Log in" }).waitFor();
        await page.getByLabel("E-mail").fill("admin@zeta.example");
        await page.getByLabel("Password").fill(PASSWORD);
        await page.keyboard.press("Enter");
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
        await page.context().clearCookies();
        await page.goto(`${server.url}/#/t/zeta/fleet`); // if no news have shown it before
        await page.getByText("Your session has ended").waitFor();
        await close(page);
    });

    test("a member of another workspace is told so", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/acme-sohne/runs", {});
        await page.getByRole("alert").waitFor();
        await close(page);
    });

    test("colours follow the system until the user chooses", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/zeta/runs", {});
        const scheme = () =>
            page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
        assert.equal(await scheme(), "light");
        await page.emulateMedia({ colorScheme: "dark" });
        assert.equal(await scheme(), "dark");
        await page.getByRole("button", { name: "Colours: system" }).click();
        assert.equal(await scheme(), "light");
        await page.reload();
        await page.getByRole("button", { name: "Colours: light" }).click();
        assert.equal(await scheme(), "dark");
        await page.context().close();
    });
});
