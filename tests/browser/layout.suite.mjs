// Every page and tab fits its window: nothing scrolls sideways from a small telephone to a large
// screen, with the longest names and errors that agents may send, and a large screen is used.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { fillArabic } from "./arabic.mjs";
import { event, runsOf, sendRuns } from "./fleet.mjs";
import { close, openAs, openBrowser, openPage, Person, Server, shot } from "./muster.mjs";
import { placesOf, visit } from "./places.mjs";
import { smallTargets } from "./targets.mjs";

const WIDTHS = [320, 380, 600, 768, 820, 1024, 1280, 1920, 2560];
const POINTED = [380, 1280]; // where targets are looked at
const HEIGHT = 900;
const ROOT_ADMIN = "root@example.org"; // may see every page
const SLUG = "wide";

/** A word without a place to break it. */
const word = (length, start = "") => start.padEnd(length, "abcdefghij-klmnop_qrstuvwxyz");
const LONG = word(256, "reconcile_");
const WORKFLOW = word(200, "month-end_");
const failedRun = randomUUID();
/** Pages that show nothing that agents or people have named. */
const NAMELESS = [
    ...["settings-users", "settings-secrets", "settings-plan", "settings-retention", "connect"],
    ...["account", "platform", "platform-users", "platform-groups", "platform-vault"],
];

let server, browser, tenant;

/** A run with the longest texts there may be, one step of a workflow. */
function longRun(run_id, agent, status) {
    const run = { agent, id: run_id, from: Date.now() - 3_600_000 };
    const text = word(16_000, "Traceback: ");
    const more = { workflow_run_id: WORKFLOW, category: LONG, source: LONG, message: text };
    return [
        event(tenant, run, "started", 0, { ...more, agent_version: word(64) }),
        event(tenant, run, "in_progress", 1000, { ...more, metrics: { [word(200)]: 1.7e308 } }),
        event(tenant, run, "in_progress", 2000, { ...more, metrics: { [word(200)]: -1.7e308 } }),
        event(tenant, run, status, 3000, {
            ...more,
            ...(status === "failed" ? { error_type: LONG, error_message: text } : {}),
            output: { [LONG]: text },
            links: [`https://example.org/${LONG}`],
        }),
    ];
}

async function fill() {
    const send = (path, body) => server.send(tenant, path, body);
    const io = [{ key: word(200), type: word(200) }];
    for (const agent_name of [LONG, "payment-preparer"])
        await send("/api/v1/agents/register", {
            agent_name,
            agent_version: word(64),
            description: word(2000),
            interval_seconds: 3600,
            business_kpis: [{ key: word(200), label: word(200), unit: "money:EUR", agg: "sum" }],
            inputs: io,
            outputs: [{ key: word(190), type: "string" }],
            config_schema: {
                params: [{ key: word(120), label: word(200), help: word(500), value_type: "string" }],
            },
        });
    const events = [
        ...longRun(failedRun, LONG, "failed"),
        ...longRun(randomUUID(), "payment-preparer", "completed"),
    ];
    await send("/api/v1/telemetry/batch", { events });
    await sendRuns(server, tenant, ["invoice-reader", "uptime-probe"].flatMap((name) => runsOf(name, 20)));
    const report = { agent_name: LONG, run_id: failedRun, timestamp: new Date().toISOString() };
    const breakdowns = [{ metric: word(200), by: word(200), slices: { [word(200)]: -1e300 } }];
    await send("/api/v1/telemetry/business", { ...report, metrics: { [word(200)]: -1e300 }, breakdowns });
    await send("/api/v1/telemetry/llm", { ...report, model: word(200), input_tokens: 9e12, calls: 1 });
    await settle(await Person.signIn(server, ROOT_ADMIN));
}

/** Long texts in what people set. */
async function settle(person) {
    const base = `/api/v1/tenants/${SLUG}`;
    const agent = `${base}/agents/${LONG}`;
    const label = word(200, "key of ");
    await person.ask("POST", `${base}/keys`, { label, agent_name: LONG });
    await person.ask("POST", `${base}/webhooks`, { url: `https://example.org/${LONG}`, label });
    const price = { model: word(200), provider: word(100), aliases: [word(199)] };
    await person.ask("POST", "/api/v1/platform/prices", { ...price, input: "1", output: "2" });
    await person.ask("PUT", `${agent}/model`, { model: word(200) });
    for (const document of [word(3000), word(2999)])
        await person.ask("PUT", `${agent}/document`, { document });
    const lists = { allow: [LONG], deny: [LONG] };
    await person.ask("PUT", `${agent}/command-policy`, { mode: "allowlist", ...lists });
}

describe("every page fits its window", () => {
    before(async () => {
        server = await Server.start();
        browser = await openBrowser();
        tenant = server.addTenant(SLUG);
        server.addUser(ROOT_ADMIN, "--role", "platform_admin");
        server.addUser(`${word(60)}@example.org`, "--tenant", SLUG, "--role", "member");
        await fill();
    });

    after(() => server?.stop());

    /** How far the page can be scrolled sideways; charts are resized a frame later. */
    async function excess(page) {
        return page.evaluate(async () => {
            const over = () => document.documentElement.scrollWidth - innerWidth;
            for (let frame = 0; frame < 5 && over() > 0; frame++) await new Promise(requestAnimationFrame);
            return over();
        });
    }

    /** Fields of a width of their own whose placeholder has not enough room. */
    const cutPlaceholders = (page) =>
        page.locator("main .search-field input").evaluateAll((all) =>
            all
                .filter((one) => {
                    const copy = one.cloneNode();
                    copy.value = one.placeholder;
                    one.after(copy);
                    const cut = copy.scrollWidth > copy.clientWidth;
                    copy.remove();
                    return cut;
                })
                .map((one) => one.placeholder),
        );

    /** Sentences whose parts are laid out one below the other, because they are items of a grid. */
    const brokenSentences = (page) =>
        page.evaluate(() =>
            [...document.querySelectorAll("main *")]
                .filter((one) => getComputedStyle(one).display === "grid" && one.checkVisibility())
                .filter((one) => one.childElementCount > 0)
                .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
                .map((one) => one.outerHTML.slice(0, 160)),
        );

    test("nothing scrolls sideways from 320 to 2560 pixels, and targets have 24 by 24", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/fleet`, {});
        const names = { agent: LONG, run_id: failedRun, workflow: WORKFLOW };
        const wide = [];
        const small = new Map(); // where each is, by its text
        for (const place of placesOf(SLUG, names)) {
            await visit(page, server, place);
            for (const width of WIDTHS) {
                await page.setViewportSize({ width, height: HEIGHT });
                const over = await excess(page);
                if (over > 0) wide.push(`${place.name} at ${width}: ${over} pixels too wide`);
                if (width === 1280) {
                    assert.deepEqual(await cutPlaceholders(page), [], place.name);
                    assert.deepEqual(await brokenSentences(page), [], place.name);
                }
                if (!POINTED.includes(width)) continue;
                for (const one of await smallTargets(page)) small.set(one, `${place.name} at ${width}`);
            }
        }
        assert.deepEqual(wide, []);
        assert.deepEqual([...small], []);
        await close(page);
    });

    test("targets that are too small and too close are found", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/connect`, {});
        await page.locator(".snippet").first().waitFor();
        assert.deepEqual(await smallTargets(page), []);
        await page.evaluate(() => {
            for (const name of ["A", "B"]) {
                const one = document.createElement("a");
                one.href = "#/nowhere";
                one.textContent = name;
                one.style.cssText = "display: inline-block; width: 12px; height: 12px; overflow: hidden";
                document.querySelector("main").append(one);
            }
        });
        assert.equal((await smallTargets(page)).length, 2);
        await close(page);
    });

    /** Texts with Arabic letters that no element isolates, and English words that are laid out from
     * right to left because such a text is among them. */
    const misdirected = (page) =>
        page.evaluate(() => {
            const ISOLATED = "[dir=auto], bdi";
            const APART = "svg, option, textarea, .visually-hidden, title"; // laid out otherwise
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const found = { texts: 0, wrong: [] };
            const report = (why, one) => found.wrong.push(`${why}: ${one.outerHTML.slice(0, 160)}`);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                const one = node.parentElement;
                if (one.closest(APART) || !one.checkVisibility()) continue;
                const own = one.closest(ISOLATED);
                if (/[\u0600-\u06ff]/.test(node.data)) {
                    found.texts++;
                    if (own === null) report("not isolated", one);
                } else if (own && /[a-z]{2}/.test(node.data) && getComputedStyle(own).direction === "rtl")
                    report("English, right to left", own);
            }
            return found;
        });

    test("what agents and people name is laid out in its own direction, on every page", async () => {
        const run = await fillArabic(server, await Person.signIn(server, ROOT_ADMIN));
        const page = await openAs(browser, server, ROOT_ADMIN, "/t/arabic/fleet", {});
        const names = { agent: run.agent, run_id: run.id, workflow: "شهر" };
        const wrong = new Set();
        const silent = [];
        const look = async (name) => {
            const found = await misdirected(page);
            if (found.texts === 0) silent.push(name);
            for (const one of found.wrong) wrong.add(`${name}: ${one}`);
        };
        for (const place of placesOf("arabic", names)) {
            await visit(page, server, place);
            if (!NAMELESS.includes(place.name))
                await page.waitForFunction(() => /[\u0600-\u06ff]/.test(document.querySelector("main").innerText));
            await look(place.name);
        }
        await page.goto(`${server.url}/#/t/arabic/business?kpi=${encodeURIComponent(`${run.agent}/invoices`)}`);
        await page.locator(".kpi-detail .facts").waitFor();
        await look("a KPI");
        await page.keyboard.press("/");
        await page.keyboard.type(run.agent.slice(0, 4));
        await page.getByRole("option", { name: run.agent }).first().waitFor();
        await look("the search");
        assert.deepEqual(silent.filter((name) => !NAMELESS.includes(name)), []);
        assert.deepEqual([...wrong], []);
        await close(page);
    });

    /** What is drawn over something else of its row: texts, as far as they are not cut, and marks. */
    const crossings = (page) =>
        page.locator("table.fleet tbody:not(.gap) tr").evaluateAll((rows) => {
            /** The part of a box that is not cut by what is around it in the row. */
            const visible = (box, from, row) => {
                let { left, top, right, bottom } = box;
                for (let one = from; one !== row; one = one.parentElement) {
                    if (getComputedStyle(one).overflow === "visible") continue;
                    const cut = one.getBoundingClientRect();
                    [left, top] = [Math.max(left, cut.left), Math.max(top, cut.top)];
                    [right, bottom] = [Math.min(right, cut.right), Math.min(bottom, cut.bottom)];
                }
                return { left, top, right, bottom };
            };
            const boxesOf = (row) => {
                const found = [];
                const add = (name, box, from, of) => {
                    const cut = visible(box, from, row);
                    if (cut.right - cut.left > 1 && cut.bottom - cut.top > 1) found.push({ name, of, ...cut });
                };
                const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
                for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                    if (node.parentElement.closest(".visually-hidden") || node.data.trim() === "") continue;
                    const range = document.createRange();
                    range.selectNode(node);
                    for (const box of range.getClientRects())
                        add(node.data, box, node.parentElement, node);
                }
                for (const mark of row.querySelectorAll(".squares a, .dot"))
                    add(mark.className, mark.getBoundingClientRect(), mark.parentElement, mark);
                return found;
            };
            const cross = (a, b) =>
                a.of !== b.of && // lines of a text may be close
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
            return rows.flatMap((row) => {
                const all = boxesOf(row);
                return all.flatMap((a, i) =>
                    all.slice(i + 1).filter((b) => cross(a, b)).map((b) => `${a.name} | ${b.name}`),
                );
            });
        });

    test("nothing in a row of the fleet is drawn over something else of it", async () => {
        const dense = server.addTenant("dense");
        const names = ["price-watcher", "invoice-reader", "support-triage-night-shift", "uptime-probe"];
        const agents = Array.from({ length: 13 }, (_, i) => `${names[i % names.length]}-${i}`);
        for (const [i, agent_name] of agents.entries()) {
            await server.send(dense, "/api/v1/agents/register", {
                agent_name,
                agent_version: `4.${i}.0-rc.1`,
                interval_seconds: i % 3 === 0 ? null : 86_400, // null: "Active (no schedule)"
            });
            if (i % 4 === 3) continue; // "Never reported"
            const runs = runsOf(agent_name, 12);
            await sendRuns(server, dense, runs);
            await server.send(dense, "/api/v1/telemetry/llm", {
                agent_name,
                run_id: runs[0].id,
                timestamp: new Date().toISOString(),
                model: "gpt-5-mini",
                input_tokens: 1_234_567 * i,
            });
        }
        const until = new Date(Date.now() + 86_400_000).toISOString();
        const admin = await Person.signIn(server, dense.email);
        for (const agent_name of agents.slice(0, 4))
            await admin.ask("PUT", `/api/v1/tenants/dense/agents/${agent_name}/mute`, { until });
        const page = await openAs(browser, server, dense.email, "/t/dense/fleet", {});
        await page.locator("table.fleet tbody:not(.gap) tr").nth(agents.length - 1).waitFor();
        const found = [];
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            for (const width of [390, 600, 820, 1024, 1440]) {
                await page.setViewportSize({ width, height: HEIGHT });
                await excess(page);
                await shot(page, `fleet-${width}-${colorScheme}`);
                for (const one of await crossings(page)) found.push(`${width} ${colorScheme}: ${one}`);
            }
        }
        assert.deepEqual(found, []);
        await close(page);
    });

    test("the texts of a row stand in one line, links to lists too", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/workflows?since=all`, {});
        await page.setViewportSize({ width: 1280, height: HEIGHT });
        const row = page.locator("main tbody tr").first();
        await row.locator("td.number a:not(.row-link)").first().waitFor();
        const middles = await row.locator("td.number").evaluateAll((cells) =>
            cells.map((cell) => {
                const text = document.createRange();
                text.selectNodeContents(cell.querySelector("a") ?? cell);
                const { top, bottom } = text.getBoundingClientRect();
                return (top + bottom) / 2;
            }),
        );
        assert.ok(middles.length >= 3, `${middles.length} numbers`);
        assert.ok(Math.max(...middles) - Math.min(...middles) <= 2, `${middles}`);
        await close(page);
    });

    test("the overview has no gap beside its cards", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/overview`, {});
        await page.locator(".overview > :last-child .card").waitFor();
        for (const width of [380, 768, 1024, 1280, 1440, 1920, 2560]) {
            await page.setViewportSize({ width, height: HEIGHT });
            const rows = await page.locator(".overview").evaluate((box) => {
                const used = new Map();
                for (const { top, width } of [...box.children].map((one) => one.getBoundingClientRect()))
                    used.set(top, (used.get(top) ?? 0) + width);
                return [...used.values()].map((one) => one / box.clientWidth);
            });
            assert.ok(Math.min(...rows) > 0.9, `at ${width} the rows are filled ${rows}`);
        }
        await close(page);
    });

    test("recent runs of an agent are one line of squares", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/fleet`, {});
        const squares = page.locator("tr", { hasText: "invoice-reader" }).locator(".squares");
        for (const width of [380, 1280, 1920]) {
            await page.setViewportSize({ width, height: HEIGHT });
            await squares.locator("a").nth(9).waitFor();
            const { height } = await squares.boundingBox();
            assert.ok(height < 30, `${height} pixels high at ${width}`);
        }
        await close(page);
    });

    test("what a filter of alerts says is not cut on a telephone", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/alerts`, {});
        for (const width of [320, 380]) {
            await page.setViewportSize({ width, height: HEIGHT });
            const filters = page.locator(".filters select");
            await filters.nth(2).waitFor();
            const cut = await filters.evaluateAll((all) =>
                all
                    .filter((one) => {
                        const whole = one.cloneNode(true);
                        whole.style.cssText = "position: absolute; width: max-content; flex: none";
                        one.parentElement.append(whole);
                        const needed = whole.offsetWidth;
                        whole.remove();
                        return needed > one.offsetWidth;
                    })
                    .map((one) => one.selectedOptions[0].label),
            );
            assert.deepEqual(cut, [], `${width} pixels`);
        }
        await close(page);
    });

    test("no labels of the overview's chart overlap when its window becomes narrow", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/overview?range=30d`, {});
        await page.setViewportSize({ width: 1280, height: HEIGHT });
        await page.locator(".axes .when").nth(4).waitFor();
        for (const width of [1280, 380, 320]) {
            await page.setViewportSize({ width, height: HEIGHT });
            const boxes = await page.locator(".axes .when:visible").evaluateAll((all) =>
                all.map((one) => one.getBoundingClientRect().toJSON()),
            );
            assert.ok(boxes.length >= 2, `${boxes.length} labels at ${width}`);
            const gaps = boxes.slice(1).map((box, i) => box.left - boxes[i].right);
            assert.ok(Math.min(...gaps) > 0, `labels overlap at ${width}: ${gaps}`);
        }
        await close(page);
    });

    test("the logo stands beside the name, in the menu and above the sign-in", async () => {
        const inside = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/runs`, {});
        const outside = await openPage(browser, server);
        await outside.goto(server.url);
        for (const [page, selector] of [[inside, ".brand"], [outside, ".sign-in header"]]) {
            await page.locator(`${selector} svg`).waitFor();
            await page.waitForFunction(
                (box) => document.querySelector(box).lastChild.textContent.trim() !== "",
                selector,
            ); // the workspaces are loaded
            const { logo, name } = await page.locator(selector).evaluate((box) => {
                const text = document.createRange();
                text.selectNodeContents(box.lastChild);
                const name = box.querySelector("select") ?? text; // of several workspaces
                return {
                    logo: box.querySelector("svg").getBoundingClientRect().toJSON(),
                    name: name.getBoundingClientRect().toJSON(),
                };
            });
            assert.ok(name.width > 0 && logo.right <= name.left, `${selector}: ${logo.right}, ${name.left}`);
            assert.ok(logo.top < name.bottom && name.top < logo.bottom, `${selector}: not in one line`);
            await close(page);
        }
    });

    test("a large screen is used", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/runs`, {});
        for (const width of [1920, 2560]) {
            await page.setViewportSize({ width, height: HEIGHT });
            const box = await page.locator("main table").boundingBox();
            const { right, left } = await page.evaluate(() => {
                const main = document.querySelector("main").getBoundingClientRect();
                return { right: innerWidth, left: main.left };
            });
            const used = box.width / (right - left);
            assert.ok(used >= 0.9, `${width}: the table takes ${Math.round(used * 100)} % of the room`);
        }
        await close(page);
    });

    test("no total is alone in its row, names are cut only without room, a label takes its part", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/cost`, {});
        await page.locator(".totals div").nth(6).waitFor();
        for (const width of [320, 600, 768, 1024, 1280]) {
            await page.setViewportSize({ width, height: HEIGHT });
            const rows = await page.locator(".totals").evaluate((box) => {
                const inRows = new Map();
                for (const { top, width } of [...box.children].map((one) => one.getBoundingClientRect()))
                    inRows.set(top, (inRows.get(top) ?? 0) + width);
                return [...inRows.values()].map((used) => used / box.clientWidth);
            });
            assert.ok(Math.min(...rows) > 0.4, `at ${width} the rows are filled ${rows}`);
        }
        await page.setViewportSize({ width: 1920, height: HEIGHT });
        await page.goto(`${server.url}/#/t/${SLUG}/overview`);
        const bars = page.locator(".overview .bars").first();
        await bars.waitFor();
        const { part, track } = await bars.evaluate((box) => {
            const name = box.querySelector(".name");
            const label = name.querySelector("a") ?? name;
            const text = document.createRange();
            label.textContent = "";
            do {
                label.textContent += "A"; // until it takes half of the room
                text.selectNodeContents(label);
            } while (text.getBoundingClientRect().width < box.clientWidth / 2);
            const cut = name.scrollWidth - name.clientWidth;
            return { part: cut, track: box.querySelector(".track").clientWidth / box.clientWidth };
        });
        assert.ok(part <= 0, `${part} pixels of a name are cut`);
        assert.ok(track >= 0.24, `the bar has ${track} of the room`);
        server.addTenant("plain"); // with a key
        await page.goto(`${server.url}/#/t/plain/settings?tab=keys`);
        await page.locator("main table tbody tr").first().waitFor();
        const label = await page.locator("main table").evaluate((table) => {
            const cell = [...table.querySelectorAll("th")].find((one) => one.textContent.includes("Label"));
            return cell.clientWidth / table.clientWidth;
        });
        assert.ok(label < 0.35, `the label has ${label} of the table`);
        await close(page);
    });

    test("a dialog that opens in a table shows all of its text", async () => {
        const page = await openAs(browser, server, ROOT_ADMIN, `/t/${SLUG}/settings?tab=keys`, {});
        for (const width of [320, 820, 1280]) {
            await page.setViewportSize({ width, height: HEIGHT });
            await page.getByRole("button", { name: /^Rotate key/ }).first().click();
            const text = page.locator("dialog .prose");
            await text.waitFor();
            const { cut, size } = await page.locator("dialog").evaluate((dialog) => ({
                cut: dialog.scrollWidth - dialog.clientWidth,
                size: getComputedStyle(dialog.querySelector(".prose")).fontSize,
            }));
            assert.deepEqual([cut, size], [0, "14px"], `at ${width}`);
            await page.keyboard.press("Escape");
            await text.waitFor({ state: "detached" });
        }
        await close(page);
    });
});
