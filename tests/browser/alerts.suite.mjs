// An agent falls silent: its alert opens, is acknowledged or muted, and closes.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { Clock, close, openAs, openBrowser, Person, Server, shot } from "./muster.mjs";

let server, browser, tenant, clock;
const HOUR = 3600;

describe("alerts", () => {
    before(async () => {
        clock = new Clock();
        const local = ["--webhook-allow-http", "1", "--webhook-allow-private", "1"];
        server = await Server.start(local, clock.environment);
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        for (const agent_name of ["poller", "sweeper"])
            await server.send(tenant, "/api/v1/agents/register", { agent_name, interval_seconds: HOUR });
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const open = (hash) => openAs(browser, server, tenant.email, hash);
    const rows = (page) => page.locator(".alert");

    test("a silent agent opens an alert without a reload; it is acknowledged, and closes", async () => {
        await sendRuns(server, tenant, runsOf("poller", 2));
        const page = await open("/t/acme/alerts");
        await page.getByText("No open alerts").waitFor();
        clock.advance(2 * HOUR); // no reload from here on
        await rows(page).getByText("Silent agent").waitFor();
        await page.getByRole("link", { name: "Alerts 1" }).waitFor(); // in the navigation
        await page.getByRole("button", { name: "Acknowledge" }).click();
        await page.getByText("Acknowledged by admin@acme.example").waitFor();
        await shot(page, "alerts");
        await sendRuns(server, tenant, runsOf("poller", 1));
        await page.getByText("No open alerts").waitFor();
        await page.getByRole("link", { name: "History" }).click();
        await page.getByText("it reported again after 2 h").waitFor();
        await rows(page).getByRole("link", { name: "poller" }).click();
        await page.getByRole("heading", { name: "poller" }).waitFor();
        await close(page);
    });

    test("a muted agent's alert says that no notification was sent", async () => {
        const page = await open("/t/acme/agents/sweeper");
        await sendRuns(server, tenant, runsOf("sweeper", 1));
        await page.getByLabel("Mute sweeper").click();
        await page.getByRole("button", { name: "For a day" }).click();
        await page.getByText("Muted, ends in").waitFor();
        await page.reload();
        await page.getByText("Muted, ends in").waitFor(); // the service has stored it
        clock.advance(2 * HOUR);
        await page.goto(`${server.url}/#/t/acme/alerts`);
        await page.getByText("Muted: no notification was sent").waitFor();
        const mute = page.getByRole("button", { name: "Mute sweeper" });
        await mute.click();
        await page.getByRole("button", { name: "Unmute" }).click();
        await mute.click();
        await page.getByRole("button", { name: "For a week" }).click();
        await page.locator(".alert").getByText("Muted", { exact: true }).waitFor();
        await page.goto(`${server.url}/#/t/acme/agents/sweeper`);
        await page.getByText("Muted, ends in").click();
        await page.getByRole("button", { name: "Unmute" }).click();
        await page.getByLabel("Mute sweeper").waitFor();
        await close(page);
    });

    test("rules are saved, and open alerts for a failed run and a KPI", async () => {
        const page = await open("/t/acme/alerts?tab=rules");
        await page.getByRole("switch", { name: "Failed runs" }).click();
        await page.getByRole("switch", { name: "Failed runs", checked: true }).waitFor();
        await page.getByRole("button", { name: "Watch a KPI" }).click();
        await page.getByLabel("KPI key", { exact: true }).fill("invoices");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.locator('[aria-invalid="true"]').waitFor(); // a rule needs a bound
        await page.getByLabel("Alert above").fill("10");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.getByText("above 10 over the last 24 hours, all agents").waitFor();
        await page.getByRole("button", { name: "Set a budget" }).click();
        await page.getByLabel("US dollars").fill("25.00");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.getByText("$25.00").waitFor();
        await shot(page, "rules");
        const [run] = runsOf("poller", 1, clock.now());
        await sendRuns(server, tenant, [{ ...run, status: "failed" }]);
        await server.send(tenant, "/api/v1/telemetry/business", {
            agent_name: "poller",
            run_id: run.id,
            timestamp: new Date(clock.now() - 60_000).toISOString(),
            metrics: { invoices: 12 },
        });
        clock.advance(120); // rules are evaluated once a minute
        await page.getByRole("link", { name: "Open" }).click();
        await page.getByText("last 24 h: 12 (limit 10)").waitFor();
        await page.getByRole("link", { name: "History" }).click();
        await page.getByText("UpstreamTimeout").waitFor();
        await page.goto(`${server.url}/#/t/acme/alerts?tab=rules`);
        await page.getByRole("button", { name: "Remove invoices" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
        await page.getByText("No KPI rules yet").waitFor();
        await close(page);
    });

    test("a failed delivery is in the log of its webhook, and is retried by hand", async (t) => {
        let status = 500;
        const receiver = createServer((request, reply) => reply.writeHead(status).end());
        await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
        t.after(() => {
            receiver.closeAllConnections();
            receiver.close();
        });
        const person = await Person.signIn(server, tenant.email);
        await person.ask("PUT", "/api/v1/tenants/acme/rules", { run_failed: true });
        await person.ask("POST", "/api/v1/tenants/acme/webhooks", {
            url: `http://127.0.0.1:${receiver.address().port}/pager`,
            label: "pager",
            types: ["run.failed"],
        });
        const page = await open("/t/acme/alerts?tab=webhooks");
        await page.getByRole("button", { name: "Delivery log" }).click();
        await page.getByText("No deliveries yet").waitFor();
        const [run] = runsOf("poller", 1, clock.now());
        await sendRuns(server, tenant, [{ ...run, status: "failed" }]);
        await page.locator("tbody").getByText(/^1 attempt, /).waitFor();
        status = 204;
        await page.getByRole("button", { name: "Retry now" }).click();
        await page.locator("tbody").getByText("Delivered").waitFor();
        await shot(page, "webhook-log");
        await close(page);
    });
});
