// The wording of the portal: phrases that a review found hard to follow, and what replaced them.

/** Where, what must not be said, and what is said instead. */
export const WORDS = [
    ["Prices", ["but costs nothing"], ["Tokens of models without a price are counted; their cost is shown as unknown."]],
    ["Cost", ["Cost a day", "Tokens a day", "Read from cache", "not in any cost"], ["Cost per day by model", "Tokens per day", "Cache hit rate", "missing from all costs"]],
    ["Alerts, empty", ["Nothing is wrong", "Nothing was ever wrong"], ["No open alerts", "No alerts yet"]],
    ["Webhooks", ["Nobody is told", "none: all of them", '"In order">', "what takes its messages"], ["No webhooks yet", "Event types (leave empty for all", "Working", "Not used yet", "Slack-compatible (Slack, Mattermost"]],
    ["Alert texts", ["this day, over the budget", "is expected to report, and", "looks after it"], ["silent: ", "Acknowledged by", "Model cost"]],
    ["Mute", ["no webhook is told"], ["are still listed, but no notification is sent"]],
    ["Rules", ["None is watched", "There is none", "Totalled over", "Empty: over all", "Its key, as agents"], ["No KPI rules yet.", "No budgets yet.", "Leave empty for all agents", "KPI key"]],
    ["Budget", ["What models may cost"], ["Limit for model cost. Models without a price are not included"]],
    ["Keys", ["It is shown this once", "I have it", "for those who come after"], ["Your new key.", "What it is for, e.g.", "Leave empty to never expire"]],
    ["Buttons", ["Make a key", "Make the webhook", "Make it<", "Change it<", "Make the account"], ["Create key", "Create webhook", "Change password", "Create account"]],
    ["Hints", ["Empty: never", "Empty: for ever", "Empty: as input", "Empty: it stays"], ["Leave empty to use the input price", "Leave empty to keep it"]],
    ["Workspace", ["How agents and addresses name it"], ["Used by agents and in URLs; cannot be changed later."]],
    ["Plan", ["Requests a minute", "Calls of models", "Their cost"], ["Requests per minute per key", "Model calls", "Agent limit"]],
    ["Audit log", ["To what", "as key.add", "as they were written", "No entry fits"], ["Action, e.g. key.add", "Check integrity", "unaltered", "No entries match"]],
    ["Retention", ["Failed runs that stay", "So many of each agent"], ["Always keep failed runs", "whatever their age"]],
    ["Prices of a file", ["since ever", "Form of the file"], ["always", "File format"]],
    ["Policy and document", ["One a line;", "Agents get it as it is"], ["One per line. The agent's sandbox enforces them.", "Delivered to the agent unchanged; vault:NAME is not replaced here."]],
    ["Vault", ["kept sealed", "while everything goes on"], ["stored encrypted and referred to by values", "replaced without downtime"]],
    ["Live", ["News come as", "updated meanwhile"], ["Updates arrive live", "Could not load this page", "Check the connection, then reload."]],
    ["Agent", ["Totalled as", '"summed"'], ["Aggregation"]],
    ["Workflow", ["nothing was declared to compare", "does not give all"], ["no inputs or outputs declared", "missing inputs"]],
    ["Runs", ["Look at all time", "go on with Older"], ["Show all time", "Older runs may match; continue with Older."]],
    ["One word each", ["Log-in", "Log in", "Log out"], ["Sign in", "Sign out"]],
    ["Times", [], ["overdue by"]],
    ["Demo", ["told to be stuck", "A step a phase"], ["is reported as stuck", "within twelve minutes"]],
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
