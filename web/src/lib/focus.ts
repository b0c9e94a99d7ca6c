// The focus survives what a person does: when the element that has it is removed, such as the row of
// a list or an entry of a menu, its neighbour gets it, and a button that was busy gets it back.

const STOPS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** An element, and where it was in each of its ancestors. */
interface Place {
    element: Element;
    path: { parent: Element; index: number }[];
}

let last: Place | null = null;
let waiting = false;

function placeOf(element: Element): Place {
    const path: Place["path"] = [];
    for (let one: Element = element; one.parentElement !== null; one = one.parentElement)
        path.push({ parent: one.parentElement, index: [...one.parentElement.children].indexOf(one) });
    return { element, path };
}

const isStop = (one: Element): one is HTMLElement =>
    one instanceof HTMLElement &&
    one.matches(STOPS) &&
    one.tabIndex >= 0 &&
    !one.matches(":disabled") &&
    one.checkVisibility();

const stopIn = (one: Element) => [one, ...one.querySelectorAll(STOPS)].find(isStop);

/** What took the place of the element, or stands before it; else the page. */
function neighbourOf({ path }: Place): HTMLElement | null {
    const main = document.getElementById("main");
    for (const { parent, index } of path) {
        if (!parent.isConnected) continue;
        if (parent === main || parent.contains(main)) break;
        const beside = [...parent.children].slice(0, index + 1).reverse();
        for (const one of beside) {
            const found = stopIn(one);
            if (found) return found;
        }
    }
    return main;
}

const isLost = () => document.activeElement === null || document.activeElement === document.body;

/** After a change of the page. */
function look() {
    waiting = false;
    if (last === null || !isLost()) return;
    const { element } = last;
    const still = { preventScroll: true }; // rows also go away because a person scrolls
    if (!element.isConnected) neighbourOf(last)?.focus(still);
    else if (element instanceof HTMLElement && !element.matches(":disabled")) element.focus(still);
}

/** Later than a dialog that closes, which returns the focus itself. */
function lookSoon() {
    if (waiting) return;
    waiting = true;
    setTimeout(look);
}

/** A person who clicks beside everything leaves the element, which is still there. */
function leave(event: FocusEvent) {
    const { target, relatedTarget } = event;
    if (relatedTarget !== null || !(target instanceof Element)) return;
    setTimeout(() => {
        if (last?.element === target && target.isConnected && !target.matches(":disabled") && isLost())
            last = null;
    });
}

const pathOf = (url: string) => new URL(url).hash.split("?")[0];

export function keepFocus() {
    addEventListener("focusin", ({ target }) => {
        if (target instanceof Element) last = placeOf(target);
    });
    addEventListener("focusout", leave);
    // another page begins at its top, which the app sees to
    addEventListener("hashchange", ({ oldURL, newURL }) => {
        if (pathOf(oldURL) !== pathOf(newURL)) last = null;
    });
    const options = { subtree: true, childList: true, attributeFilter: ["disabled"] };
    new MutationObserver(lookSoon).observe(document.body, options);
}
