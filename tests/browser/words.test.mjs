// The wording of the portal, in its sources: phrases that a review found hard to follow stay away. What
// pages show of it, access.suite.mjs looks at.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "./root.mjs";
import { oddWords, WORDS } from "./words.mjs";

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

test("what a page says is judged by its words, and by where they stand", () => {
    const odd = ["Cost a day, by model", "Nothing is wrong", "Made", "In order", "For your tenant"];
    assert.deepEqual(oddWords("cost", [...odd, "Made of steel", "Cost per day"]), odd.map((text) => `cost: ${text}`));
    assert.deepEqual(oddWords("run", ["In order", "Workspace"]), []);
});
