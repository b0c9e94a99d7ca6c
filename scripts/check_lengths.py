#!/usr/bin/python3
"""No file of src/, web/src/ or a library of sdk/ is longer than 800 lines, and no folder has more lines than
scripts/budgets.txt gives it: who needs more raises the number in the same commit and says why. Functions
are clang-tidy's to measure, and how many files a folder has is for scripts/check_layers.py."""

from gate import files_in, run

LINES_MAX = 800
BUDGETS = "scripts/budgets.txt"
FOLDERS = ["src", "web/src", "sdk/python/muster", "sdk/typescript/src"]
SUFFIXES = {".c", ".h", ".py", ".ts", ".tsx", ".css", ".html"}
BUDGETED = {".c", ".h", ".py", ".mjs", ".md", ".sql"}


def lines_of(path):
    return len(path.read_bytes().splitlines())


def budgets(root):
    """Rows of a folder and its most lines; a room is counted whole."""
    page = root / BUDGETS
    rows = [row.split("#")[0].split() for row in page.read_text().splitlines()] if page.exists() else []
    return {folder: int(most) for folder, most in filter(None, rows)}


def outgrown(root):
    rows = budgets(root)
    if not rows:
        yield f"{BUDGETS}: no folder has a budget"
    for folder, most in rows.items():
        lines = sum(map(lines_of, files_in(root, [folder], BUDGETED)))
        if lines > most:
            yield f"{folder}: {lines} lines, {BUDGETS} gives it {most}: make it smaller, or raise it and say why"
    for folder in sorted((root / "src").glob("*")) + sorted((root / "src/features").glob("*")):
        name = str(folder.relative_to(root))
        if folder.is_dir() and name != "src/features" and name not in rows:
            yield f"{name}: no row in {BUDGETS}"


def gate(root):
    files = files_in(root, FOLDERS, SUFFIXES)
    problems = [] if files else ["src/: no files to look at"]
    longest = 0
    for path in files:
        lines = lines_of(path)
        longest = max(longest, lines)
        if lines > LINES_MAX:
            problems.append(
                f"{path.relative_to(root)}: {lines} lines, {LINES_MAX} are allowed: "
                "two rooms in one, give each its own file"
            )
    return [*problems, *outgrown(root)], f"{len(files)} files, the longest has {longest} lines"


if __name__ == "__main__":
    run("lengths", gate)
