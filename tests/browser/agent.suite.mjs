// One agent: an admin changes everything that can be set for it, a member sees it. What is set with keys
// alone, its document too, keyboard_settings.suite.mjs has; schedule.suite.mjs, what a schedule does.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { event, runsOf } from "./fleet.mjs";
import { close, request, shot } from "./muster.mjs";
import { button, card, dialogOf, field, fill, form, gone, heading, link, row, rows, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const AGENT = "invoice-reader";
const MEMBER = "reader@acme.example";
const HOME = `agents/${AGENT}`;
const w = new Suite("acme", { clock: true });

describe("one agent", () => {
    w.begin(async () => {
        w.server.addUser(MEMBER, "--tenant", "acme", "--role", "member");
        const params = [
            { key: "inbox", label: "Inbox", required: true },
            { key: "imap_password", required: true },
        ];
        await w.register(AGENT, {
            agent_version: "2.0.0",
            description: "Reads invoices",
            interval_seconds: 3600,
            business_kpis: [{ key: "read", label: "Invoices read" }],
            outputs: [{ key: "invoice_id", type: "string" }],
            config_schema: { params },
        });
        await w.runs(runsOf(AGENT, 6));
    });

    const ofAgent = ["--tenant", "acme", "--agent", AGENT];
    const setModel = (model) => w.cli("model", "set", model, "--tenant", "acme");
    const asBearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

    w.test("the fleet links to the agent, which shows its registration and its health", "fleet", async (page) => {
        await link(page, AGENT).click();
        await sees(page, heading(page, "Registration"), "invoice_id", "Reads invoices");
        await sees(page, ...["Invoices read", "not set", "No commands"].map((name) => page.getByRole("link", { name })));
        assert.equal(await page.locator(".squares a").count(), 6);
        await shot(page, "agent");
    });

    w.test("its activity is drawn: runs, durations, cost and KPIs, each with its numbers", "overview", async (page) => {
        const [run] = runsOf(AGENT, 1);
        await w.runs([run]);
        await w.business(AGENT, run.id, run.from, { read: 17 });
        await w.usage(AGENT, run.id, run.from, "unpriced-model", 1000, { output_tokens: 10 });
        await w.go(page, `${HOME}?tab=activity`);
        await sees(page, "1 of 7 failed");
        for (const [name, value] of [
            ["Runs per day by status", /^[1-7]$/],
            ["Duration of runs per day", / s$/],
            ["Invoices read by", "17"],
        ]) {
            const figure = page.getByRole("figure", { name });
            await figure.locator("summary").click();
            await sees(figure.locator("tbody"), value);
        }
        await sees(page, "Its models have no price");
        await shot(page, "agent-activity");
        await w.go(page, `runs/${run.id}`);
        await page.locator("section", { hasText: "Business values" }).getByRole("link", { name: "17" }).waitFor();
    });

    w.test("its versions are listed, each with its runs", "overview", async (page) => {
        const versions = ["1.4.0", "1.4.0", "2.0.0"];
        await w.events(
            runsOf("versioned", 3).map((run, i) => event(w.tenant, run, "completed", 0, { agent_version: versions[i] })),
        );
        await w.go(page, "agents/versioned");
        const table = card(page, "Versions");
        await table.getByRole("row", { name: /^1\.4\.0 2 / }).waitFor();
        await table.getByRole("row", { name: /^2\.0\.0 1 / }).waitFor();
        assert.equal(await rows(table).count(), 2);
    });

    w.test("disabled, its reports are rejected; enabled, they are accepted", HOME, async (page) => {
        const report = async () => {
            const [run] = runsOf(AGENT, 1, w.clock.now());
            return (await w.send("/api/v1/telemetry", event(w.tenant, run, "started", 0))).status;
        };
        const state = page.locator("h1");
        const toggle = page.getByRole("switch", { name: "Accept reports from this agent" });
        await toggle.click();
        await use(dialogOf(page), "Cancel");
        assert.equal(await report(), "accepted"); // nothing was done before it was confirmed
        await toggle.click();
        await use(dialogOf(page), "Disable");
        await sees(state, "Disabled");
        assert.equal(await report(), "rejected");
        await toggle.click();
        await sees(state, "Up");
        assert.equal(await report(), "accepted");
    });

    w.test("a model that is set stands beside the one that is used, where they differ", HOME, async (page) => {
        setModel("small-one");
        const runs = ["differs", "obeys"].map((agent) => runsOf(agent, 1)[0]);
        await w.runs([...runs, ...runsOf("never-calls", 1)]);
        for (const [i, model] of ["other-one", "small-one"].entries())
            await w.usage(runs[i].agent, runs[i].id, Date.now(), model, 10);
        const model = page.locator("dl.facts > *").filter({ hasText: "Model" });
        await w.go(page, "agents/differs");
        await sees(model, "used: other-one just now");
        assert.match(await model.innerText(), /set: small-one from the workspace/);
        for (const agent of ["obeys", "never-calls"]) {
            await w.go(page, `agents/${agent}`);
            await sees(page.locator("h1"), agent);
            await sees(model, "small-one");
            assert.doesNotMatch(await model.innerText(), /used|set:/);
        }
    });

    w.test("a model is set for the agent alone on one tab, read on the next, and inherited again", HOME, async (page) => {
        setModel("small-one");
        // nothing but the write itself may bring the news
        await page.route("**/stream", (route) => route.abort());
        await page.addInitScript(() => (window.setInterval = () => 0));
        await page.reload();
        const tabs = page.getByRole("navigation", { name: "Sections of the agent" });
        await link(page, "small-one").waitFor();
        await link(tabs, "Model and policy").click();
        await fill(page, { "Model for this agent": "next-one" });
        await use(page, "Set");
        await sees(page, "set for this agent", "Without it: small-one from the workspace");
        assert.match(w.cli("model", "show", ...ofAgent), /next-one/);
        await link(tabs, "Overview").click();
        await link(page, "next-one").waitFor();
        await link(tabs, "Model and policy").click();
        await use(page, "Unset");
        await gone(page, "set for this agent");
        await link(tabs, "Overview").click();
        await link(page, "small-one").waitFor();
    }, { fresh: true });

    w.test("a command policy is edited, counted in versions, and unset", `${HOME}?tab=directives`, async (page) => {
        await fill(page, { "Agents may run": "allowlist" });
        await fill(page, { "Allowed commands": "git status\n\n  ls *  \n" });
        await use(page, "Save policy");
        await sees(page, "version 1");
        await shot(page, "agent-directives");
        assert.deepEqual(JSON.parse(w.cli("policy", "show", ...ofAgent, "--json")).allow, ["git status", "ls *"]);
        await use(page, "Unset");
        await page.getByText("default", { exact: true }).waitFor();
    });

    w.test("what is chosen in a policy as soon as it is shown stays chosen", HOME, async (page) => {
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
        await w.go(page, `${HOME}?tab=directives`);
        await page.waitForFunction(() => window.settled);
        assert.equal(await field(page, "Allowed commands").count(), 1);
    }, { fresh: true });

    test("saving an edit of an old version is refused, and nothing is overwritten", async () => {
        const document = "# One\nalpha\n";
        await (await w.person()).ask("PUT", `/api/v1/tenants/acme/${HOME}/document`, { document });
        const pages = [await w.open(`${HOME}?tab=document`), await w.open(`${HOME}?tab=document`)];
        for (const [i, page] of pages.entries()) await fill(page, { Document: `by ${i}` });
        await use(pages[0], "Save");
        await sees(pages[0], "Version 2 by");
        await use(pages[1], "Save");
        await pages[1].getByRole("alert").waitFor();
        assert.equal(w.cli("document", "show", ...ofAgent), "by 0");
        await close(pages[0]);
        await pages[1].context().close(); // with its unsaved draft
    });

    w.test("an unsaved draft is still there after visiting another page", `${HOME}?tab=document`, async (page) => {
        await fill(page, { Document: "half a thought" });
        await link(page, "Runs").click();
        await rows(page).first().waitFor();
        await page.goBack();
        await sees(page, "Not saved yet");
        assert.equal(await field(page, "Document").inputValue(), "half a thought");
        await shot(page, "agent-document");
        await use(page, "Discard");
        assert.equal(await field(page, "Document").inputValue(), "by 0");
        await gone(page, "Not saved yet");
    });

    w.test("a value and a secret it refers to are set; the secret is never shown", "settings?tab=secrets", async (page) => {
        await form(page, "New secret", { Name: "imap", Value: "hunter2 and more" }, "Save");
        await sees(page, "vault:imap");
        await shot(page, "secrets");
        await w.go(page, `${HOME}?tab=values`);
        await sees(page, "missing");
        await form(page, "Edit imap_password", { Value: "vault:imap" }, "Save");
        await form(page, "Edit inbox", { Value: "post@acme.example" }, "Save");
        await sees(page, "post@acme.example");
        await shot(page, "agent-values");
        assert.ok(!(await page.content()).includes("hunter2"));
        const token = w.cli("key", "add", ...ofAgent);
        const reply = await request(`${w.server.url}/api/v1/agents/config?agent_name=${AGENT}`, asBearer(token));
        assert.match(await reply.text(), /hunter2 and more/);
    });

    w.test("a key is created, shown once, rotated and revoked", `${HOME}?tab=keys`, async (page) => {
        const shown = page.locator(".once code");
        const works = async (token) =>
            (await request(`${w.server.url}/api/v1/limits`, asBearer(token))).status === 200;
        await form(page, "New key", { Label: "worker 3" }, "Create key");
        const token = await shown.innerText();
        await shot(page, "agent-keys");
        assert.ok(await works(token));
        await use(page, "Done");
        assert.equal(await shown.count(), 0);
        await form(page, "Rotate key worker 3", {}, "Rotate");
        const second = await shown.innerText();
        await sees(page.locator(".once"), "The old key expires in 4 min");
        assert.ok(second !== token && (await works(token)) && (await works(second)));
        await shot(page, "agent-keys-rotated");
        for (const [state, mine, verb] of [
            ["Being replaced", token, "Revoke only this key, worker 3"], // its successor goes on
            ["Active", second, "Revoke key worker 3"],
        ]) {
            assert.ok(await works(mine));
            const old = row(page, "worker 3").filter({ hasText: state });
            await use(old, verb);
            await use(dialogOf(page), "Revoke");
            await gone(page, old);
            assert.ok(!(await works(mine)));
        }
        await use(page, "Show 2 inactive");
        await sees(page, "Revoked");
    });

    w.test("a rotated key expires after five minutes", `${HOME}?tab=keys`, async (page) => {
        await form(page, "New key", { Label: "line 7" }, "Create key");
        await use(page, "Done");
        await form(page, "Rotate key line 7", {}, "Rotate");
        await sees(page, "Being replaced");
        w.clock.advance(301);
        await page.addInitScript(() => {
            const now = Date.now;
            Date.now = () => now() + 301_000;
        });
        await page.reload();
        await sees(page, "line 7");
        assert.equal(await page.getByText("line 7").count(), 1); // the new one
        await use(page, "Show 3 inactive");
        await sees(row(page, "line 7"), "Replaced");
    }, { fresh: true });

    w.test("a member sees what is in effect, and nothing to change it with", `${HOME}?tab=directives`, async (page) => {
        await sees(page, "small-one");
        for (const name of ["Set", "Save policy", "Unset"]) assert.equal(await button(page, name).count(), 0, name);
        assert.equal(await link(page, "Keys").count(), 0);
        assert.equal(await page.getByRole("switch").count(), 0);
        await link(page, "Document").click();
        await sees(page, "by 0");
        assert.equal(await page.locator("textarea").count(), 0);
    }, { email: MEMBER });

    w.test("its alerts are listed, with its uptime per month", `${HOME}?tab=alerts`, async (page) => {
        const alerts = page.locator(".alert");
        await sees(page, heading(page, "Uptime per month"), "100.00 %");
        await alerts.first().waitFor(); // of the runs that failed
        assert.equal(await alerts.getByText("Silent agent").count(), 0);
        w.clock.advance(2 * 3600);
        await sees(alerts, "Silent agent");
        await w.runs(runsOf(AGENT, 1, w.clock.now()));
        await sees(alerts, "it reported again");
        await shot(page, "agent-alerts");
    });

    w.test("a schedule is set by cron and taken back; weekly maintenance is shown with its end", HOME, async (page) => {
        const schedule = card(page, "Schedule");
        const dialog = dialogOf(page);
        await sees(schedule, "declared by the agent");
        const cron = { Expected: "cron", "Cron expression": "99 8 * * *", "Time zone": "Asia/Tokyo" };
        await form(page, "Change", cron, "Save");
        await sees(dialog, "The minute should be"); // at its field
        await fill(dialog, { "Cron expression": "30 8 * * *" });
        await use(dialog, "Save");
        await sees(schedule, "at 30 8 * * * (Asia/Tokyo)", "set here");
        await use(schedule, "Use what it declares");
        await sees(schedule, "declared by the agent");
        await w.go(page, "alerts?tab=maintenance");
        await use(page, "Plan maintenance");
        await fill(dialog, { Note: "Updates", When: "weekly", "Begins at": "00:00", Minutes: "1440", "Time zone": "UTC" });
        for (const day of ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
            await fill(dialog, { [day]: true });
        await use(dialog, "Plan");
        await sees(page, "Every day at 00:00 for 1440 min (UTC)");
        await w.go(page, HOME);
        await sees(schedule, "No alert opens when it is silent");
        await w.go(page, "alerts?tab=maintenance");
        await form(page, "End Updates", {}, "End");
        await sees(page, "No maintenance is planned");
    });

    w.test("removing an agent requires typing its name; its runs are kept", HOME, async (page) => {
        await use(page, "Remove agent");
        assert.ok(await button(dialogOf(page), "Remove").isDisabled());
        await fill(page, { "Type invoice-reader to confirm": AGENT });
        await use(dialogOf(page), "Remove");
        await page.waitForURL(/\/fleet$/);
        await w.go(page, HOME);
        await sees(page, "Agent not found");
        await page.getByRole("link", { name: "they are kept" }).click();
        await rows(page).nth(5).waitFor();
    });
});
