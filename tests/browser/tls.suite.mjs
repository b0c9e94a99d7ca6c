// The portal over the service's own TLS, with a certificate of a test's authority.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { close, launchBrowser, openBrowser, openPage, PASSWORD, Server, shot } from "./muster.mjs";
import { fill, heading, signedIn, signIn } from "./portal.mjs";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const openssl = (...words) => execFileSync("openssl", words, { stdio: "pipe" });

let folder, server, browser;
const file = (name) => join(folder, name);

/** A certificate for localhost by the authority, under this name, in place of the one before. */
function issue(name) {
    openssl("req", ...KEY, "-keyout", file("new.key"), "-out", file("new.csr"), "-subj", `/CN=${name}`);
    writeFileSync(file("names"), "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n");
    openssl(
        ...["x509", "-req", "-in", file("new.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
        ...["-CAcreateserial", "-days", "30", "-extfile", file("names"), "-out", file("new.pem")],
    );
    appendFileSync(file("new.pem"), readFileSync(file("ca.pem"))); // the whole chain
    renameSync(file("new.key"), file("key.pem"));
    renameSync(file("new.pem"), file("cert.pem"));
}

/** A browser that accepts chains with this authority's key, and no other unknown one. */
function browserThatTrusts(authority) {
    const { publicKey } = new X509Certificate(readFileSync(authority));
    const key = publicKey.export({ type: "spki", format: "der" });
    const digest = createHash("sha256").update(key).digest("base64");
    return launchBrowser([`--ignore-certificate-errors-spki-list=${digest}`]);
}

/** The name in the certificate that a new connection is shown. */
async function nameShown() {
    const page = await openPage(browser, server);
    const answer = await page.goto(server.url);
    const details = await answer.securityDetails();
    await close(page);
    return details.subjectName;
}

describe("the portal over TLS", () => {
    before(async () => {
        folder = mkdtempSync(join(tmpdir(), "muster-tls-"));
        openssl(
            ...["req", "-x509", ...KEY, "-keyout", file("ca.key"), "-out", file("ca.pem")],
            ...["-days", "30", "-subj", "/CN=authority of a test"],
        );
        issue("first");
        server = await Server.start(["--tls-cert", file("cert.pem"), "--tls-key", file("key.pem")]);
        server.url = server.url.replace("http://127.0.0.1", "https://localhost");
        server.addTenant("acme");
        browser = await browserThatTrusts(file("ca.pem"));
    });

    after(async () => {
        await browser?.close();
        await server?.stop();
        rmSync(folder, { recursive: true, force: true });
    });

    test("a person signs in, with a cookie that leaves only over TLS", async () => {
        const page = await openPage(browser, server);
        const answer = await page.goto(`${server.url}/#/t/acme/runs`);
        const details = await answer.securityDetails();
        assert.deepEqual([details.protocol, details.subjectName], ["TLS 1.3", "first"]);
        await signIn(page, "admin@acme.example", PASSWORD);
        await heading(page, "Runs").waitFor();
        const [cookie] = await page.context().cookies();
        assert.deepEqual([cookie.name, cookie.secure], ["__Host-muster_session", true]);
        await shot(page, "tls");
        await page.reload();
        await heading(page, "Runs").waitFor();
        await close(page);
    });

    test("a new certificate is shown to new connections, and an open page goes on", async () => {
        const page = await openPage(browser, server);
        await page.goto(server.url);
        await fill(page, { "E-mail": "admin@acme.example", Password: PASSWORD });
        issue("second");
        server.process.kill("SIGHUP");
        const latest = Date.now() + 120_000;
        while ((await nameShown()) !== "second") assert.ok(Date.now() < latest, "still the first");
        await page.keyboard.press("Enter");
        await signedIn(page);
        await close(page);
    });

    test("a browser that does not know the authority does not open it", async () => {
        const page = await (await openBrowser()).newPage();
        await assert.rejects(page.goto(server.url), /ERR_CERT_AUTHORITY_INVALID/);
        await page.close();
    });
});
