#!/usr/bin/python3
"""Nothing in the tree names a machine's own paths or the address of a package registry, and what
people read has none of the phrases that make English hard to follow (docs/GLOSSARY.md has our words).
"""

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

# What people read: comments, help, errors, pages.
READ = ("src", "web/src", "sdk/python/muster", "sdk/typescript/src", "docs", "README.md",
        "CONTRIBUTING.md")  # fmt: skip

# A habit, and what to write instead. The value `nobody` of the contract stands in quotes.
HABITS = [
    ("anew", "again, or a verb with re-"),
    # Python's None is a word of its own
    ("(?<!there )(?:is|are) (?!(?-i:None))none(?! of)", "is not a ..., or does not exist"),
    ("no more(?! than)", "no longer, or nothing else"),
    ("since ever", "always, or from the start"),
    ("from a moment on", "from a date"),
    ("so many", "how many, or a number"),
    ("likewise", "the same, or nothing"),
    ("what came of", "the result of"),
    ("in vain", "without result"),
    ("is to be done", "the verb itself"),
    ("whoever", "the user, the caller, the client"),
    ("somebody", "a user, a caller, another thread"),
    ("(?<![\"'`])nobody(?![\"'`@])", "no user, no one; or say what does not happen"),
]  # fmt: skip
HABIT = re.compile(
    "|".join(rf"(?P<h{n}>\b{words}\b)" for n, (words, _) in enumerate(HABITS)).replace(" ", r"\s"),
    re.I,
)
MARGIN = re.compile(r"\n[ \t]*(?:(?:\*|//|#)[ \t]+)?")  # what begins the lines of a comment


def habit_problems(where, text):
    if not any(where.is_relative_to(folder) for folder in READ):
        return
    text = MARGIN.sub("\n", text)  # the words of a habit may stand on two lines
    for match in HABIT.finditer(text):
        instead = HABITS[int(match.lastgroup[1:])][1]
        found = " ".join(match.group().split())
        yield f"{where}:{line_at(text, match.start())}: '{found}': write {instead}"


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
        problems += habit_problems(path.relative_to(root), text)
    return problems, f"{len(files)} files"


if __name__ == "__main__":
    run("words", gate)
