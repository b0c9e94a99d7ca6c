#!/usr/bin/python3
"""Every C file is as clang-format 19 would write it."""

import subprocess

from gate import files_in, run


def gate(root):
    files = files_in(root, ["src", "tests", "bench"], {".c", ".h"})
    if not files:
        return ["src/: no files to look at"], ""
    done = subprocess.run(
        ["clang-format-19", "--style=file", "--dry-run", "-Werror", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    wrong = [line for line in done.stderr.splitlines() if "error:" in line]
    problems = [f"{line}: clang-format-19 -i {line.partition(':')[0]}" for line in wrong]
    if done.returncode != 0 and not problems:
        problems = [f"clang-format-19 failed: {done.stderr.strip()}"]
    return [line.replace(f"{root}/", "") for line in problems], f"{len(files)} files"


if __name__ == "__main__":
    run("format", gate)
