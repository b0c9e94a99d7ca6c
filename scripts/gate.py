"""What the gates share: the tree they look at, and how they report.

A gate is a function from the root of a tree to (problems, what was looked at). It prints one line,
or one line a problem, and exits 1 when there is any. A gate that finds nothing to look at is red.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/', re.S)


def files_in(root, folders, suffixes):
    """The files below `folders` with one of `suffixes`, sorted; folders may be missing."""
    return sorted(
        path
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.suffix in suffixes and path.is_file() and "node_modules" not in path.parts
    )


def code_of(text):
    """C without what stands in literals and block comments; lines keep their numbers."""

    def blank(match):
        found = match.group()
        return found[0] * 2 if found[0] in "\"'" else " " + "\n" * found.count("\n")

    return LITERAL_OR_COMMENT.sub(blank, text)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def run(name, gate):
    """The main() of a gate: `check_NAME.py [ROOT]`."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    problems, looked_at = gate(root)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        print(f"{name:<10} RED    {len(problems)} problem(s)")
        sys.exit(1)
    print(f"{name:<10} green  {looked_at}")
