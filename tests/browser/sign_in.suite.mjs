// From a new service to a person who uses it: set-up, the first workspace, signing in and out.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import jsQR from "jsqr";

import { MailServer } from "./mail.mjs";
import { close, openAs, openBrowser, openPage, PASSWORD, request, Server, shot } from "./muster.mjs";
import { button, dialogOf, fill, form, gone, heading, sees, signedIn, signIn, use } from "./portal.mjs";
import { codeOf } from "./totp.mjs";

const ADMIN = "admin@zeta.example";
const LOOKS = ["light", "dark"].flatMap((scheme) => [1280, 380].map((width) => [scheme, width]));

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

async function look(page, [colorScheme, width]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 860 });
}

describe("set-up and sign-in", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
    });

    after(() => server?.stop());

    /** A page of a person who is not signed in. */
    async function visit(path, options) {
        const page = await openPage(browser, server, options);
        await page.goto(path.startsWith("http") ? path : `${server.url}${path}`);
        return page;
    }
    const account = () => openAs(browser, server, ADMIN, "/account", {});

    test("the link that a new service prints creates the first admin and a workspace", async () => {
        const link = server.lines.join("\n").match(/\S*(\/#\/setup\?code=\S+)/);
        assert.ok(link, `no link in: ${server.lines.join("\n")}`);
        const page = await visit("/");
        await sees(page, "There are no accounts yet");
        await page.goto(server.url + link[1]);
        await heading(page, "Set up muster").waitFor();
        await fill(page, { "E-mail": "ada@example.org", Password: "password1234" });
        await shot(page, "set-up");
        await use(page, "Create account");
        await page.locator("[aria-invalid]").waitFor(); // a common password
        await fill(page, { Password: PASSWORD });
        await use(page, "Create account");
        await heading(page, "Create the first workspace").waitFor();
        await page.waitForFunction(() => document.activeElement?.matches("input"));
        await page.keyboard.type("Acme & Söhne"); // what is typed goes into the first field
        assert.equal(await page.getByLabel("Slug").inputValue(), "acme-sohne");
        await shot(page, "first-workspace");
        await use(page, "Create workspace");
        await page.waitForURL(/#\/t\/acme-sohne\/overview$/);
        await page.locator(".tenant", { hasText: "Acme & Söhne" }).waitFor(); // not its slug
        await close(page);
        const stranger = await visit(link[1]);
        await sees(stranger, "This set-up link was used");
        assert.equal(await heading(stranger, "Set up muster").count(), 0);
        await close(stranger);
    });

    test("a wrong password is an error, the right one opens the page of the link", async () => {
        server.addTenant("zeta");
        const page = await visit("/#/t/zeta/runs?status=failed");
        await fill(page, { "E-mail": ADMIN, Password: "certainly not this one" });
        await use(page, "Sign in");
        await page.getByRole("alert").waitFor();
        await fill(page, { Password: PASSWORD });
        await page.keyboard.press("Enter");
        await heading(page, "Runs").waitFor();
        assert.match(page.url(), /#\/t\/zeta\/runs\?status=failed$/);
        await close(page);
    });

    test("signing out ends the session, and an ended session asks for the password again", async () => {
        const page = await openAs(browser, server, ADMIN, "/t/zeta/runs", {});
        const cookies = await page.context().cookies();
        assert.ok(cookies.every((one) => one.httpOnly && one.sameSite === "Strict"));
        await use(page, /^Account and help/, "Sign out");
        await server.forgetSessions();
        await button(page, "Sign in").waitFor();
        await page.context().addCookies(cookies); // the server has ended the session, too
        await page.reload();
        await button(page, "Sign in").waitFor();
        await signIn(page, ADMIN, PASSWORD);
        await signedIn(page);
        await page.context().clearCookies();
        await page.goto(`${server.url}/#/t/zeta/fleet`); // unless the stream has shown it already
        await sees(page, "Your session has ended");
        await close(page);
    });

    test("a person sees where they are signed in, and signs out elsewhere", async () => {
        const userAgent = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0";
        const elsewhere = await visit("/#/t/zeta/runs", { userAgent });
        await signIn(elsewhere, ADMIN, PASSWORD);
        await signedIn(elsewhere);
        const page = await account();
        await page.getByRole("cell", { name: "this browser" }).waitFor();
        await shot(page, "sessions");
        await page.getByRole("button", { name: /^Sign out Firefox on Linux, 127/ }).first().click();
        await use(dialogOf(page), "Sign out");
        await gone(page, "Firefox on Linux");
        await elsewhere.goto(`${server.url}/#/t/zeta/fleet`);
        await sees(elsewhere, "Your session has ended");
        await close(elsewhere);
        await close(page);
    });

    test("an invited person chooses a password, and a used link says so", async () => {
        const page = await openAs(browser, server, ADMIN, "/t/zeta/settings", {});
        const may = "can view, acknowledge, mute and plan maintenance";
        await use(page, "Invite");
        await fill(page, { "E-mail": "new@zeta.example" });
        const role = await page.getByLabel("Role", { exact: true }).locator("option:checked").innerText();
        assert.equal(role, "Member: can view, acknowledge, mute");
        await sees(page, `Members ${may}, and set the configuration values`);
        await use(dialogOf(page), "Invite");
        const link = await page.locator(".once code").innerText();
        await heading(page, "Open invitations").waitFor();
        await shot(page, "invitation");
        await close(page);
        const guest = await visit(link);
        await sees(guest, heading(guest, "Welcome to muster"), "new@zeta.example is invited", `(member: ${may})`);
        await shot(guest, "accept-invitation");
        await fill(guest, { Password: "password1234" });
        await use(guest, "Create account");
        await guest.locator("[aria-invalid]").waitFor(); // a common password
        await fill(guest, { Password: PASSWORD });
        await use(guest, "Create account");
        await signedIn(guest);
        assert.ok(!guest.url().includes("token"), "the token is not in the address any longer");
        await guest.goto(link);
        await sees(guest, heading(guest, "This link does not work"), "This link was used already");
        await guest.context().close();
    });

    test("a reset link sets a new password", async () => {
        const email = "new@zeta.example";
        const page = await openAs(browser, server, "ada@example.org", "/platform?tab=users", {});
        await form(page, `Reset password of ${email}`, {}, "Create link");
        const guest = await visit(await page.locator(".once code").innerText());
        await close(page);
        await heading(guest, "Choose a new password").waitFor();
        await fill(guest, { Password: `${PASSWORD} again` });
        await use(guest, "Set password");
        await signedIn(guest);
        await close(guest);
    });

    test("without a mail server, who forgot the password is told whom to ask", async () => {
        const guest = await visit("/");
        await guest.getByRole("link", { name: "Forgot your password?" }).click();
        await sees(guest, "Ask a platform admin or the operator of the service");
        await shot(guest, "forgot-no-mail");
        await guest.getByRole("link", { name: "Back to sign-in" }).click();
        await button(guest, "Sign in").waitFor();
        await close(guest);
    });

    test("a person who forgot the password chooses a new one by mail", async () => {
        const mail = await MailServer.start();
        const where = ["--public-url", "http://muster.example", "--smtp-from", "muster@example.org"];
        const mailing = await Server.start(["--smtp-url", mail.url, ...where]);
        mailing.addTenant("zeta");
        const guest = await openPage(browser, mailing);
        await guest.goto(`${mailing.url}/#/forgot`);
        await fill(guest, { "E-mail": ADMIN });
        for (const one of LOOKS) {
            await look(guest, one);
            await shot(guest, `forgot-${one.join("-")}`);
        }
        await use(guest, "Send link");
        await sees(guest, `If there is an account for ${ADMIN}`);
        await shot(guest, "forgot-sent");
        const link = /http:\/\/muster\.example(\/#\/link\?token=\S+)/.exec(await mail.next());
        await guest.goto(mailing.url + link[1]);
        await fill(guest, { Password: `${PASSWORD} anew` });
        await use(guest, "Set password");
        await signedIn(guest);
        await close(guest);
        mail.stop();
        await mailing.stop();
    });

    test("a second factor is added, asked for at sign-in, and removed", async () => {
        const page = await account();
        const password = { "Current password": PASSWORD };
        await form(page, "Add a second factor", password, "Continue");
        const key = (await page.locator(".secret code").innerText()).replaceAll(" ", "");
        await page.getByRole("img", { name: "QR code" }).waitFor();
        const uri = `otpauth://totp/muster:admin%40zeta.example?secret=${key}&issuer=muster`;
        for (const one of LOOKS) {
            await look(page, one);
            assert.equal(await scan(page, ".qr"), uri, `${one}`);
            await shot(page, `second-factor-${one.join("-")}`);
        }
        await page.getByLabel("Code", { exact: true }).fill(codeOf(key, Math.floor(Date.now() / 30_000)));
        await use(page, "Turn on");
        await sees(page, "Your recovery codes");
        const [recovery] = (await page.locator(".secret code").innerText()).split(" ");
        await sees(page, "10 recovery codes left");
        const guest = await visit("/");
        await signIn(guest, ADMIN, PASSWORD);
        await guest.getByLabel("Code").waitFor();
        assert.equal(await guest.getByText("a recovery code, is needed").count(), 1, "said once, at its field");
        await guest.getByLabel("Code").fill("000000");
        await shot(guest, "sign-in-code");
        await guest.keyboard.press("Enter");
        await sees(guest, "Wrong code");
        await guest.getByLabel("Code").fill(recovery);
        await guest.keyboard.press("Enter");
        await signedIn(guest);
        await guest.context().close();
        await form(page, "Remove", password, "Continue");
        await button(page, "Add a second factor").waitFor();
        await close(page);
    });

    test("a person creates a token, sees it once, and deletes it", async () => {
        const page = await account();
        const dialog = dialogOf(page);
        await form(page, "New token", {}, "Create token"); // it needs a name
        await fill(dialog, { Name: "laptop", "It may": "admin", "Expires after": "7" });
        assert.equal(await dialog.getByRole("option", { name: /All that you/ }).count(), 0);
        await use(dialog, "Create token");
        const secret = page.getByText(/^mst_pat_\w{36}$/);
        await secret.waitFor();
        const headers = { Authorization: `Bearer ${await secret.innerText()}` };
        const asToken = () => request(`${server.url}/api/v1/auth/me`, { headers });
        assert.equal((await (await asToken()).json()).email, ADMIN);
        await page.reload();
        await page.getByRole("row", { name: /laptop.*change settings and keys/ }).waitFor();
        assert.equal(await secret.count(), 0);
        await shot(page, "tokens");
        await form(page, "Delete token laptop", {}, "Delete");
        await sees(page, "No tokens");
        assert.equal((await asToken()).status, 401);
        await close(page);
    });

    test("an admin of the platform sees a user's tokens and deletes one", async () => {
        const own = await account();
        await form(own, "New token", { Name: "forgotten" }, "Create token");
        await sees(own, /^mst_pat_/);
        await close(own);
        const page = await openAs(browser, server, "ada@example.org", "/platform?tab=users", {});
        await use(page, `Tokens of ${ADMIN}`, "Delete token forgotten");
        await use(page.getByRole("dialog", { name: "Delete forgotten?" }), "Delete");
        await sees(dialogOf(page), "No tokens");
        await close(page);
    });

    test("a workspace is closed to members of another", async () => {
        const page = await openAs(browser, server, ADMIN, "/t/acme-sohne/runs", {});
        await page.getByRole("alert").waitFor();
        await close(page);
    });

    test("colours follow the system until a person chooses", async () => {
        const page = await openAs(browser, server, ADMIN, "/t/zeta/runs", {});
        const background = () =>
            page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        const light = await background();
        await page.emulateMedia({ colorScheme: "dark" });
        const dark = await background();
        assert.notEqual(dark, light);
        await use(page, /^Colours: system/);
        assert.equal(await background(), light);
        await page.reload();
        await use(page, /^Colours: light/);
        assert.equal(await background(), dark);
        await page.context().close();
    });
});
