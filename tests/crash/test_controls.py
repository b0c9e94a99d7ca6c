"""The negative controls of the promises about fair shares: every test of a promise passes on a program
that keeps it, and fails on the same program when it forgets that promise alone.

CONTROLS=1 runs them (scripts/crash); a name, CONTROLS=A3, those of one promise.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from muster import BINARY, ROOT
from promises import every_test

ASKED = os.environ.get("CONTROLS", "")
UNBOUNDED = Path(os.environ.get("MUSTER_TEST_UNBOUNDED", BINARY.with_name("muster_unbounded")))
ROWS = [row for row in every_test() if ASKED in ("1", row[0])]


def run(test, store, folder, lifted=None):
    """The test on the program with one bound lifted, or none: how many passed, failed, had errors."""
    environment = {**os.environ, "MUSTER_TEST_BINARY": str(UNBOUNDED), "MUSTER_TEST_STORES": store,
                   "MUSTER_TEST_ANSWERS": str(folder / "answers")}  # fmt: skip
    if lifted:
        environment["LIFTED_BOUND"] = lifted
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q",
         f"tests/integration/{test}"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout.strip().splitlines()[-1]
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", said)}
    return counts, done.stdout


@pytest.mark.skipif(not ASKED, reason="part of the long campaign, make crash")
@pytest.mark.parametrize(("promise", "store", "test"), ROWS)
def test_a_forgotten_promise_is_noticed(promise, store, test, tmp_path):
    counts, said = run(test, store, tmp_path)
    assert counts.get("passed") and not counts.keys() & {"failed", "error"}, said
    counts, said = run(test, store, tmp_path, lifted=promise)
    assert counts.get("failed"), f"nobody noticed that {promise} was forgotten:\n{said}"
    assert "error" not in counts, said
