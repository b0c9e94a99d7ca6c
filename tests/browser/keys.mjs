// A person without a mouse. Keys are pressed, and it is looked at where the focus is: nothing here
// points, clicks, or moves the focus by a script.

import assert from "node:assert/strict";

import { gone, sees, titled } from "./portal.mjs";

const PRESSES_MAX = 90; // of Tab, until something is reached

/** In the page: functions for the ones below, and for stops.mjs. */
export const inPage = () => {
    if (window.keys) return;
    const squeezed = (text) => (text ?? "").replace(/\s+/g, " ").trim();
    const ofLabel = (one) => {
        const label = one.labels?.[0];
        if (!label) return undefined;
        return [...label.childNodes]
            .filter((part) => !part.contains(one))
            .map((part) => part.textContent)
            .join(" ");
    };
    /** As a screen reader says it. */
    const nameOf = (one) =>
        squeezed(one.getAttribute("aria-label") ?? ofLabel(one) ?? (one.innerText || one.textContent));
    /** Is there a mark around it, or around what it stands for? */
    const isMarked = (one) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        if (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) return true;
        const shape = one.querySelector("rect");
        return shape !== null && parseFloat(getComputedStyle(shape).strokeWidth) >= 3;
    };
    const isInView = (one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
    };
    const STOPS = "a[href], button, input, select, textarea, summary, [tabindex]";
    window.keys = {
        STOPS,
        nameOf,
        isMarked,
        isInView,
        now: () => {
            const one = document.activeElement;
            if (one === null || one === document.body) return null;
            const main = one.id === "main"; // the page as a whole
            const field = one.matches("input, textarea");
            return { name: main ? "" : nameOf(one), marked: isMarked(one), seen: isInView(one), main, field };
        },
        isThere: ([text, source]) =>
            [...document.querySelectorAll(STOPS)].some((one) => {
                const name = one.checkVisibility() && !one.disabled ? nameOf(one) : "";
                return source === null ? name === text : new RegExp(source).test(name);
            }),
    };
};

export class Keys {
    constructor(page) {
        this.page = page;
        this.presses = 0;
    }

    async press(key, times = 1) {
        for (let i = 0; i < times; i++) {
            await this.page.keyboard.press(key);
            this.presses++;
        }
    }

    async ask(script, argument) {
        await this.page.evaluate(inPage);
        return this.page.evaluate(script, argument);
    }

    /** Its name, whether that can be seen, and whether it is marked; null: nothing has the focus. */
    where() {
        return this.ask(() => window.keys.now());
    }

    /** Presses Tab until the focus is on what has this name, and sees it there; "Alert above…" begins so. */
    async to(text, key = "Tab", { field = false } = {}) {
        const name = String(text).endsWith("…") ? new RegExp(`^${text.slice(0, -1)}`) : text;
        const wanted = [String(name), name instanceof RegExp ? name.source : null];
        await this.page.evaluate(inPage);
        await this.page.waitForFunction((one) => window.keys?.isThere(one), wanted);
        const matches = (text) => (name instanceof RegExp ? name.test(text) : text === name);
        const met = [];
        for (let i = 0; i <= PRESSES_MAX; i++) {
            const now = await this.where();
            if (now !== null && matches(now.name) && (now.field || !field)) {
                assert.ok(now.marked, `${now.name} has the focus, and no mark shows it`);
                assert.ok(now.seen, `${now.name} has the focus out of sight`);
                return;
            }
            met.push(now?.name ?? "nothing");
            await this.press(key);
        }
        assert.fail(`${name} was not reached in ${PRESSES_MAX} presses: ${met.slice(-40).join(" | ")}`);
    }

    /** Goes to a button or link, and presses it. */
    async use(name, key = "Enter") {
        await this.to(name);
        await this.press(key);
    }

    /** The same with one that is before what has the focus. */
    async back(name, key = "Enter") {
        await this.to(name, "Shift+Tab");
        await this.press(key);
    }

    /** Goes to a field, replaces what is in it, and stays there. */
    async fill(name, text) {
        await this.to(name, "Tab", { field: true });
        await this.press("Control+a");
        await this.page.keyboard.type(text);
    }

    /** Goes to a list of choices, and takes one that is further down (or up) once it is offered: some
     * choices are asked of the service when the list is there already. */
    async choose(name, steps = 1) {
        await this.to(name);
        await this.page.waitForFunction((by) => {
            const { options, selectedIndex } = document.activeElement;
            return options === undefined || options[selectedIndex + by] !== undefined;
        }, steps);
        await this.press(steps > 0 ? "ArrowDown" : "ArrowUp", Math.abs(steps));
    }

    /** Waits for what an action shows; the focus must be somewhere then. */
    async sees(...all) {
        await sees(this.page, ...all);
        await this.kept();
    }

    async gone(...all) {
        await gone(this.page, ...all);
        await this.kept();
    }

    /** Waits for an address. */
    at(pattern) {
        return this.page.waitForURL(pattern);
    }

    /** The focus is on something that is there. */
    async kept() {
        await this.page.waitForFunction(() => {
            const one = document.activeElement;
            return one !== null && one !== document.body && one.isConnected;
        });
    }

    async dialog(name) {
        const opts = name === undefined ? {} : { name };
        await this.page.getByRole("dialog", opts).waitFor();
        const inside = () => document.activeElement?.closest("dialog") !== null;
        await this.page.waitForFunction(inside); // the focus goes into what opens
    }

    /** Opens a dialog by its button, fills it, and ends it by another button or by Enter: a text is typed, a
     * number takes so many choices further down, true checks. */
    async form(opener, fields, verb) {
        await this.use(opener);
        await this.dialog();
        for (const [label, value] of Object.entries(fields)) {
            if (typeof value === "number") await this.choose(label, value);
            else if (value === true) await this.use(label, "Space");
            else await this.fill(label, value);
        }
        if (verb === undefined) await this.press("Enter");
        else await this.use(verb);
    }

    /** The same, and the dialog closes. */
    async set(opener, fields, verb) {
        await this.form(opener, fields, verb);
        await this.closed();
    }

    /** Presses a button, and confirms what it asks. */
    confirm(opener, verb) {
        return this.set(opener, {}, verb);
    }

    /** The dialog has closed, and the focus is back on the page. */
    async closed() {
        await this.page.getByRole("dialog").waitFor({ state: "detached" });
        await this.kept();
    }

    /** The search opens any page: Ctrl-K, also in a field, and its name. */
    async go(title, heading = title) {
        await this.press("Control+k");
        await this.page.keyboard.type(title); // without waiting for the field
        await this.page.getByRole("option", { name: new RegExp(`^${title}`) }).first().waitFor();
        await this.press("Enter");
        await titled(this.page, heading);
        await this.page.getByRole("dialog").waitFor({ state: "detached" });
        await this.kept();
    }
}
