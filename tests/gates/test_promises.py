"""Every promise about fair shares has tests on the stores that it is about, and a negative control;
and operators are told of every bound that they can set."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/crash"), str(ROOT / "tests/hooks"), str(ROOT / "scripts")]

from black_box import ANY_STORE  # noqa: E402
from lift_bounds import LIFTS, copy_of, sources  # noqa: E402
from promises import BOTH, PROMISES, every_test  # noqa: E402

ALL = [f"A{n}" for n in range(1, 19)]


def test_no_promise_is_without_tests_and_a_control():
    assert list(PROMISES) == list(LIFTS) == ALL
    assert all(row.get(BOTH) or len(row) == 2 for name, row in PROMISES.items() if name != "A7")


def test_every_bound_is_still_where_it_can_be_lifted():
    for file in sources():
        assert "bound_is_lifted" in copy_of(file)


def functions(file):
    """{name: the names of its parameters} of a file of tests."""
    tree = ast.parse((ROOT / "tests/integration" / file).read_text())
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


def runs_on_both_stores(name, known):
    """Whether it asks for the fixture `store`, or for one that does."""
    asked = known.get(name, set())
    return "store" in asked or any(runs_on_both_stores(n, known) for n in asked - {name})


def test_the_tests_exist_on_each_store():
    shared = functions("conftest.py")
    for promise, _, node in every_test():
        file, test = node.split("::")
        known = {**shared, **functions(file)}
        assert test in known, (promise, node)
        if node in PROMISES[promise].get(BOTH, []):
            assert runs_on_both_stores(test, known), f"{promise}: {node} does not run on each store"
            assert file not in {f"test_{name}.py" for name in ANY_STORE}, f"{promise}: {node}"


def test_the_page_about_promises_names_every_test():
    page = (ROOT / "docs/internals/fair-shares.md").read_text()
    rows = dict(re.findall(r"^\| (A\d+) \|(.*)$", page, re.M))
    assert list(rows) == ALL
    for promise, row in rows.items():
        named = set(re.findall(r"`(\w+)` \(", row))
        asked = {node.split("::test_")[1] for name, _, node in every_test() if name == promise}
        assert named == asked, promise


def test_every_setting_that_is_a_bound_is_in_the_table_of_bounds():
    settings = re.findall(r"`(\w+)`", (ROOT / "docs/SETTINGS.md").read_text())
    bounds = {name for name in settings if re.search(r"max_|_max|_per_|min_free", name)}
    operations = (ROOT / "docs/OPERATIONS.md").read_text()
    table = operations.split("## What is bounded")[1].split("\n## ")[0]
    assert len(bounds) > 10
    assert not {name for name in bounds if f"`{name}`" not in table}
