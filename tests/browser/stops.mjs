// What the Tab key reaches, and what forced colours leave.

import { inPage } from "./keys.mjs";

const TAB = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 };

/** Without awaiting each: the page takes them one after the other. */
async function pressTab(keyboard, times) {
    const types = Array.from({ length: times }, () => ["rawKeyDown", "keyUp"]).flat();
    await Promise.all(types.map((type) => keyboard.send("Input.dispatchKeyEvent", { type, ...TAB })));
}

/** Presses Tab through the whole page. Controls that it does not reach, and those that nothing marks
 * when they have the focus, as text. */
export async function walkWithTab(page) {
    await page.evaluate(inPage);
    await page.evaluate(() => {
        const { STOPS, isMarked } = window.keys;
        const isStop = (one) =>
            one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true });
        const walk = {
            wanted: new Set([...document.querySelectorAll(STOPS)].filter(isStop)),
            unmarked: new Set(),
            note: ({ target }) => {
                walk.wanted.delete(target);
                if (target.id !== "main" && !isMarked(target)) walk.unmarked.add(target);
            },
        };
        document.addEventListener("focusin", walk.note);
        window.walk = walk;
    });
    const left = () =>
        page.evaluate(() => {
            for (const one of window.walk.wanted) {
                const isStop = one.tabIndex >= 0 && !one.disabled; // a new run takes it from another one
                if (!isStop || !one.isConnected || !one.checkVisibility()) window.walk.wanted.delete(one);
            }
            return window.walk.wanted.size;
        });
    const total = await left();
    const keyboard = await page.context().newCDPSession(page);
    for (let presses = 0, n = total; presses < 2 * total + 40 && n > 0; presses += Math.max(n, 20), n = await left())
        await pressTab(keyboard, Math.max(n, 20));
    await keyboard.detach();
    return page.evaluate(() => {
        const { wanted, unmarked, note } = window.walk;
        document.removeEventListener("focusin", note);
        const texts = (why, all) => [...all].map((one) => `${why}: ${one.outerHTML.slice(0, 160)}`);
        return [...texts("not reached", wanted), ...texts("not marked", unmarked)];
    });
}

/** Remembers what a page tells by a colour alone: parts without text that a background draws. */
export function rememberMarks(page) {
    return page.evaluate(() => {
        const isClear = (colour) => /^rgba\(.*, 0\)$|^transparent$/.test(colour);
        const drawn = (one) =>
            [null, "::before"].filter((part) => {
                const { backgroundColor, content, display } = getComputedStyle(one, part);
                if (part !== null && (content === "none" || display === "none")) return false;
                return !isClear(backgroundColor);
            });
        const LEAVES = "main :not(svg *):empty:not(canvas, svg, input, textarea, img, td, progress)";
        window.marks = [...document.querySelectorAll(LEAVES)].flatMap((one) => {
            const { width, height } = one.getBoundingClientRect();
            if (width < 2 || height < 2 || one.closest(".skeleton, .visually-hidden")) return [];
            return drawn(one).map((part) => ({ one, part }));
        });
        return window.marks.length;
    });
}

/** Those of them that forced colours have made invisible, and choices that nothing marks, as text. */
export function lostMarks(page) {
    return page.evaluate(() => {
        const probe = document.createElement("i");
        probe.style.background = "Canvas";
        document.body.append(probe);
        const canvas = getComputedStyle(probe).backgroundColor;
        probe.remove();
        const isClear = (colour) => /^rgba\(.*, 0\)$|^transparent$/.test(colour);
        /** What it lies on. */
        const behind = (one, part) => {
            for (let at = part ? one : one.parentElement; at !== null; at = at.parentElement) {
                const { backgroundColor } = getComputedStyle(at);
                if (!isClear(backgroundColor)) return backgroundColor;
            }
            return canvas;
        };
        const isSeen = ({ one, part }) => {
            const style = getComputedStyle(one, part);
            for (const side of ["Top", "Bottom"])
                if (parseFloat(style[`border${side}Width`]) >= 1 && style[`border${side}Style`] !== "none")
                    return true;
            if (style.backgroundImage !== "none" || style.outlineStyle !== "none") return true;
            return !isClear(style.backgroundColor) && style.backgroundColor !== behind(one, part);
        };
        const text = (why, one) => `${why}: ${one.parentElement.outerHTML.slice(0, 200)}`;
        const lost = window.marks.filter((mark) => mark.one.isConnected && !isSeen(mark));
        const CHOSEN = "[aria-current]:not([aria-current=false]), [aria-pressed=true], [aria-selected=true]";
        const unmarked = [...document.querySelectorAll(CHOSEN)].filter(
            (one) =>
                one.checkVisibility() &&
                !one.closest(".legend") && // a line that is hidden is struck through
                getComputedStyle(one).outlineStyle === "none",
        );
        return [
            ...new Set([
                ...lost.map(({ one }) => text("invisible", one)),
                ...unmarked.map((one) => text("not marked", one)),
            ]),
        ];
    });
}
