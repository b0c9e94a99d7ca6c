"""Every gate is green on a good tree and red on a planted violation: a gate that cannot fail guards
nothing. scripts/lint runs them on the tree as it is; here they see a small one. The layers gate has a
file of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = '{"dependencies": {"preact": "10.0.0"}}\n'
LOCK = '{"packages": {"node_modules/preact": {"integrity": "sha512-x"}}}\n'
SMALL_TREE = {
    "src/base/good.c": "int good(void);\n\nint good(void)\n{\n    return 1;\n}\n",
    "web/src/lib/good.ts": "export const good = 1;\n",
    "web/package.json": PACKAGE,
    "web/package-lock.json": LOCK,
    "tests/browser/package.json": PACKAGE,
    "tests/browser/package-lock.json": LOCK,
    "tests/clients/package.json": PACKAGE,
    "tests/clients/package-lock.json": LOCK,
    "tests/oidc/package.json": PACKAGE,
    "tests/oidc/package-lock.json": LOCK,
    "sdk/typescript/package.json": PACKAGE.replace("dependencies", "devDependencies"),
    "sdk/typescript/package-lock.json": LOCK,
    "sdk/python/muster/good.py": "def good(value: int) -> int:\n    return value\n",
    "docs/good.md": "Good.\n",
    "scripts/budgets.txt": "# most lines\nsrc/base 10000\n",
    "migrations/0001_good.sql": "CREATE TABLE good (x BIGINT);\n",
    ".clang-format": (ROOT / ".clang-format").read_text(),
}
GATES = ("format", "locks", "lengths", "banned", "words", "migrations", "web", "python")
CHATTER = "/* chatter.c - planted. */\n"


def run(gate, root, **environment):
    return subprocess.run(
        ["/usr/bin/python3", ROOT / f"scripts/check_{gate}.py", root],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def copy_folder(name, to):
    """A folder of ours."""
    shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("node_modules"))


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).unlink(missing_ok=True)  # it may be a link to ours
    (root / path).write_text(text)


@pytest.fixture
def clean(tmp_path):
    """A tree on which every gate is green."""
    root = tmp_path / "tree"
    for path, text in SMALL_TREE.items():
        write(root, path, text)
    return root


@pytest.fixture
def planted(clean):
    """Writes a file into that tree: planted(path, text)."""

    def plant(path, text):
        write(clean, path, text)
        return clean

    return plant


@pytest.mark.parametrize("gate", GATES)
def test_a_good_tree_passes(gate, clean):
    done = run(gate, clean)
    assert done.returncode == 0, done.stderr
    assert "green" in done.stdout


@pytest.mark.parametrize("gate", (*GATES, "tidy", "types", "generated"))
def test_a_gate_that_finds_nothing_to_look_at_is_red(gate, tmp_path):
    assert run(gate, tmp_path).returncode == 1


BODY = "int chatter(void);\n\nint chatter(void)\n{{\n    return {};\n}}\n"
MACHINE_PATH = "/wor" + "k/shared"
REGISTRY = "https://regis" + "try.npmjs.org/x"

# Gate, file, what is planted in it, what the gate says.
PLANTED = [
    ("format", "src/base/chatter.c", "int  x ;\n", "clang-format-19 -i src/base/chatter.c"),
    ("format", "tests/unit/base/test_chatter.c", "int  x ;\n", "clang-format"),
    ("locks", "src/base/chatter.c", "struct a {\n    struct lock lock;\n};\n", "no row for its lock"),
    ("locks", "src/base/chatter.c", "static struct rwlock all;\n", "its lock `all`"),
    ("locks", "docs/internals/threads.md", "| `lock` | `a.c` | x | y | leaf |\n", "no longer there"),
    ("lengths", "src/base/chatter.c", "\n" * 801, "801 lines"),
    ("lengths", "web/src/chatter.ts", "\n" * 801, "801 lines"),
    ("banned", "src/api/chatter.c", BODY.format("sprintf(a, b)"), "snprintf"),
    ("banned", "src/api/chatter.c", BODY.format("strcpy (a, b)"), "arena_copy"),
    ("banned", "src/api/chatter.c", BODY.format("strcat(a, b)"), "buf_add"),
    ("banned", "src/api/chatter.c", BODY.format("strtok(a, b)"), "str_split"),
    ("banned", "tests/unit/base/test_chatter.c", BODY.format("atoi(a)"), "str_to_int"),
    ("banned", "src/api/chatter.c", BODY.format("gmtime(a)"), "datetime_split"),
    ("banned", "src/api/chatter.c", BODY.format("localtime_r(a, b)"), "datetime_split"),
    ("banned", "src/api/chatter.c", BODY.format("clock_gettime(CLOCK_MONOTONIC, &t)"), "clock_deadline"),
    ("banned", "src/api/chatter.c", BODY.format("(void)time(NULL)"), "clock_wall_us"),
    ("banned", "src/api/chatter.c", BODY.format("rand()"), "digest_random"),
    ("banned", "src/api/chatter.c", BODY.format("malloc(4)"), "mem_new"),
    ("banned", "src/store/chatter.c", BODY.format("calloc(4, 4)"), "mem_new"),
    ("banned", "src/db/chatter.c", BODY.format("realloc(a, 4)"), "mem_resize"),
    ("banned", "src/api/chatter.c", BODY.format("memcmp(a, key->digest,\n 4)"), "digest_equal"),
    ("banned", "src/api/chatter.c", BODY.format("strcmp(token, b)"), "digest_equal"),
    ("banned", "src/api/chatter.c", "int x; // why\n", "/* ... */"),
    ("words", "docs/chatter.md", f"see {MACHINE_PATH}\n", "a path of one machine"),
    ("words", "web/src/chatter.ts", f"/* {REGISTRY} */\n", "a package registry"),
    ("words", "web/package-lock.json", f'{{"resolved": "{REGISTRY}"}}\n', "a package registry"),
    ("words", "src/base/chatter.c", "/* Made anew. */\n", "'anew'"),
    ("words", "src/base/chatter.h", "/* What it holds is\n * none. */\n", "'is none'"),
    ("words", "web/src/chatter.ts", 'const text = "It is no more";\n', "'no more'"),
    ("words", "docs/chatter.md", "Whoever asks.\n", "'Whoever'"),
    ("words", "README.md", "Nobody asks.\n", "'Nobody'"),
    ("words", "CONTRIBUTING.md", "So many tests, since ever.\n", "'since ever'"),
    ("migrations", "migrations/0999_chatter.sql", "DROP TABLE good;\n", "say -- oldest: 0999"),
    ("migrations", "migrations/0999_chatter.sql", "CREATE INDEX i ON good (x);\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql", "UPDATE good SET x = 1;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good ADD COLUMN y TEXT NOT NULL;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good ADD COLUMN y BIGINT, DROP COLUMN x;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good DROP CONSTRAINT good_pkey;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good DROP CONSTRAINT good_fkey, DROP COLUMN x;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good ALTER COLUMN x SET NOT NULL;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "ALTER TABLE good SET (fillfactor = 70), DROP COLUMN x;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "CREATE INDEX CONCURRENTLY i ON good (x);\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "DROP INDEX CONCURRENTLY IF EXISTS i;\nCREATE INDEX CONCURRENTLY j ON good (x);\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql",
     "DROP INDEX CONCURRENTLY IF EXISTS i;\nCREATE INDEX CONCURRENTLY i ON good (x);\n"
     "DROP TABLE good;\n", "more than add"),
    ("migrations", "migrations/0999_chatter.sql", "-- oldest: 0998\n", "its own number"),
    ("migrations", "migrations/0999_chatter.postgres.sql", "-- oldest: 0999\n", "both dialects"),
    ("web", "web/src/chatter.tsx", "<p dangerouslySetInnerHTML={x} />\n", "never markup"),
    ("web", "web/src/chatter.ts", "element.innerHTML = x;\n", "never markup"),
    ("web", "web/src/chatter.ts", "eval(x);\n", "content policy"),
    ("web", "web/src/chatter.ts", 'fetch("https://example.org/font");\n', "another host"),
    ("web", "web/src/chatter.css", '@import "x.css";\n', "one file"),
    ("web", "web/src/chatter.html", "<script>x()</script>\n", "inline"),
    ("web", "web/src/lib/chatter.ts", 'import { Card } from "../ui";\n', "lib is below ui"),
    ("web", "web/src/lib/chatter.ts", 'import type { Choice } from "../ui/card";\n', "below ui"),
    ("web", "web/src/ui/chatter.tsx", 'import "../features/access/keys";\n', "below features"),
    ("web", "web/src/features/cost/chatter.ts", 'import("../../pages/run");\n', "below pages"),
    ("web", "web/src/pages/chatter.ts", 'export * from "../app/pages";\n', "below app"),
    ("web", "web/src/pages/chatter.ts", 'import "./cost";\n', "does not import another"),
    ("web", "web/src/features/kpis/chatter.ts", 'import "../cost/totals";\n', "see FEATURES"),
    ("web", "web/src/features/chatter/x.ts", "\n", "not in the table of features"),
    ("web", "web/src/chatter/x.ts", "\n", "in no layer"),
    ("web", "web/src/chatter.ts", "\n", "in no layer"),
    ("web", "web/package.json", '{"dependencies": {"preact": "^11.0.0"}}\n', "exact version"),
    ("web", "web/package-lock.json", '{"packages": {"x": {"resolved": "x"}}}\n', "address"),
    ("web", "sdk/typescript/package.json", '{"dependencies": {"x": "1.0.0"}}\n', "no dependencies"),
    ("lengths", "sdk/python/muster/chatter.py", "\n" * 801, "801 lines"),
    ("words", "sdk/python/muster/chatter.py", '"""Made anew."""\n', "'anew'"),
    ("words", "sdk/typescript/src/chatter.ts", "// Whoever asks.\n", "'Whoever'"),
    ("python", "sdk/python/muster/chatter.py", "match x:\n    case 1: pass\n", "Python 3.9"),
    ("python", "sdk/python/muster/chatter.py", f"x = '{'x' * 99}'\n", "100 columns"),
    ("python", "sdk/python/muster/chatter.py", "def f(x) -> None: ...\n", "'x' has no type"),
    ("python", "sdk/python/muster/chatter.py", "def f(x: int): ...\n", "returns no type"),
    ("python", "sdk/python/muster/chatter.py", "import requests\n", "no dependencies"),
]


@pytest.mark.parametrize(("gate", "path", "text", "says"), PLANTED)
def test_a_planted_violation_turns_the_gate_red(gate, path, text, says, planted):
    done = run(gate, planted(path, text))
    assert done.returncode == 1, done.stdout
    assert path.split("/")[-1] in done.stderr or "src/chatter" in done.stderr
    assert says in done.stderr


# What only looks like a violation.
HARMLESS = [
    ("banned", "src/api/chatter.c", BODY.format('f("sprintf(x) // http://a")')),
    ("banned", "src/api/chatter.c", "/* never strcpy(a, b); see http://example.org */\n"),
    ("banned", "src/api/chatter.c", BODY.format("snprintf(a, 4, b) + my_rand(1) + strand(2)")),
    ("banned", "src/base/chatter.c", BODY.format("malloc(4)")),
    ("banned", "src/api/chatter.c", BODY.format("memcmp(a, b, 4)")),
    ("lengths", "src/base/chatter.c", "\n" * 800),
    ("migrations", "migrations/0999_chatter.sql",
     "-- oldest: 0999\n-- Why; and more.\nDROP TABLE good;\n"),
    ("migrations", "migrations/0999_chatter.sql",
     "CREATE TABLE new (x BIGINT);\nCREATE INDEX i ON new (x);\nINSERT INTO new VALUES (1);\n"
     "ALTER TABLE good ADD COLUMN y TEXT;\nALTER TABLE good DROP CONSTRAINT good_x_fkey;\n"
     "ALTER TABLE good ALTER COLUMN x DROP NOT NULL;\nALTER TABLE good SET (fillfactor = 70);\n"
     "ALTER TABLE good\n ADD COLUMN z BIGINT NOT NULL DEFAULT 0;\n"),
    ("migrations", "migrations/0999_chatter.sql",
     "DROP INDEX CONCURRENTLY IF EXISTS i;\nCREATE UNIQUE INDEX CONCURRENTLY i ON good (x);\n"),
    ("web", "web/src/features/fleet/chatter.ts", 'import "../events/x";\nimport "../../ui";\n'),
    ("web", "web/src/app/chatter.ts", 'import("../pages/cost");\nimport "../style/base.css";\n'),
    ("words", "docs/chatter.md", "NULL when there is none, no more than 5, `nobody`, \"nobody\".\n"),
    ("words", "tests/chatter.py", "value is None  # nobody\n"),
]


@pytest.mark.parametrize(("gate", "path", "text"), HARMLESS)
def test_what_only_looks_like_a_violation_stays_green(gate, path, text, planted):
    done = run(gate, planted(path, text))
    assert done.returncode == 0, done.stderr


def test_a_folder_keeps_its_budget_of_lines(planted):
    planted("scripts/budgets.txt", "src/base 10 # why\n")
    assert run("lengths", planted("src/base/chatter.c", "\n" * 4)).returncode == 0
    done = run("lengths", planted("src/base/deep/chatter.c", "\n"))
    assert (done.returncode, "src/base: 11 lines, scripts/budgets.txt gives it 10" in done.stderr) == (1, True)
    done = run("lengths", planted("src/features/new/chatter.c", "\n"))
    assert "src/features/new: no row in scripts/budgets.txt" in done.stderr


class TestTidy:
    """On a tree of one file and one header: clang-tidy takes its time."""

    BAD = "static inline int twice(int a)\n{\n    return a == 1 || a == 1;\n}\n"
    UNSET = "static inline int twice(int a)\n{\n    int b;\n\n    if (a)\n        b = a;\n    return 2 * b;\n}\n"
    GOOD = "static inline int twice(int a)\n{\n    return 2 * a;\n}\n"

    @pytest.fixture
    def tree(self, tmp_path):
        return self.tree_in(tmp_path / "first")

    def tree_in(self, folder):
        base = folder / "src/base"
        base.mkdir(parents=True)
        (base / "tiny.h").write_text(self.GOOD)
        (base / "tiny.c").write_text(
            '#include "base/tiny.h"\n\nint main(void)\n{\n    return twice(0);\n}\n'
        )
        build = folder / "build/asan"
        build.mkdir(parents=True)
        command = f"clang-19 -I{folder}/src -c {base}/tiny.c"
        row = {"directory": str(build), "file": str(base / "tiny.c"), "command": command}
        (build / "compile_commands.json").write_text(json.dumps([row]))
        shutil.copy(ROOT / ".clang-tidy", folder)
        return folder

    def test_a_clean_file_is_read_once(self, tree):
        assert "1 of them checked again" in run("tidy", tree).stdout
        assert "0 of them checked again" in run("tidy", tree).stdout

    def test_what_was_clean_in_another_copy_is_not_read_again(self, tree, tmp_path):
        assert run("tidy", tree).returncode == 0
        copy = self.tree_in(tmp_path / "second")
        shutil.copytree(tree / "build/tidy-cache", copy / "build/tidy-cache")
        assert "0 of them checked again" in run("tidy", copy).stdout

    def test_a_header_that_turns_bad_is_seen_though_the_file_was_clean(self, tree):
        assert run("tidy", tree).returncode == 0
        (tree / "src/base/tiny.h").write_text(self.BAD)
        for _ in range(2):  # and a red verdict is never remembered as green
            done = run("tidy", tree)
            assert done.returncode == 1
            assert "src/base/tiny.h:3" in done.stderr

    def test_what_only_the_analyzer_finds_is_red_in_make_test_too(self, tree):
        (tree / "src/base/tiny.h").write_text(self.UNSET)
        done = run("tidy", tree, TIDY_FAST="1")  # which `make test` once said
        assert done.returncode == 1
        assert "clang-analyzer-core" in done.stderr

    def test_other_checks_make_it_check_again(self, tree):
        assert run("tidy", tree).returncode == 0
        (tree / ".clang-tidy").write_text("Checks: '-*,bugprone-*'\n")
        assert "1 of them checked again" in run("tidy", tree).stdout

    def test_a_file_that_no_build_knows_is_red(self, tree):
        (tree / "src/base/other.c").write_text(CHATTER)
        done = run("tidy", tree)
        assert done.returncode == 1
        assert "src/base/other.c: not built" in done.stderr


class TestTypes:
    """The portal, with the packages that the tree has installed. That it passes as it is, lint
    shows: tsc takes its time."""

    @pytest.fixture
    def tree(self, tmp_path):
        if not (ROOT / "web/node_modules/.installed").exists():
            pytest.skip("the portal's packages are not installed")
        copy_folder("web", tmp_path)  # tsc follows links to where they lead
        copy_folder("docs", tmp_path)
        (tmp_path / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/npm_ci", tmp_path / "scripts")
        (tmp_path / "web/node_modules").symlink_to(ROOT / "web/node_modules")
        return tmp_path

    def test_a_field_that_the_api_no_longer_has_is_red(self, tree):
        page = tree / "docs/openapi.json"
        page.write_text(page.read_text().replace('"event_count"', '"events_counted"'))
        done = run("types", tree)
        assert done.returncode == 1
        assert "event_count" in done.stderr


class TestGenerated:
    """With a program that prints known pages."""

    @pytest.fixture
    def tree(self, tmp_path, monkeypatch):
        monkeypatch.delenv("MUSTER_TEST_BINARY", raising=False)
        binary = tmp_path / "build/release/muster"
        binary.parent.mkdir(parents=True)
        binary.write_text('#!/bin/sh\necho "$1"\n')
        binary.chmod(0o755)
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/openapi.json").write_text("openapi\n")
        (tmp_path / "docs/SETTINGS.md").write_text("settings\n")
        (tmp_path / "docs/ARCHITECTURE.md").write_text(
            "\n## Machinery\n|||\n|-|-|\n| `base` | | |\n\n## Features\n|||\n|-|-|\n| `keys` | keys | | |\n"
        )
        write(tmp_path, "src/features/keys/routes.c", '{ ROUTE(GET, "/keys", READ, 200) },\n')
        feature_map = ["/usr/bin/python3", ROOT / "scripts/feature_map.py", tmp_path]
        done = subprocess.run(feature_map, capture_output=True, text=True, check=True)
        assert "`GET /keys`" in done.stdout
        (tmp_path / "docs/FEATURES.md").write_text(done.stdout)
        return tmp_path

    def test_the_same_bytes_are_green(self, tree):
        done = run("generated", tree)
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("page", ["openapi.json", "SETTINGS.md", "FEATURES.md"])
    @pytest.mark.parametrize("text", ["", "openapi \n", "settings"])
    def test_any_other_bytes_are_red(self, tree, page, text):
        (tree / "docs" / page).write_text(text)
        done = run("generated", tree)
        assert done.returncode == 1
        assert f"{page}: stale" in done.stderr

    @pytest.mark.parametrize("page", ["openapi.json", "SETTINGS.md", "FEATURES.md"])
    def test_a_missing_page_is_red(self, tree, page):
        (tree / "docs" / page).unlink()
        assert run("generated", tree).returncode == 1


def test_lint_runs_every_gate_there_is():
    script = (ROOT / "scripts/lint").read_text()
    for path in ROOT.glob("scripts/check_*.py"):
        name = path.stem.removeprefix("check_")
        assert f"check_{name}.py" in script or f" {name}" in script.split("for gate in")[1], name


