"""Every file that the documentation names is there."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:[a-z0-9_]+/)+[a-z0-9_.]+\.(?:c|h|py|mjs|ts|tsx|sql|sh))`")
NOT_OURS = (".git", "build", "data", "node_modules")
LAID_DOWN = ("docs/DECISIONS.md", "CHANGELOG.md")  # they tell of what was


def missing(page, files):
    """A path may begin at any folder: a page speaks of its own feature."""
    return [
        path for path in NAMED.findall(page) if not any(f"/{file}".endswith(f"/{path}") for file in files)
    ]


def test_every_file_that_is_named_is_there():
    files = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in NOT_OURS]
        files += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    pages = [file for file in files if file.endswith(".md") and file not in LAID_DOWN]
    assert len(pages) > 20
    gone = {page: missing((ROOT / page).read_text(), files) for page in pages}
    assert {page: paths for page, paths in gone.items() if paths} == {}


@pytest.mark.parametrize(("page", "gone"), [
    ("see `db/pool.c` and `src/db/pool.c`", []), ("see `db/fool.c`", ["db/fool.c"]),
    ("see `b/pool.c`", ["b/pool.c"]),
])  # fmt: skip
def test_a_file_that_is_not_there_is_seen(page, gone):
    assert missing(page, ["src/db/pool.c"]) == gone
