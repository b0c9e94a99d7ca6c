// The demo as a visitor sees it: what its link opens, what happens in the first seconds, and what
// its charts look like a day later.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { BY_TEST_CLOCK, Demo } from "./demo.mjs";
import { Person, close, openBrowser, openPage, shot } from "./muster.mjs";
import { count, gone, row, sees, titled, use } from "./portal.mjs";

const DAY_S = 86_400;
const LOOK_MS = 200; // between two looks: a session may ask ten times a second
const T = "/api/v1/tenants/acme";
const STOPS = ["Runs", "Workflows", "Business", "Fleet", "Alerts"];

let demo, browser;

describe("the demo", () => {
    before(async () => {
        demo = await Demo.start(BY_TEST_CLOCK);
        browser = await openBrowser();
    });

    after(() => demo?.stop());

    const open = (hash) => demo.open(browser, hash);

    /** First: later messages take their place. That they are due at once, test_demo.py says. */
    test("a failure and a silence appear beside the message that is sent of each", async () => {
        const page = await open("/t/acme/overview");
        const card = (title) => page.locator(".overview .card", { hasText: title });
        const happens = async (alert, message) => {
            await sees(card("Open alerts"), alert);
            await sees(card("Notifications sent").locator("li", { hasText: message }), "Delivered");
        };
        await happens(/price-watcher: \d+ of the last \d+ runs .* failed/, /agent\.failing.*price-watcher/);
        await happens(/uptime-probe is silent: expected every 5 s/, /agent\.silent.*uptime-probe/);
        await shot(page, "demo-first-seconds");
        await close(page);
    });

    test("its link signs in, and opens the overview with a short tour", async () => {
        const page = await openPage(browser, { url: "http://127.0.0.1" });
        await page.goto(demo.link);
        await titled(page, "Overview");
        assert.equal(page.url(), `${demo.url}/#/t/acme/overview`);
        const stops = page.locator(".tour li a");
        assert.equal(await stops.count(), STOPS.length);
        for (const [i, name] of STOPS.entries()) {
            await stops.nth(i).click();
            await titled(page, name);
            await page.goBack();
            await page.locator(".tour").waitFor();
        }
        await shot(page, "demo-overview");
        await use(page, "Close the tour");
        await gone(page, page.locator(".tour"));
        await page.reload();
        await page.locator(".tiles").waitFor();
        assert.equal(await page.locator(".tour").count(), 0);
        await close(page);
    });

    test("a workflow is one chain, and its check names the input that is missing", async () => {
        const page = await open("/t/acme/workflows?since=30d");
        await row(page, "payment-preparer").first().locator("a.row-link").click();
        await count(page, 3, ".workflow-graph .node");
        await count(page, 2, ".workflow-graph .edge");
        await sees(page, /iban/);
        await close(page);
    });

    /** The totals of a chart's periods, the newest first, from the table behind it. */
    async function totalsOf(page) {
        await page.locator(".chart-table summary").first().click();
        const rows = page.locator(".chart-table").first().locator("tbody tr");
        await rows.nth(2).waitFor();
        const texts = await rows.evaluateAll((all) => all.map((row) => row.lastElementChild.textContent));
        const [soFar, ...full] = texts.map((text) => Number(text.replace(/[$,]/g, "")));
        assert.ok(Number.isFinite(soFar) && full.every(Number.isFinite), texts.join(" "));
        return full;
    }

    /** The last full day is of the demo at work, those before are of the past that it began with. */
    function keepsScale(name, [live, began, ...past]) {
        const usual = past.slice(0, -1); // the first day is not whole
        const [least, most] = [Math.min(...usual), Math.max(...usual)];
        assert.ok(usual.length > 20, `${name}: ${usual.length} days`);
        for (const day of [live, began])
            assert.ok(day > least * 0.6 && day < most * 1.6, `${name}: ${day}; ${usual.join(" ")}`);
    }

    test("a day later the charts have the scale of the days before, and tickets are whole", async () => {
        const toMidnight = DAY_S - (Math.floor(demo.clock.now() / 1000) % DAY_S);
        demo.clock.advance(toMidnight + DAY_S + 600);
        demo.sessions.clear(); // they have ended meanwhile
        const person = await Person.signIn(demo, demo.email, demo.password);
        const since = new Date(demo.clock.now() - (DAY_S + 600) * 1000).toISOString();
        for (;;) {
            const path = `${T}/dashboard/runs?agent_name=support-triage&since=${since}&limit=100`;
            const { runs } = await person.ask("GET", path);
            if (runs.length >= 23) break; // one per hour
            await pause(LOOK_MS);
        }
        const page = await open("/t/acme/overview?range=30d");
        await page.locator(".stack-plot").waitFor();
        keepsScale("runs", await totalsOf(page));
        await shot(page, "demo-next-day");
        await page.goto(`${demo.url}/#/t/acme/cost?range=30d`);
        await page.locator(".chart canvas").first().waitFor();
        keepsScale("cost", await totalsOf(page));
        const kpi = encodeURIComponent("support-triage/tickets");
        await page.goto(`${demo.url}/#/t/acme/business?range=30d&bucket=day&kpi=${kpi}`);
        await page.locator(".chart canvas").first().waitFor();
        const tickets = await totalsOf(page);
        keepsScale("tickets", tickets);
        const parts = await page.locator(".breakdown .value").allInnerTexts();
        assert.ok(parts.length > 2 && parts.every((part) => /^[\d,]+$/.test(part)), parts.join(" "));
        assert.ok(tickets.every(Number.isInteger), tickets.join(" "));
        await close(page);
    });
});
