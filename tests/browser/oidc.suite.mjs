// Signing in by an identity provider: on its own pages, and back to the page that was asked for.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import { close, openBrowser, openPage, Server, shot } from "./muster.mjs";
import { ROOT } from "./root.mjs";

const FOLDER = join(ROOT, "tests/oidc");
const ADA = { email: "ada@corp.example", email_verified: true, groups: ["operators"] };
const EVE = { email: "eve@corp.example", email_verified: true, groups: ["visitors"] };

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
        await setProvider({ people: { ada: ADA, eve: EVE } });
        server.addTenant("acme");
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
        await closeBoth(page);
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
