#!/usr/bin/python3
"""Nothing in the tree names a machine's own paths or the address of a package registry."""

import re
import subprocess

from gate import line_at, run

# Written so that this file does not match itself.
WORDS = [
    (r"/wor[k]/", "a path of one machine"),
    (r"/roo[t]/|/hom[e]/[a-z]", "a path of one machine"),
    (r"/tmp/bash_[j]obs", "a path of one machine"),
    (r"https?://(?:deb|registry|security|ftp)[.]", "the address of a package registry"),
    (r"https?://[\w.-]*(?:pypi|npmjs|debian)\.(?:org|com)", "the address of a package registry"),
]


def files_of(root):
    """What git would commit; in a tree without git, everything but what is built."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0:
        names = [root / name for name in listed.stdout.split("\0") if name]
    else:
        built = {root / "build", root / ".git"}
        names = [path for path in root.rglob("*") if built.isdisjoint(path.parents)]
    return sorted(path for path in names if path.is_file())


def gate(root):
    files = files_of(root)
    problems = [] if files else ["no files to look at"]
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        for pattern, what in WORDS:
            for match in re.finditer(pattern, text):
                where = f"{path.relative_to(root)}:{line_at(text, match.start())}"
                problems.append(f"{where}: '{match.group()}' is {what}")
    return problems, f"{len(files)} files"


if __name__ == "__main__":
    run("words", gate)
