// Signing in by an identity provider: on its own pages, and back to the page that was asked for.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import { close, openAs, openBrowser, openPage, Server, shot } from "./muster.mjs";
import { dialogOf, fill, form, gone, heading, sees, signedIn, use } from "./portal.mjs";
import { ROOT } from "./root.mjs";

const FOLDER = join(ROOT, "tests/oidc");
const ADA = { email: "ada@corp.example", email_verified: true, groups: ["operators"] };
const BOB = { email: "bob@corp.example", email_verified: true, groups: ["clerks"] };
const EVE = { email: "eve@corp.example", email_verified: true, groups: ["visitors"] };

const ROOT_ADMIN = "root@example.org";

let server, browser, provider, issuer;

async function startProvider(redirectUri) {
    execFileSync(join(ROOT, "scripts/npm_ci"), [FOLDER], { stdio: "ignore" });
    const command = [join(FOLDER, "provider.mjs"), redirectUri];
    provider = spawn("node", command, { stdio: ["pipe", "pipe", "ignore"] });
    issuer = await new Promise((resolve, reject) => {
        const said = createInterface({ input: provider.stdout });
        said.once("line", (line) => resolve(line.replace("issuer ", "")));
        provider.once("exit", () => reject(new Error("the provider did not start")));
    });
}

async function setProvider(wishes) {
    const reply = await fetch(`${issuer}/test/set`, { method: "POST", body: JSON.stringify(wishes) });
    assert.ok(reply.ok);
}

/** A page that may also see the provider, and nothing else: its page asks for a font. */
async function openBoth() {
    const page = await openPage(browser, server);
    await page.context().route(
        (url) => ![server.url, issuer].includes(url.origin),
        (route) => route.abort(),
    );
    return page;
}

/** Only muster's own pages are judged here. */
async function closeBoth(page) {
    page.troubles = page.troubles.filter((one) => !one.startsWith("another host: "));
    await close(page);
}

/** From the sign-in, or from the page that is open, to the provider's own pages and back. */
async function signInThere(page, login) {
    await use(page, "Sign in with Example Corp");
    await page.locator("input[name=login]").fill(login);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await use(page, "Continue");
}

describe("sign-in by an identity provider", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
        await startProvider(`${server.url}/oidc/callback`);
        await setProvider({ people: { ada: ADA, bob: BOB, eve: EVE } });
        server.addTenant("acme");
        server.addUser(ROOT_ADMIN, "--role", "platform_admin");
        await server.end();
        server.settings = [
            ...["--public-url", server.url, "--oidc-issuer", issuer, "--oidc-client-id", "muster"],
            ...["--oidc-scopes", "openid email groups", "--oidc-name", "Example Corp"],
        ];
        await setProvider({ auth: "none" });
        await server.beginAgain();
        server.cli(["group", "add", "operators", "--tenant", "acme", "--role", "admin"]);
    });

    after(async () => {
        await server?.stop();
        provider?.stdin.end();
    });

    test("a person signs in there and lands on the page of the link", async () => {
        const page = await openBoth();
        await page.goto(`${server.url}/#/t/acme/runs?status=failed`);
        await page.getByRole("button", { name: "Sign in with Example Corp" }).waitFor();
        await shot(page, "sign-in-provider");
        await signInThere(page, "ada");
        await heading(page, "Runs").waitFor();
        assert.equal(page.url(), `${server.url}/#/t/acme/runs?status=failed`);
        await page.reload(); // the session is a cookie like any other
        await heading(page, "Runs").waitFor();
        await use(page, `Account and help: ${ADA.email}`, "Sign out", "Yes, sign me out"); // the provider asks
        await page.waitForURL(`${issuer}/session/end/success*`);
        await page.goto(server.url);
        await use(page, "Sign in with Example Corp");
        await page.locator("input[name=login]").waitFor(); // it knows the person no longer
        await closeBoth(page);
    });

    test("a provider that is away keeps no person from signing out here", async () => {
        const page = await openBoth();
        await page.goto(server.url);
        await signInThere(page, "ada");
        await page.route("**/api/v1/auth/oidc/sign-out", (route) => route.abort());
        await use(page, `Account and help: ${ADA.email}`, "Sign out");
        await page.getByRole("button", { name: "Sign in with Example Corp" }).waitFor();
        assert.equal((await page.request.get(`${server.url}/api/v1/auth/me`)).status(), 401);
        await closeBoth(page);
    });

    test("a platform admin sees and changes which groups give which role", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, "/platform?tab=groups");
        const row = (name) => page.getByRole("row", { name });
        await sees(page, "People sign in by Example Corp, or with a password", row(/operators.*admin.*acme/));
        await form(page, "Add group", { Group: "clerks" }, "Add");
        await row(/clerks.*member.*acme/).waitFor();
        await use(page, "Add group");
        await fill(dialogOf(page), { Group: "it", Role: "platform_admin" });
        assert.equal(await dialogOf(page).getByLabel("Workspace").and(page.locator("select")).count(), 0);
        await use(dialogOf(page), "Add");
        await row(/it.*platform admin.*the platform/).waitFor();
        await shot(page, "platform-groups");
        const clerk = await openBoth();
        await clerk.goto(server.url);
        await signInThere(clerk, "bob");
        await signedIn(clerk);
        await closeBoth(clerk);
        await form(page, "Remove it from the platform", {}, "Remove");
        await gone(page, row(/it.*platform admin/));
        await close(page);
    });

    test("who has no role here is told so, and cancelling is told in our words", async () => {
        const page = await openBoth();
        await page.goto(server.url);
        await signInThere(page, "eve");
        await sees(page, "None of your groups has a role here");
        assert.equal(page.url(), `${server.url}/`);
        await shot(page, "sign-in-refused");
        await page.goto(`${server.url}/oidc/callback?error=access_denied&error_description=Pay+me`);
        await sees(page, "did not let you sign in");
        assert.equal(await page.getByText("Pay me").count(), 0);
        await closeBoth(page);
    });
});
