// Signing in by an identity provider: on its own pages, and back to the page that was asked for.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import { close, openAs, openBrowser, openPage, Server, shot } from "./muster.mjs";
import { ROOT } from "./root.mjs";

const FOLDER = join(ROOT, "tests/oidc");
const ADA = { email: "ada@corp.example", email_verified: true, groups: ["operators"] };
const BOB = { email: "bob@corp.example", email_verified: true, groups: ["clerks"] };
const EVE = { email: "eve@corp.example", email_verified: true, groups: ["visitors"] };

const ROOT_ADMIN = "root@example.org";

let server, browser, provider, issuer;

async function startProvider(redirectUri) {
    execFileSync(join(ROOT, "scripts/npm_ci"), [FOLDER], { stdio: "ignore" });
    provider = spawn("node", [join(FOLDER, "provider.mjs"), redirectUri], {
        stdio: ["pipe", "pipe", "ignore"],
    });
    issuer = await new Promise((resolve, reject) => {
        createInterface({ input: provider.stdout }).once("line", (line) =>
            resolve(line.replace("issuer ", "")),
        );
        provider.once("exit", () => reject(new Error("the provider did not start")));
    });
}

async function setProvider(wishes) {
    const reply = await fetch(`${issuer}/test/set`, {
        method: "POST",
        body: JSON.stringify(wishes),
    });
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

async function signInThere(page, login) {
    await page.locator("input[name=login]").fill(login);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await page.getByRole("button", { name: "Continue" }).click();
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
        const button = page.getByRole("button", { name: "Sign in with Example Corp" });
        await button.waitFor();
        await shot(page, "sign-in-provider");
        await button.click();
        await signInThere(page, "ada");
        await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
        assert.equal(page.url(), `${server.url}/#/t/acme/runs?status=failed`);
        await page.reload(); // the session is a cookie like any other
        await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
        await page.getByRole("button", { name: `Account and help: ${ADA.email}` }).click();
        await page.getByRole("button", { name: "Sign out", exact: true }).click();
        await page.getByRole("button", { name: "Yes, sign me out" }).click(); // the provider asks
        await page.waitForURL(`${issuer}/session/end/success*`);
        await page.goto(server.url);
        await page.getByRole("button", { name: "Sign in with Example Corp" }).click();
        await page.locator("input[name=login]").waitFor(); // it knows the person no longer
        await closeBoth(page);
    });

    test("a provider that is away keeps no person from signing out here", async () => {
        const page = await openBoth();
        await page.goto(server.url);
        await page.getByRole("button", { name: "Sign in with Example Corp" }).click();
        await signInThere(page, "ada");
        await page.getByRole("button", { name: `Account and help: ${ADA.email}` }).click();
        await page.route("**/api/v1/auth/oidc/sign-out", (route) => route.abort());
        await page.getByRole("button", { name: "Sign out", exact: true }).click();
        await page.getByRole("button", { name: "Sign in with Example Corp" }).waitFor();
        assert.equal((await page.request.get(`${server.url}/api/v1/auth/me`)).status(), 401);
        await closeBoth(page);
    });

    test("a platform admin sees and changes which groups give which role", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, "/platform?tab=groups");
        const row = (name) => page.getByRole("row", { name });
        const inDialog = (name) => page.getByRole("dialog").getByRole("button", { name });
        await page.getByText("People sign in by Example Corp, or with a password").waitFor();
        await row(/operators.*admin.*acme/).waitFor();
        await page.getByRole("button", { name: "Add group" }).click();
        await page.getByLabel("Group", { exact: true }).fill("clerks");
        await inDialog("Add").click();
        await row(/clerks.*member.*acme/).waitFor();
        await page.getByRole("button", { name: "Add group" }).click();
        await page.getByLabel("Group", { exact: true }).fill("it");
        await page.getByRole("combobox", { name: "Role" }).selectOption("platform_admin");
        assert.equal(await page.getByLabel("Workspace").and(page.locator("dialog select")).count(), 0);
        await inDialog("Add").click();
        await row(/it.*platform admin.*the platform/).waitFor();
        await shot(page, "platform-groups");
        const clerk = await openBoth();
        await clerk.goto(server.url);
        await clerk.getByRole("button", { name: "Sign in with Example Corp" }).click();
        await signInThere(clerk, "bob");
        await clerk.getByRole("navigation", { name: "Pages" }).waitFor();
        await closeBoth(clerk);
        await page.getByRole("button", { name: "Remove it from the platform" }).click();
        await inDialog("Remove").click();
        await row(/it.*platform admin/).waitFor({ state: "detached" });
        await close(page);
    });

    test("who has no role here is told so, and cancelling is told in our words", async () => {
        const page = await openBoth();
        await page.goto(server.url);
        await page.getByRole("button", { name: "Sign in with Example Corp" }).click();
        await signInThere(page, "eve");
        await page.getByText("None of your groups has a role here").waitFor();
        assert.equal(page.url(), `${server.url}/`);
        await shot(page, "sign-in-refused");
        await page.goto(`${server.url}/oidc/callback?error=access_denied&error_description=Pay+me`);
        await page.getByText("did not let you sign in").waitFor();
        assert.equal(await page.getByText("Pay me").count(), 0);
        await closeBoth(page);
    });
});
