"""The map of features, on a small house of its own: it lists the rows of the tables and no others."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PAGE = """# Architecture

## Machinery

| Folder | What is in it | Libraries |
|---|---|---|
| `base` | strings | |

## Features

| Feature | What is in it | Uses | Public headers |
|---|---|---|---|
| `keys` | keys |  |  |
"""

COMMANDS = """#define TARGET_OPTIONS \\
    OPTIONS({ "tenant", OPTION_TENANT }, \\
    { "agent", OPTION_NAME, .help = "agent" })

static const struct option options[] = {
    { "label", OPTION_TEXT },
};

const struct command key_commands[] = {
    { "key", "add", .args = { { "name", OPTION_TEXT } },
      .help = "create a key" },
    { "check", NULL, .help = "check all keys" },
    { 0 },
};
"""

TREE = {
    "docs/ARCHITECTURE.md": PAGE,
    "migrations/0001_keys.sql": "CREATE TABLE keys (id INTEGER);\nCREATE TABLE plans (id INTEGER);\n",
    "src/base/str.c": "\n",
    "src/features/keys/commands.c": COMMANDS,
    "src/features/keys/routes.c": '{ ROUTE(GET, "/keys", READ, 200) },\n',
    "src/features/keys/store.c": 'q = "INSERT INTO keys SELECT id FROM plans";\n',
}


@pytest.fixture
def page(tmp_path):
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return subprocess.run(
        [ROOT / "scripts/feature_map.py", tmp_path], capture_output=True, text=True, check=True
    ).stdout


def test_options_in_macros_and_tables_of_their_own_are_no_commands(page):
    assert "- Commands: `check`, `key add`.\n" in page


def test_routes_and_tables_are_listed(page):
    assert "- Routes: `GET /keys`.\n" in page
    assert "- Tables written: `keys`; read: `plans`.\n" in page
