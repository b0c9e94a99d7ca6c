// Every page with the data of the demo: axe, an accessibility checker, finds nothing in either colour
// scheme, nothing is wider than a telephone, the Tab key reaches everything, forced colours hide
// nothing, and no phrase is hard to follow. One walk looks at all of it; a screenshot of each is saved.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";

import { Demo } from "./demo.mjs";
import { Person, close, openBrowser, openPage, shot } from "./muster.mjs";
import { isOf, placesOf, routedPaths, visit } from "./places.mjs";
import { titled } from "./portal.mjs";
import { lostMarks, rememberMarks, walkWithTab } from "./stops.mjs";
import { oddWords, textsOf } from "./words.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// texts are hidden when narrow, and targets are closer
const NARROW = ["button-name", "link-name", "label", "select-name", "target-size"];
const COLOURS = ["color-contrast", "link-in-text-block"]; // the rules that another colour scheme changes
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const ALIKE = [
    "tbody tr:nth-child(n + 9)",
    ".squares a:nth-child(n + 4)",
    ".kpi:nth-child(n + 7)",
    "datalist",
].map((one) => [one]); // repeats of elements that are checked already
/** The same around pages that have one frame; the entry of the page is marked in each. */
const FRAME = [".skip", ".brand", "aside > .search", "aside nav a:not([aria-current])", "aside .foot"].map(
    (one) => [one],
);
const WIDTH = 380;
const STOPS_MAX = 40; // of the Tab key, on the fleet of 12
const LATER_S = 800;

let demo, browser, places, walked;

describe("every page, with the data of the demo", () => {
    before(async () => {
        demo = await Demo.start();
        demo.clock.advance(LATER_S); // a run gets stuck
        browser = await openBrowser();
        const person = await Person.signIn(demo, demo.email, demo.password); // a second session is there
        await useAccess(person);
        const runsOf = async (query) =>
            (await person.ask("GET", `/api/v1/tenants/acme/dashboard/runs?${query}`)).runs;
        const failed = (await runsOf("status=failed&limit=100")).reduce((a, b) => (b.event_count > a.event_count ? b : a));
        const [{ workflow_run_id: workflow }] = await runsOf("agent_name=payment-preparer&limit=1");
        const page = await open();
        await page.goto(`${demo.url}/#/t/acme/alerts`);
        await page.locator(".alert").nth(1).waitFor();
        await page.context().close();
        const filled = { "agent-activity": ".chart canvas", "agent-alerts": ".card" }; // here they are not empty
        places = [
            ...placesOf("acme", { agent: "invoice-reader", run_id: failed.run_id, workflow }).map((place) => ({
                ...place,
                shows: filled[place.name] ?? place.shows,
            })),
            { name: "start", hash: "/t/newcomer/fleet", shows: ".start" },
        ];
    });

    after(() => demo?.stop());

    /** A row for each list that the demo leaves empty. */
    async function useAccess(person) {
        const token = { name: "laptop", role: "member", expires_in_days: 30 };
        await person.ask("POST", "/api/v1/auth/tokens", token);
        const invited = { email: "grace@acme.example", role: "member" };
        await person.ask("POST", "/api/v1/tenants/acme/invitations", invited);
    }

    const place = (name) => places.find((one) => one.name === name);

    const open = (options) => demo.open(browser, "/account", options);

    /** Violations of all standards, or only of the named rules. */
    async function findings(page, rules = STANDARDS, { include = undefined, exclude = ALIKE } = {}) {
        const known = await page.evaluate(() => "axe" in window);
        if (!known) await page.evaluate(AXE); // the debugger is exempt from the content policy
        const { violations } = await page.evaluate(
            ([include, exclude, runOnly]) =>
                window.axe.run({ ...include, exclude }, { resultTypes: ["violations"], runOnly }),
            [include && { include }, exclude, rules],
        );
        return violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
    }

    /** Nothing in either colour scheme, in a part of the page or in all of it. */
    async function checkColours(page, name, part) {
        const light = await findings(page, STANDARDS, part);
        await shot(page, name);
        await page.emulateMedia({ colorScheme: "dark" });
        const dark = await findings(page, COLOURS, part);
        await page.emulateMedia({ colorScheme: "light" });
        assert.deepEqual({ light, dark }, { light: [], dark: [] }, `${name}: ${light} ${dark}`);
    }

    async function checkWidth(page, name, part) {
        await page.setViewportSize({ width: WIDTH, height: 800 });
        // charts and tables are resized a frame later
        const fits = (most) => document.documentElement.scrollWidth <= most;
        await page.waitForFunction(fits, WIDTH).catch(() => {});
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        const found = await findings(page, [...NARROW, ...COLOURS], part);
        await page.emulateMedia({ colorScheme: "dark" });
        found.push(...(await findings(page, COLOURS, part)));
        await page.emulateMedia({ colorScheme: "light" });
        await page.setViewportSize({ width: 1280, height: 860 });
        assert.ok(wide <= WIDTH, `${name}: ${wide} pixels`);
        assert.deepEqual(found, [], `${name}, narrow: ${found}`);
    }

    /** The pages of people who are not signed in, and those that the portal does not route. */
    const OUTSIDE = [
        ["sign-in", "/#/"],
        ["forgot", "/#/forgot"],
        ["link", "/#/link?token=used"],
        ["set-up", "/#/setup?code=used"],
        ["docs", "/docs"],
    ];

    test("no page outside has a problem, and each fits a telephone", async () => {
        const page = await openPage(browser, demo);
        for (const [name, path] of OUTSIDE) {
            await page.goto("about:blank");
            await page.goto(`${demo.url}${path}`);
            await titled(page);
            await checkColours(page, name);
            await checkWidth(page, name);
        }
        await close(page);
    });

    test("every page of the portal is looked at", async () => {
        const { pages, outside } = routedPaths();
        assert.ok(pages.length >= 15 && outside.length >= 3, `${pages} ${outside}`);
        const missing = (paths, hashes) =>
            paths.filter((path) => !hashes.some((hash) => isOf(path, hash)));
        assert.deepEqual(missing(pages, places.map(({ hash }) => hash)), []);
        assert.deepEqual(missing(outside, OUTSIDE.map(([, path]) => path.slice(2))), []);
        assert.deepEqual(missing(["/t/:slug/later"], places.map(({ hash }) => hash)), ["/t/:slug/later"]);
    });

    test(`no page has a problem in either colour scheme, or is wider than ${WIDTH}`, async () => {
        assert.deepEqual((await theWalk()).failed, []);
    });

    test("what a width alone shows with too little contrast would be found", async () => {
        const page = await open();
        await visit(page, demo, place("run"));
        await page.evaluate(() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("@media (width < 500px) { main { --muted: #ccc } }");
            document.adoptedStyleSheets.push(sheet);
        });
        await assert.rejects(checkWidth(page, "planted", { exclude: ALIKE }), /color-contrast.*class="muted"/);
        await page.context().close();
    });

    test("no page says what was hard to follow", async () => {
        const { odd, texts } = await theWalk();
        assert.ok(texts > 2_000, `${texts} texts`);
        assert.deepEqual(odd, []);
    });

    /** Of a page in which nothing is forced: marks that forced colours hide. */
    async function lostIn(page, name) {
        const lost = [];
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ forcedColors: "active", colorScheme });
            for (const one of await lostMarks(page)) lost.push(`${name}: ${one}`);
        }
        await page.emulateMedia({ forcedColors: "none", colorScheme: "light" });
        return lost;
    }

    /** Frames differ in more than the entry of the page: for the platform, and the account. */
    const frameOf = (page) =>
        page.evaluate(() => {
            const frame = document.querySelector("aside").cloneNode(true);
            for (const one of frame.querySelectorAll("[aria-current]")) one.removeAttribute("aria-current");
            return frame.outerHTML.replace(/\d+/g, "0");
        });

    /** All that is looked at in a page that is open; a frame that was looked at already only in part. */
    async function lookAt(page, { name }, found) {
        const frame = await frameOf(page);
        const part = found.frames.has(frame) ? { exclude: [...ALIKE, ...FRAME] } : {};
        found.frames.add(frame);
        const note = (error) => found.failed.push(error.message);
        await checkColours(page, name, part).catch(note);
        found.marks += await rememberMarks(page);
        found.lost.push(...(await lostIn(page, name)));
        await checkWidth(page, name, part).catch(note);
        for (const one of await walkWithTab(page)) found.stops.push(`${name}: ${one}`);
        const texts = await textsOf(page); // last: by now the page has loaded all of it
        found.texts += texts.length;
        found.odd.push(...oddWords(name, texts));
    }

    async function walk() {
        const found = { failed: [], odd: [], texts: 0, lost: [], marks: 0, stops: [], frames: new Set() };
        const page = await open();
        for (const place of places) {
            try {
                await visit(page, demo, place);
                await lookAt(page, place, found);
            } catch (error) {
                found.failed.push(`${place.name}: ${error.message}`); // and the others are looked at
            }
        }
        await close(page).catch((error) => found.failed.push(error.message));
        return found;
    }

    /** Each page is opened once for all that holds for it. */
    function theWalk() {
        walked ??= walk();
        return walked;
    }

    /** What opens over a page: name, route, button to click, and a selector of what it shows. */
    const OVER = [
        ["search", "/t/acme/fleet", "Search", "[role=option]"],
        ["export", "/t/acme/cost", "Export", ".sheet button"],
        ["mute", "/t/acme/alerts", "Mute uptime-probe", ".sheet button"],
        ["new-key", "/t/acme/settings?tab=keys", "New key", "dialog input"],
        ["invite", "/t/acme/settings", "Invite", "dialog input"],
        ["new-token", "/account", "New token", "dialog input"],
        ["second-factor", "/account", "Add a second factor", "dialog input"],
        ["sign-out", "/account", "Sign out everywhere else", "dialog button"],
        ["acknowledge", "/t/acme/alerts", "Acknowledge all", "dialog textarea, dialog input"],
        ["tokens-of", "/platform?tab=users", "Tokens of demo@example.org", "dialog tbody tr"],
        ["set-price", "/platform?tab=prices", "Set a price", "dialog input"],
        ["new-webhook", "/t/acme/alerts?tab=webhooks", "New webhook", "dialog input"],
        ["classify", "/t/acme/settings?tab=values", "Change imap_password", "dialog select"],
    ];

    test("nor has anything that opens over a page, and it fits a narrow screen", async () => {
        const page = await open();
        for (const [name, hash, button, shows] of OVER) {
            await page.goto(`${demo.url}/#${hash}`);
            await page.setViewportSize({ width: WIDTH, height: 800 });
            await page.getByRole("button", { name: button }).first().click();
            await page.locator(shows).first().waitFor();
            const box = await page.locator(".sheet, dialog[open]").first().boundingBox();
            assert.ok(box.x >= 0 && box.x + box.width <= WIDTH, `${name}: ${JSON.stringify(box)}`);
            await checkColours(page, `over-${name}`, { include: [[".sheet, dialog[open]"]] });
            await page.setViewportSize({ width: 1280, height: 860 });
            await page.keyboard.press("Escape");
            await page.locator(".sheet, dialog[open]").waitFor({ state: "detached" });
        }
        await close(page);
    });

    test("the fleet has few stops of the Tab key, and the arrow keys go through recent runs", async () => {
        const page = await open();
        await visit(page, demo, place("fleet"));
        await page.locator(".squares a").nth(30).waitFor();
        const stops = await page.evaluate(
            () =>
                [...document.querySelectorAll("a[href], button, input, select, [tabindex]")].filter(
                    (one) => one.tabIndex >= 0 && one.checkVisibility(),
                ).length,
        );
        assert.ok(stops <= STOPS_MAX, `${stops} stops`);
        await visit(page, demo, place("agent"));
        assert.equal(await page.locator(".squares a[tabindex='0']").count(), 1);
        const focused = () => page.evaluate(() => document.activeElement.ariaLabel);
        await page.locator(".squares").first().locator("a").last().focus();
        const newest = await focused();
        await page.keyboard.press("ArrowLeft");
        const second = await focused();
        assert.notEqual(second, newest);
        await page.keyboard.press("ArrowRight");
        assert.equal(await focused(), newest);
        await close(page);
    });

    test("the Tab key reaches every control of every page, and each shows that it has the focus", async () => {
        assert.deepEqual((await theWalk()).stops, []);
        const page = await open();
        await visit(page, demo, places[0]);
        await page.evaluate(() => {
            document.querySelector("main h1").insertAdjacentHTML("afterend", "<button id=one>A</button>");
            document.getElementById("one").style.outline = "none";
            document.querySelector("main").insertAdjacentHTML("beforeend", "<button id=two>B</button>");
            document.getElementById("two").addEventListener("focusin", (event) => event.stopPropagation());
        });
        const planted = await walkWithTab(page);
        assert.match(planted.join("\n"), /not reached.*id="two"[^]*not marked.*id="one"/);
        await page.context().close();
    });

    test("forced colours leave every mark of every page visible, light and dark", async () => {
        const { lost, marks } = await theWalk();
        assert.ok(marks > 100, `${marks} marks`);
        assert.deepEqual(lost, []);
        const page = await open();
        await visit(page, demo, places[0]);
        await page.evaluate(() => {
            const one = document.createElement("i");
            one.style.cssText = "display: block; width: 9px; height: 9px; background: red";
            document.querySelector("main").append(one);
        });
        await rememberMarks(page);
        await page.emulateMedia({ forcedColors: "active" });
        assert.equal((await lostMarks(page)).length, 1);
        await page.context().close();
    });

    /** How much of a chart is painted in a colour: less where bars are striped. */
    const painted = (page) =>
        page.locator(".chart canvas").first().evaluate((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 0; i < data.length; i += 4) {
                const part = data.slice(i, i + 3);
                n += data[i + 3] > 200 && Math.max(...part) - Math.min(...part) > 60;
            }
            return n;
        });

    test("forced colours keep what colours tell, by shapes, patterns and lines", async () => {
        const page = await open({ forcedColors: "active" });
        const style = (selector, names, part) =>
            page.locator(selector).first().evaluate(
                (one, [names, part]) => {
                    const style = getComputedStyle(one, part);
                    return names.map((name) => style.getPropertyValue(name)).join(" ");
                },
                [names, part],
            );
        await visit(page, demo, place("fleet"));
        await page.locator(".squares .bad").first().waitFor();
        const square = (tone) => style(`.squares .${tone}`, ["height"], "::before");
        assert.notEqual(await square("bad"), await square("good"));
        assert.equal(await style("[aria-current=page]", ["outline-style"]), "solid");
        assert.equal(await style("[aria-pressed=true]", ["outline-style"]), "solid");
        assert.equal(await style("[aria-pressed=false]", ["outline-style"]), "none");
        assert.ok((await page.locator("tbody .chip").allInnerTexts()).every((text) => text !== ""));
        await page.keyboard.press("Tab");
        assert.match(await style(":focus-visible", ["outline-style"]), /solid|auto/);
        await shot(page, "fleet-contrast");
        await visit(page, demo, place("run"));
        const dot = (tone) => style(`.event.${tone} .dot`, ["border-radius", "clip-path"]);
        await page.locator(".event.bad").first().waitFor();
        assert.notEqual(await dot("bad"), await dot("busy"));
        assert.notEqual(await style(".waterfall .tick.bad", ["height"]), await style(".waterfall .tick.busy", ["height"]));
        await visit(page, demo, place("cost"));
        await page.locator(".chart canvas").first().waitFor();
        const swatches = await page
            .locator(".chart").first().locator(".legend button i")
            .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundImage));
        assert.ok(swatches.length > 1, "one line has nothing to be told from");
        assert.equal(new Set(swatches).size, swatches.length, "each line has its own pattern");
        await page.waitForFunction(() => document.querySelector(".chart canvas").width > 0);
        const striped = await painted(page);
        await shot(page, "cost-contrast");
        await page.emulateMedia({ forcedColors: "none" });
        await page.reload();
        await visit(page, demo, place("cost"));
        const plain = await painted(page);
        assert.ok(striped > 0 && striped < plain * 0.97, `${striped} of ${plain} pixels`);
        await close(page);
    });

    test("axe is effective: an image without a text is a finding", async () => {
        const page = await open();
        await visit(page, demo, places[0]);
        await page.evaluate(() => document.querySelector("main").append(new Image()));
        assert.match((await findings(page)).join("\n"), /image-alt/);
        await page.evaluate(() => {
            document.querySelector("main img").remove();
            const { style } = document.querySelector("aside [aria-current]"); // of any page
            [style.color, style.background] = ["#999", "#888"];
        });
        const part = { exclude: [...ALIKE, ...FRAME] };
        assert.match((await findings(page, COLOURS, part)).join("\n"), /color-contrast/);
        await page.context().close();
    });
});
