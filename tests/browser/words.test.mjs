// The wording of the portal: phrases that a review found hard to follow stay away, and what replaced
// them is there.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "./root.mjs";

/** Where, what must not be said, and what is said instead. */
const WORDS = [
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

const FILE = /\.(tsx?|py|html)$/;

/** The texts of a folder on one line each; JSX breaks them anywhere, and `{" "}` is a space. */
function textsOf(folder) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
    return files
        .filter((name) => FILE.test(name))
        .map((name) => ({
            name: join(folder, name),
            text: readFileSync(join(ROOT, folder, name), "utf8")
                .replace(/\{" "\}|\\n"|^\s*f?"/gm, " ")
                .replace(/\s+/g, " "),
        }));
}

const texts = [...textsOf("web/src"), ...textsOf("demo")];

test("what was hard to follow is said nowhere", () => {
    assert.ok(texts.length > 150, `${texts.length} files`);
    const found = WORDS.flatMap(([where, old]) =>
        old.flatMap((words) =>
            texts.filter(({ text }) => text.includes(words)).map(({ name }) => `${where}: "${words}" in ${name}`),
        ),
    );
    assert.deepEqual(found, []);
});

test("what replaced it is there", () => {
    const missing = WORDS.flatMap(([where, , better]) =>
        better.filter((words) => !texts.some(({ text }) => text.includes(words))).map((words) => `${where}: "${words}"`),
    );
    assert.deepEqual(missing, []);
});
