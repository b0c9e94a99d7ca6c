// README.md says which test holds each defect of a review: all are listed, and every test is there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "./root.mjs";

const FOLDER = join(ROOT, "tests/browser");
const DEFECTS = 46;

const rows = readFileSync(join(FOLDER, "README.md"), "utf8")
    .split("\n")
    .filter((line) => /^\| D\d/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));

test("each defect has a row", () => {
    assert.deepEqual(
        rows.map(([number]) => number),
        Array.from({ length: DEFECTS }, (_, i) => `D${i + 1}`),
    );
    assert.deepEqual(rows.filter((row) => row.length !== 3 || row.some((cell) => cell === "")), []);
});

test("every test that is named exists", () => {
    const missing = rows.flatMap(([number, , tests]) =>
        tests.split("<br>").flatMap((one) => {
            const [, file, name] = /^`([^`]+)`: (.+)$/.exec(one) ?? [null, "", ""];
            if (file === "") return [`${number}: ${one}`];
            const text = readFileSync(join(FOLDER, file), "utf8");
            const there = file.endsWith(".py") ? `def ${name}(` : `test("${name}"`;
            return text.includes(there) ? [] : [`${number}: ${file} has no test "${name}"`];
        }),
    );
    assert.deepEqual(missing, []);
});
