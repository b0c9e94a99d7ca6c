#!/usr/bin/python3
"""Every lock of src/ has its row in docs/internals/threads.md: its name, and the file that declares it."""

import re

from gate import files_in, run

LOCK = re.compile(r"^\s*(?:static )?struct (?:lock|rwlock) (\w+)", re.M)
PAGE = "docs/internals/threads.md"


def rows_of(page):
    """{(name, file)}: the first two cells of each row of a table."""
    rows = re.findall(r"^\| `(\w+)`[^|]*\| `([^`|]+)` \|", page, re.M)
    return set(rows)


def gate(root):
    files = files_in(root, ["src"], {".c", ".h"})
    problems = [] if files else ["src/: no files to look at"]
    page = (root / PAGE).read_text() if (root / PAGE).exists() else ""
    described, found = rows_of(page), set()
    for path in files:
        file = str(path.relative_to(root / "src"))
        if file != "base/lock.h":
            found |= {(name, file) for name in LOCK.findall(path.read_text())}
    problems += [
        f"src/{file}: {PAGE} has no row for its lock `{name}`"
        for name, file in sorted(found - described)
    ]
    declared = {file for _, file in found}
    problems += [
        f"{PAGE}: `{name}` of {file} is no longer there"
        for name, file in sorted(described - found)
        if name in ("lock", "refresh") and file not in declared
    ]
    return problems, f"{len(found)} locks, each described"


if __name__ == "__main__":
    run("locks", gate)
