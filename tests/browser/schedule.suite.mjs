// The schedule of an agent that declares none is set in the portal: with a grace, a pause and a
// maintenance window. A second agent, which declares its own, shows that time was judged meanwhile.

import assert from "node:assert/strict";
import { describe } from "node:test";

import { runsOf } from "./fleet.mjs";
import { close } from "./muster.mjs";
import { button, card, form, sees, use } from "./portal.mjs";
import { Suite } from "./suite.mjs";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const AGENT = "drifter"; // declares nothing
const OTHER = "metronome"; // declares an hour: it is silent after an hour and a half
const HOME = `agents/${AGENT}`;
const timezoneId = "UTC";
const w = new Suite("acme", { clock: true });

describe("a schedule that is set in the portal", () => {
    w.begin(async () => {
        await w.register(OTHER, { interval_seconds: HOUR });
        await report();
    });

    const alertOf = (page, agent) => page.locator(".alert").filter({ hasText: agent });
    const isState = (page, state) => page.locator(".heading .chip").getByText(state, { exact: true }).waitFor();

    /** Both are seen now, which closes their alerts. */
    async function report() {
        const now = w.clock.now();
        await w.runs([...runsOf(AGENT, 1, now), ...runsOf(OTHER, 1, now)]);
    }

    /** The page with the open alerts, when it has none. */
    async function openAlerts() {
        const page = await w.open("alerts", { timezoneId });
        await sees(page, "No open alerts");
        return page;
    }

    /** The other agent has fallen silent by then, and this one has not. */
    async function passUnnoticed(page, seconds) {
        w.clock.advance(seconds);
        await alertOf(page, OTHER).waitFor();
        assert.equal(await alertOf(page, AGENT).count(), 0);
    }

    w.test("it is late within its grace, and silent after it", HOME, async (page) => {
        const schedule = card(page, "Schedule");
        await isState(page, "Active (no schedule)");
        await sees(schedule, "it can never be late or silent");
        assert.equal(await button(schedule, "Pause").count(), 0);
        await form(page, "Set a schedule", { Every: "2", Unit: "3600", "Grace in minutes": "30" }, "Save");
        await sees(schedule, "every 2 h", "set here");
        assert.match(await schedule.innerText(), /Grace\s+30 m/);
        await isState(page, "Up");
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 2 * HOUR + 10 * MINUTE);
        await page.reload();
        await isState(page, "Late");
        w.clock.advance(25 * MINUTE);
        await sees(alertOf(alerts, AGENT), "expected every 2 h");
        await page.reload();
        await isState(page, "Silent");
        await report();
        await sees(alerts, "No open alerts");
        await close(alerts);
    }, { timezoneId });

    w.test("paused, it is not expected until it is resumed", HOME, async (page) => {
        const schedule = card(page, "Schedule");
        await use(schedule, "Pause");
        await sees(schedule, "Nothing is expected of it");
        assert.match(await schedule.innerText(), /Next expected\s+paused\s+Silent after\s+paused/);
        await isState(page, "Active (paused)");
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 5 * HOUR);
        await use(schedule, "Resume");
        await button(schedule, "Pause").waitFor();
        assert.match(await schedule.innerText(), /every 2 h\s+set here[^]*Grace\s+30 m/);
        w.clock.advance(2 * HOUR + 31 * MINUTE);
        await alertOf(alerts, AGENT).waitFor();
        await report();
        await sees(alerts, "No open alerts");
        await close(alerts);
    }, { timezoneId });

    const maintenance = "alerts?tab=maintenance";
    w.test("in a maintenance window it opens no alert, and is expected again after it", maintenance, async (page) => {
        const fieldOf = (seconds) => new Date(w.clock.now() + seconds * 1000).toISOString().slice(0, 16);
        const window = { Agent: AGENT, Note: "New disks", From: fieldOf(-MINUTE), Until: fieldOf(5 * HOUR) };
        await form(page, "Plan maintenance", window, "Plan");
        const row = page.locator(".rules li").filter({ hasText: "New disks" });
        await row.getByText("Now", { exact: true }).waitFor();
        await w.go(page, HOME);
        await sees(card(page, "Schedule"), "No alert opens when it is silent");
        const alerts = await openAlerts();
        await passUnnoticed(alerts, 4 * HOUR);
        w.clock.advance(HOUR + 2 * HOUR + 33 * MINUTE); // the rest of the window, and its interval and grace
        await alertOf(alerts, AGENT).waitFor();
        await page.reload();
        await isState(page, "Silent");
        assert.equal(await card(page, "Schedule").getByText("Maintenance").count(), 0);
        await close(alerts);
    }, { timezoneId });
});
