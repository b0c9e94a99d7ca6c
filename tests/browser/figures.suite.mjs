// Fleet, business and cost show the figures that were sent.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, Person, sharedServer, shot } from "./muster.mjs";

const DAY_MS = 86_400_000;
const DAYS = 12;
const CUSTOMERS = Object.fromEntries(
    Array.from({ length: 15 }, (_, i) => [`customer ${String.fromCharCode(65 + i)}`, 10 * (i + 1)]),
);

let server, browser, tenant, runs;

const KPIS = [
    { key: "invoices", label: "Invoices read", unit: "count", agg: "sum" },
    { key: "booked", label: "Value booked", unit: "money:EUR", agg: "sum" },
    { key: "accuracy", label: "Accuracy", unit: "percent", agg: "avg" },
    { key: "slowest", label: "Slowest page", unit: "duration", agg: "max" },
    { key: "balance", label: "Balance", unit: "money:EUR", agg: "sum" },
];

async function report(agent_name, day) {
    const timestamp = new Date(Date.now() - day * DAY_MS - 60_000).toISOString();
    const run_id = randomUUID();
    await server.send(tenant, "/api/v1/telemetry/business", {
        agent_name,
        run_id,
        timestamp,
        metrics: {
            invoices: 100 + day,
            booked: 2000.5,
            accuracy: 90 + (day % 3),
            slowest: 65 + day,
            balance: day % 2 ? 40 : -123_000_000,
            undeclared: "calm",
        },
        breakdowns: [
            { metric: "balance", by: "side", slices: { out: -66.13, in: 78 } },
            { metric: "booked", by: "customer", slices: CUSTOMERS },
            { metric: "invoices", by: "country", slices: { DE: 70 + day, FR: 20, ES: 10 } },
            {
                metric: "invoices",
                by: ["country", "kind"],
                points: [{ country: "DE", kind: "paper", value: 100 + day }],
            },
        ],
    });
    for (const model of ["small-model", "large-model", "house-model"])
        await server.send(tenant, "/api/v1/telemetry/llm", {
            agent_name,
            run_id,
            timestamp,
            model,
            input_tokens: 100_000,
            output_tokens: 10_000,
            cache_read_tokens: 50_000,
            calls: 5,
        });
    return run_id;
}

describe("fleet, business and cost", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("figures", ADMIN);
        server.cli([
            "price",
            "set",
            "small-model",
            "--input",
            "1",
            "--output",
            "5",
            "--cache-read",
            "0.1",
        ]);
        server.cli([
            "price",
            "set",
            "large-model",
            "--input",
            "3",
            "--output",
            "15",
            "--cache-read",
            "0.3",
        ]);
        const register = (agent_name, more) =>
            server.send(tenant, "/api/v1/agents/register", { agent_name, ...more });
        await register("invoice-reader", {
            agent_version: "1.4.0",
            description: "Reads invoices from the mailbox into the ledger",
            interval_seconds: 3600,
            business_kpis: KPIS,
        });
        await register("night-watch", { interval_seconds: 86400 });
        runs = [...runsOf("invoice-reader", 25), ...runsOf("lead-scorer", 6)];
        await sendRuns(server, tenant, runs);
        for (let day = 0; day < DAYS; day++) await report("invoice-reader", day);
        await server.send(tenant, "/api/v1/telemetry/llm", {
            agent_name: "invoice-reader",
            run_id: runs[0].id,
            timestamp: new Date(runs[0].from + 1000).toISOString(),
            model: "large-model",
            input_tokens: 1_000_000,
            calls: 2,
        });
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);

    test("the fleet shows each agent with its state, its runs and what it cost today", async () => {
        const page = await open("/t/figures/fleet");
        const row = page.locator("tr", { hasText: "invoice-reader" });
        await row.waitFor();
        assert.match(await row.innerText(), /Up[\s\S]*1\.4\.0/);
        assert.equal(await row.locator(".squares a").count(), 10);
        assert.equal(await row.locator(".squares a.bad").count(), 2);
        await row.getByText(/^\$/).waitFor();
        assert.equal(await page.locator("tbody tr").count(), 3);
        const second = page.locator("tr", { hasText: "night-watch" });
        assert.match(await second.innerText(), /Never reported/);
        assert.match(await page.locator("tr", { hasText: "lead-scorer" }).innerText(), /Active/);
        await page.getByRole("button", { name: "Active (no schedule) 1" }).click();
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length < 3);
        assert.match(page.url(), /state=unscheduled/);
        await page.getByRole("button", { name: "All" }).click();
        await shot(page, "fleet");
        await row.locator(".squares a").last().click();
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        assert.ok(page.url().includes(runs[0].id), "the newest is at the right");
        await close(page);
    });

    test("the overview shows what happens, and every number leads to its list", async () => {
        const page = await open("/t/figures/overview");
        const tile = (name) => page.locator(".tile", { hasText: name });
        await tile("Failed runs").getByText("6").waitFor();
        assert.match(await tile("Runs").first().innerText(), /Runs\s+31/);
        assert.match(await tile("Failed runs").innerText(), /19 %/);
        assert.match(await tile("Silent or late").innerText(), /0/);
        assert.match(await tile("Cost today").innerText(), /\$\d/);
        await tile("Forecast to month end").getByText("$").waitFor();
        await page.locator(".column").last().hover();
        assert.match(await page.locator(".tooltip").innerText(), /so far[\s\S]*Failed\s+\d+[\s\S]*Total\s+\d+/);
        const card = (name) => page.locator(".card", { hasText: name });
        await card("Top errors").getByText("UpstreamTimeout").waitFor();
        assert.match(await card("Top errors").innerText(), /6/);
        await card("Open alerts").getByText(/of the last \d+ runs .* failed/).first().waitFor();
        await card("Agents").getByRole("row", { name: "Never reported 1" }).waitFor();
        await shot(page, "overview");
        const leads = [
            [tile("Failed runs"), /runs\?since=7d&status=failed/, "Runs"],
            [tile("Cost today"), /cost\?range=today/, "Cost"],
            [tile("Silent or late"), /fleet\?state=/, "Fleet"],
            [card("Agents").getByRole("link", { name: "1" }).first(), /fleet\?state=never_reported/, "Fleet"],
            [card("Top errors").getByText("UpstreamTimeout"), /status=failed/, "Runs"],
        ];
        for (const [link, url, title] of leads) {
            await page.goto(`${server.url}/#/t/figures/overview`);
            await link.click();
            await page.getByRole("heading", { level: 1, name: title }).waitFor();
            assert.match(page.url(), url);
        }
        await page.goto(`${server.url}/#/t/figures/overview`);
        await page.getByLabel("Period").selectOption("24h");
        await page.getByRole("heading", { name: "Runs per hour" }).waitFor();
        await close(page);
    });

    test("a run shows its tokens and their cost", async () => {
        const page = await open(`/t/figures/runs/${runs[0].id}`);
        const card = page.locator(".card", { hasText: "Tokens and cost" });
        await card.waitFor();
        assert.match(await card.innerText(), /large-model[\s\S]*\$3\.00/);
        await page.context().close();
    });

    test("usage reported an hour after the run belongs to the run", async () => {
        await server.send(tenant, "/api/v1/telemetry/llm", {
            agent_name: "invoice-reader",
            run_id: runs[1].id,
            timestamp: new Date(runs[1].from + 3_600_000).toISOString(),
            model: "small-model",
            input_tokens: 2_000_000,
            calls: 1,
        });
        const page = await open(`/t/figures/runs/${runs[1].id}`);
        const card = page.locator(".card", { hasText: "Tokens and cost" });
        await card.getByText("$2.00").waitFor();
        await close(page);
    });

    test("a KPI is shown in its unit, with its trend and breakdown", async () => {
        const page = await open("/t/figures/business?range=30d");
        const sum = Array.from({ length: DAYS }, (_, day) => 100 + day).reduce((a, b) => a + b);
        const card = page.getByRole("button", { name: "Invoices read" });
        await card.getByText(sum.toLocaleString("en")).waitFor();
        await page.getByRole("button", { name: "Value booked" }).getByText("€24,006.00").waitFor();
        await page.getByRole("button", { name: "Accuracy" }).getByText("91 %").waitFor();
        await page.getByRole("button", { name: "Slowest page" }).getByText("1 m 16 s").waitFor();
        await page.getByRole("button", { name: "undeclared" }).first().waitFor();
        await card.getByText("per 1,000").waitFor(); // the cost per unit
        await card.locator("path").first().waitFor();
        await card.click();
        await page.locator(".kpi-detail canvas").waitFor();
        await page.locator(".bars li").nth(2).waitFor();
        assert.match(page.url(), /kpi=invoice-reader%2Finvoices/);
        assert.deepEqual(await page.locator(".bars .name").allInnerTexts(), ["DE", "FR", "ES"]);
        await page.getByRole("group", { name: "Dimension" }).getByText("kind").click();
        await page.locator(".bars li", { hasText: "paper" }).waitFor();
        await page.getByLabel("Bucket").selectOption("week");
        await page.getByText("Invoices read, by week").waitFor();
        await shot(page, "business");
        await page.reload();
        await page.getByText("Invoices read, by week").waitFor();
        await close(page);
    });

    test("a breakdown shows its largest slices first, and all of them when asked", async () => {
        const page = await open("/t/figures/business?range=30d");
        await page.getByRole("button", { name: "Value booked" }).click();
        const more = page.getByRole("button", { name: "Show more (3 left)" });
        await more.waitFor();
        const names = () => page.locator(".bars .name").allInnerTexts();
        const all = Object.keys(CUSTOMERS).reverse();
        assert.deepEqual(await names(), all.slice(0, 12));
        await more.click();
        await page.locator(".bars li").nth(14).waitFor();
        assert.deepEqual(await names(), all);
        assert.equal(await more.count(), 0);
        await close(page);
    });

    test("cost is shown by day and model; models without a price are listed", async () => {
        const page = await open("/t/figures/cost");
        await page.locator(".note.warn", { hasText: "house-model" }).waitFor();
        await page.locator(".chart canvas").waitFor();
        const large = page.locator("tr", { hasText: "large-model" });
        assert.match(await large.innerText(), /\$8\.58/); // 12 × (0.3 + 0.15 + 0.015) + 3
        assert.match(await page.locator("tr", { hasText: "house-model" }).innerText(), /no price/);
        await page.locator(".bars li", { hasText: "invoice-reader" }).waitFor();
        await shot(page, "cost");
        await page.getByRole("button", { name: "Tokens" }).click();
        await page.locator(".bars li", { hasText: "M" }).waitFor();
        assert.match(page.url(), /measure=tokens/);
        await close(page);
    });

    test("a model is priced where its price is missed, by those who may", async () => {
        const other = server.addTenant("unpriced", ADMIN);
        await server.send(other, "/api/v1/telemetry/llm", {
            agent_name: "reader",
            run_id: randomUUID(),
            timestamp: new Date(Date.now() - 60_000).toISOString(),
            model: "banner-model",
            input_tokens: 1_000_000,
            output_tokens: 0,
        });
        const page = await open("/t/unpriced/cost");
        await page.locator(".note.warn").getByText("A platform admin can set prices").waitFor();
        assert.equal(await page.getByRole("button", { name: /^Set a price/ }).count(), 0);
        await close(page);
        server.addUser("pricer@example.org", "--role", "platform_admin");
        const second = await openAs(browser, server, "pricer@example.org", "/t/unpriced/cost", {});
        await second.getByRole("button", { name: "Set a price for banner-model" }).click();
        const dialog = second.getByRole("dialog");
        assert.equal(await dialog.getByLabel("Model").inputValue(), "banner-model");
        const input = dialog.getByLabel("Input", { exact: true });
        assert.ok(await input.evaluate((one) => one === document.activeElement));
        await input.fill("2");
        await dialog.getByLabel("Output", { exact: true }).fill("4");
        await dialog.getByRole("button", { name: "Save" }).click();
        await second.locator(".note.warn").waitFor({ state: "detached" });
        await second.locator("tr", { hasText: "banner-model" }).getByText("$2.00").waitFor();
        await close(second);
    });

    test("budgets show what is spent, the part of the limit, and a forecast", async () => {
        const person = await Person.signIn(server, ADMIN);
        const budgets = [{ amount: "1000.00", per: "month" }];
        await person.ask("PUT", "/api/v1/tenants/figures/rules", { budgets });
        const page = await open("/t/figures/cost");
        const budget = page.locator(".budget");
        await budget.getByText(/\$[\d.]+ of \$1,?000(\.00)?/).waitFor();
        await budget.getByText(/this month \([\d.]+.%\), forecast \$[\d.]+/).waitFor();
        await page.getByRole("progressbar", { name: "Budget per month" }).waitFor();
        await page.locator(".legend").getByText(/Budget per month, for each day: \$3[2-5]\./).waitFor();
        await shot(page, "cost-budgets");
        const ofAgent = [{ amount: "500", per: "month", agent_name: "invoice-reader", model: "large-model" }];
        await person.ask("PUT", "/api/v1/tenants/figures/rules", { budgets: ofAgent });
        await page.reload();
        await budget.getByText(/of invoice-reader with large-model this month/).waitFor();
        const hard = [{ amount: "0", per: "month", hard: true }, { amount: "1000", per: "day", hard: true }];
        await person.ask("PUT", "/api/v1/tenants/figures/rules", { budgets: hard });
        await page.reload();
        await budget.first().getByText("Stops agents").waitFor();
        await budget.nth(1).getByText("Hard").waitFor();
        await page.locator(".legend").getByText(/Budget per day: \$1,?000/).waitFor();
        await person.ask("PUT", "/api/v1/tenants/figures/rules", {});
        await close(page);
    });

    test("cost is listed by version and by run, and each run leads to its page", async () => {
        const page = await open("/t/figures/cost");
        await page.getByRole("button", { name: "By version" }).click();
        await page.locator("tr", { hasText: "invoice-reader" }).first().waitFor();
        await page.getByRole("columnheader", { name: "Version" }).waitFor();
        await page.getByRole("button", { name: "By run" }).click();
        await page.getByRole("columnheader", { name: "Run" }).waitFor();
        await page.locator("tbody a.code").first().click();
        await page.waitForURL(/#\/t\/figures\/runs\//);
        await close(page);
    });

    const tooltipMatches = ([source]) =>
        new RegExp(source).test(document.querySelector(".tooltip")?.innerText ?? "");

    /** Points at a part of the plot, from the left, until the tooltip says so: what is above the plot
     * may still grow, and move it away from the pointer. */
    async function pointAt(page, part, says) {
        await page.locator(".chart canvas").waitFor();
        for (let tries = 0; tries < 60; tries++) {
            const box = await page.locator(".chart .u-over").boundingBox();
            if (box === null) continue; // it was drawn again just then
            const x = box.x + box.width * part;
            await page.mouse.move(x - 1, box.y + box.height / 2);
            await page.mouse.move(x, box.y + box.height / 2);
            const seen = page.waitForFunction(tooltipMatches, [says.source], { timeout: 2000 });
            if (await seen.then(() => true, () => false)) return x;
        }
        return assert.fail(`the tooltip does not say ${says}`);
    }

    test("a chart shows its values at the pointer, with the total of the lines that are shown", async () => {
        const page = await open("/t/figures/cost?measure=tokens");
        const x = await pointAt(page, 0.45, /small-model\s+160K[\s\S]*Total\s+480K/);
        const tip = page.locator(".tooltip");
        const { x: left, width } = await tip.boundingBox();
        const away = Math.max(left - x, x - left - width);
        assert.ok(away <= 24, `the tooltip is ${away} pixels away`);
        await page.getByRole("button", { name: "small-model" }).click();
        await pointAt(page, 0.45, /Total\s+320K/);
        assert.doesNotMatch(await tip.innerText(), /small-model/);
        await pointAt(page, 0.99, /so far/);
        await page.getByText("not over yet").waitFor();
        await close(page);
    });

    test("a chart has a table with its values, for the keyboard", async () => {
        const page = await open("/t/figures/cost?measure=tokens");
        await page.locator(".chart canvas").waitFor();
        await page.locator(".chart-table summary").focus();
        await page.keyboard.press("Enter");
        const rows = page.locator(".chart-table tbody tr");
        await rows.nth(DAYS - 1).waitFor();
        const cells = await rows.nth(4).locator("th, td").allInnerTexts();
        assert.match(cells[0], /^\d+ \w+ \d{4}$/);
        assert.deepEqual(cells.slice(1), ["160K", "160K", "160K", "480K"]);
        assert.match(await rows.first().innerText(), /so far/);
        await close(page);
    });

    test("a model keeps its colour when another measure is chosen", async () => {
        const page = await open("/t/figures/cost");
        const colours = () =>
            page.locator(".legend button").evaluateAll((buttons) =>
                Object.fromEntries(
                    buttons.map((one) => [one.textContent, one.querySelector("i").style.background]),
                ),
            );
        await page.locator(".legend button").nth(1).waitFor();
        const cost = await colours();
        await page.getByRole("button", { name: "Tokens" }).click();
        await page.locator(".legend button").nth(2).waitFor();
        const tokens = await colours();
        assert.deepEqual(Object.keys(cost).sort(), ["large-model", "small-model"]);
        for (const model of Object.keys(cost)) assert.equal(tokens[model], cost[model], model);
        assert.equal(new Set(Object.values(tokens)).size, 3);
        await close(page);
    });

    test("negative values are on the other side of zero", async () => {
        const page = await open("/t/figures/business?range=30d&kpi=invoice-reader%2Fbalance");
        await page.locator(".chart canvas").waitFor();
        const boxOf = (name) => page.locator(".bars li", { hasText: name }).locator(".track i").boundingBox();
        await page.locator(".bars li").nth(1).waitFor();
        const [less, more] = [await boxOf("out"), await boxOf("in")];
        assert.ok(Math.abs(less.x + less.width - more.x) <= 1, JSON.stringify([less, more]));
        assert.ok(less.width < more.width);
        await close(page);
    });

    /** KPIs whose axes are hard to draw, each with the same number of values. */
    const ODD = { debt: -123_456_789, vast: 1.7e308, abyss: -1.7e308, still: 91.2, tiny: 1e-300, naught: 0 };

    async function sendOdd() {
        const odd = server.addTenant("odd-figures", ADMIN);
        await server.send(odd, "/api/v1/agents/register", {
            agent_name: "odd",
            business_kpis: Object.keys(ODD).map((key) => ({ key, label: key, unit: "money:EUR", agg: "avg" })),
        });
        for (let day = 1; day <= 5; day++)
            await server.send(odd, "/api/v1/telemetry/business", {
                agent_name: "odd",
                run_id: randomUUID(),
                timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
                metrics: ODD,
            });
    }

    /** Notes what is written at the left of a plot: labels are drawn, so they are not in the page. */
    const noteLabels = () => {
        window.labels = [];
        const draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            if (this.textAlign === "right") window.labels.push(text);
            return draw.call(this, text, ...rest);
        };
    };

    test("constant, negative, huge and tiny values have an axis that can be read, with zero", async () => {
        await sendOdd();
        const page = await open("/t/odd-figures/business?range=30d", {});
        await page.addInitScript(noteLabels);
        for (const key of Object.keys(ODD)) {
            await page.goto("about:blank");
            const kpi = encodeURIComponent(`odd/${key}`);
            await page.goto(`${server.url}/#/t/odd-figures/business?range=30d&bucket=day&kpi=${kpi}`);
            await page.waitForFunction(() => window.labels?.length > 0);
            const labels = await page.evaluate(() => [...new Set(window.labels)].filter((text) => text !== ""));
            const what = `${key}: ${labels.join(" ")}`;
            assert.ok(labels.length >= 2 && labels.length <= 12, what);
            assert.ok(labels.some((text) => !/[1-9]/.test(text)), `no zero: ${what}`);
            assert.ok(labels.every((text) => text.length <= 14), what);
            if (ODD[key] === 0) continue;
            const others = labels.filter((text) => /[1-9]/.test(text));
            assert.equal(others.every((text) => /^[-−]/.test(text)), ODD[key] < 0, what);
        }
        await close(page);
    });

    test("a period is exported as a file", async () => {
        const page = await open("/t/figures/cost");
        await page.getByRole("button", { name: "Export" }).click();
        await page.getByText("Tokens, cost and price of each report of the last 30 days").waitFor();
        const [file] = await Promise.all([
            page.waitForEvent("download"),
            page.getByRole("button", { name: "Download" }).click(),
        ]);
        assert.equal(file.suggestedFilename(), "figures-llm-30d.csv");
        const lines = readFileSync(await file.path(), "utf8")
            .trim()
            .split("\n");
        assert.equal(lines.length, 1 + 3 * DAYS + 1);
        await page.locator(".sheet").waitFor({ state: "detached" });
        await close(page);
    });

    test("an export shows its progress, and can be stopped", async () => {
        const page = await open("/t/figures/cost", {});
        await page.locator("tbody tr").first().waitFor();
        await page.route("**/export/llm?*", () => {}); // it is never answered
        await page.getByRole("button", { name: "Export" }).click();
        await page.getByLabel("Format").selectOption("ndjson");
        await page.getByRole("button", { name: "Download" }).click();
        await page.getByRole("progressbar", { name: "Export in progress" }).waitFor();
        await page.locator(".sheet").getByText("0 B so far").waitFor();
        await shot(page, "export");
        await page.getByRole("button", { name: "Stop" }).click();
        await page.getByRole("button", { name: "Download" }).waitFor();
        await close(page);
    });

    test("charts are redrawn when the colours change", async () => {
        const page = await open("/t/figures/cost", {});
        await page.locator(".chart canvas").waitFor();
        const ink = () => page.locator(".chart canvas").evaluate((canvas) => canvas.toDataURL().length);
        const light = await ink();
        await page.emulateMedia({ colorScheme: "dark" });
        await page.waitForFunction(
            (was) => document.querySelector(".chart canvas")?.toDataURL().length !== was,
            light,
        );
        await shot(page, "cost-dark");
        await page.context().close();
    });
});
