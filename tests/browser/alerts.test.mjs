// An agent falls silent: people see it, look after it, mute it, and see it end.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { Clock, openAs, openBrowser, Server, shot } from "./muster.mjs";

let server, browser, tenant, clock;
const HOUR = 3600;

before(async () => {
    clock = new Clock();
    server = await Server.start([], clock.environment);
    browser = await openBrowser();
    tenant = server.addTenant("acme");
    for (const agent_name of ["poller", "sweeper"])
        await server.send(tenant, "/api/v1/agents/register", { agent_name, interval_seconds: HOUR });
});

after(async () => {
    await browser?.close();
    await server?.stop();
    clock?.remove();
});

const open = (hash) => openAs(browser, server, tenant.email, hash);
const rows = (page) => page.locator(".alert");

test("a silent agent is an alert that comes by itself, is acknowledged, and ends", async () => {
    await sendRuns(server, tenant, runsOf("poller", 2));
    const page = await open("/t/acme/alerts");
    await page.getByText("Nothing is wrong").waitFor();
    clock.advance(2 * HOUR); // no reload from here on
    await rows(page).getByText("Silent agent").waitFor();
    await page.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("admin@acme.example looks after it").waitFor();
    await shot(page, "alerts");
    await sendRuns(server, tenant, runsOf("poller", 1));
    await page.getByText("Nothing is wrong").waitFor();
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText("it reported again, after 2 h").waitFor();
    await rows(page).getByRole("link", { name: "poller" }).click();
    await page.getByRole("heading", { name: "poller" }).waitFor();
    assert.deepEqual(page.troubles, []);
    await page.context().close();
});

test("a muted agent's alert says that nobody was told", async () => {
    const page = await open("/t/acme/agents/sweeper");
    await sendRuns(server, tenant, runsOf("sweeper", 1));
    await page.getByLabel("Mute sweeper").click();
    await page.getByRole("button", { name: "For a day" }).click();
    await page.getByText("Muted, ends").waitFor();
    await page.reload();
    await page.getByText("Muted, ends").waitFor(); // the service knows it
    clock.advance(2 * HOUR);
    await page.goto(`${server.url}/#/t/acme/alerts`);
    await page.getByText("muted: nobody was told").waitFor();
    await page.goto(`${server.url}/#/t/acme/agents/sweeper`);
    await page.getByRole("button", { name: "Unmute" }).click();
    await page.getByLabel("Mute sweeper").waitFor();
    assert.deepEqual(page.troubles, []);
    await page.context().close();
});
