#!/usr/bin/python3
"""Pages that are printed by the program or by a script are committed as they are printed."""

import os
import subprocess
from pathlib import Path

from feature_map import page as feature_map
from gate import run

PAGES = {"openapi": "docs/openapi.json", "settings": "docs/SETTINGS.md"}  # command: page


def problem_of(binary, command, page):
    """What is wrong with a page, or None."""
    again = f"build/release/muster {command} >docs/{page.name}"
    if not page.exists():
        return f"docs/{page.name}: missing: {again}"
    done = subprocess.run([binary, command], capture_output=True, check=False)
    if done.returncode != 0:
        return f"muster {command} failed: {done.stderr.decode(errors='replace').strip()}"
    if done.stdout != page.read_bytes():
        return f"docs/{page.name}: stale: {again}"
    return None


def map_problem(root):
    page = root / "docs/FEATURES.md"
    if page.exists() and page.read_text() == feature_map(root):
        return None
    return "docs/FEATURES.md: stale: scripts/feature_map.py >docs/FEATURES.md"


def gate(root):
    binary = Path(os.environ.get("MUSTER_TEST_BINARY", root / "build/release/muster"))
    if not binary.exists():
        return [f"{binary}: not built: run make build"], ""
    found = [problem_of(binary, command, root / page) for command, page in PAGES.items()]
    found.append(map_problem(root))
    return [problem for problem in found if problem], f"{len(found)} pages"


if __name__ == "__main__":
    run("generated", gate)
