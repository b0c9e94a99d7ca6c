#!/usr/bin/python3
"""No file of src/, web/src/ or a library of sdk/ is longer than 800 lines. Functions are clang-tidy's to
measure, and how many files a folder has is for scripts/check_layers.py."""

from gate import files_in, run

LINES_MAX = 800
FOLDERS = ["src", "web/src", "sdk/python/muster", "sdk/typescript/src"]
SUFFIXES = {".c", ".h", ".py", ".ts", ".tsx", ".css", ".html"}


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
    return problems, f"{len(files)} files, the longest has {longest} lines"


if __name__ == "__main__":
    run("lengths", gate)
