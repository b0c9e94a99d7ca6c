// An agent falls silent: its alert opens, is acknowledged or muted, and closes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
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
        const business_kpis = [{ key: "invoices", label: "Invoices paid", unit: "money:EUR", agg: "sum" }];
        for (const agent_name of ["poller", "sweeper"])
            await server.send(tenant, "/api/v1/agents/register", {
                agent_name,
                interval_seconds: HOUR,
                ...(agent_name === "poller" && { business_kpis }),
            });
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
        await page.getByRole("button", { name: "Acknowledge", exact: true }).click();
        await rows(page).getByText("Acknowledged by admin@acme.example").waitFor();
        await page.getByText("1 open, 0 not acknowledged").waitFor();
        await page.getByRole("link", { name: "Alerts", exact: true }).waitFor(); // no badge
        await page.getByRole("button", { name: "Note for poller" }).click();
        await page.getByRole("dialog").getByLabel("Note").fill("The cable is out");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await rows(page).getByText("The cable is out").waitFor();
        await page.getByRole("button", { name: "Take back" }).click();
        await page.getByText("1 open, 1 not acknowledged").waitFor();
        await page.getByRole("button", { name: "History of poller" }).click();
        await rows(page).getByText("Acknowledgement taken back by admin@acme.example").waitFor();
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
        await page.getByRole("switch", { name: "Failed runs", checked: true }).click(); // as nothing was set
        await page.getByRole("switch", { name: "Failed runs", checked: false }).click();
        await page.getByRole("switch", { name: "Failed runs", checked: true }).waitFor();
        await page.getByRole("button", { name: "Watch a KPI" }).click();
        await page.getByLabel("KPI key", { exact: true }).fill("invoices");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.locator('[aria-invalid="true"]').waitFor(); // a rule needs a bound
        await page.getByLabel("Alert above").fill("10");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.getByText("above €10.00 over the last 24 hours, all agents").waitFor();
        await page.getByRole("button", { name: "Set a budget" }).click();
        await page.getByLabel("US dollars").fill("25.00");
        await page.getByLabel("When it is exceeded").selectOption("Alert, and stop agents");
        await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
        await page.getByText("$25.00 per day, stops agents").waitFor();
        await shot(page, "rules");
        const failed = runsOf("poller", 3, clock.now()).map((run) => ({ ...run, status: "failed" }));
        await sendRuns(server, tenant, failed);
        await server.send(tenant, "/api/v1/telemetry/business", {
            agent_name: "poller",
            run_id: failed[0].id,
            timestamp: new Date(clock.now() - 60_000).toISOString(),
            metrics: { invoices: 12 },
        });
        clock.advance(120); // rules are evaluated once a minute
        await page.getByRole("link", { name: "Open", exact: true }).click();
        const text = rows(page).getByText("Invoices paid, last 24 h: €12.00 (limit €10.00)");
        const kind = await rows(page).getByText("KPI out of limits").boundingBox();
        assert.ok((await text.boundingBox()).x > kind.x + kind.width, "the text is beside its kind");
        await rows(page).getByText(/3 of the last 6 runs .50.%./).waitFor();
        await page.getByRole("link", { name: "History" }).click();
        await page.getByText("UpstreamTimeout").first().waitFor();
        await page.goto(`${server.url}/#/t/acme/alerts?tab=rules`);
        await page.getByRole("button", { name: "Remove Invoices paid" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
        await page.getByText("No KPI rules yet").waitFor();
        await close(page);
    });

    test("rules for runs are added, changed, paused and resumed, and reminders set", async () => {
        const page = await open("/t/acme/alerts?tab=rules");
        const dialog = page.getByRole("dialog");
        await page.getByRole("button", { name: "Watch failures" }).click();
        await dialog.getByLabel("Agent").fill("poller");
        await dialog.getByLabel("Alert above").fill("a third");
        await dialog.getByRole("button", { name: "Add" }).click();
        await dialog.locator('[aria-invalid="true"]').waitFor();
        await dialog.getByLabel("Alert above").fill("25");
        await dialog.getByRole("button", { name: "Add" }).click();
        await page.getByText("of the last 20 runs failed, agent poller").waitFor();
        await page.getByRole("button", { name: "Watch durations" }).click();
        await dialog.getByLabel("Alert above").fill("300");
        await dialog.getByRole("button", { name: "Add" }).click();
        await page.getByText("95th percentile of the last 20 runs, all agents").waitFor();
        await page.getByRole("button", { name: "Pause Above 25 %" }).click();
        await page.getByText("Paused", { exact: true }).waitFor();
        await page.getByRole("button", { name: "Change Above 25 %" }).click();
        await dialog.getByLabel("Alert above").fill("30");
        await dialog.getByRole("button", { name: "Save" }).click();
        await page.getByRole("button", { name: "Resume Above 30 %" }).click();
        await page.getByText("Paused", { exact: true }).waitFor({ state: "detached" });
        await page.getByLabel("Reminders").selectOption("Every 6 hours");
        const person = await Person.signIn(server, tenant.email);
        const saved = async () => (await person.ask("GET", "/api/v1/tenants/acme/rules")).reminder_hours;
        while ((await saved()) !== 6) await page.waitForTimeout(50);
        await close(page);
    });

    test("alerts of many agents are grouped, filtered, and acknowledged together", async () => {
        const names = Array.from({ length: 8 }, (_, i) => `fleet-${i}`);
        for (const agent_name of names) {
            await server.send(tenant, "/api/v1/agents/register", { agent_name, interval_seconds: HOUR });
            await sendRuns(server, tenant, runsOf(agent_name, 1, clock.now()));
        }
        clock.advance(2 * HOUR);
        const page = await open("/t/acme/alerts?type=agent.silent");
        const group = page.locator(".alert-group");
        await group.getByRole("button", { name: /^Show all/ }).click();
        for (const name of names) await group.getByRole("link", { name, exact: true }).waitFor();
        await shot(page, "alerts-grouped");
        await page.getByLabel("Agent", { exact: true }).fill("fleet-3");
        await page.waitForFunction(() => document.querySelectorAll(".alert").length === 1);
        await page.getByRole("button", { name: "Clear Agent" }).click();
        await page.getByRole("button", { name: /^Acknowledge all/ }).click();
        await page.getByRole("dialog").getByLabel("Note").fill("Power cut");
        await page.getByRole("dialog").getByRole("button", { name: "Acknowledge" }).click();
        await page.getByLabel("Acknowledged").selectOption("Not acknowledged");
        await page.getByText("No alerts match these filters").waitFor();
        await page.getByLabel("Acknowledged").selectOption("Acknowledged");
        await rows(page).getByText("Power cut").first().waitFor();
        await page.getByLabel("Groups").selectOption("By agent");
        await group.getByRole("heading", { name: "fleet-3 1" }).waitFor();
        await close(page);
    });

    test("an exceeded hard budget says who is told to stop, and what the forecast is", async () => {
        server.cli(["price", "set", "dear", "--input", "1000", "--output", "0"]);
        await server.send(tenant, "/api/v1/telemetry/llm", {
            agent_name: "poller",
            run_id: randomUUID(),
            model: "dear",
            timestamp: new Date(clock.now()).toISOString(),
            input_tokens: 50_000,
        });
        const person = await Person.signIn(server, tenant.email);
        const budgets = [{ amount: "25.00", per: "month", agent_name: "poller", hard: true }];
        await person.ask("PUT", "/api/v1/tenants/acme/rules", { budgets });
        const page = await open("/t/acme/alerts?type=budget.exceeded");
        const stopped = rows(page).getByText(
            "Model cost of poller this month: $50.00, over the monthly budget of $25.00; the agent is told to stop",
        );
        do clock.advance(61); // rules are evaluated once a minute
        while (!(await stopped.waitFor({ timeout: 3000 }).then(() => true, () => false)));
        await page.goto(`${server.url}/#/t/acme/alerts?type=budget.forecast`);
        await rows(page).getByText(/by the end of this month: \$50\.00 at the present rate/).waitFor();
        await person.ask("PUT", "/api/v1/tenants/acme/rules", {});
        await close(page);
    });

    test("the KPIs that a list of alerts is about are loaded once, and only for such alerts", async () => {
        const keys = ["drafts", "letters", "parcels"];
        const business_kpis = keys.map((key) => ({ key, label: `Number of ${key}`, unit: "count", agg: "sum" }));
        await server.send(tenant, "/api/v1/agents/register", { agent_name: "counter", business_kpis });
        await server.send(tenant, "/api/v1/telemetry/business", {
            agent_name: "counter",
            run_id: randomUUID(),
            timestamp: new Date(clock.now() - 60_000).toISOString(),
            metrics: Object.fromEntries(keys.map((key) => [key, 12])),
        });
        const person = await Person.signIn(server, tenant.email);
        const kpis = keys.map((key) => ({ key, agent_name: "counter", above: 10, range: "24h" }));
        await person.ask("PUT", "/api/v1/tenants/acme/rules", { kpis });
        const alerts = async () =>
            (await person.ask("GET", "/api/v1/tenants/acme/alerts?state=open&type=kpi.crossed")).alerts;
        while ((await alerts()).length < keys.length) {
            clock.advance(61); // rules are evaluated once a minute
            await new Promise((resolve) => setTimeout(resolve, 500));
        }
        const page = await open("/t/acme/alerts?type=agent.silent");
        let asked = 0;
        page.on("request", (request) => (asked += request.url().endsWith("/business/catalog") ? 1 : 0));
        for (const [place, expected] of [
            ["alerts?type=agent.silent", 0],
            ["alerts?type=kpi.crossed", 1],
            ["overview", 1],
            ["agents/counter?tab=alerts", 1],
        ]) {
            await page.goto("about:blank"); // what the page has loaded is forgotten
            asked = 0;
            await page.goto(`${server.url}/#/t/acme/${place}`);
            if (expected > 0)
                for (const key of keys) await page.getByText(`Number of ${key} of counter, last 24 h: 12`).waitFor();
            else await page.locator(".alert, .empty").first().waitFor();
            assert.equal(asked, expected, place);
        }
        await person.ask("PUT", "/api/v1/tenants/acme/rules", {});
        await close(page);
    });

    test("a failed delivery is in the log of its webhook, and is retried by hand", async (t) => {
        let status = 500;
        const later = { "Retry-After": "3600" }; // one attempt is what the log has to show
        const receiver = createServer((request, reply) => reply.writeHead(status, later).end());
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
