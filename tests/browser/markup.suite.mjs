// Everything that an agent sends is text, never markup: in every field, on every page.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe } from "node:test";

import { shot } from "./muster.mjs";
import { payloads, vectors } from "./payloads.mjs";
import { placesOf, visit } from "./places.mjs";
import { rows, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const email = "root@example.org"; // may see every page
const AS_ROOT = { email };
const BASE = "/api/v1/tenants/hostile";
const narrated = randomUUID();
const w = new Suite("hostile", { clock: true });

const cut = (text, length) => [...text].slice(0, length).join("");

/** An event with the payload in every string it has. */
function hostile(text, run_id, agent_name, kind, seq) {
    const name = cut(text, 200);
    return {
        event_id: `${seq} ${randomUUID()} ${name}`,
        client_id: w.slug,
        agent_name,
        agent_version: name,
        run_id,
        event: kind,
        timestamp: new Date(Date.now() - 3_600_000 + seq).toISOString(),
        seq,
        error_type: name,
        error_message: text,
        metadata: { [name]: text },
        output: { [name]: [text, { [name]: text }] },
        workflow_run_id: name,
        message: text,
        level: cut(text, 32),
        category: name,
        source: name,
        metrics: { [name]: seq },
        links: [text, `https://example.org/${encodeURIComponent(text)}`],
    };
}

/** An agent that declares all payloads, in every field of a registration. */
function declare() {
    const each = (make) => payloads.map((text) => make(cut(text, 200), text));
    const io = each((key, type) => ({ key, type }));
    const paramOf = (key, label) => ({ key, label, help: label, value_type: key, default: label, opciones: [label, key] });
    return w.register("narrator", {
        agent_version: payloads[1],
        description: payloads.join(" "),
        telemetry_doc: payloads.join(" "),
        interval_seconds: 60,
        business_kpis: each((key, label) => ({ key, label, unit: key, agg: key })),
        inputs: io,
        outputs: io,
        config_schema: { params: each(paramOf) },
    });
}

/** What agents report, each with a name that is a payload. */
async function report(text, i) {
    const key = cut(text, 200); // the agent's name, too
    const kpi = { key, label: text, unit: text };
    if (i % 4 === 0) await w.register(key, { description: text, business_kpis: [kpi], interval_seconds: 60 });
    const run_id = randomUUID();
    const breakdowns = [{ metric: key, by: key, slices: { [text]: i } }];
    await w.business(key, run_id, Date.now(), { [key]: i, [`${key} text`]: text }, { breakdowns });
    await w.usage(key, run_id, Date.now(), key, i, { calls: 1 });
}

/** Payloads in every field that people can set. */
async function settle(person) {
    const agent = `${BASE}/agents/narrator`;
    const model = cut(payloads[1], 200);
    const lists = { allow: payloads, deny: payloads };
    const note = cut(payloads.find((text) => text.includes("onerror=window.planted=1")), 200);
    for (const document of ["nothing", payloads.join("\n")]) await person.ask("PUT", `${agent}/document`, { document });
    for (const path of [agent, BASE, "/api/v1/platform"]) await person.ask("PUT", `${path}/model`, { model });
    await person.ask("PUT", `${agent}/command-policy`, { mode: "allowlist", ...lists });
    await person.ask("PUT", `${BASE}/command-policy`, { mode: "denylist", ...lists });
    await person.ask("POST", `${BASE}/maintenance`, { weekdays: ["sun"], start: "01:00", minutes: 5, note });
    const labels = payloads.slice(0, 41).map((text) => cut(text, 200));
    for (const label of labels) {
        const price = { model: label, provider: label, input: "1", output: "2", aliases: [`${label} too`] };
        await person.ask("POST", `${BASE}/keys`, { label, agent_name: "narrator" });
        await person.ask("POST", `${BASE}/webhooks`, { url: "https://example.org/", label });
        await person.ask("POST", "/api/v1/platform/prices", price);
    }
    for (const label of labels) // last: the audit log shows their names
        await person.ask("PATCH", `${BASE}/agents/${encodeURIComponent(label)}`, { enabled: true });
}

describe("text is never markup", () => {
    w.begin(async () => {
        w.server.addUser(email, "--role", "platform_admin");
        const runs = payloads.map((text, i) =>
            hostile(text, randomUUID(), cut(text, 200), i % 2 ? "failed" : "completed", i),
        );
        await w.events([...runs, ...payloads.map((text, i) => hostile(text, narrated, "narrator", "in_progress", i))]);
        for (let i = 0; i < payloads.length; i += 16)
            await Promise.all(payloads.slice(i, i + 16).map((text, j) => report(text, i + j)));
        await declare();
        await Promise.all(
            payloads.map((text) => w.send(`/api/v1/heartbeat?client_id=${encodeURIComponent(text)}`, {})),
        );
        await settle(await w.person(email));
        w.clock.advance(7200); // agents that declared an interval fall silent
    });

    /** No payload ran, nothing was logged, and only our own elements exist. */
    async function check(page, where) {
        const found = await page.evaluate(() => ({
            planted: window.planted,
            inherited: Object.keys(Object.prototype), // of all objects: "__proto__" was drawn
            scripts: [...document.scripts].map((one) => one.src),
            strange: document.querySelectorAll(
                "iframe, object, embed, base, meta[http-equiv], style, marquee, math, template, " +
                    "video, audio, x, body script",
            ).length,
            handlers: [...document.querySelectorAll("*")].filter((element) =>
                [...element.attributes].some((attribute) => attribute.name.startsWith("on")),
            ).length,
            links: [...document.links]
                .map((link) => link.protocol)
                .filter((protocol) => !["http:", "https:"].includes(protocol)),
        }));
        assert.equal(found.planted, undefined, where);
        assert.deepEqual(found.inherited, [], where);
        assert.ok(found.scripts.every((src) => src.startsWith(w.server.url)), where);
        assert.deepEqual([found.strange, found.handlers, found.links], [0, 0, []], where);
        assert.deepEqual(page.troubles, [], where);
    }

    /** The payloads must be visible as text, or nothing was tested. */
    async function seen(page, where) {
        const text = await page.evaluate(() => document.body.innerText);
        assert.ok(text.includes("onerror=window.planted=1"), `${where}: the payloads are not there`);
    }

    w.test("200 payloads in every field do nothing", "runs?since=all", async (page) => {
        assert.ok(payloads.length >= 200);
        for (;;) {
            await rows(page).first().waitFor();
            await seen(page, "runs");
            await check(page, "runs");
            const older = page.getByRole("link", { name: "Older" });
            if ((await older.count()) === 0) break;
            const first = await page.locator("tbody tr a").first().getAttribute("href");
            await older.click();
            await page.waitForFunction(
                (was) => document.querySelector("tbody tr a")?.getAttribute("href") !== was,
                first,
            );
        }
        await w.go(page, `runs/${narrated}?view=order`);
        await page.locator(".event").first().waitFor();
        // A block is drawn when the window is near, and stays while an event in it is open.
        for (const block of await page.locator("ol.events").all()) {
            await block.scrollIntoViewIfNeeded();
            await block.locator(".event").first().waitFor();
            await block.evaluate((list) => {
                for (const button of list.querySelectorAll(".more, .expand")) button.click();
            });
        }
        await page.locator(".event-details").nth(100).waitFor();
        await seen(page, "run");
        await check(page, "run");
        await shot(page, "markup-is-text");
        await page.context().close();
    });

    /** Views that show nothing that was sent. */
    const SILENT = ["overview", "alerts-history", "rules", "settings-users", "settings-retention"]
        .concat(["settings-secrets", "settings-plan", "platform", "platform-users"])
        .concat(["platform-groups", "platform-vault", "connect", "account"]);

    /** A group shows its first few alerts; after this, all of them. */
    async function openGroups(page) {
        const more = page.getByRole("button", { name: /^Show all/ });
        await page.locator(".alert").first().waitFor();
        while ((await more.count()) > 0) await more.first().click();
        await page.locator(".alert").nth(20).waitFor();
    }

    w.test("nor do they on any other page", "alerts?group=agent", async (page) => {
        await page.locator(".alert-group h2").nth(20).waitFor(); // agents' names are headings
        await openGroups(page);
        await seen(page, "alerts by agent");
        await check(page, "alerts by agent");
        const workflow = cut(payloads[1], 200);
        for (const place of placesOf("hostile", { agent: "narrator", run_id: narrated, workflow })) {
            await visit(page, w.server, place);
            if (place.name === "agent-document") await use(page, "Changes of version 2");
            if (place.name === "alerts") await openGroups(page);
            if (place.name === "platform-prices") await rows(page).nth(20).waitFor();
            await check(page, place.name);
            if (!SILENT.includes(place.name)) await seen(page, place.name);
        }
        await page.context().close();
    }, AS_ROOT);

    w.test("nor as the name of an agent", "fleet", async (page) => {
        await rows(page).nth(20).waitFor();
        const last = () => Number([...document.querySelectorAll("[aria-rowindex]")].at(-1)?.ariaRowIndex);
        // every payload is the name of an agent, and rows near the window are drawn
        for (let row = 0; row < payloads.length; ) {
            await page.waitForFunction(
                (was) => [...document.querySelectorAll("[aria-rowindex]")].at(-1)?.ariaRowIndex > was,
                row,
            );
            row = await page.evaluate(last);
            await check(page, "fleet");
            await page.evaluate(() => [...document.querySelectorAll("[aria-rowindex]")].at(-1).scrollIntoView());
        }
        for (const text of vectors) {
            const name = cut(text, 200);
            await w.go(page, `agents/${encodeURIComponent(name)}?tab=values`); // a tab with few requests
            await page.waitForFunction(
                (wanted) => document.querySelector("main h1")?.textContent.startsWith(wanted),
                name,
            );
            await page.locator("main .card :is(table, .empty)").waitFor();
            await check(page, name);
        }
        await page.context().close();
    });

    w.test("a page that treats text as markup would be detected", "cost", async (page) => {
        await page.addInitScript(() => {
            Document.prototype.createTextNode = function (text) {
                const element = this.createElement("span");
                element.innerHTML = text;
                return element;
            };
        });
        await page.reload();
        await rows(page).nth(20).waitFor();
        await assert.rejects(check(page, "planted"));
        await page.context().close();
    }, { fresh: true });
});
