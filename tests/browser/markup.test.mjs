// Everything an agent sends is text, never markup: in every field, on every page that shows it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";

import { openAs, openBrowser, Server, shot } from "./muster.mjs";
import { payloads } from "./payloads.mjs";

let server, browser, tenant;
const narrated = randomUUID();

const cut = (text, length) => [...text].slice(0, length).join("");

/** An event with the payload in every string it has. */
function hostile(text, run_id, agent_name, kind, seq) {
    const name = cut(text, 200);
    return {
        event_id: `${seq} ${randomUUID()} ${name}`,
        client_id: tenant.slug,
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

before(async () => {
    server = await Server.start();
    browser = await openBrowser();
    tenant = server.addTenant("hostile");
    const send = (path, body) => server.send(tenant, path, body);
    const runs = payloads.map((text, i) =>
        hostile(text, randomUUID(), cut(text, 200), i % 2 ? "failed" : "completed", i),
    );
    const steps = payloads.map((text, i) => hostile(text, narrated, "narrator", "in_progress", i));
    await send("/api/v1/telemetry/batch", { events: [...runs, ...steps] });
    for (const [i, text] of payloads.entries()) {
        const agent_name = cut(text, 200);
        const timestamp = new Date().toISOString();
        const run_id = randomUUID();
        const key = cut(text, 200);
        if (i % 4 === 0)
            await send("/api/v1/agents/register", {
                agent_name,
                description: text,
                business_kpis: [{ key, label: text, unit: text }],
                interval_seconds: 60,
            });
        await send("/api/v1/telemetry/business", {
            agent_name,
            run_id,
            timestamp,
            metrics: { [key]: i, [`${key} text`]: text },
            breakdowns: [{ metric: key, by: key, slices: { [text]: i } }],
        });
        await send("/api/v1/telemetry/llm", {
            agent_name,
            run_id,
            timestamp,
            model: key,
            input_tokens: i,
            calls: 1,
        });
    }
});

after(async () => {
    await browser?.close();
    await server?.stop();
});

/** Nothing ran, nothing complained, and nothing but our own elements is there. */
async function check(page, where) {
    const found = await page.evaluate(() => ({
        planted: window.planted,
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
    assert.ok(
        found.scripts.every((src) => src.startsWith(server.url)),
        where,
    );
    assert.deepEqual([found.strange, found.handlers, found.links], [0, 0, []], where);
    assert.deepEqual(page.troubles, [], where);
}

/** What is shown must be the text itself, or nothing was tested. */
async function seen(page, where) {
    const text = await page.evaluate(() => document.body.innerText);
    assert.ok(text.includes("onerror=window.planted=1"), `${where}: the payloads are not there`);
}

test("200 payloads in every field do nothing", async () => {
    assert.ok(payloads.length >= 200);
    const page = await openAs(browser, server, tenant.email, "/t/hostile/runs?since=all");
    for (;;) {
        await page.locator("tbody tr").first().waitFor();
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
    await page.goto(`${server.url}/#/t/hostile/runs/${narrated}?view=order`);
    await page.locator(".event").nth(150).waitFor();
    await page.evaluate(() => {
        for (const button of document.querySelectorAll(".more, .expand")) button.click();
    });
    await page.locator(".more-of-event").nth(100).waitFor();
    await seen(page, "run");
    await check(page, "run");
    await shot(page, "markup-is-text");
    for (const name of ["fleet", "business", "cost"]) {
        await page.goto(`${server.url}/#/t/hostile/${name}`);
        await page.locator("tbody tr, .kpi").nth(20).waitFor();
        await seen(page, name);
        await check(page, name);
    }
    await page.context().close();
});
