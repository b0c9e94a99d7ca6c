"""The layers gate, on a small house of its own: green as it is, red on each kind of violation."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PAGE = """# Architecture

## Machinery

| Folder | What is in it | Libraries |
|---|---|---|
| `base` | strings | `zlib` |
| `engine` | threads | |

## Features

| Feature | What is in it | Uses | Public headers |
|---|---|---|---|
| `keys` | keys |  | `keys.h` |
| `runs` | runs | `keys`, `libcurl` | `runs.h` |
| `views` | both |  |  |

## Next
"""

TREE = {
    "docs/ARCHITECTURE.md": PAGE,
    "src/base/str.h": "#include <zlib.h>\n",
    "src/base/str.c": '#include "base/str.h"\n',
    "src/engine/writer.h": '#include "base/str.h"\n',
    "src/features/features.h": "struct feature;\n",
    "src/features/keys/keys.h": '#include "engine/writer.h"\n',
    "src/features/keys/store.h": "#include <stdint.h>\n",
    "src/features/keys/ring/ring.c": '#include "features/keys/store.h"\n',
    "src/features/runs/runs.h": '#include "features/keys/keys.h"\n#include <curl/curl.h>\n',
    "src/features/views/views.c": '#include "features/features.h"\n',
    "src/app/main.c": '#include "features/keys/store.h"\n#include "engine/writer.h"\n',
}


@pytest.fixture
def house(tmp_path):
    """Builds the tree, with these files instead or besides, and runs the gate: house({path: text})."""

    def build(changes=None):
        for path, text in (TREE | (changes or {})).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return subprocess.run(
            ["/usr/bin/python3", ROOT / "scripts/check_layers.py", tmp_path],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return build


def test_a_house_that_is_as_its_tables_say_is_green(house):
    done = house()
    assert done.returncode == 0, done.stderr
    assert "3 features, 1 edges" in done.stdout


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("src/base/up.c", '#include "engine/writer.h"\n', "base is below engine"),
        ("src/engine/up.c", '#include "features/keys/keys.h"\n', "machinery: it includes no feature"),
        ("src/engine/up.c", '#include "app/main.h"\n', "engine is below app"),
        ("src/features/views/side.c", '#include "features/runs/runs.h"\n', "views does not use runs"),
        ("src/features/keys/back.c", '#include "features/runs/runs.h"\n', "keys does not use runs"),
        ("src/features/runs/peek.c", '#include "features/keys/store.h"\n', "private to keys"),
        ("src/features/keys/net.c", "#include <curl/curl.h>\n", "does not give libcurl to keys"),
        ("src/engine/zip.c", "#include <zlib.h>\n", "does not give zlib to engine"),
        ("src/base/short.c", '#include "str.h"\n', "names no folder"),
        ("src/cellar/dark.c", "\n", "src/cellar: no row"),
        ("src/features/ghosts/boo.c", "\n", "src/features/ghosts: no row"),
    ],
)  # fmt: skip
def test_a_planted_violation_is_named(house, path, text, says):
    done = house({path: text})
    assert done.returncode == 1, done.stdout
    assert says in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("| `keys` | keys |  |", "| `keys` | keys | `runs` |", "use each other in a circle"),
        ("| `keys` | keys |  |", "| `keys` | keys | `ghosts` |", "which is no feature"),
        ("| `base` | strings | `zlib` |", "| `base` | strings | |", "does not give zlib to base"),
        ("| `views` | both |  |  |\n", "", "src/features/views: no row"),
        ("| `views` |", "| `views` | both |  |  |\n| `attic` |", "src/features/attic is not there"),
        ("## Features", "## Rooms", "tables of machinery and features are missing"),
    ],
)
def test_a_table_that_is_wrong_is_named(house, old, new, says):
    assert old in PAGE
    done = house({"docs/ARCHITECTURE.md": PAGE.replace(old, new)})
    assert done.returncode == 1, done.stdout
    assert says in done.stderr


def test_headers_that_include_each_other_are_named(house):
    done = house({"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'})
    assert done.returncode == 1
    assert "included in a circle" in done.stderr


def test_nouns_that_include_each_other_are_named(house):
    done = house({"src/engine/pen.c": '#include "engine/ink.h"\n', "src/engine/pen.h": "\n",
                  "src/engine/ink.h": '#include "engine/pen.h"\n'})  # fmt: skip
    assert done.returncode == 1
    assert "include each other in a circle: engine/ink, engine/pen" in done.stderr


def test_a_room_offers_at_most_eight_headers_and_no_store(house):
    many = ", ".join(f"`k{n}.h`" for n in range(9))
    done = house({"docs/ARCHITECTURE.md": PAGE.replace("`keys.h`", f"`keys.h`, {many}")})
    assert "keys has 10 public headers, 8 are allowed" in done.stderr
    done = house({"docs/ARCHITECTURE.md": PAGE.replace("`keys.h`", "`keys.h`, `store.h`")})
    assert (done.returncode, "keys/store.h is a store" in done.stderr) == (1, True)


def test_a_crowded_folder_is_named(house):
    done = house({f"src/base/f{i}.c": "\n" for i in range(40)})
    assert done.returncode == 1
    assert "src/base: 41 .c files" in done.stderr


def test_sql_is_in_stores_and_in_the_files_that_the_page_names(house):
    query = 'DB_QUERY(select_one, "SELECT 1");\n'
    sums = {"src/features/runs/sums.c": query, "src/features/keys/keys_store.c": query}
    done = house(sums)
    assert done.returncode == 1 and done.stderr.startswith("runs/sums.c: SQL belongs into a store"), done.stderr
    page = {"docs/ARCHITECTURE.md": f"{PAGE}\nBesides the store files: `runs/su*.c`.\n\n"}
    assert house(sums | page).returncode == 0
    done = house(page | {"src/features/runs/sums.c": ""})
    assert done.returncode == 1 and "no SQL in runs/su*.c" in done.stderr
