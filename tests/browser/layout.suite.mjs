// Every page and tab fits its window: nothing scrolls sideways from a small telephone to a large
// screen, with the longest names and errors that agents may send, and a large screen is used.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { fillArabic } from "./arabic.mjs";
import { event, runsOf } from "./fleet.mjs";
import { close, openPage, shot } from "./muster.mjs";
import { placesOf, visit } from "./places.mjs";
import { gone, option, rows } from "./portal.mjs";
import { Suite } from "./suite.mjs";
import { smallTargets } from "./targets.mjs";

const WIDTHS = [320, 380, 600, 768, 820, 1024, 1280, 1920, 2560];
const POINTED = [380, 1280]; // where targets are looked at
const height = 900;
const email = "root@example.org"; // may see every page
const AS_ROOT = { email, fresh: true };
const w = new Suite("wide", { settings: [] });

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

/** A run with the longest texts there may be, one step of a workflow. */
function longRun(run_id, agent, status) {
    const run = { agent, id: run_id, from: Date.now() - 3_600_000 };
    const text = word(16_000, "Traceback: ");
    const more = { workflow_run_id: WORKFLOW, category: LONG, source: LONG, message: text };
    const failed = status === "failed" ? { error_type: LONG, error_message: text } : {};
    const end = { ...failed, output: { [LONG]: text }, links: [`https://example.org/${LONG}`] };
    return [
        ["started", { agent_version: word(64) }],
        ["in_progress", { metrics: { [word(200)]: 1.7e308 } }],
        ["in_progress", { metrics: { [word(200)]: -1.7e308 } }],
        [status, end],
    ].map(([kind, own], i) => event(w.tenant, run, kind, 1000 * i, { ...more, ...own }));
}

async function fill() {
    const io = [{ key: word(200), type: word(200) }];
    const param = { key: word(120), label: word(200), help: word(500), value_type: "string" };
    for (const agent of [LONG, "payment-preparer"])
        await w.register(agent, {
            agent_version: word(64),
            description: word(2000),
            interval_seconds: 3600,
            business_kpis: [{ key: word(200), label: word(200), unit: "money:EUR", agg: "sum" }],
            inputs: io,
            outputs: [{ key: word(190), type: "string" }],
            config_schema: { params: [param] },
        });
    await w.events([...longRun(failedRun, LONG, "failed"), ...longRun(randomUUID(), "payment-preparer", "completed")]);
    await w.runs(["invoice-reader", "uptime-probe"].flatMap((name) => runsOf(name, 20)));
    const breakdowns = [{ metric: word(200), by: word(200), slices: { [word(200)]: -1e300 } }];
    await w.business(LONG, failedRun, Date.now(), { [word(200)]: -1e300 }, { breakdowns });
    await w.usage(LONG, failedRun, Date.now(), word(200), 9e12, { calls: 1 });
    await settle(await w.person(email));
}

/** Long texts in what people set. */
async function settle(person) {
    const base = "/api/v1/tenants/wide";
    const agent = `${base}/agents/${LONG}`;
    const label = word(200, "key of ");
    await person.ask("POST", `${base}/keys`, { label, agent_name: LONG });
    await person.ask("POST", `${base}/webhooks`, { url: `https://example.org/${LONG}`, label });
    const price = { model: word(200), provider: word(100), aliases: [word(199)] };
    await person.ask("POST", "/api/v1/platform/prices", { ...price, input: "1", output: "2" });
    await person.ask("PUT", `${agent}/model`, { model: word(200) });
    for (const document of [word(3000), word(2999)])
        await person.ask("PUT", `${agent}/document`, { document });
    await person.ask("PUT", `${agent}/command-policy`, { mode: "allowlist", allow: [LONG], deny: [LONG] });
}

/** Looks at the page at each of these widths, once this is there. */
const atWidths = (widths, ready, look) => async (page) => {
    await page.locator(ready).first().waitFor();
    for (const width of widths) {
        await page.setViewportSize({ width, height });
        await look(page, width);
    }
};

/** How much of each row of a box its parts fill. */
const filledRows = (box) =>
    box.evaluate((box) => {
        const used = new Map();
        for (const { top, width } of [...box.children].map((one) => one.getBoundingClientRect()))
            used.set(top, (used.get(top) ?? 0) + width);
        return [...used.values()].map((one) => one / box.clientWidth);
    });

describe("every page fits its window", () => {
    w.begin(async () => {
        w.server.addUser(email, "--role", "platform_admin");
        w.server.addUser(`${word(60)}@example.org`, "--tenant", "wide", "--role", "member");
        await fill();
    });

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

    w.test("nothing scrolls sideways from 320 to 2560 pixels, and targets have 24 by 24", "fleet", async (page) => {
        const wide = [];
        const small = new Map(); // where each is, by its text
        for (const place of placesOf("wide", { agent: LONG, run_id: failedRun, workflow: WORKFLOW })) {
            await visit(page, w.server, place);
            for (const width of WIDTHS) {
                await page.setViewportSize({ width, height });
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
    }, AS_ROOT);

    w.test("targets that are too small and too close are found", "connect", async (page) => {
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
    }, AS_ROOT);

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
        const run = await fillArabic(w.server, await w.person(email));
        const page = await w.open("/t/arabic/fleet", AS_ROOT);
        const wrong = new Set();
        const silent = [];
        const look = async (name) => {
            const found = await misdirected(page);
            if (found.texts === 0) silent.push(name);
            for (const one of found.wrong) wrong.add(`${name}: ${one}`);
        };
        for (const place of placesOf("arabic", { agent: run.agent, run_id: run.id, workflow: "شهر" })) {
            await visit(page, w.server, place);
            if (!NAMELESS.includes(place.name))
                await page.waitForFunction(() => /[\u0600-\u06ff]/.test(document.querySelector("main").innerText));
            await look(place.name);
        }
        await w.go(page, `/t/arabic/business?kpi=${encodeURIComponent(`${run.agent}/invoices`)}`);
        await page.locator(".kpi-detail .facts").waitFor();
        await look("a KPI");
        await page.keyboard.press("/");
        await page.keyboard.type(run.agent.slice(0, 4));
        await option(page, run.agent).first().waitFor();
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
        const dense = w.addTenant("dense");
        const names = ["price-watcher", "invoice-reader", "support-triage-night-shift", "uptime-probe"];
        const agents = Array.from({ length: 13 }, (_, i) => `${names[i % names.length]}-${i}`);
        for (const [i, agent] of agents.entries()) {
            const interval_seconds = i % 3 === 0 ? null : 86_400; // null: "Active (no schedule)"
            await w.register(agent, { agent_version: `4.${i}.0-rc.1`, interval_seconds }, dense);
            if (i % 4 === 3) continue; // "Never reported"
            const runs = runsOf(agent, 12);
            await w.runs(runs, dense);
            await w.usage(agent, runs[0].id, Date.now(), "gpt-5-mini", 1_234_567 * i, {}, dense);
        }
        const until = new Date(Date.now() + 86_400_000).toISOString();
        const admin = await w.person(dense.email);
        for (const agent of agents.slice(0, 4))
            await admin.ask("PUT", `/api/v1/tenants/dense/agents/${agent}/mute`, { until });
        const page = await w.open("/t/dense/fleet", { email: dense.email, fresh: true });
        await rows(page).nth(agents.length - 1).waitFor();
        const found = [];
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            for (const width of [390, 600, 820, 1024, 1440]) {
                await page.setViewportSize({ width, height });
                await excess(page);
                await shot(page, `fleet-${width}-${colorScheme}`);
                for (const one of await crossings(page)) found.push(`${width} ${colorScheme}: ${one}`);
            }
        }
        assert.deepEqual(found, []);
        await close(page);
    });

    const link = "main tbody tr td.number a:not(.row-link)";
    const inLine = atWidths([1280], link, async (page) => {
        const middles = await rows(page.locator("main")).first().locator("td.number").evaluateAll((cells) =>
            cells.map((cell) => {
                const text = document.createRange();
                text.selectNodeContents(cell.querySelector("a") ?? cell);
                const { top, bottom } = text.getBoundingClientRect();
                return (top + bottom) / 2;
            }),
        );
        assert.ok(middles.length >= 3, `${middles.length} numbers`);
        assert.ok(Math.max(...middles) - Math.min(...middles) <= 2, `${middles}`);
    });
    w.test("the texts of a row stand in one line, links to lists too", "workflows?since=all", inLine, AS_ROOT);

    const withoutGap = atWidths([380, 768, 1024, 1280, 1440, 1920, 2560], ".overview > :last-child .card", async (page, width) => {
        const filled = await filledRows(page.locator(".overview"));
        assert.ok(Math.min(...filled) > 0.9, `at ${width} the rows are filled ${filled}`);
    });
    w.test("the overview has no gap beside its cards", "overview", withoutGap, AS_ROOT);

    const oneLine = atWidths([380, 1280, 1920], "table.fleet", async (page, width) => {
        const squares = page.locator("tr", { hasText: "invoice-reader" }).locator(".squares");
        await squares.locator("a").nth(9).waitFor();
        const box = await squares.boundingBox();
        assert.ok(box.height < 30, `${box.height} pixels high at ${width}`);
    });
    w.test("recent runs of an agent are one line of squares", "fleet", oneLine, AS_ROOT);

    const uncut = atWidths([320, 380], ".filters select >> nth=2", async (page, width) => {
        const cut = await page.locator(".filters select").evaluateAll((all) =>
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
    });
    w.test("what a filter of alerts says is not cut on a telephone", "alerts", uncut, AS_ROOT);

    const apart = atWidths([1280, 380, 320], ".axes .when >> nth=4", async (page, width) => {
        const boxes = await page.locator(".axes .when:visible").evaluateAll((all) =>
            all.map((one) => one.getBoundingClientRect().toJSON()),
        );
        assert.ok(boxes.length >= 2, `${boxes.length} labels at ${width}`);
        const gaps = boxes.slice(1).map((box, i) => box.left - boxes[i].right);
        assert.ok(Math.min(...gaps) > 0, `labels overlap at ${width}: ${gaps}`);
    });
    w.test("no labels of the overview's chart overlap when its window becomes narrow", "overview?range=30d", apart, AS_ROOT);

    const used = atWidths([1920, 2560], "main table", async (page, width) => {
        const { width: taken } = await page.locator("main table").boundingBox();
        const left = await page.locator("main").evaluate((main) => main.getBoundingClientRect().left);
        const share = taken / (width - left);
        assert.ok(share >= 0.9, `${width}: the table takes ${Math.round(share * 100)} % of the room`);
    });
    w.test("a large screen is used", "runs", used, AS_ROOT);

    const whole = atWidths([320, 820, 1280], "main table", async (page, width) => {
        await page.getByRole("button", { name: /^Rotate key/ }).first().click();
        const text = page.locator("dialog .prose");
        await text.waitFor();
        const { cut, size } = await page.locator("dialog").evaluate((dialog) => ({
            cut: dialog.scrollWidth - dialog.clientWidth,
            size: getComputedStyle(dialog.querySelector(".prose")).fontSize,
        }));
        assert.deepEqual([cut, size], [0, "14px"], `at ${width}`);
        await page.keyboard.press("Escape");
        await gone(page, text);
    });
    w.test("a dialog that opens in a table shows all of its text", "settings?tab=keys", whole, AS_ROOT);

    const shared = atWidths([320, 600, 768, 1024, 1280], ".totals div >> nth=6", async (page, width) => {
        const filled = await filledRows(page.locator(".totals"));
        assert.ok(Math.min(...filled) > 0.4, `at ${width} the rows are filled ${filled}`);
    });
    w.test("no total is alone in its row", "cost", shared, AS_ROOT);

    const named = atWidths([1920], ".overview .bars", async (page) => {
        const { cut, track } = await page.locator(".overview .bars").first().evaluate((box) => {
            const name = box.querySelector(".name");
            const label = name.querySelector("a") ?? name;
            const text = document.createRange();
            label.textContent = "";
            do {
                label.textContent += "A"; // until it takes half of the room
                text.selectNodeContents(label);
            } while (text.getBoundingClientRect().width < box.clientWidth / 2);
            const cut = name.scrollWidth - name.clientWidth;
            return { cut, track: box.querySelector(".track").clientWidth / box.clientWidth };
        });
        assert.ok(cut <= 0, `${cut} pixels of a name are cut`);
        assert.ok(track >= 0.24, `the bar has ${track} of the room`);
    });
    w.test("names are cut only without room", "overview", named, AS_ROOT);

    const modest = atWidths([1920], "main table tbody tr", async (page) => {
        const label = await page.locator("main table").evaluate((table) => {
            const cell = [...table.querySelectorAll("th")].find((one) => one.textContent.includes("Label"));
            return cell.clientWidth / table.clientWidth;
        });
        assert.ok(label < 0.35, `the label has ${label} of the table`);
    });
    w.test("a label takes its part of a table", "/t/dense/settings?tab=keys", modest, AS_ROOT);

    test("the logo stands beside the name, in the menu and above the sign-in", async () => {
        const inside = await w.open("runs", AS_ROOT);
        const outside = await openPage(w.browser, w.server);
        await outside.goto(w.server.url);
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
});
