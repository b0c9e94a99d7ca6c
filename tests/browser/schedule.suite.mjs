// The schedule of an agent that declares none is set in the portal: with a grace, a pause and a
// maintenance window. A second agent, which declares its own, shows that time was judged meanwhile.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { runsOf, sendRuns } from "./fleet.mjs";
import { Clock, close, openAs, openBrowser, Server } from "./muster.mjs";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const AGENT = "drifter"; // declares nothing
const OTHER = "metronome"; // declares an hour: it is silent after an hour and a half

let server, browser, tenant, clock;

describe("a schedule that is set in the portal", () => {
    before(async () => {
        clock = new Clock();
        server = await Server.start([], clock.environment);
        browser = await openBrowser();
        tenant = server.addTenant("acme");
        await server.send(tenant, "/api/v1/agents/register", { agent_name: OTHER, interval_seconds: HOUR });
        await report();
    });

    after(async () => {
        await server?.stop();
        clock?.remove();
    });

    const HOME = `/t/acme/agents/${AGENT}`;
    const open = (hash) => openAs(browser, server, tenant.email, hash, { timezoneId: "UTC" });
    const button = (page, name) => page.getByRole("button", { name, exact: true });
    const cardOf = (page) =>
        page.locator(".card").filter({ has: page.getByRole("heading", { name: "Schedule" }) });
    const alertOf = (page, agent) => page.locator(".alert").filter({ hasText: agent });

    /** Both are seen now, which closes their alerts. */
    async function report() {
        const now = clock.now();
        await sendRuns(server, tenant, [...runsOf(AGENT, 1, now), ...runsOf(OTHER, 1, now)]);
    }

    /** The page with the open alerts, when it has none. */
    async function openAlerts() {
        const page = await open("/t/acme/alerts");
        await page.getByText("No open alerts").waitFor();
        return page;
    }

    /** The other agent has fallen silent by then, and this one has not. */
    async function passUnnoticed(page, seconds) {
        clock.advance(seconds);
        await alertOf(page, OTHER).waitFor();
        assert.equal(await alertOf(page, AGENT).count(), 0);
    }

    const isState = (page, state) => page.locator(".heading .chip").getByText(state, { exact: true }).waitFor();

    test("it is late within its grace, and silent after it", async () => {
        const page = await open(HOME);
        await isState(page, "Active (no schedule)");
        const card = cardOf(page);
        await card.getByText("it can never be late or silent").waitFor();
        assert.equal(await button(card, "Pause").count(), 0);
        await button(card, "Set a schedule").click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Every").fill("2");
        await dialog.getByLabel("Unit").selectOption("3600");
        await dialog.getByLabel("Grace in minutes").fill("30");
        await button(dialog, "Save").click();
        await card.getByText("every 2 h").waitFor();
        await card.getByText("set here").waitFor();
        assert.match(await card.innerText(), /Grace\s+30 m/);
        await isState(page, "Up");
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 2 * HOUR + 10 * MINUTE);
        await page.reload();
        await isState(page, "Late");
        clock.advance(25 * MINUTE);
        await alertOf(alerts, AGENT).getByText("expected every 2 h").waitFor();
        await page.reload();
        await isState(page, "Silent");
        await report();
        await alerts.getByText("No open alerts").waitFor();
        await close(alerts);
        await close(page);
    });

    test("paused, it is not expected until it is resumed", async () => {
        const page = await open(HOME);
        const card = cardOf(page);
        await button(card, "Pause").click();
        await card.getByText("Nothing is expected of it").waitFor();
        assert.match(await card.innerText(), /Next expected\s+paused\s+Silent after\s+paused/);
        await isState(page, "Active (paused)");
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 5 * HOUR);
        await button(card, "Resume").click();
        await button(card, "Pause").waitFor();
        assert.match(await card.innerText(), /every 2 h\s+set here[^]*Grace\s+30 m/);
        clock.advance(2 * HOUR + 31 * MINUTE);
        await alertOf(alerts, AGENT).waitFor();
        await report();
        await alerts.getByText("No open alerts").waitFor();
        await close(alerts);
        await close(page);
    });

    test("in a maintenance window it opens no alert, and is expected again after it", async () => {
        const fieldOf = (seconds) => new Date(clock.now() + seconds * 1000).toISOString().slice(0, 16);
        const page = await open("/t/acme/alerts?tab=maintenance");
        await button(page, "Plan maintenance").click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Agent").fill(AGENT);
        await dialog.getByLabel("Note").fill("New disks");
        await dialog.getByLabel("From").fill(fieldOf(-MINUTE));
        await dialog.getByLabel("Until").fill(fieldOf(5 * HOUR));
        await button(dialog, "Plan").click();
        const row = page.locator(".rules li").filter({ hasText: "New disks" });
        await row.getByText("Now", { exact: true }).waitFor();
        await page.goto(`${server.url}/#${HOME}`);
        await cardOf(page).getByText("No alert opens when it is silent").waitFor();
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 4 * HOUR);
        clock.advance(HOUR + 2 * HOUR + 33 * MINUTE); // the rest of the window, and its interval and grace
        await alertOf(alerts, AGENT).waitFor();
        await page.reload();
        await isState(page, "Silent");
        assert.equal(await cardOf(page).getByText("Maintenance").count(), 0);
        await close(alerts);
        await close(page);
    });
});
