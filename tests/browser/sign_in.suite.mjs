// From a new service to a person who uses it: set-up, the first workspace, signing in and out.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import jsQR from "jsqr";

import { MailServer } from "./mail.mjs";
import { close, openAs, openBrowser, openPage, PASSWORD, Server, shot } from "./muster.mjs";
import { codeOf } from "./totp.mjs";

let server, browser;

/** What a camera reads from a part of the page. */
async function scan(page, selector) {
    const picture = (await page.locator(selector).screenshot()).toString("base64");
    const blank = await page.context().newPage(); // has no content policy
    const [width, height, pixels] = await blank.evaluate(async (png) => {
        const image = new Image();
        image.src = `data:image/png;base64,${png}`;
        await image.decode();
        const drawing = new OffscreenCanvas(image.width, image.height).getContext("2d");
        drawing.drawImage(image, 0, 0);
        const { data } = drawing.getImageData(0, 0, image.width, image.height);
        const letters = Array.from(data, (byte) => String.fromCharCode(byte)).join("");
        return [image.width, image.height, btoa(letters)]; // an array would take seconds on its way
    }, picture);
    await blank.close();
    return jsQR(Uint8ClampedArray.from(Buffer.from(pixels, "base64")), width, height)?.data;
}

describe("set-up and sign-in", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
    });

    after(async () => {
        await server?.stop();
    });

    test("the link that a new service prints creates the first admin and a workspace", async () => {
        const link = server.lines.join("\n").match(/\S*(\/#\/setup\?code=\S+)/);
        assert.ok(link, `no link in: ${server.lines.join("\n")}`);
        const page = await openPage(browser, server);
        await page.goto(server.url);
        await page.getByText("There are no accounts yet").waitFor();
        await page.goto(server.url + link[1]);
        await page.getByRole("heading", { name: "Set up muster" }).waitFor();
        await page.getByLabel("E-mail").fill("ada@example.org");
        await page.getByLabel("Password").fill("password1234");
        await shot(page, "set-up");
        await page.getByRole("button", { name: "Create account" }).click();
        await page.locator("[aria-invalid]").waitFor(); // a common password
        await page.getByLabel("Password").fill(PASSWORD);
        await page.getByRole("button", { name: "Create account" }).click();
        await page.getByRole("heading", { name: "Create the first workspace" }).waitFor();
        await page.waitForFunction(() => document.activeElement?.matches("input"));
        await page.keyboard.type("Acme & Söhne"); // what is typed goes into the first field
        assert.equal(await page.getByLabel("Slug").inputValue(), "acme-sohne");
        await shot(page, "first-workspace");
        await page.getByRole("button", { name: "Create workspace" }).click();
        await page.getByRole("heading", { name: "Overview" }).waitFor();
        assert.match(page.url(), /#\/t\/acme-sohne\/overview$/);
        await page.locator(".tenant", { hasText: "Acme & Söhne" }).waitFor(); // not its slug
        await close(page);
        const stranger = await openPage(browser, server);
        await stranger.goto(server.url + link[1]);
        await stranger.getByText("This set-up link was used").waitFor();
        assert.equal(await stranger.getByRole("heading", { name: "Set up muster" }).count(), 0);
        await close(stranger);
    });

    test("a wrong password is an error, the right one opens the page of the link", async () => {
        server.addTenant("zeta");
        const page = await openPage(browser, server);
        await page.goto(`${server.url}/#/t/zeta/runs?status=failed`);
        await page.getByLabel("E-mail").fill("admin@zeta.example");
        await page.getByLabel("Password").fill("certainly not this one");
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("alert").waitFor();
        await page.getByLabel("Password").fill(PASSWORD);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
        assert.match(page.url(), /#\/t\/zeta\/runs\?status=failed$/);
        await close(page);
    });

    test("signing out ends the session, and an ended session asks for the password again", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/zeta/runs", {});
        const cookies = await page.context().cookies();
        assert.ok(cookies.every((one) => one.httpOnly && one.sameSite === "Strict"));
        await page.getByRole("button", { name: "Account and help" }).click();
        await page.getByRole("button", { name: "Sign out" }).click();
        await server.forgetSessions();
        await page.getByRole("button", { name: "Sign in" }).waitFor();
        await page.context().addCookies(cookies); // the server has ended the session, too
        await page.reload();
        await page.getByRole("button", { name: "Sign in" }).waitFor();
        await page.getByLabel("E-mail").fill("admin@zeta.example");
        await page.getByLabel("Password").fill(PASSWORD);
        await page.keyboard.press("Enter");
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
        await page.context().clearCookies();
        await page.goto(`${server.url}/#/t/zeta/fleet`); // unless the stream has shown it already
        await page.getByText("Your session has ended").waitFor();
        await close(page);
    });

    test("a person sees where they are signed in, and signs out elsewhere", async () => {
        const options = { userAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0" };
        const elsewhere = await openPage(browser, server, options);
        await elsewhere.goto(`${server.url}/#/t/zeta/runs`);
        await elsewhere.getByLabel("E-mail").fill("admin@zeta.example");
        await elsewhere.getByLabel("Password").fill(PASSWORD);
        await elsewhere.keyboard.press("Enter");
        await elsewhere.getByRole("navigation", { name: "Pages" }).waitFor();
        const page = await openAs(browser, server, "admin@zeta.example", "/account", {});
        await page.getByRole("cell", { name: "this browser" }).waitFor();
        await shot(page, "sessions");
        await page.getByRole("button", { name: /^Sign out Firefox on Linux, 127/ }).first().click();
        await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
        await page.getByText("Firefox on Linux").waitFor({ state: "detached" });
        await elsewhere.goto(`${server.url}/#/t/zeta/fleet`);
        await elsewhere.getByText("Your session has ended").waitFor();
        await close(elsewhere);
        await close(page);
    });

    test("an invited person chooses a password, and a used link says so", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/zeta/settings", {});
        await page.getByRole("button", { name: "Invite" }).click();
        await page.getByLabel("E-mail").fill("new@zeta.example");
        const may = "can view, acknowledge, mute and plan maintenance";
        const role = await page.getByLabel("Role", { exact: true }).locator("option:checked").innerText();
        assert.equal(role, "Member: can view, acknowledge, mute");
        await page.getByText(`Members ${may}, and set the configuration values`).waitFor();
        await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
        const link = await page.locator(".once code").innerText();
        await page.getByRole("heading", { name: "Open invitations" }).waitFor();
        await shot(page, "invitation");
        await close(page);
        const guest = await openPage(browser, server);
        await guest.goto(link);
        await guest.getByRole("heading", { name: "Welcome to muster" }).waitFor();
        await guest.getByText("new@zeta.example is invited").waitFor();
        await guest.getByText(`(member: ${may})`).waitFor();
        await shot(guest, "accept-invitation");
        await guest.getByLabel("Password").fill("password1234");
        await guest.getByRole("button", { name: "Create account" }).click();
        await guest.locator("[aria-invalid]").waitFor(); // a common password
        await guest.getByLabel("Password").fill(PASSWORD);
        await guest.getByRole("button", { name: "Create account" }).click();
        await guest.getByRole("navigation", { name: "Pages" }).waitFor();
        assert.ok(!guest.url().includes("token"), "the token is not in the address any longer");
        await guest.goto(link);
        await guest.getByRole("heading", { name: "This link does not work" }).waitFor();
        await guest.getByText("This link was used already").waitFor();
        await guest.context().close();
    });

    test("a reset link sets a new password", async () => {
        const email = "new@zeta.example";
        const page = await openAs(browser, server, "ada@example.org", "/platform?tab=users", {});
        await page.getByRole("button", { name: `Reset password of ${email}` }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click();
        const link = await page.locator(".once code").innerText();
        await close(page);
        const guest = await openPage(browser, server);
        await guest.goto(link);
        await guest.getByRole("heading", { name: "Choose a new password" }).waitFor();
        await guest.getByLabel("Password").fill(`${PASSWORD} again`);
        await guest.getByRole("button", { name: "Set password" }).click();
        await guest.getByRole("navigation", { name: "Pages" }).waitFor();
        await close(guest);
    });

    test("without a mail server, who forgot the password is told whom to ask", async () => {
        const guest = await openPage(browser, server);
        await guest.goto(server.url);
        await guest.getByRole("link", { name: "Forgot your password?" }).click();
        await guest.getByText("Ask a platform admin or the operator of the service").waitFor();
        await shot(guest, "forgot-no-mail");
        await guest.getByRole("link", { name: "Back to sign-in" }).click();
        await guest.getByRole("button", { name: "Sign in" }).waitFor();
        await close(guest);
    });

    test("a person who forgot the password chooses a new one by mail", async () => {
        const mail = await MailServer.start();
        const where = ["--public-url", "http://muster.example", "--smtp-from", "muster@example.org"];
        const mailing = await Server.start(["--smtp-url", mail.url, ...where]);
        mailing.addTenant("zeta");
        const guest = await openPage(browser, mailing);
        await guest.goto(`${mailing.url}/#/forgot`);
        await guest.getByLabel("E-mail").fill("admin@zeta.example");
        for (const colorScheme of ["light", "dark"])
            for (const width of [1280, 380]) {
                await guest.emulateMedia({ colorScheme });
                await guest.setViewportSize({ width, height: 860 });
                await shot(guest, `forgot-${colorScheme}-${width}`);
            }
        await guest.getByRole("button", { name: "Send link" }).click();
        await guest.getByText("If there is an account for admin@zeta.example").waitFor();
        await shot(guest, "forgot-sent");
        const link = /http:\/\/muster\.example(\/#\/link\?token=\S+)/.exec(await mail.next());
        await guest.goto(mailing.url + link[1]);
        await guest.getByLabel("Password").fill(`${PASSWORD} anew`);
        await guest.getByRole("button", { name: "Set password" }).click();
        await guest.getByRole("navigation", { name: "Pages" }).waitFor();
        await close(guest);
        mail.stop();
        await mailing.stop();
    });

    test("a second factor is added, asked for at sign-in, and removed", async () => {
        const email = "admin@zeta.example";
        const page = await openAs(browser, server, email, "/account", {});
        const askPassword = async (button) => {
            await page.getByRole("button", { name: button, exact: true }).click();
            await page.getByRole("dialog").getByLabel("Current password").fill(PASSWORD);
            await page.getByRole("button", { name: "Continue" }).click();
        };
        await askPassword("Add a second factor");
        const key = (await page.locator(".secret code").innerText()).replaceAll(" ", "");
        await page.getByRole("img", { name: "QR code" }).waitFor();
        for (const colorScheme of ["light", "dark"])
            for (const width of [1280, 380]) {
                await page.emulateMedia({ colorScheme });
                await page.setViewportSize({ width, height: 860 });
                const uri = `otpauth://totp/muster:admin%40zeta.example?secret=${key}&issuer=muster`;
                assert.equal(await scan(page, ".qr"), uri, `${colorScheme}, ${width}`);
                await shot(page, `second-factor-${colorScheme}-${width}`);
            }
        const step = Math.floor(Date.now() / 30_000);
        await page.getByLabel("Code", { exact: true }).fill(codeOf(key, step));
        await page.getByRole("button", { name: "Turn on" }).click();
        await page.getByText("Your recovery codes").waitFor();
        const [recovery] = (await page.locator(".secret code").innerText()).split(" ");
        await page.getByText("10 recovery codes left").waitFor();
        const guest = await openPage(browser, server);
        await guest.goto(server.url);
        await guest.getByLabel("E-mail").fill(email);
        await guest.getByLabel("Password").fill(PASSWORD);
        await guest.getByRole("button", { name: "Sign in" }).click();
        await guest.getByLabel("Code").waitFor();
        assert.equal(await guest.getByText("a recovery code, is needed").count(), 1, "said once, at its field");
        await guest.getByLabel("Code").fill("000000");
        await shot(guest, "sign-in-code");
        await guest.keyboard.press("Enter");
        await guest.getByText("Wrong code").waitFor();
        await guest.getByLabel("Code").fill(recovery);
        await guest.keyboard.press("Enter");
        await guest.getByRole("navigation", { name: "Pages" }).waitFor();
        await guest.context().close();
        await askPassword("Remove");
        await page.getByRole("button", { name: "Add a second factor" }).waitFor();
        await close(page);
    });

    test("a person creates a token, sees it once, and deletes it", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/account", {});
        await page.getByRole("button", { name: "New token" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByRole("button", { name: "Create token" }).click(); // it needs a name
        await dialog.getByLabel("Name").fill("laptop");
        assert.equal(await dialog.getByRole("option", { name: /All that you/ }).count(), 0);
        await dialog.getByLabel("It may").selectOption("admin");
        await dialog.getByLabel("Expires after").selectOption("7");
        await dialog.getByRole("button", { name: "Create token" }).click();
        const secret = page.getByText(/^mst_pat_\w{36}$/);
        await secret.waitFor();
        const token = await secret.innerText();
        const headers = { Authorization: `Bearer ${token}` };
        const asToken = () => fetch(`${server.url}/api/v1/auth/me`, { headers });
        assert.equal((await (await asToken()).json()).email, "admin@zeta.example");
        await page.reload();
        await page.getByRole("row", { name: /laptop.*change settings and keys/ }).waitFor();
        assert.equal(await secret.count(), 0);
        await shot(page, "tokens");
        await page.getByRole("button", { name: "Delete token laptop" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("No tokens").waitFor();
        assert.equal((await asToken()).status, 401);
        await close(page);
    });

    test("an admin of the platform sees a user's tokens and deletes one", async () => {
        const own = await openAs(browser, server, "admin@zeta.example", "/account", {});
        await own.getByRole("button", { name: "New token" }).click();
        await own.getByRole("dialog").getByLabel("Name").fill("forgotten");
        await own.getByRole("button", { name: "Create token" }).click();
        await own.getByText(/^mst_pat_/).waitFor();
        const page = await openAs(browser, server, "ada@example.org", "/platform?tab=users", {});
        await page.getByRole("button", { name: "Tokens of admin@zeta.example" }).click();
        await page.getByRole("button", { name: "Delete token forgotten" }).click();
        await page.getByRole("dialog", { name: "Delete forgotten?" }).getByRole("button", { name: "Delete" }).click();
        await page.getByRole("dialog").getByText("No tokens").waitFor();
        await close(page);
        await close(own);
    });

    test("a workspace is closed to members of another", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/acme-sohne/runs", {});
        await page.getByRole("alert").waitFor();
        await close(page);
    });

    test("colours follow the system until a person chooses", async () => {
        const page = await openAs(browser, server, "admin@zeta.example", "/t/zeta/runs", {});
        const background = () =>
            page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        const light = await background();
        await page.emulateMedia({ colorScheme: "dark" });
        const dark = await background();
        assert.notEqual(dark, light);
        await page.getByRole("button", { name: "Colours: system" }).click();
        assert.equal(await background(), light);
        await page.reload();
        await page.getByRole("button", { name: "Colours: light" }).click();
        assert.equal(await background(), dark);
        await page.context().close();
    });
});
