// One control of time: choices, a range of one's own, the period before, a part of a chart.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";

import { event, runsOf, sendRuns } from "./fleet.mjs";
import { ADMIN, close, openAs, openBrowser, sharedServer, shot } from "./muster.mjs";
import { ROOT } from "./root.mjs";

const DAY = 86_400_000;
const startOfDay = () => Math.floor(Date.now() / DAY) * DAY;
const TODAY = startOfDay(); // for days that are over; a test may run on the day after

let server, browser, tenant, runs;

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
const fieldOf = (at) => isoOf(at).slice(0, 16);

describe("time", () => {
    before(async () => {
        server = await sharedServer();
        browser = await openBrowser();
        tenant = server.addTenant("timely", ADMIN);
        runs = [...runsOf("fresh", 3), ...runsOf("aged", 4, TODAY - 9 * DAY)];
        await sendRuns(server, tenant, runs);
        const measured = { agent: "slow", id: MEASURED, from: TODAY - 60 * DAY };
        await server.send(tenant, "/api/v1/telemetry/batch", {
            events: [1, 2, 3].map((n) =>
                event(tenant, measured, "in_progress", n * 1000, { metrics: { pages: n } }),
            ),
        });
        for (let back = 1; back <= 8; back++)
            await server.send(tenant, "/api/v1/telemetry/llm", {
                agent_name: "fresh",
                run_id: runs[0].id,
                timestamp: isoOf(TODAY - back * DAY + 1000),
                model: "small",
                input_tokens: 1000 * back,
                output_tokens: 0,
            });
        for (let back = 1; back <= 8; back++)
            await server.send(tenant, "/api/v1/telemetry/business", {
                agent_name: "fresh",
                run_id: randomUUID(), // a run has one value of a KPI
                timestamp: isoOf(TODAY - back * DAY + 1000),
                metrics: { mails: 10 * back },
            });
    });

    const open = (hash, options) => openAs(browser, server, tenant.email, hash, options);
    const rows = (page) => page.locator("tbody tr");
    const button = (page, name) => page.getByRole("button", { name, exact: true });
    const rangeOf = (page, name = "range") => {
        const query = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
        return query.get(name)?.split("/").map(Date.parse);
    };
    const until = (page, n) =>
        page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, n);

    test("a range of one's own is applied, kept in the address, and undone by Back", async () => {
        const page = await open("/t/timely/runs", { timezoneId: "UTC" });
        await until(page, 3);
        await button(page, "Custom range").click();
        const [from, to] = [TODAY - 10 * DAY, TODAY - 8 * DAY];
        await page.getByLabel("From", { exact: true }).fill(fieldOf(to));
        await page.getByLabel("To", { exact: true }).fill(fieldOf(from));
        await button(page, "Apply").click();
        await page.getByText("The end must be after the beginning").waitFor();
        await shot(page, "custom-range");
        await page.getByLabel("From", { exact: true }).fill(fieldOf(from));
        await page.getByLabel("To", { exact: true }).fill(fieldOf(to));
        await button(page, "Apply").click();
        await until(page, 4);
        assert.deepEqual(rangeOf(page, "since"), [from, to]);
        await page.reload();
        await until(page, 4);
        await page.goBack();
        await until(page, 3);
        await close(page);
    });

    test("a range is typed in the zone that the person chose", async () => {
        const page = await open("/t/timely/runs", { timezoneId: "America/Lima" });
        await until(page, 3);
        await button(page, "Custom range").click();
        await page.getByText("Times are in America/Lima").waitFor();
        await page.getByLabel("From", { exact: true }).fill(fieldOf(TODAY - 10 * DAY));
        await page.getByLabel("To", { exact: true }).fill(fieldOf(TODAY - 8 * DAY));
        await button(page, "Apply").click();
        await page.waitForURL(/since=.*%2F/);
        assert.equal(rangeOf(page, "since")[0], TODAY - 10 * DAY + 5 * 3_600_000); // Lima is UTC-5
        await close(page);
    });

    test("the period before is as long, and ends where this one begins", async () => {
        const page = await open("/t/timely/runs?since=7d");
        await until(page, 3);
        await button(page, "Period before").click();
        await until(page, 4); // 7 to 14 days ago
        const [from, to] = rangeOf(page, "since");
        assert.equal(to - from, 7 * DAY);
        assert.ok(Math.abs(Date.now() - 7 * DAY - to) < DAY / 2);
        await button(page, "Period before").click();
        await page.getByText("No runs match").waitFor();
        assert.equal(rangeOf(page, "since")[1], from);
        await close(page);
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

    test("dragging over a chart shows the days that were marked", async () => {
        const page = await open("/t/timely/cost?measure=tokens&range=30d");
        const plot = page.locator(".chart .u-over");
        await plot.waitFor();
        await drag(page, plot, 0.05, 0.9, "right"); // opens the browser's menu, and marks nothing
        assert.match(page.url(), /range=30d/);
        await drag(page, plot, 0.3, 0.58); // eight days: 12.5 % each
        await page.waitForURL(/range=.*%2F/);
        const [from, to] = rangeOf(page);
        assert.deepEqual([from, to], [TODAY - 6 * DAY, TODAY - 3 * DAY]);
        await page.getByLabel("Period").selectOption("7d");
        await page.waitForURL(/range=7d/);
        await close(page);
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
        await page.keyboard.press("End");
        await page.keyboard.press("Shift+ArrowLeft");
        await page.keyboard.press("Enter");
    }

    /** Opens the place and returns its charts, drawn. The page before has none that could be taken for them:
     * loads of the whole portal took a third of what the suite costs. */
    async function chartsAt(page, { place, charts, slug = "timely" }) {
        await page.goto(`${server.url}/#/idle`);
        await page.getByText("Page not found").waitFor();
        await page.goto(`${server.url}/#/t/${slug}/${place.replace("MEASURED", MEASURED)}`);
        const figures = page.locator("figure.chart");
        await figures.nth(charts - 1).waitFor();
        const areas = page.locator("figure.chart :is(.u-over, .columns-of)");
        await areas.nth(charts - 1).waitFor();
        assert.equal(await figures.count(), charts, place);
        return { figures, areas };
    }

    test("the charts of the table are all that the portal draws", () => {
        assert.deepEqual(CHARTS.flatMap(({ files }) => files).sort(), drawingFiles());
    });

    test("a part of every chart is shown by a mouse, a finger and the keyboard", async () => {
        const page = await open("/t/timely/overview", { hasTouch: true });
        for (const one of CHARTS.filter(({ fixed }) => !fixed))
            for (let i = 0; i < one.charts; i++)
                for (const [way, go] of [["mouse", drag], ["finger", swipe], ["keyboard", mark]]) {
                    const { figures, areas } = await chartsAt(page, one);
                    const label = await figures.nth(i).getAttribute("aria-label");
                    if (way === "keyboard") await go(page, figures.nth(i).locator(".plot"));
                    else await go(page, areas.nth(i), 0.1, 0.9);
                    await page.waitForURL(/range=.*%2F/).catch(() => {
                        throw new Error(`${label} by ${way}: ${page.url()}`);
                    });
                    const [from, to] = rangeOf(page);
                    assert.ok(to > from, `${label} by ${way}`);
                    const words = await page.getByLabel("Period").inputValue();
                    assert.deepEqual(words.split("/").map(Date.parse), [from, to], "the control of time");
                }
        await close(page);
    });

    /** Leaves the first periods out of the totals once asked, as when time passes while a page is open. */
    async function losePeriods(page) {
        let lost = 0;
        await page.route("**/dashboard/totals?*", async (route) => {
            const headers = { ...route.request().headers() };
            delete headers["if-none-match"];
            const response = await route.fetch({ headers });
            const totals = await response.json();
            await route.fulfill({ response, json: { ...totals, periods: totals.periods.slice(lost) } });
        });
        return async (n) => {
            lost = n;
            const [run] = runsOf("fresh", 1);
            await sendRuns(server, tenant, [run]);
        };
    }

    test("what is marked stays marked when a live chart moves on and a pointer passes by", async () => {
        const places = [["overview?range=30d", ".columns-of"], ["agents/fresh?tab=activity&range=30d", ".u-over"]];
        for (const [place, area] of places) {
            const page = await open(`/t/timely/${place}`, {});
            await page.getByText("Live", { exact: true }).waitFor();
            const figure = page.getByRole("figure", { name: "Runs per day by status" });
            await figure.locator(area).waitFor();
            const moveOn = await losePeriods(page);
            await figure.locator(".plot").focus();
            for (const key of ["Home", ...Array(9).fill("ArrowRight"), "Shift+ArrowRight"])
                await page.keyboard.press(key);
            const said = figure.locator('[role="status"]');
            await said.getByText("Marked:").waitFor();
            const before = await said.innerText();
            await figure.locator("summary").evaluate((summary) => summary.click());
            const rows = figure.locator("tbody tr");
            await rows.nth(25).waitFor();
            const periods = await rows.count();
            await moveOn(3);
            await page.waitForFunction(
                (n) => document.querySelector("figure.chart tbody").rows.length === n,
                periods - 3,
            );
            assert.equal(await said.innerText(), before, `${place}: another period is marked`);
            const box = await figure.locator(area).boundingBox();
            await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
            await page.mouse.move(box.x + box.width / 2, 1);
            await page.mouse.move(box.x + box.width / 2, 2);
            assert.equal(await said.innerText(), before, `${place}: a pointer cleared it`);
            await page.keyboard.press("Enter");
            await page.waitForURL(/range=.*%2F/);
            const first = new Date(rangeOf(page)[0]).getUTCDate();
            assert.match(before.split("Marked: ")[1], new RegExp(`^${first} `), `${place}: what is shown`);
            await page.unrouteAll({ behavior: "ignoreErrors" }); // an answer may be on its way
            await close(page);
        }
    });

    test("what a mouse marks is shown when the chart is drawn again meanwhile", async () => {
        const page = await open("/t/timely/agents/fresh?tab=activity&range=30d");
        await page.getByText("Live", { exact: true }).waitFor();
        const figure = page.getByRole("figure", { name: "Runs per day by status" });
        const canvas = await figure.locator("canvas").elementHandle();
        const { x, y, width, height } = await figure.locator(".u-over").boundingBox();
        await page.mouse.move(x + width * 0.3, y + height / 2);
        await page.mouse.down();
        await page.mouse.move(x + width * 0.4, y + height / 2, { steps: 3 });
        await sendRuns(server, tenant, runsOf("fresh", 1));
        await page.waitForFunction((canvas) => !canvas.isConnected, canvas);
        await figure.locator("canvas").waitFor();
        await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 3 });
        await page.mouse.up();
        await page.waitForURL(/range=.*%2F/);
        const [from, to] = rangeOf(page);
        assert.ok(to - from >= 7 * DAY && to - from <= 12 * DAY, `${(to - from) / DAY} days`);
        await close(page);
    });

    test("every chart has its values in a table and at the keyboard", async () => {
        const page = await open("/t/timely/overview");
        for (const one of CHARTS) {
            const { figures } = await chartsAt(page, one);
            for (let i = 0; i < one.charts; i++) {
                const figure = figures.nth(i);
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
                await said.getByText(period, { exact: false }).waitFor();
                const text = await said.innerText();
                assert.ok(text.includes(first === "–" ? "no value" : first), `${label}: ${text}`);
            }
        }
        await close(page);
    });

    /** An agent with runs, tokens and a KPI on each of these days; it is 0 today. */
    async function sendDays(slug, days, today = startOfDay()) {
        const own = server.addTenant(slug, ADMIN);
        const kpi = { key: "mails", label: "Mails", unit: "count", agg: "sum" };
        await server.send(own, "/api/v1/agents/register", { agent_name: "fresh", business_kpis: [kpi] });
        server.cli(["price", "set", "model-of-days", "--input", "1000", "--output", "0"]);
        for (const day of days) {
            const from = day === 0 ? Date.now() : today - day * DAY + 12 * 3_600_000;
            const run = { agent: "fresh", id: randomUUID(), from, length: 900, status: "completed" };
            await sendRuns(server, own, [run]);
            const report = { agent_name: "fresh", run_id: run.id, timestamp: isoOf(from) };
            const tokens = { model: "model-of-days", input_tokens: 1000, output_tokens: 0 };
            await server.send(own, "/api/v1/telemetry/llm", { ...report, ...tokens });
            await server.send(own, "/api/v1/telemetry/business", { ...report, metrics: { mails: 5 } });
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
        const between = (from, to) => [from, to].map((days) => isoOf(today + days * DAY)).join("/");
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
        const page = await open(`/t/${slug}/overview`);
        for (const one of BY_DAY)
            for (const [range, first, last, words] of parts) {
                const place = `${one.place}range=${encodeURIComponent(range)}`;
                const { figures } = await chartsAt(page, { ...one, slug, place });
                for (let i = 0; i < one.charts; i++) {
                    const figure = figures.nth(i);
                    const what = `${await figure.getAttribute("aria-label")} of ${range}`;
                    await figure.locator("summary").click();
                    await figure.locator("tbody tr").first().waitFor();
                    const periods = await figure.locator("tbody th").allInnerTexts();
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
        const cards = (range) => `${server.url}/#/t/${slug}/business?range=${encodeURIComponent(range)}`;
        await page.goto(cards(parts[0][0]));
        const trend = page.getByRole("img", { name: /^Trend of Mails/ });
        await page.getByRole("img", { name: "Trend of Mails; last not over yet" }).waitFor();
        assert.match(await trend.locator(".so-far").getAttribute("d"), /L100/);
        await page.goto(cards(parts[1][0]));
        await page.getByRole("img", { name: "Trend of Mails", exact: true }).waitFor();
        assert.doesNotMatch(await trend.locator(".so-far").getAttribute("d"), /L/);
        await close(page);
    }));

    /** What the tables of the charts at a place say of their oldest and of their newest period. */
    async function outerPeriods(page, one) {
        const { figures } = await chartsAt(page, one);
        const found = [];
        for (let i = 0; i < one.charts; i++) {
            await figures.nth(i).locator("summary").click();
            const periods = figures.nth(i).locator("tbody th");
            await periods.first().waitFor();
            found.push([await periods.last().innerText(), await periods.first().innerText()]);
        }
        return found;
    }

    test("what is marked does not depend on the clock of the browser", ofToday(async (again) => {
        const slug = `skewed${again}`;
        await sendDays(slug, [0, 1, 2, 5]);
        const page = await open(`/t/${slug}/overview`, {});
        for (const days of [2, -2]) {
            await page.clock.setFixedTime(Date.now() + days * DAY); // as of a page that was left open
            await page.reload();
            for (const one of BY_DAY) {
                const place = `${one.place}range=7d`;
                const found = await outerPeriods(page, { ...one, slug, place });
                for (const [oldest, newest] of found) {
                    assert.match(newest, /so far$/, `${place}, ${days} days`);
                    if (place.startsWith("overview")) assert.match(oldest, /in part$/, `${days} days`);
                }
            }
        }
        await close(page);
    }));

    test("where only the newest runs were counted, a chart begins with them", async () => {
        const today = startOfDay();
        const counted_since = isoOf(today - 9 * DAY - DAY / 2);
        const page = await open("/t/timely/overview", {});
        await page.route("**/dashboard/totals?*", async (route) => {
            const headers = { ...route.request().headers() };
            delete headers["if-none-match"];
            const response = await route.fetch({ headers });
            const json = { ...(await response.json()), truncated: true, counted_since };
            await route.fulfill({ response, json });
        });
        await page.reload();
        for (const one of ["overview?range=30d", "agents/fresh?tab=activity&range=30d"]) {
            const { figures } = await chartsAt(page, CHARTS.find(({ place }) => place === one));
            await page.getByText(/^Only the newest [0-9,]+ runs are counted/).waitFor();
            const figure = figures.filter({ has: page.getByText("Table of Runs per day") }).first();
            await figure.locator("summary").click();
            const oldest = figure.locator("tbody th").last();
            await oldest.getByText("in part").waitFor();
            const [day] = (await oldest.innerText()).split(",");
            assert.equal(Date.parse(`${day} UTC`), today - 10 * DAY, one);
        }
        await page.unrouteAll({ behavior: "ignoreErrors" }); // an answer may be on its way
        await close(page);
    });

    test("a single hour is named as one, and shown as one", async () => {
        const hour = Math.floor(runs.at(-1).from / 3_600_000) * 3_600_000;
        const range = [hour, hour + 3_599_000].map(isoOf).join("/");
        const page = await open("/t/timely/overview", { timezoneId: "UTC" });
        for (const place of ["overview?", "agents/aged?tab=activity&"]) {
            await page.goto(`${server.url}/#/t/timely/${place}range=${encodeURIComponent(range)}`);
            const figure = page.getByRole("figure", { name: "Runs per hour by status" });
            await figure.locator(":is(.u-over, .columns-of)").waitFor();
            await figure.locator("summary").click();
            const periods = figure.locator("tbody th");
            await periods.first().waitFor();
            const clock = isoOf(hour).slice(11, 16);
            assert.equal(await periods.count(), 1, place);
            assert.match(await periods.innerText(), new RegExp(`, ${clock} UTC`), place);
            await figure.locator(".plot").focus();
            await page.keyboard.press("End");
            await page.keyboard.press("Enter");
            await page.waitForURL((url) => !url.href.includes(encodeURIComponent(range)));
            assert.deepEqual(rangeOf(page), [hour, hour + 3_600_000], place);
        }
        await close(page);
    });

    test("every page of a period has the same control", async () => {
        const page = await open("/t/timely/overview");
        const places = ["overview", "runs", "workflows", "business", "cost", "agents/fresh?tab=activity"];
        for (const place of places) {
            await page.goto(`${server.url}/#/t/timely/${place}`);
            await page.locator(".filters select").first().waitFor();
            await button(page, "Custom range").waitFor();
            await button(page, "Period before").click();
            await page.waitForURL(/(range|since)=.*%2F/);
        }
        await close(page);
    });

    test("the hours of a chart are those of the zone that the person chose", async () => {
        const page = await open("/t/timely/agents/fresh?tab=activity&range=24h", {
            timezoneId: "Asia/Kolkata", // 5 h 30 min ahead
        });
        const figure = page.getByRole("figure", { name: "Runs per hour by status" });
        await figure.getByText("Table").click();
        const first = figure.locator("tbody th").last();
        await first.getByText(/:30 GMT\+5:30/).waitFor();
        await page.evaluate(() => localStorage.setItem("muster.zone", "utc"));
        await page.reload();
        await figure.getByText("Table").click();
        await first.getByText(/:00 UTC/).waitFor();
        await close(page);
    });

    test("the overview has the same control, and its numbers lead to the same time", async () => {
        const range = `${isoOf(TODAY - 10 * DAY)}/${isoOf(TODAY - 8 * DAY)}`;
        const page = await open(`/t/timely/overview?range=${encodeURIComponent(range)}`);
        await page.getByRole("link", { name: "Runs 4", exact: true }).click();
        await until(page, 4);
        assert.deepEqual(rangeOf(page, "since"), [TODAY - 10 * DAY, TODAY - 8 * DAY]);
        await close(page);
    });
});
