#!/usr/bin/python3
"""No file of src/, web/src/ or a library of sdk/ is longer than 500 lines, no folder of src/ has more
than 25 .c files, and where requests, events and keys are handled 1,000 lines have at least 5 asserts.
Functions are clang-tidy's to measure."""

import re

from gate import code_of, files_in, run

LINES_MAX, SOURCES_MAX, ASSERTS_LEAST = 500, 25, 5
FOLDERS = ["src", "web/src", "sdk/python/muster", "sdk/typescript/src"]
SUFFIXES = {".c", ".h", ".py", ".ts", ".tsx", ".css", ".html"}
ASSERTED = ("engine", "http", "db", "features/events", "features/access")
ASSERT = re.compile(r"\b_?(?:static_)?assert\s*\(", re.I)


def crowded(root):
    """Folders of src/ with too many .c files."""
    for folder in sorted({path.parent for path in files_in(root, ["src"], {".c"})}):
        n = len(list(folder.glob("*.c")))
        if n > SOURCES_MAX:
            yield f"{folder.relative_to(root)}: {n} .c files, {SOURCES_MAX} are allowed"


def unasserted(root):
    """Folders whose invariants are asserted too seldom."""
    for name in ASSERTED:
        texts = [path.read_text() for path in files_in(root, [f"src/{name}"], {".c", ".h"})]
        lines = sum(text.count("\n") for text in texts)
        n = sum(len(ASSERT.findall(code_of(text))) for text in texts)
        if n < lines * ASSERTS_LEAST // 1000:
            yield (
                f"src/{name}: {n} asserts in {lines} lines, "
                f"{lines * ASSERTS_LEAST // 1000} are needed: assert what always holds"
            )


def gate(root):
    files = files_in(root, FOLDERS, SUFFIXES)
    problems = [] if files else ["src/: no files to look at"]
    longest = 0
    for path in files:
        lines = len(path.read_bytes().splitlines())
        longest = max(longest, lines)
        if lines > LINES_MAX:
            problems.append(
                f"{path.relative_to(root)}: {lines} lines, {LINES_MAX} are allowed: "
                "two rooms in one, give each its own file"
            )
    problems += [*crowded(root), *unasserted(root)]
    return problems, f"{len(files)} files, the longest has {longest} lines"


if __name__ == "__main__":
    run("lengths", gate)
