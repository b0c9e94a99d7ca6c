"""The end of a red run of the tests says what failed and why, whichever runner says it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from failures import count_failed, failed_tests, what_failed  # noqa: E402

PYTEST = """
import pytest

def test_that_is_right():
    pass

@pytest.mark.parametrize("n", range(40))
def test_that_is_wrong(n):
    print("long\\n" * 100)
    assert n == 41, "planted"

@pytest.fixture
def server():
    raise RuntimeError("did not start")

def test_that_cannot_begin(server):
    pass
"""
NODE = """
import assert from "node:assert/strict";
import test, { describe } from "node:test";

describe("the portal", () => {
    test("is right", () => {});
    test("is wrong", () => assert.equal(1, 2));
});
test("waits in vain", () => {
    throw new Error("Timeout\\\\nCall log:\\\\n  - waiting for a button");
});
"""
CTEST = """\
7: [ RUN      ] test_map.grows
7: [       OK ] test_map.grows
1/3 Test  #7: unit/base/test_map ...............   Passed    0.33 sec
8: [ RUN      ] test_uuid.parses
8: [  ERROR   ] --- 0x1 != 0x2
8: [   LINE   ] --- tests/unit/base/test_uuid.c:50: error: Failure!
8: [  FAILED  ] test_uuid.parses
2/3 Test  #8: unit/base/test_uuid ..............***Failed    0.03 sec
9: ==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x5
9: READ of size 1 at 0x5 thread T0
9:     #0 0x55 in str_copy src/base/str.c:9:7
3/3 Test  #9: unit/base/test_str ...............***Failed    0.04 sec
"""
NINJA = """\
[1/3] Building C object base/map.c.o
FAILED: base/str.c.o
src/base/str.c:9:7: error: use of undeclared identifier 'x'
[3/3] Building C object base/log.c.o
"""


def said_by(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stdout


def by_pytest(folder):
    path = folder / "test_planted.py"
    path.write_text(PYTEST)
    return said_by("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", path)


def by_node(folder):
    path = folder / "planted.test.mjs"
    path.write_text(NODE)
    return said_by("node", "--test", "--test-reporter=tap", path)


CASES = {
    "pytest": (by_pytest, ["test_that_is_wrong[0]", "E       AssertionError: planted"],
               ["test_that_is_right", "long"]),
    "node": (by_node, ["not ok - is wrong", "1 !== 2", "not ok - waits in vain",
                       "waiting for a button", "planted.test.mjs:7"],
             ["is right", "the portal", "internal"]),
    "ctest": (lambda _: CTEST, ["unit/base/test_uuid", "0x1 != 0x2", "test_uuid.c:50",
                                "unit/base/test_str", "heap-buffer-overflow", "str.c:9:7"],
              ["test_map"]),
    "compiler": (lambda _: NINJA, ["FAILED: base/str.c.o", "undeclared identifier"], ["map.c"]),
    "another": (lambda _: "first\n" * 100 + "no such file\n", ["no such file"], []),
}  # fmt: skip


@pytest.mark.parametrize(("said", "shown", "left_out"), CASES.values(), ids=CASES)
def test_what_failed_is_said_in_few_lines(tmp_path, said, shown, left_out):
    text = said(tmp_path)
    lines = what_failed(text, 60)
    assert 0 < len(lines) <= 60
    for part in shown:
        assert any(part in line for line in lines), (part, lines)
    for part in left_out:
        assert not any(part in line for line in lines), (part, lines)
    assert len(what_failed(text, 8)) <= 8


def test_what_failed_can_be_run_again(tmp_path):
    named = failed_tests(by_pytest(tmp_path))
    assert len(named) == 41
    assert all("::test_that_is_wrong[" in name for name in named[:40])
    assert named[40].endswith("test_planted.py::test_that_cannot_begin")
    assert failed_tests(by_node(tmp_path)) == [str(tmp_path / "planted.test.mjs")]
    assert count_failed(by_pytest(tmp_path)) == 41
    assert count_failed(by_node(tmp_path)) == 2
    assert failed_tests(CTEST) == failed_tests(NINJA) == failed_tests("nothing was said") == []


SEEN_ONCE = (
    "ThreadSanitizer: data race",
    "x.c:1:2: runtime error: shift",
    "ended by itself, before it was told to",
    "was dead already, exit status -11",
)


@pytest.mark.parametrize("said", SEEN_ONCE)
def test_what_is_there_if_seen_once_is_not_run_again(tmp_path, said):
    assert failed_tests(by_pytest(tmp_path).replace("planted", said)) == []
