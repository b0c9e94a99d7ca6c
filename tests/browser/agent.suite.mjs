// One agent: an admin changes everything that can be set for it, a member sees it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { Clock, close, openAs, openBrowser, request, Server, shot } from "./muster.mjs";

let server, browser, tenant, clock;
const MEMBER = "reader@acme.example";

describe("one agent", () => {
    before(async () => {
        clock = new Clock();
        server = await Server.start([], clock.environment);
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        server.addUser(MEMBER, "--tenant", "acme", "--role", "member");
        await server.send(tenant, "/api/v1/agents/register", {
            agent_name: "invoice-reader",
            agent_version: "2.0.0",
            description: "Reads invoices",
            interval_seconds: 3600,
            business_kpis: [{ key: "read", label: "Invoices read" }],
            outputs: [{ key: "invoice_id", type: "string" }],
            config_schema: {
                params: [
                    { key: "inbox", label: "Inbox", required: true },
                    { key: "imap_password", required: true },
                ],
            },
        });
        await sendRuns(server, tenant, runsOf("invoice-reader", 6));
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const HOME = "/t/acme/agents/invoice-reader";
    const open = (tab = "", email = tenant.email, options = undefined) =>
        openAs(browser, server, email, `${HOME}${tab && `?tab=${tab}`}`, options);
    const button = (page, name) => page.getByRole("button", { name, exact: true });

    test("the fleet links to the agent, which shows its registration and its health", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/fleet");
        await page.getByRole("link", { name: "invoice-reader", exact: true }).click();
        await page.getByRole("heading", { name: "Registration" }).waitFor();
        await page.getByText("invoice_id").waitFor();
        await page.getByText("Reads invoices").waitFor();
        await page.getByRole("link", { name: "Invoices read" }).waitFor();
        await page.getByRole("link", { name: "not set" }).waitFor(); // the model
        await page.getByRole("link", { name: "No commands" }).waitFor();
        assert.equal(await page.locator(".squares a").count(), 6);
        await shot(page, "agent");
        await close(page);
    });

    test("its activity is drawn: runs, durations, cost and KPIs, each with its numbers", async () => {
        const [run] = runsOf("invoice-reader", 1);
        await sendRuns(server, tenant, [run]);
        const report = { agent_name: "invoice-reader", run_id: run.id };
        const timestamp = new Date(run.from).toISOString();
        await server.send(tenant, "/api/v1/telemetry/business", {
            ...report,
            timestamp,
            metrics: { read: 17 },
        });
        await server.send(tenant, "/api/v1/telemetry/llm", {
            ...report,
            timestamp,
            model: "unpriced-model",
            input_tokens: 1000,
            output_tokens: 10,
        });
        const page = await open("activity");
        const numbers = async (name, value) => {
            const figure = page.getByRole("figure", { name });
            await figure.locator("summary").click();
            await figure.locator("tbody").getByText(value).first().waitFor();
        };
        await page.getByText("1 of 7 failed").waitFor();
        await numbers("Runs per day by status", /^[1-7]$/);
        await numbers("Duration of runs per day", / s$/);
        await numbers("Invoices read by", "17");
        await page.getByText("Its models have no price").waitFor();
        await shot(page, "agent-activity");
        await page.goto(`${server.url}/#/t/acme/runs/${run.id}`);
        const values = page.locator("section", { hasText: "Business values" });
        await values.getByRole("link", { name: "17" }).waitFor();
        await close(page);
    });

    test("its versions are listed, each with its runs", async () => {
        const versions = ["1.4.0", "1.4.0", "2.0.0"];
        const events = runsOf("versioned", 3).map((run, i) =>
            event(tenant, run, "completed", 0, { agent_version: versions[i] }),
        );
        await server.send(tenant, "/api/v1/telemetry/batch", { events });
        const page = await openAs(browser, server, tenant.email, "/t/acme/agents/versioned");
        const card = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Versions" }) });
        await card.getByRole("row", { name: /^1\.4\.0 2 / }).waitFor();
        await card.getByRole("row", { name: /^2\.0\.0 1 / }).waitFor();
        assert.equal(await card.locator("tbody tr").count(), 2);
        await close(page);
    });

    test("disabled, its reports are rejected; enabled, they are accepted", async () => {
        const page = await open();
        const report = async () => {
            const [run] = runsOf("invoice-reader", 1);
            const { timestamp, ...more } = { timestamp: new Date().toISOString(), event: "started" };
            const body = { agent_name: run.agent, client_id: "acme", run_id: run.id, timestamp };
            return (await server.send(tenant, "/api/v1/telemetry", { ...body, ...more })).status;
        };
        const toggle = page.getByRole("switch", { name: "Accept reports from this agent" });
        await toggle.click();
        await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
        assert.equal(await report(), "accepted"); // nothing was done before it was confirmed
        await toggle.click();
        await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
        await page.locator("h1").getByText("Disabled").waitFor();
        assert.equal(await report(), "rejected");
        await toggle.click();
        await page.locator("h1").getByText("Up").waitFor();
        assert.equal(await report(), "accepted");
        await close(page);
    });

    test("a model is set for the agent alone, and inherited again from the workspace", async () => {
        server.cli(["model", "set", "small-one", "--tenant", "acme"]);
        const page = await open("directives");
        await page.getByText("from the workspace").waitFor();
        await page.getByLabel("Model for this agent").fill("big-one");
        await button(page, "Set").click();
        await page.getByText("big-one").waitFor();
        await page.getByText("set for this agent").waitFor();
        await page.getByText("Without it: small-one from the workspace").waitFor();
        assert.match(server.cli(["model", "show", "--tenant", "acme", "--agent", "invoice-reader"]), /big-one/);
        await button(page, "Unset").click();
        await page.getByText("set for this agent").waitFor({ state: "detached" });
        await page.getByText("small-one").waitFor();
        await close(page);
    });

    test("a model that is set stands beside the one that is used, where they differ", async () => {
        server.cli(["model", "set", "small-one", "--tenant", "acme"]);
        const runs = ["differs", "obeys"].map((agent) => runsOf(agent, 1)[0]);
        await sendRuns(server, tenant, [...runs, ...runsOf("never-calls", 1)]);
        const use = ({ agent: agent_name, id: run_id }, model) =>
            server.send(tenant, "/api/v1/telemetry/llm", {
                agent_name,
                run_id,
                timestamp: new Date().toISOString(),
                model,
                input_tokens: 10,
            });
        await use(runs[0], "other-one");
        await use(runs[1], "small-one");
        const page = await openAs(browser, server, tenant.email, "/t/acme/agents/differs");
        const model = page.locator("dl.facts > *").filter({ hasText: "Model" });
        await model.getByText("used: other-one just now").waitFor();
        assert.match(await model.innerText(), /set: small-one from the workspace/);
        for (const agent of ["obeys", "never-calls"]) {
            await page.goto(`${server.url}/#/t/acme/agents/${agent}`);
            await page.locator("h1").getByText(agent).waitFor();
            await model.getByText("small-one").waitFor();
            assert.doesNotMatch(await model.innerText(), /used|set:/);
        }
        await close(page);
    });

    test("what is set on one tab is read on the next", async () => {
        server.cli(["model", "set", "small-one", "--tenant", "acme"]);
        const page = await open("", tenant.email, {});
        // nothing but the write itself may bring the news
        await page.route("**/stream", (route) => route.abort());
        await page.addInitScript(() => (window.setInterval = () => 0));
        await page.reload();
        const tabs = page.getByRole("navigation", { name: "Sections of the agent" });
        const tab = (name) => tabs.getByRole("link", { name, exact: true }).click();
        await page.getByRole("link", { name: "small-one" }).waitFor();
        await tab("Model and policy");
        await page.getByLabel("Model for this agent").fill("next-one");
        await button(page, "Set").click();
        await page.getByText("set for this agent").waitFor();
        await tab("Overview");
        await page.getByRole("link", { name: "next-one" }).waitFor();
        await tab("Model and policy");
        await button(page, "Unset").click();
        await page.getByText("set for this agent").waitFor({ state: "detached" });
        await tab("Overview");
        await page.getByRole("link", { name: "small-one" }).waitFor();
        await close(page);
    });

    test("a command policy is edited, counted in versions, and unset", async () => {
        const page = await open("directives");
        await page.getByLabel("Agents may run").selectOption("allowlist");
        await page.getByLabel("Allowed commands").fill("git status\n\n  ls *  \n");
        await button(page, "Save policy").click();
        await page.getByText("version 1").waitFor();
        await shot(page, "agent-directives");
        const shown = server.cli(["policy", "show", "--tenant", "acme", "--agent", "invoice-reader", "--json"]);
        assert.deepEqual(JSON.parse(shown).allow, ["git status", "ls *"]);
        await button(page, "Unset").click();
        await page.getByText("default", { exact: true }).waitFor();
        await close(page);
    });

    test("what is chosen in a policy as soon as it is shown stays chosen", async () => {
        const page = await open("", tenant.email, {});
        await page.evaluate(() => {
            const choose = () => {
                const field = [...document.querySelectorAll("main select")].find((one) => one.value === "deny_all");
                if (field === undefined) return;
                watch.disconnect();
                field.value = "allowlist";
                field.dispatchEvent(new Event("input", { bubbles: true }));
                field.dispatchEvent(new Event("change", { bubbles: true }));
                // what was to be done after this is painted is done before the second one
                const painted = (then) => requestAnimationFrame(() => setTimeout(then));
                painted(() => painted(() => (window.settled = true)));
            };
            const watch = new MutationObserver(choose);
            watch.observe(document.body, { childList: true, subtree: true });
        });
        await page.goto(`${server.url}/#${HOME}?tab=directives`);
        await page.waitForFunction(() => window.settled);
        assert.equal(await page.getByLabel("Allowed commands").count(), 1);
        await close(page);
    });

    test("a document is written, changed, compared and restored", async () => {
        const page = await open("document");
        const area = page.getByLabel("Document", { exact: true });
        await area.fill("# One\nalpha\nbeta\n");
        await button(page, "Save").click();
        await page.getByText("Version 1 by").waitFor();
        await area.fill("# One\nalpha\ngamma\n");
        await button(page, "Save").click();
        await page.getByText("Version 2 by").waitFor();
        await button(page, "Changes of version 2").click();
        await page.locator(".diff .removed").getByText("-beta").waitFor();
        await page.locator(".diff .added").getByText("+gamma").waitFor();
        await shot(page, "agent-document");
        await button(page, "Restore version 1").click();
        await button(page, "Restore").click();
        await page.getByText("Version 3 by").waitFor();
        assert.equal(await area.inputValue(), "# One\nalpha\nbeta\n");
        await close(page);
    });

    test("an unsaved draft is still there after visiting another page", async () => {
        const page = await open("document");
        const area = page.getByLabel("Document", { exact: true });
        await area.fill("half a thought");
        await page.getByRole("link", { name: "Runs", exact: true }).click();
        await page.locator("tbody tr").first().waitFor();
        await page.goBack();
        await page.getByText("Not saved yet").waitFor();
        assert.equal(await area.inputValue(), "half a thought");
        await button(page, "Discard").click();
        assert.equal(await area.inputValue(), "# One\nalpha\nbeta\n");
        await page.getByText("Not saved yet").waitFor({ state: "detached" });
        await close(page);
    });

    test("the changes of a version are a link", async () => {
        const page = await openAs(browser, server, tenant.email, `${HOME}?tab=document&changes=2`);
        await page.locator(".diff .added").getByText("+gamma").waitFor();
        await close(page);
    });

    test("saving an edit of an old version is refused, and nothing is overwritten", async () => {
        const [one, other] = [await open("document"), await open("document")];
        const area = (page) => page.getByLabel("Document", { exact: true });
        await area(one).fill("by one");
        await area(other).fill("by the other");
        await button(one, "Save").click();
        await one.getByText("Version 4 by").waitFor();
        await button(other, "Save").click();
        await other.getByRole("alert").waitFor();
        assert.equal(server.cli(["document", "show", "--tenant", "acme", "--agent", "invoice-reader"]), "by one");
        await close(one);
        await other.context().close(); // with its unsaved draft
    });

    test("a value and a secret it refers to are set; the secret is never shown", async () => {
        const page = await openAs(browser, server, tenant.email, "/t/acme/settings?tab=secrets");
        await button(page, "New secret").click();
        await page.getByLabel("Name").fill("imap");
        await page.getByLabel("Value", { exact: true }).fill("hunter2 and more");
        await button(page, "Save").click();
        await page.getByText("vault:imap").waitFor();
        await shot(page, "secrets");
        await page.goto(`${server.url}/#${HOME}?tab=values`);
        await page.getByText("missing").first().waitFor();
        await button(page, "Edit imap_password").click();
        await page.getByLabel("Value", { exact: true }).fill("vault:imap");
        await button(page, "Save").click();
        await button(page, "Edit inbox").click();
        await page.getByLabel("Value", { exact: true }).fill("post@acme.example");
        await button(page, "Save").click();
        await page.getByText("post@acme.example").waitFor();
        await shot(page, "agent-values");
        assert.ok(!(await page.content()).includes("hunter2"));
        const token = server.cli(["key", "add", "--tenant", "acme", "--agent", "invoice-reader"]);
        const reply = await request(`${server.url}/api/v1/agents/config?agent_name=invoice-reader`, {
            headers: { Authorization: `Bearer ${token}` },
        });
        assert.match(await reply.text(), /hunter2 and more/);
        await close(page);
    });

    test("a key is created, shown once, rotated and revoked", async () => {
        const page = await open("keys");
        await button(page, "New key").click();
        await page.getByLabel("Label").fill("worker 3");
        await button(page, "Create key").click();
        const token = await page.locator(".once code").innerText();
        await shot(page, "agent-keys");
        const works = async (one) =>
            (await request(`${server.url}/api/v1/limits`, { headers: { Authorization: `Bearer ${one}` } }))
                .status === 200;
        assert.ok(await works(token));
        await button(page, "Done").click();
        assert.equal(await page.locator(".once").count(), 0);
        await button(page, "Rotate key worker 3").click();
        await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
        const second = await page.locator(".once code").innerText();
        await page.locator(".once").getByText("The old key expires in 4 min").waitFor();
        assert.ok(second !== token && (await works(token)) && (await works(second)));
        const [old, fresh] = ["Being replaced", "Active"].map((state) =>
            page.locator("tr", { hasText: "worker 3" }).filter({ hasText: state }),
        );
        await shot(page, "agent-keys-rotated");
        for (const [row, mine, verb] of [
            [old, token, "Revoke only this key, worker 3"], // its successor goes on
            [fresh, second, "Revoke key worker 3"],
        ]) {
            assert.ok(await works(mine));
            await row.getByRole("button", { name: verb }).click();
            await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
            await row.waitFor({ state: "detached" });
            assert.ok(!(await works(mine)));
        }
        await button(page, "Show 2 inactive").click();
        await page.getByText("Revoked").first().waitFor();
        await close(page);
    });

    test("a rotated key expires after five minutes", async () => {
        const page = await open("keys", tenant.email, {});
        await button(page, "New key").click();
        await page.getByLabel("Label").fill("line 7");
        await button(page, "Create key").click();
        await button(page, "Done").click();
        await button(page, "Rotate key line 7").click();
        await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
        await page.getByText("Being replaced").waitFor();
        clock.advance(301);
        await page.addInitScript(() => {
            const now = Date.now;
            Date.now = () => now() + 301_000;
        });
        await page.reload();
        await page.getByText("line 7").waitFor();
        assert.equal(await page.getByText("line 7").count(), 1); // the new one
        await button(page, "Show 3 inactive").click();
        await page.locator("tr", { hasText: "line 7" }).getByText("Replaced").waitFor();
        await close(page);
    });

    test("a member sees what is in effect, and nothing to change it with", async () => {
        const page = await open("directives", MEMBER);
        await page.getByText("small-one").waitFor();
        for (const name of ["Set", "Save policy", "Unset"])
            assert.equal(await button(page, name).count(), 0, name);
        assert.equal(await page.getByRole("link", { name: "Keys" }).count(), 0);
        assert.equal(await page.getByRole("switch").count(), 0);
        await page.getByRole("link", { name: "Document" }).click();
        await page.getByText("by one").waitFor();
        assert.equal(await page.locator("textarea").count(), 0);
        await close(page);
    });

    test("its alerts are listed, with its uptime per month", async () => {
        const page = await open("alerts");
        await page.getByRole("heading", { name: "Uptime per month" }).waitFor();
        await page.getByText("100.00 %").first().waitFor();
        await page.locator(".alert").first().waitFor(); // of the runs that failed
        assert.equal(await page.locator(".alert").getByText("Silent agent").count(), 0);
        clock.advance(2 * 3600);
        await page.locator(".alert").getByText("Silent agent").waitFor();
        await sendRuns(server, tenant, runsOf("invoice-reader", 1, clock.now()));
        await page.locator(".alert").getByText("it reported again").waitFor();
        await shot(page, "agent-alerts");
        await close(page);
    });

    test("a schedule is set by cron, paused and taken back; maintenance is shown with its end", async () => {
        const page = await open();
        const card = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Schedule" }) });
        await card.getByText("declared by the agent").waitFor();
        await button(card, "Change").click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Expected").selectOption("cron");
        await dialog.getByLabel("Cron expression").fill("99 8 * * *");
        await dialog.getByLabel("Time zone").fill("Asia/Tokyo");
        await button(dialog, "Save").click();
        await dialog.getByText("The minute should be").waitFor(); // at its field
        await dialog.getByLabel("Cron expression").fill("30 8 * * *");
        await button(dialog, "Save").click();
        await card.getByText("at 30 8 * * * (Asia/Tokyo)").waitFor();
        await card.getByText("set here").waitFor();
        await button(card, "Change").click();
        await dialog.getByLabel("Expected").selectOption("interval");
        await dialog.getByLabel("Every").fill("90");
        await dialog.getByLabel("Unit").selectOption("60");
        await dialog.getByLabel("Grace in minutes").fill("5");
        await button(dialog, "Save").click();
        await card.getByText(/every 1 h 30 m/).first().waitFor();
        assert.match(await card.innerText(), /Grace\s+5 m/);
        await button(card, "Pause").click();
        await card.getByText("Nothing is expected of it").waitFor();
        await button(card, "Resume").click();
        await button(card, "Pause").waitFor();
        await button(card, "Use what it declares").click();
        await card.getByText("declared by the agent").waitFor();
        await page.goto(`${server.url}/#/t/acme/alerts?tab=maintenance`);
        await page.getByText("No maintenance is planned").waitFor();
        await page.getByRole("button", { name: "Plan maintenance" }).click();
        await dialog.getByLabel("Note").fill("Updates");
        await dialog.getByLabel("When").selectOption("weekly");
        for (const day of ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
            await dialog.getByLabel(day).check();
        await dialog.getByLabel("Begins at").fill("00:00");
        await dialog.getByLabel("Minutes").fill("1440");
        await dialog.getByLabel("Time zone").fill("UTC");
        await button(dialog, "Plan").click();
        await page.getByText("Every day at 00:00 for 1440 min (UTC)").waitFor();
        await page.goto(`${server.url}/#${HOME}`);
        await card.getByText("No alert opens when it is silent").waitFor();
        await page.goto(`${server.url}/#/t/acme/alerts?tab=maintenance`);
        await page.getByRole("button", { name: "End Updates" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
        await page.getByText("No maintenance is planned").waitFor();
        await close(page);
    });

    test("removing an agent requires typing its name; its runs are kept", async () => {
        const page = await open();
        await button(page, "Remove agent").click();
        const remove = page.getByRole("dialog").getByRole("button", { name: "Remove" });
        assert.ok(await remove.isDisabled());
        await page.getByLabel("Type invoice-reader to confirm").fill("invoice-reader");
        await remove.click();
        await page.waitForURL(/\/fleet$/);
        await page.goto(`${server.url}/#${HOME}`);
        await page.getByText("Agent not found").waitFor();
        await page.getByRole("link", { name: "they are kept" }).click();
        await page.locator("tbody tr").nth(5).waitFor();
        await close(page);
    });
});
