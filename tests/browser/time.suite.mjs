// One control of time: choices, a range of one's own, the period before, a part of a chart.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { event, runsOf } from "./fleet.mjs";
import { close, shot } from "./muster.mjs";
import { button, count, fill, live, queryOf, sees, use } from "./portal.mjs";
import { ROOT } from "./root.mjs";
import { Suite } from "./suite.mjs";

const HOUR = 3_600_000;
const DAY = 86_400_000;
const startOfDay = () => Math.floor(Date.now() / DAY) * DAY;
const TODAY = startOfDay(); // for days that are over; a test may run on the day after
const w = new Suite("timely");

let runs;

/** The files that draw charts, by the portal's sources. */
function drawingFiles() {
    const folder = join(ROOT, "web/src");
    return readdirSync(folder, { recursive: true })
        .filter((name) => name.endsWith(".tsx"))
        .filter((name) => /<(?:Stack)?Chart\b/.test(readFileSync(join(folder, name), "utf8")))
        .sort();
}

/** Where the charts of each file are, and how many. The time of a run is not a period that its page
 * could show a part of. */
const CHARTS = [
    { files: ["features/overview/cards.tsx"], place: "overview?range=30d", charts: 1 },
    { files: ["features/cost/usage_chart.tsx"], place: "cost?measure=tokens&range=30d", charts: 1 },
    { files: ["features/kpis/kpi_detail.tsx"], place: "business?kpi=fresh%2Fmails&range=30d", charts: 1 },
    {
        files: ["features/events/agent_runs.tsx", "features/kpis/agent_series.tsx"],
        place: "agents/fresh?tab=activity&range=30d",
        charts: 3,
    },
    { files: ["features/events/run_metrics.tsx"], place: "runs/MEASURED", charts: 1, fixed: true },
];
const MEASURED = "3f2b8c1e-9a4d-4e6f-8b7a-00000000c4a7";

const isoOf = (at) => new Date(at).toISOString();
const rangeOf = (from, to) => `${isoOf(from)}/${isoOf(to)}`;
const fieldOf = (at) => isoOf(at).slice(0, 16);

describe("time", () => {
    w.begin(async () => {
        runs = [...runsOf("fresh", 3), ...runsOf("aged", 4, TODAY - 9 * DAY)];
        await w.runs(runs);
        const measured = { agent: "slow", id: MEASURED, from: TODAY - 60 * DAY };
        const step = (n) => event(w.tenant, measured, "in_progress", n * 1000, { metrics: { pages: n } });
        await w.events([1, 2, 3].map(step));
        for (let back = 1; back <= 8; back++) {
            const at = TODAY - back * DAY + 1000;
            await w.usage("fresh", runs[0].id, at, "small", 1000 * back);
            await w.business("fresh", randomUUID(), at, { mails: 10 * back }); // a run has one value of a KPI
        }
    });

    /** The range in the address. */
    const chosen = (page, name = "range") => queryOf(page).get(name)?.split("/").map(Date.parse);
    const cutOut = (page) => page.waitForURL(/(range|since)=.*%2F/);
    const figureOf = (page, name) => page.getByRole("figure", { name });

    const IN_UTC = { timezoneId: "UTC" };
    w.test("a range of one's own is applied, kept in the address, and undone by Back", "runs", async (page) => {
        await count(page, 3);
        await use(page, "Custom range");
        const [from, to] = [TODAY - 10 * DAY, TODAY - 8 * DAY];
        await fill(page, { From: fieldOf(to), To: fieldOf(from) });
        await use(page, "Apply");
        await sees(page, "The end must be after the beginning");
        await shot(page, "custom-range");
        await fill(page, { From: fieldOf(from), To: fieldOf(to) });
        await use(page, "Apply");
        await count(page, 4);
        assert.deepEqual(chosen(page, "since"), [from, to]);
        await page.reload();
        await count(page, 4);
        await page.goBack();
        await count(page, 3);
    }, IN_UTC);

    w.test("a range is typed in the zone that the person chose", "runs", async (page) => {
        await count(page, 3);
        await use(page, "Custom range");
        await sees(page, "Times are in America/Lima");
        await fill(page, { From: fieldOf(TODAY - 10 * DAY), To: fieldOf(TODAY - 8 * DAY) });
        await use(page, "Apply");
        await cutOut(page);
        assert.equal(chosen(page, "since")[0], TODAY - 10 * DAY + 5 * HOUR); // Lima is UTC-5
    }, { timezoneId: "America/Lima" });

    w.test("the period before is as long, and ends where this one begins", "runs?since=7d", async (page) => {
        await count(page, 3);
        await use(page, "Period before");
        await count(page, 4); // 7 to 14 days ago
        const [from, to] = chosen(page, "since");
        assert.equal(to - from, 7 * DAY);
        assert.ok(Math.abs(Date.now() - 7 * DAY - to) < DAY / 2);
        await use(page, "Period before");
        await sees(page, "No runs match");
        assert.equal(chosen(page, "since")[1], from);
    });

    /** Marks a part of a plot, from the left, as a person does with the mouse. */
    async function drag(page, plot, from, to, button = "left") {
        await plot.scrollIntoViewIfNeeded();
        const { x, y, width, height } = await plot.boundingBox();
        const at = (part) => [x + width * part, y + height / 2];
        await page.mouse.move(...at(from));
        await page.mouse.down({ button });
        await page.mouse.move(...at((from + to) / 2), { steps: 5 });
        await page.mouse.move(...at(to), { steps: 5 });
        await page.mouse.up({ button });
    }

    w.test("dragging over a chart shows the days that were marked", "cost?measure=tokens&range=30d", async (page) => {
        const plot = page.locator(".chart .u-over");
        await plot.waitFor();
        await drag(page, plot, 0.05, 0.9, "right"); // opens the browser's menu, and marks nothing
        assert.match(page.url(), /range=30d/);
        await drag(page, plot, 0.3, 0.58); // eight days: 12.5 % each
        await cutOut(page);
        assert.deepEqual(chosen(page), [TODAY - 6 * DAY, TODAY - 3 * DAY]);
        await fill(page, { Period: "7d" });
        await page.waitForURL(/range=7d/);
    });

    /** The same with a finger. */
    async function swipe(page, plot, from, to) {
        await plot.scrollIntoViewIfNeeded();
        const { x, y, width, height } = await plot.boundingBox();
        const client = await page.context().newCDPSession(page);
        const touch = (type, part) =>
            client.send("Input.dispatchTouchEvent", {
                type,
                touchPoints: part === null ? [] : [{ x: x + width * part, y: y + height / 2 }],
            });
        await touch("touchStart", from);
        for (let step = 1; step <= 5; step++) await touch("touchMove", from + ((to - from) * step) / 5);
        await touch("touchEnd", null);
        await client.detach();
    }

    /** And with the keyboard: the last two periods. */
    async function mark(page, plot) {
        await plot.focus();
        for (const key of ["End", "Shift+ArrowLeft", "Enter"]) await page.keyboard.press(key);
    }

    /** Opens the place and returns its charts, drawn. The page before has none that could be taken for them:
     * loads of the whole portal took a third of what the suite costs. */
    async function chartsAt(page, { place, charts, slug = "timely" }) {
        await w.go(page, "/idle");
        await sees(page, "Page not found");
        await w.go(page, `/t/${slug}/${place.replace("MEASURED", MEASURED)}`);
        const figures = page.locator("figure.chart");
        const areas = page.locator("figure.chart :is(.u-over, .columns-of)");
        await figures.nth(charts - 1).waitFor();
        await areas.nth(charts - 1).waitFor();
        assert.equal(await figures.count(), charts, place);
        return { figures, areas };
    }

    /** Opens the table of a chart; its periods, the newest first. */
    async function tableOf(figure) {
        await figure.locator("summary").click();
        const periods = figure.locator("tbody th");
        await periods.first().waitFor();
        return periods;
    }

    test("the charts of the table are all that the portal draws", () => {
        assert.deepEqual(CHARTS.flatMap(({ files }) => files).sort(), drawingFiles());
    });

    w.test("a part of every chart is shown by a mouse, a finger and the keyboard", "overview", async (page) => {
        for (const one of CHARTS.filter(({ fixed }) => !fixed))
            for (let i = 0; i < one.charts; i++)
                for (const [way, go] of [["mouse", drag], ["finger", swipe], ["keyboard", mark]]) {
                    const { figures, areas } = await chartsAt(page, one);
                    const what = `${await figures.nth(i).getAttribute("aria-label")} by ${way}`;
                    await go(page, way === "keyboard" ? figures.nth(i).locator(".plot") : areas.nth(i), 0.1, 0.9);
                    await cutOut(page).catch(() => assert.fail(`${what}: ${page.url()}`));
                    const [from, to] = chosen(page);
                    assert.ok(to > from, what);
                    const words = await page.getByLabel("Period").inputValue();
                    assert.deepEqual(words.split("/").map(Date.parse), [from, to], "the control of time");
                }
    }, { hasTouch: true });

    /** Changes the answers with totals, whose page is loaded again then. */
    async function changeTotals(page, change) {
        await page.route("**/dashboard/totals?*", async (route) => {
            const headers = { ...route.request().headers() };
            delete headers["if-none-match"];
            const response = await route.fetch({ headers });
            await route.fulfill({ response, json: change(await response.json()) });
        });
    }
    const leaveTotals = (page) => page.unrouteAll({ behavior: "ignoreErrors" }); // an answer may be on its way

    for (const [place, area] of [["overview?range=30d", ".columns-of"], ["agents/fresh?tab=activity&range=30d", ".u-over"]])
        w.test(`what is marked stays marked when a live chart moves on and a pointer passes by: ${place}`, place, async (page) => {
            await live(page).waitFor();
            const figure = figureOf(page, "Runs per day by status");
            await figure.locator(area).waitFor();
            let lost = 0; // of the first periods, as when time passes while a page is open
            await changeTotals(page, (totals) => ({ ...totals, periods: totals.periods.slice(lost) }));
            await figure.locator(".plot").focus();
            for (const key of ["Home", ...Array(9).fill("ArrowRight"), "Shift+ArrowRight"])
                await page.keyboard.press(key);
            const said = figure.locator('[role="status"]');
            await sees(said, "Marked:");
            const before = await said.innerText();
            await figure.locator("summary").evaluate((summary) => summary.click());
            const rows = figure.locator("tbody tr");
            await rows.nth(25).waitFor();
            const periods = await rows.count();
            lost = 3;
            await w.runs(runsOf("fresh", 1));
            await page.waitForFunction(
                (n) => document.querySelector("figure.chart tbody").rows.length === n,
                periods - lost,
            );
            assert.equal(await said.innerText(), before, "another period is marked");
            const box = await figure.locator(area).boundingBox();
            for (const y of [box.y + box.height / 2, 1, 2]) await page.mouse.move(box.x + box.width / 2, y);
            assert.equal(await said.innerText(), before, "a pointer cleared it");
            await page.keyboard.press("Enter");
            await cutOut(page);
            const first = new Date(chosen(page)[0]).getUTCDate();
            assert.match(before.split("Marked: ")[1], new RegExp(`^${first} `), "what is shown");
            await leaveTotals(page);
        }, { fresh: true });

    const activity = "agents/fresh?tab=activity&range=30d";
    w.test("what a mouse marks is shown when the chart is drawn again meanwhile", activity, async (page) => {
        await live(page).waitFor();
        const figure = figureOf(page, "Runs per day by status");
        const canvas = await figure.locator("canvas").elementHandle();
        const { x, y, width, height } = await figure.locator(".u-over").boundingBox();
        await page.mouse.move(x + width * 0.3, y + height / 2);
        await page.mouse.down();
        await page.mouse.move(x + width * 0.4, y + height / 2, { steps: 3 });
        await w.runs(runsOf("fresh", 1));
        await page.waitForFunction((canvas) => !canvas.isConnected, canvas);
        await figure.locator("canvas").waitFor();
        await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 3 });
        await page.mouse.up();
        await cutOut(page);
        const [from, to] = chosen(page);
        assert.ok(to - from >= 7 * DAY && to - from <= 12 * DAY, `${(to - from) / DAY} days`);
    });

    w.test("every chart has its values in a table and at the keyboard", "overview", async (page) => {
        for (const one of CHARTS) {
            const { figures } = await chartsAt(page, one);
            for (const figure of await figures.all()) {
                const label = await figure.getAttribute("aria-label");
                const summary = figure.locator("summary");
                assert.equal(await summary.textContent(), `Table of ${label}`);
                await summary.focus();
                await page.keyboard.press("Enter");
                await figure.locator("tbody tr").first().waitFor();
                const cells = await figure.locator("tbody tr").evaluateAll((rows) =>
                    rows.map((row) => [...row.children].map((cell) => cell.textContent)),
                );
                const head = await figure.locator("thead th").count();
                assert.ok(cells.every((row) => row.length === head && row.every((text) => text !== "")));
                assert.ok(cells.some((row) => row.slice(1).some((text) => /\d/.test(text))), label);
                await figure.locator(".plot").focus();
                await page.keyboard.press("End");
                const [period, first] = cells[0];
                const said = figure.locator('[role="status"]');
                await sees(said, period);
                const text = await said.innerText();
                assert.ok(text.includes(first === "–" ? "no value" : first), `${label}: ${text}`);
            }
        }
    });

    /** An agent with runs, tokens and a KPI on each of these days; it is 0 today. */
    async function sendDays(slug, days, today = startOfDay()) {
        const own = w.addTenant(slug);
        const kpi = { key: "mails", label: "Mails", unit: "count", agg: "sum" };
        await w.register("fresh", { business_kpis: [kpi] }, own);
        w.cli("price", "set", "model-of-days", "--input", "1000", "--output", "0");
        for (const day of days) {
            const from = day === 0 ? Date.now() : today - day * DAY + 12 * HOUR;
            const run = { agent: "fresh", id: randomUUID(), from, length: 900, status: "completed" };
            await w.runs([run], own);
            await w.usage("fresh", run.id, from, "model-of-days", 1000, {}, own);
            await w.business("fresh", run.id, from, { mails: 5 }, {}, own);
        }
    }

    /** Is the bar of the last of `n` periods striped? Then its colour changes often from top to bottom. */
    const isStriped = (figure, n) =>
        figure.evaluate((figure, n) => {
            const bar = figure.querySelector(".column:last-child b");
            if (bar) return getComputedStyle(bar).backgroundImage !== "none";
            const canvas = figure.querySelector("canvas");
            const whole = canvas.getBoundingClientRect();
            const { right, width, top, height } = figure.querySelector(".u-over").getBoundingClientRect();
            const scale = canvas.width / whole.width;
            const place = [right - width / n / 2 - whole.left, top - whole.top, 1 / scale, height];
            const box = place.map((one) => Math.round(one * scale));
            const { data } = canvas.getContext("2d").getImageData(...box);
            const painted = (i) => Math.max(...data.slice(i, i + 3)) - Math.min(...data.slice(i, i + 3)) > 40;
            let changes = 0;
            for (let i = 4; i < data.length; i += 4) changes += painted(i) !== painted(i - 4);
            return changes > 5;
        }, n);

    /** What is so far of today: once more when the day ended meanwhile. `run` gets a word for names that are
     * there already then. */
    function ofToday(run) {
        return async () => {
            const day = startOfDay();
            try {
                await run("");
            } catch (error) {
                if (startOfDay() === day) throw error;
                await run("-again");
            }
        };
    }

    const BY_DAY = CHARTS.filter(({ fixed }) => !fixed).map((one) => ({
        ...one,
        place: one.place.replace("measure=tokens&", "").split("range=")[0],
        charts: one.place.includes("activity") ? 4 : 1,
    }));
    /** Ranges, and what is said of their first and last period, and in the legend. */
    function partsOn(today) {
        const between = (from, to) => rangeOf(today + from * DAY, today + to * DAY);
        return [
            [between(-20, 1), /\d$/, /so far$/, ["last not over yet"]],
            [between(-20, -1), /\d$/, /\d$/, []],
            [between(-20, -1.25), /\d$/, /in part$/, ["last counted in part"]],
            [between(-19.75, -1.25), /in part$/, /in part$/, ["first and last counted in part"]],
            [between(-19.75, 1), /in part$/, /so far$/, ["first counted in part, last not over yet"]],
        ];
    }

    test("every chart marks the periods of which it has only a part, in the same way", ofToday(async (again) => {
        const slug = `edges${again}`;
        const today = startOfDay();
        const parts = partsOn(today);
        await sendDays(slug, [0, 1, 2, 19, 20], today);
        const page = await w.open(`/t/${slug}/overview`);
        for (const one of BY_DAY)
            for (const [range, first, last, words] of parts) {
                const place = `${one.place}range=${encodeURIComponent(range)}`;
                const { figures } = await chartsAt(page, { ...one, slug, place });
                for (const figure of await figures.all()) {
                    const what = `${await figure.getAttribute("aria-label")} of ${range}`;
                    const periods = await (await tableOf(figure)).allInnerTexts();
                    assert.match(periods[0], last, what);
                    assert.match(periods.at(-1), first, what);
                    assert.ok(periods.slice(1, -1).every((text) => /\d$/.test(text)), what);
                    const legend = await figure.locator(".legend .so-far").allInnerTexts();
                    assert.deepEqual(legend.map((text) => text.trim()), words, what);
                    if (/Duration/.test(what)) continue; // lines have no bars
                    const days = [periods[0], periods.at(-1)].map((text) => Date.parse(text.split(",")[0]));
                    const n = (days[0] - days[1]) / DAY + 1;
                    assert.equal(await isStriped(figure, n), words.length > 0, what);
                }
            }
        const { figures } = await chartsAt(page, { slug, place: "cost?range=today", charts: 1 });
        await figures.locator("canvas").waitFor();
        assert.ok(await isStriped(figures.first(), 1), "a single bar is in the middle of its chart");
        const trend = page.getByRole("img", { name: /^Trend of Mails/ });
        for (const [[range], name, drawn] of [
            [parts[0], "Trend of Mails; last not over yet", /L100/],
            [parts[1], "Trend of Mails", /^[^L]*$/],
        ]) {
            await w.go(page, `/t/${slug}/business?range=${encodeURIComponent(range)}`);
            await page.getByRole("img", { name, exact: true }).waitFor();
            assert.match(await trend.locator(".so-far").getAttribute("d"), drawn);
        }
        await close(page);
    }));

    test("what is marked does not depend on the clock of the browser", ofToday(async (again) => {
        const slug = `skewed${again}`;
        await sendDays(slug, [0, 1, 2, 5]);
        const page = await w.open(`/t/${slug}/overview`, { fresh: true });
        for (const days of [2, -2]) {
            await page.clock.setFixedTime(Date.now() + days * DAY); // as of a page that was left open
            await page.reload();
            for (const one of BY_DAY) {
                const place = `${one.place}range=7d`;
                const { figures } = await chartsAt(page, { ...one, slug, place });
                for (const figure of await figures.all()) {
                    const periods = await tableOf(figure);
                    assert.match(await periods.first().innerText(), /so far$/, `${place}, ${days} days`);
                    if (place.startsWith("overview"))
                        assert.match(await periods.last().innerText(), /in part$/, `${days} days`);
                }
            }
        }
        await close(page);
    }));

    w.test("where only the newest runs were counted, a chart begins with them", "overview", async (page) => {
        const today = startOfDay();
        const counted_since = isoOf(today - 9 * DAY - DAY / 2);
        await changeTotals(page, (totals) => ({ ...totals, truncated: true, counted_since }));
        await page.reload();
        for (const one of ["overview?range=30d", activity]) {
            const { figures } = await chartsAt(page, CHARTS.find(({ place }) => place === one));
            await sees(page, /^Only the newest [0-9,]+ runs are counted/);
            const figure = figures.filter({ has: page.getByText("Table of Runs per day") }).first();
            const oldest = (await tableOf(figure)).last();
            await sees(oldest, "in part");
            const [day] = (await oldest.innerText()).split(",");
            assert.equal(Date.parse(`${day} UTC`), today - 10 * DAY, one);
        }
        await leaveTotals(page);
    }, { fresh: true });

    w.test("a single hour is named as one, and shown as one", "overview", async (page) => {
        const hour = Math.floor(runs.at(-1).from / HOUR) * HOUR;
        const range = encodeURIComponent(rangeOf(hour, hour + HOUR - 1000));
        for (const place of ["overview?", "agents/aged?tab=activity&"]) {
            await w.go(page, `${place}range=${range}`);
            const figure = figureOf(page, "Runs per hour by status");
            await figure.locator(":is(.u-over, .columns-of)").waitFor();
            const periods = await tableOf(figure);
            assert.equal(await periods.count(), 1, place);
            assert.match(await periods.innerText(), new RegExp(`, ${isoOf(hour).slice(11, 16)} UTC`), place);
            await figure.locator(".plot").focus();
            await page.keyboard.press("End");
            await page.keyboard.press("Enter");
            await page.waitForURL((url) => !url.href.includes(range));
            assert.deepEqual(chosen(page), [hour, hour + HOUR], place);
        }
    }, IN_UTC);

    w.test("every page of a period has the same control", "overview", async (page) => {
        for (const place of ["overview", "runs", "workflows", "business", "cost", "agents/fresh?tab=activity"]) {
            await w.go(page, place);
            await page.locator(".filters select").first().waitFor();
            await button(page, "Custom range").waitFor();
            await use(page, "Period before");
            await cutOut(page);
        }
    });

    const day = "agents/fresh?tab=activity&range=24h";
    w.test("the hours of a chart are those of the zone that the person chose", day, async (page) => {
        const figure = figureOf(page, "Runs per hour by status");
        await sees((await tableOf(figure)).last(), /:30 GMT\+5:30/);
        await page.evaluate(() => localStorage.setItem("muster.zone", "utc"));
        await page.reload();
        await sees((await tableOf(figure)).last(), /:00 UTC/);
    }, { timezoneId: "Asia/Kolkata" }); // 5 h 30 min ahead

    const between = `overview?range=${encodeURIComponent(rangeOf(TODAY - 10 * DAY, TODAY - 8 * DAY))}`;
    w.test("the overview has the same control, and its numbers lead to the same time", between, async (page) => {
        await page.getByRole("link", { name: "Runs 4", exact: true }).click();
        await count(page, 4);
        assert.deepEqual(chosen(page, "since"), [TODAY - 10 * DAY, TODAY - 8 * DAY]);
    });
});
