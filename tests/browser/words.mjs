// The wording of the portal: phrases that a review found hard to follow.

/** Where, and what must not be said. */
export const WORDS = [
    ["Prices", ["but costs nothing"]],
    ["Cost", ["Cost a day", "Tokens a day", "Read from cache", "not in any cost"]],
    ["Alerts, empty", ["Nothing is wrong", "Nothing was ever wrong"]],
    ["Webhooks", ["Nobody is told", "none: all of them", '"In order">', "what takes its messages"]],
    ["Alert texts", ["this day, over the budget", "is expected to report, and", "looks after it"]],
    ["Mute", ["no webhook is told"]],
    ["Rules", ["None is watched", "There is none", "Totalled over", "Empty: over all", "Its key, as agents"]],
    ["Budget", ["What models may cost"]],
    ["Keys", ["It is shown this once", "I have it", "for those who come after"]],
    ["Buttons", ["Make a key", "Make the webhook", "Make it<", "Change it<", "Make the account"]],
    ["Hints", ["Empty: never", "Empty: for ever", "Empty: as input", "Empty: it stays"]],
    ["Workspace", ["How agents and addresses name it"]],
    ["Plan", ["Requests a minute", "Calls of models", "Their cost"]],
    ["Audit log", ["To what", "as key.add", "as they were written", "No entry fits"]],
    ["Retention", ["Failed runs that stay", "So many of each agent"]],
    ["Prices of a file", ["since ever", "Form of the file"]],
    ["Policy and document", ["One a line;", "Agents get it as it is"]],
    ["Vault", ["kept sealed", "while everything goes on"]],
    ["Live", ["News come as", "updated meanwhile"]],
    ["Agent", ["Totalled as", '"summed"']],
    ["Workflow", ["nothing was declared to compare", "does not give all"]],
    ["Runs", ["Look at all time", "go on with Older"]],
    ["One word each", ["Log-in", "Log in", "Log out"]],
    ["Demo", ["told to be stuck", "A step a phase"]],
];

/** Not said by a label, button or cell alone, though sentences may have the word. */
const ALONE = [
    ...["Made", "Ends", "Good", "Make it", "Change it", "Did", "Form", "summed", "Verify", "None", "Nobody"],
    ...["Address", "Log-in", "Log in", "Log out", "In order"],
];
/** Not said anywhere on a page: "per", not "a"; a workspace is no tenant. */
const NEVER = [
    /\b(cost|tokens|requests|calls|runs|events|bytes) an? (second|minute|hour|day|week|month)\b/i,
    /\b(for|of|this|the|your|a) tenants?\b/i,
    /\b(whoever|anew|likewise|since ever|no more of)\b/i,
];
/** Where such a word says exactly what is meant: the view of a run that has its events in their order,
 * who may read a secret parameter, and from which address a person has signed in. */
const FINE = [
    { page: "run", text: "In order" },
    { page: "settings-values", text: "Nobody" },
    { page: "account", text: "Address" },
];

/** Every text of the page as it is shown or read aloud; code and what agents sent is theirs. */
export const textsOf = (page) =>
    page.evaluate(() => {
        const THEIRS = "code, pre, textarea, option, script, style";
        const texts = new Set();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode())
            if (!node.parentElement.closest(THEIRS)) texts.add(node.data);
        for (const one of document.querySelectorAll("main :is(p, li, dt, dd, th, td, label, h2, h3)"))
            if (!one.closest(THEIRS)) texts.add(one.textContent); // sentences that elements divide
        for (const name of ["title", "placeholder", "aria-label"])
            for (const one of document.querySelectorAll(`[${name}]`)) texts.add(one.getAttribute(name));
        return [...texts].map((text) => text.replace(/\s+/g, " ").trim()).filter((text) => text !== "");
    });

const PHRASES = WORDS.flatMap(([, old]) => old).filter((words) => !/["<>]/.test(words));

/** What a page says that it should not, as text. */
export function oddWords(page, texts) {
    const isFine = (text) => FINE.some((one) => one.page === page && one.text === text);
    const isOdd = (text) =>
        PHRASES.some((words) => text.includes(words)) ||
        NEVER.some((pattern) => pattern.test(text)) ||
        (ALONE.includes(text) && !isFine(text));
    return texts.filter(isOdd).map((text) => `${page}: ${text.slice(0, 200)}`);
}
