// What a person finds and does in the portal, on any page. Suites speak in these words, and have
// selectors only for what is theirs.

import assert from "node:assert/strict";

const ROWS = "tbody:not(.gap) tr";

/** A button or a link, by its whole name or by a pattern. */
export const button = (of, name) => of.getByRole("button", { name, exact: true });
export const link = (of, name) => of.getByRole("link", { name, exact: true });
export const heading = (of, name) => of.getByRole("heading", { name, exact: true });
export const option = (page, name) => page.getByRole("option", { name });
/** A row of a table, by a text in it. */
export const row = (of, hasText) => of.locator("tr", { hasText });
export const rows = (of) => of.locator(ROWS);
export const dialogOf = (page) => page.getByRole("dialog");
/** A card, by its heading. */
export const card = (page, title) => page.locator(".card", { has: heading(page, title) });
export const live = (page) => page.getByText("Live", { exact: true });
/** Has it the focus? */
export const isFocused = (one) => one.evaluate((it) => it === document.activeElement);

/** A field, by how its label begins. */
export function field(of, label) {
    const text = label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const choices = of.locator("label.select", { hasText: new RegExp(`^${text}`) }); // and their texts
    return of.getByLabel(new RegExp(`^${text}(?!\\w)`)).or(choices.locator("select"));
}

/** Clicks buttons, one after the other. */
export async function use(of, ...names) {
    for (const name of names) await button(of, name).click();
}

/** Fills fields by their labels: a text is typed or selected, true and false check and uncheck. */
export async function fill(of, fields) {
    for (const [label, value] of Object.entries(fields)) {
        const one = field(of, label);
        if (typeof value === "boolean") await one.setChecked(value);
        else if (await one.evaluate((it) => it.matches("select"))) await one.selectOption(value);
        else await one.fill(value);
    }
}

/** Opens a dialog by its button, fills it, and ends it by another button. */
export async function form(page, opener, fields, verb) {
    await use(page, opener);
    await fill(dialogOf(page), fields);
    await use(dialogOf(page), verb);
}

/** What is there is shown: texts, patterns or locators. */
export async function sees(of, ...all) {
    for (const one of all) {
        const found = typeof one === "string" || one instanceof RegExp ? of.getByText(one) : one;
        await found.filter({ visible: true }).first().waitFor();
    }
}

export async function gone(of, ...all) {
    for (const one of all) {
        const found = typeof one === "string" || one instanceof RegExp ? of.getByText(one) : one;
        await found.waitFor({ state: "detached" });
    }
}

/** The page has this title, or any. */
export const titled = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

export const signedIn = (page) => page.getByRole("navigation", { name: "Pages" }).waitFor();

/** Fills and sends the page of sign-in. */
export async function signIn(page, email, password) {
    await fill(page, { "E-mail": email, Password: password });
    await page.keyboard.press("Enter");
}

/** So many rows, or of a selector so many, are drawn. */
export function count(page, n, selector = ROWS) {
    return page.waitForFunction(([of, n]) => document.querySelectorAll(of).length === n, [selector, n]);
}

export const nodesOf = (page) => page.evaluate(() => document.querySelectorAll("*").length);

/** The parts of the address after "?". */
export const queryOf = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);

/** The error at a field, which the field refers to, and which has the focus. */
export async function errorOf(page, label) {
    const one = field(page, label);
    await page.locator('[aria-invalid="true"]').first().waitFor();
    assert.equal(await one.getAttribute("aria-invalid"), "true", label);
    assert.ok(await isFocused(one), "has the focus");
    const [id] = (await one.getAttribute("aria-describedby")).split(" ");
    return page.locator(`#${id}`).innerText();
}

/** Clicks, and returns what is downloaded: its name and its lines. */
export async function download(page, name = "Download") {
    const [file] = await Promise.all([page.waitForEvent("download"), use(page, name)]);
    return { name: file.suggestedFilename(), path: await file.path() };
}
