// Fleet, business and cost show the figures that were sent.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import { runsOf } from "./fleet.mjs";
import { close, shot } from "./muster.mjs";
import { button, dialogOf, download, field, fill, gone, isFocused, row, rows, sees, titled, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const DAY_MS = 86_400_000;
const DAYS = 12;
const CUSTOMERS = Object.fromEntries(
    Array.from({ length: 15 }, (_, i) => [`customer ${String.fromCharCode(65 + i)}`, 10 * (i + 1)]),
);
const KPIS = [
    { key: "invoices", label: "Invoices read", unit: "count", agg: "sum" },
    { key: "booked", label: "Value booked", unit: "money:EUR", agg: "sum" },
    { key: "accuracy", label: "Accuracy", unit: "percent", agg: "avg" },
    { key: "slowest", label: "Slowest page", unit: "duration", agg: "max" },
    { key: "balance", label: "Balance", unit: "money:EUR", agg: "sum" },
];
const RULES = "/api/v1/tenants/figures/rules";
const w = new Suite("figures");
let runs;

async function report(agent, day) {
    const at = Date.now() - day * DAY_MS - 60_000;
    const run_id = randomUUID();
    const metrics = {
        invoices: 100 + day,
        booked: 2000.5,
        accuracy: 90 + (day % 3),
        slowest: 65 + day,
        balance: day % 2 ? 40 : -123_000_000,
        undeclared: "calm",
    };
    const points = [{ country: "DE", kind: "paper", value: 100 + day }];
    const breakdowns = [
        { metric: "balance", by: "side", slices: { out: -66.13, in: 78 } },
        { metric: "booked", by: "customer", slices: CUSTOMERS },
        { metric: "invoices", by: "country", slices: { DE: 70 + day, FR: 20, ES: 10 } },
        { metric: "invoices", by: ["country", "kind"], points },
    ];
    await w.business(agent, run_id, at, metrics, { breakdowns });
    for (const model of ["small-model", "large-model", "house-model"])
        await w.usage(agent, run_id, at, model, 100_000, { output_tokens: 10_000, cache_read_tokens: 50_000, calls: 5 });
}

describe("fleet, business and cost", () => {
    w.begin(async () => {
        const setPrice = (model, ...[input, output, cached]) =>
            w.cli("price", "set", model, "--input", input, "--output", output, "--cache-read", cached);
        setPrice("small-model", "1", "5", "0.1");
        setPrice("large-model", "3", "15", "0.3");
        await w.register("invoice-reader", {
            agent_version: "1.4.0",
            description: "Reads invoices from the mailbox into the ledger",
            interval_seconds: 3600,
            business_kpis: KPIS,
        });
        await w.register("night-watch", { interval_seconds: 86400 });
        runs = [...runsOf("invoice-reader", 25), ...runsOf("lead-scorer", 6)];
        await w.runs(runs);
        for (let day = 0; day < DAYS; day++) await report("invoice-reader", day);
        await w.usage("invoice-reader", runs[0].id, runs[0].from + 1000, "large-model", 1_000_000, { calls: 2 });
    });

    const setRules = async (rules) => (await w.person()).ask("PUT", RULES, rules);
    const kpi = (page, name) => page.getByRole("button", { name });

    w.test("the fleet shows each agent with its state, its runs and what it cost today", "fleet", async (page) => {
        const reader = row(page, "invoice-reader");
        await reader.waitFor();
        assert.match(await reader.innerText(), /Up[\s\S]*1\.4\.0/);
        assert.equal(await reader.locator(".squares a").count(), 10);
        assert.equal(await reader.locator(".squares a.bad").count(), 2);
        await sees(reader, /^\$/);
        assert.equal(await rows(page).count(), 3);
        assert.match(await row(page, "night-watch").innerText(), /Never reported/);
        assert.match(await row(page, "lead-scorer").innerText(), /Active/);
        await use(page, "Active (no schedule) 1");
        await page.waitForFunction(() => document.querySelectorAll("tbody tr").length < 3);
        assert.match(page.url(), /state=unscheduled/);
        await use(page, /^All/);
        await shot(page, "fleet");
        await reader.locator(".squares a").last().click();
        await page.getByRole("heading", { name: "Narrative" }).waitFor();
        assert.ok(page.url().includes(runs[0].id), "the newest is at the right");
    });

    w.test("the overview shows what happens, and every number leads to its list", "overview", async (page) => {
        const tile = (name) => page.locator(".tile", { hasText: name });
        const card = (name) => page.locator(".card", { hasText: name });
        await sees(tile("Failed runs"), "6");
        assert.match(await tile("Runs").first().innerText(), /Runs\s+31/);
        assert.match(await tile("Failed runs").innerText(), /19 %/);
        assert.match(await tile("Silent or late").innerText(), /0/);
        assert.match(await tile("Cost today").innerText(), /\$\d/);
        await sees(tile("Forecast to month end"), "$");
        await page.locator(".column").last().hover();
        assert.match(await page.locator(".tooltip").innerText(), /so far[\s\S]*Failed\s+\d+[\s\S]*Total\s+\d+/);
        await sees(card("Top errors"), "UpstreamTimeout");
        assert.match(await card("Top errors").innerText(), /6/);
        await sees(card("Open alerts"), /of the last \d+ runs .* failed/);
        await card("Agents").getByRole("row", { name: "Never reported 1" }).waitFor();
        await shot(page, "overview");
        for (const [link, url, title] of [
            [tile("Failed runs"), /runs\?since=7d&status=failed/, "Runs"],
            [tile("Cost today"), /cost\?range=today/, "Cost"],
            [tile("Silent or late"), /fleet\?state=/, "Fleet"],
            [card("Agents").getByRole("link", { name: "1" }).first(), /fleet\?state=never_reported/, "Fleet"],
            [card("Top errors").getByText("UpstreamTimeout"), /status=failed/, "Runs"],
        ]) {
            await w.go(page, "overview");
            await link.click();
            await titled(page, title);
            assert.match(page.url(), url);
        }
        await w.go(page, "overview");
        await fill(page, { Period: "24h" });
        await page.getByRole("heading", { name: "Runs per hour" }).waitFor();
    });

    w.test("a run shows its tokens and their cost, also of what was reported an hour later", "overview", async (page) => {
        const later = runs[1].from + 3_600_000;
        await w.usage("invoice-reader", runs[1].id, later, "small-model", 2_000_000, { calls: 1 });
        const card = page.locator(".card", { hasText: "Tokens and cost" });
        for (const [run, text] of [[runs[0], /large-model[\s\S]*\$3\.00/], [runs[1], /\$2\.00/]]) {
            await w.go(page, `runs/${run.id}`);
            await card.filter({ hasText: text }).waitFor();
        }
    });

    w.test("a KPI is shown in its unit, with its trend and breakdown", "business?range=30d", async (page) => {
        const sum = Array.from({ length: DAYS }, (_, day) => 100 + day).reduce((a, b) => a + b);
        const invoices = kpi(page, "Invoices read");
        for (const [name, value] of [
            ["Invoices read", sum.toLocaleString("en")],
            ["Invoices read", "per 1,000"], // the cost per unit
            ["Value booked", "€24,006.00"],
            ["Accuracy", "91 %"],
            ["Slowest page", "1 m 16 s"],
        ])
            await sees(kpi(page, name), value);
        await kpi(page, "undeclared").first().waitFor();
        await invoices.locator("path").first().waitFor();
        await invoices.click();
        await page.locator(".kpi-detail canvas").waitFor();
        await page.locator(".bars li").nth(2).waitFor();
        assert.match(page.url(), /kpi=invoice-reader%2Finvoices/);
        assert.deepEqual(await page.locator(".bars .name").allInnerTexts(), ["DE", "FR", "ES"]);
        await page.getByRole("group", { name: "Dimension" }).getByText("kind").click();
        await page.locator(".bars li", { hasText: "paper" }).waitFor();
        await fill(page, { Bucket: "week" });
        await sees(page, "Invoices read, by week");
        await shot(page, "business");
        await page.reload();
        await sees(page, "Invoices read, by week");
    });

    w.test("a breakdown shows its largest slices first, and all of them when asked", "business?range=30d", async (page) => {
        await kpi(page, "Value booked").click();
        const more = button(page, "Show more (3 left)");
        await more.waitFor();
        const names = () => page.locator(".bars .name").allInnerTexts();
        const all = Object.keys(CUSTOMERS).reverse();
        assert.deepEqual(await names(), all.slice(0, 12));
        await more.click();
        await page.locator(".bars li").nth(14).waitFor();
        assert.deepEqual(await names(), all);
        assert.equal(await more.count(), 0);
    });

    w.test("negative values are on the other side of zero", "business?range=30d&kpi=invoice-reader%2Fbalance", async (page) => {
        const boxOf = (name) => page.locator(".bars li", { hasText: name }).locator(".track i").boundingBox();
        await page.locator(".bars li").nth(1).waitFor();
        const [less, more] = [await boxOf("out"), await boxOf("in")];
        assert.ok(Math.abs(less.x + less.width - more.x) <= 1, JSON.stringify([less, more]));
        assert.ok(less.width < more.width);
    });

    w.test("cost is shown by day and model; models without a price are listed", "cost", async (page) => {
        await page.locator(".note.warn", { hasText: "house-model" }).waitFor();
        await page.locator(".chart canvas").waitFor();
        assert.match(await row(page, "large-model").innerText(), /\$8\.58/); // 12 × (0.3 + 0.15 + 0.015) + 3
        assert.match(await row(page, "house-model").innerText(), /no price/);
        await page.locator(".bars li", { hasText: "invoice-reader" }).waitFor();
        await shot(page, "cost");
        await use(page, "Tokens");
        await page.locator(".bars li", { hasText: "M" }).waitFor();
        assert.match(page.url(), /measure=tokens/);
    });

    test("a model is priced where its price is missed, by those who may", async () => {
        const other = w.addTenant("unpriced");
        await w.usage("reader", randomUUID(), Date.now() - 60_000, "banner-model", 1_000_000, { output_tokens: 0 }, other);
        const page = await w.open("/t/unpriced/cost");
        await sees(page.locator(".note.warn"), "A platform admin can set prices");
        assert.equal(await page.getByRole("button", { name: /^Set a price/ }).count(), 0);
        await close(page);
        w.server.addUser("pricer@example.org", "--role", "platform_admin");
        const second = await w.open("/t/unpriced/cost", { email: "pricer@example.org" });
        await use(second, "Set a price for banner-model");
        const dialog = dialogOf(second);
        assert.equal(await field(dialog, "Model").inputValue(), "banner-model");
        assert.ok(await isFocused(field(dialog, "Input")));
        await fill(dialog, { Input: "2", Output: "4" });
        await use(dialog, "Save");
        await gone(second, second.locator(".note.warn"));
        await sees(row(second, "banner-model"), "$2.00");
        await close(second);
    });

    w.test("budgets show what is spent, the part of the limit, and a forecast", "overview", async (page) => {
        await setRules({ budgets: [{ amount: "1000.00", per: "month" }] });
        await w.go(page, "cost");
        const budget = page.locator(".budget");
        const legend = page.locator(".legend");
        await sees(budget, /\$[\d.]+ of \$1,?000(\.00)?/, /this month \([\d.]+.%\), forecast \$[\d.]+/);
        await page.getByRole("progressbar", { name: "Budget per month" }).waitFor();
        await sees(legend, /Budget per month, for each day: \$3[2-5]\./);
        await shot(page, "cost-budgets");
        const agent_name = "invoice-reader";
        await setRules({ budgets: [{ amount: "500", per: "month", agent_name, model: "large-model" }] });
        await page.reload();
        await sees(budget, /of invoice-reader with large-model this month/);
        const hard = [{ amount: "0", per: "month", hard: true }, { amount: "1000", per: "day", hard: true }];
        await setRules({ budgets: hard });
        await page.reload();
        await sees(budget.first(), "Stops agents");
        await sees(budget.nth(1), "Hard");
        await sees(legend, /Budget per day: \$1,?000/);
        await setRules({});
    });

    w.test("cost is listed by version and by run, and each run leads to its page", "cost", async (page) => {
        await use(page, "By version");
        await row(page, "invoice-reader").first().waitFor();
        await page.getByRole("columnheader", { name: "Version" }).waitFor();
        await use(page, "By run");
        await page.getByRole("columnheader", { name: "Run" }).waitFor();
        await page.locator("tbody a.code").first().click();
        await page.waitForURL(/#\/t\/figures\/runs\//);
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

    const tokens = "cost?measure=tokens";
    w.test("a chart shows its values at the pointer, with the total of the lines that are shown", tokens, async (page) => {
        const x = await pointAt(page, 0.45, /small-model\s+160K[\s\S]*Total\s+480K/);
        const tip = page.locator(".tooltip");
        const { x: left, width } = await tip.boundingBox();
        const away = Math.max(left - x, x - left - width);
        assert.ok(away <= 24, `the tooltip is ${away} pixels away`);
        await kpi(page, "small-model").click();
        await pointAt(page, 0.45, /Total\s+320K/);
        assert.doesNotMatch(await tip.innerText(), /small-model/);
        await pointAt(page, 0.99, /so far/);
        await sees(page, "not over yet");
    });

    w.test("a model keeps its colour when another measure is chosen", "cost", async (page) => {
        const legend = page.locator(".legend button");
        const colours = () =>
            legend.evaluateAll((all) =>
                Object.fromEntries(all.map((one) => [one.textContent, one.querySelector("i").style.background])),
            );
        await legend.nth(1).waitFor();
        const cost = await colours();
        await use(page, "Tokens");
        await legend.nth(2).waitFor();
        const used = await colours();
        assert.deepEqual(Object.keys(cost).sort(), ["large-model", "small-model"]);
        for (const model of Object.keys(cost)) assert.equal(used[model], cost[model], model);
        assert.equal(new Set(Object.values(used)).size, 3);
    });

    /** KPIs whose axes are hard to draw, each with the same number of values. */
    const ODD = { debt: -123_456_789, vast: 1.7e308, abyss: -1.7e308, still: 91.2, tiny: 1e-300, naught: 0 };

    async function sendOdd() {
        const odd = w.addTenant("odd-figures");
        const business_kpis = Object.keys(ODD).map((key) => ({ key, label: key, unit: "money:EUR", agg: "avg" }));
        await w.register("odd", { business_kpis }, odd);
        for (let day = 1; day <= 5; day++)
            await w.business("odd", randomUUID(), Date.now() - day * DAY_MS, ODD, {}, odd);
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

    w.test("constant, negative, huge and tiny values have an axis that can be read, with zero", "overview", async (page) => {
        await sendOdd();
        await page.addInitScript(noteLabels);
        for (const [key, value] of Object.entries(ODD)) {
            await page.goto("about:blank");
            await w.go(page, `/t/odd-figures/business?range=30d&bucket=day&kpi=odd%2F${key}`);
            await page.waitForFunction(() => window.labels?.length > 0);
            const labels = await page.evaluate(() => [...new Set(window.labels)].filter((text) => text !== ""));
            const what = `${key}: ${labels.join(" ")}`;
            assert.ok(labels.length >= 2 && labels.length <= 12, what);
            assert.ok(labels.some((text) => !/[1-9]/.test(text)), `no zero: ${what}`);
            assert.ok(labels.every((text) => text.length <= 14), what);
            if (value === 0) continue;
            const others = labels.filter((text) => /[1-9]/.test(text));
            assert.equal(others.every((text) => /^[-−]/.test(text)), value < 0, what);
        }
    }, { fresh: true });

    w.test("a period is exported as a file, with its progress, and can be stopped", "cost", async (page) => {
        await rows(page).first().waitFor();
        await use(page, "Export");
        await sees(page, "Tokens, cost and price of each report of the last 30 days");
        const { name, path } = await download(page);
        assert.equal(name, "figures-llm-30d.csv");
        assert.equal(readFileSync(path, "utf8").trim().split("\n").length, 1 + 3 * DAYS + 1); // and that of a run
        await gone(page, page.locator(".sheet"));
        await page.route("**/export/llm?*", () => {}); // it is never answered
        await use(page, "Export");
        await fill(page, { Format: "ndjson" });
        await use(page, "Download");
        await page.getByRole("progressbar", { name: "Export in progress" }).waitFor();
        await sees(page.locator(".sheet"), "0 B so far");
        await shot(page, "export");
        await use(page, "Stop");
        await button(page, "Download").waitFor();
    }, { fresh: true });

    w.test("charts are redrawn when the colours change", "cost", async (page) => {
        await page.locator(".chart canvas").waitFor();
        const ink = () => page.locator(".chart canvas").evaluate((canvas) => canvas.toDataURL().length);
        const light = await ink();
        await page.emulateMedia({ colorScheme: "dark" });
        await page.waitForFunction(
            (was) => document.querySelector(".chart canvas")?.toDataURL().length !== was,
            light,
        );
        await shot(page, "cost-dark");
    }, { fresh: true });
});
