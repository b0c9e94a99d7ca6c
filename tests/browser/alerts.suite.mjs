// An agent falls silent: its alert opens, is acknowledged or muted, and closes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { describe } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { runsOf } from "./fleet.mjs";
import { shot } from "./muster.mjs";
import { button, count, dialogOf, fill, form, link, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const HOUR = 3600;
const RULES = "/api/v1/tenants/acme/rules";
const local = ["--webhook-allow-http", "1", "--webhook-allow-private", "1"];
const w = new Suite("acme", { settings: local, clock: true });

describe("alerts", () => {
    w.begin(async () => {
        const business_kpis = [{ key: "invoices", label: "Invoices paid", unit: "money:EUR", agg: "sum" }];
        await w.register("poller", { interval_seconds: HOUR, business_kpis });
        await w.register("sweeper", { interval_seconds: HOUR });
    });

    const alerts = (page) => page.locator(".alert");
    const failed = (page, checked) => page.getByRole("switch", { name: "Failed runs", checked });

    w.test("a silent agent opens an alert without a reload; it is acknowledged, and closes", "alerts", async (page) => {
        await w.runs(runsOf("poller", 2));
        await sees(page, "No open alerts");
        w.clock.advance(2 * HOUR); // no reload from here on
        await sees(alerts(page), "Silent agent");
        await link(page, "Alerts 1").waitFor(); // in the navigation
        await use(page, "Acknowledge");
        await sees(alerts(page), "Acknowledged by admin@acme.example");
        await sees(page, "1 open, 0 not acknowledged");
        await link(page, "Alerts").waitFor(); // no badge
        await form(page, "Note for poller", { Note: "The cable is out" }, "Add");
        await sees(alerts(page), "The cable is out");
        await use(page, "Take back");
        await sees(page, "1 open, 1 not acknowledged");
        await use(page, "History of poller");
        await sees(alerts(page), "Acknowledgement taken back by admin@acme.example");
        await shot(page, "alerts");
        await w.runs(runsOf("poller", 1));
        await sees(page, "No open alerts");
        await link(page, "History").click();
        await sees(page, "it reported again after 2 h");
        await alerts(page).getByRole("link", { name: "poller" }).click();
        await page.getByRole("heading", { name: "poller" }).waitFor();
    });

    w.test("a muted agent's alert says that no notification was sent", "agents/sweeper", async (page) => {
        await w.runs(runsOf("sweeper", 1));
        await use(page, "Mute sweeper", "For a day");
        await sees(page, "Muted, ends in");
        await page.reload();
        await sees(page, "Muted, ends in"); // the service has stored it
        w.clock.advance(2 * HOUR);
        await w.go(page, "alerts");
        await sees(page, "Muted: no notification was sent");
        await use(page, "Mute sweeper", "Unmute", "Mute sweeper", "For a week");
        await alerts(page).getByText("Muted", { exact: true }).waitFor();
        await w.go(page, "agents/sweeper");
        await page.getByText("Muted, ends in").click();
        await use(page, "Unmute");
        await button(page, "Mute sweeper").waitFor();
    });

    w.test("rules are saved, and open alerts for a failed run and a KPI", "alerts?tab=rules", async (page) => {
        await failed(page, true).click(); // as nothing was set
        await failed(page, false).click();
        await failed(page, true).waitFor();
        await form(page, "Watch a KPI", { "KPI key": "invoices" }, "Add");
        await page.locator('[aria-invalid="true"]').waitFor(); // a rule needs a bound
        await fill(page, { "Alert above": "10" });
        await use(dialogOf(page), "Add");
        await sees(page, "above €10.00 over the last 24 hours, all agents");
        const budget = { "US dollars": "25.00", "When it is exceeded": "Alert, and stop agents" };
        await form(page, "Set a budget", budget, "Add");
        await sees(page, "$25.00 per day, stops agents");
        await shot(page, "rules");
        const runs = runsOf("poller", 3, w.clock.now()).map((run) => ({ ...run, status: "failed" }));
        await w.runs(runs);
        await w.business("poller", runs[0].id, w.clock.now() - 60_000, { invoices: 12 });
        w.clock.advance(120); // rules are evaluated once a minute
        await link(page, "Open").click();
        const text = alerts(page).getByText("Invoices paid, last 24 h: €12.00 (limit €10.00)");
        const kind = await alerts(page).getByText("KPI out of limits").boundingBox();
        assert.ok((await text.boundingBox()).x > kind.x + kind.width, "the text is beside its kind");
        await sees(alerts(page), /3 of the last 6 runs .50.%./);
        await link(page, "History").click();
        await sees(page, "UpstreamTimeout");
        await w.go(page, "alerts?tab=rules");
        await form(page, "Remove Invoices paid", {}, "Remove");
        await sees(page, "No KPI rules yet");
    });

    w.test("alerts of many agents are grouped, filtered, and acknowledged together", "overview", async (page) => {
        const names = Array.from({ length: 8 }, (_, i) => `fleet-${i}`);
        for (const name of names) await w.register(name, { interval_seconds: HOUR });
        await w.runs(names.flatMap((name) => runsOf(name, 1, w.clock.now())));
        w.clock.advance(2 * HOUR);
        await w.go(page, "alerts?type=agent.silent");
        const group = page.locator(".alert-group");
        await use(group, /^Show all/);
        await sees(group, ...names.map((name) => link(group, name)));
        await shot(page, "alerts-grouped");
        await fill(page, { Agent: "fleet-3" });
        await count(page, 1, ".alert");
        await use(page, "Clear Agent");
        await form(page, /^Acknowledge all/, { Note: "Power cut" }, "Acknowledge");
        await fill(page, { Acknowledged: "Not acknowledged" });
        await sees(page, "No alerts match these filters");
        await fill(page, { Acknowledged: "Acknowledged" });
        await sees(alerts(page), "Power cut");
        await fill(page, { Groups: "By agent" });
        await group.getByRole("heading", { name: "fleet-3 1" }).waitFor();
    });

    const exceeded = "alerts?type=budget.exceeded";
    w.test("an exceeded hard budget says who is told to stop, and what the forecast is", exceeded, async (page) => {
        w.cli("price", "set", "dear", "--input", "1000", "--output", "0");
        await w.usage("poller", randomUUID(), w.clock.now(), "dear", 50_000);
        const person = await w.person();
        const budgets = [{ amount: "25.00", per: "month", agent_name: "poller", hard: true }];
        await person.ask("PUT", RULES, { budgets });
        const stopped = alerts(page).getByText(
            "Model cost of poller this month: $50.00, over the monthly budget of $25.00; the agent is told to stop",
        );
        do w.clock.advance(61); // rules are evaluated once a minute
        while (!(await stopped.waitFor({ timeout: 3000 }).then(() => true, () => false)));
        await w.go(page, "alerts?type=budget.forecast");
        await sees(alerts(page), /by the end of this month: \$50\.00 at the present rate/);
        await person.ask("PUT", RULES, {});
    });

    const silent = "alerts?type=agent.silent";
    w.test("the KPIs that a list of alerts is about are loaded once, and only for such alerts", silent, async (page) => {
        const keys = ["drafts", "letters", "parcels"];
        const business_kpis = keys.map((key) => ({ key, label: `Number of ${key}`, unit: "count", agg: "sum" }));
        await w.register("counter", { business_kpis });
        const metrics = Object.fromEntries(keys.map((key) => [key, 12]));
        await w.business("counter", randomUUID(), w.clock.now() - 60_000, metrics);
        const person = await w.person();
        const kpis = keys.map((key) => ({ key, agent_name: "counter", above: 10, range: "24h" }));
        await person.ask("PUT", RULES, { kpis });
        const crossed = "/api/v1/tenants/acme/alerts?state=open&type=kpi.crossed";
        while ((await person.ask("GET", crossed)).alerts.length < keys.length) {
            w.clock.advance(61); // rules are evaluated once a minute
            await pause(500);
        }
        for (const [place, expected] of [
            [silent, 0],
            ["alerts?type=kpi.crossed", 1],
            ["overview", 1],
            ["agents/counter?tab=alerts", 1],
        ]) {
            await page.goto("about:blank"); // what the page has loaded is forgotten
            page.asked.length = 0;
            await w.go(page, place);
            const texts = keys.map((key) => `Number of ${key} of counter, last 24 h: 12`);
            await sees(page, ...(expected > 0 ? texts : [page.locator(".alert, .empty")]));
            assert.equal(page.asked.filter((url) => url.endsWith("/business/catalog")).length, expected, place);
        }
        await person.ask("PUT", RULES, {});
    });

    w.test("a failed delivery is in the log of its webhook, and is retried by hand", "overview", async (page) => {
        let status = 500;
        const later = { "Retry-After": "3600" }; // one attempt is what the log has to show
        const receiver = createServer((request, reply) => reply.writeHead(status, later).end());
        await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
        const person = await w.person();
        await person.ask("PUT", RULES, { run_failed: true });
        const url = `http://127.0.0.1:${receiver.address().port}/pager`;
        await person.ask("POST", "/api/v1/tenants/acme/webhooks", { url, label: "pager", types: ["run.failed"] });
        await w.go(page, "alerts?tab=webhooks");
        await use(page, "Delivery log");
        await sees(page, "No deliveries yet");
        const [run] = runsOf("poller", 1, w.clock.now());
        await w.runs([{ ...run, status: "failed" }]);
        await sees(page.locator("tbody"), /^1 attempt, /);
        status = 204;
        await use(page, "Retry now");
        await sees(page.locator("tbody"), "Delivered");
        await shot(page, "webhook-log");
        receiver.closeAllConnections();
        receiver.close();
    });
});
