"""After the black-box tests: every answer they saw is as docs/openapi.json says, and every
operation in it was reached. Run by scripts/run_tests.py as `pytest tests/contract/check_answers.py`."""

import json
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conform import Contract, exchanges_in  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = Path(os.environ.get("MUSTER_TEST_ANSWERS", ROOT / "build/answers"))
SHOWN = 50
CHUNK = 500


@pytest.fixture(scope="module")
def contract():
    return Contract(json.loads((ROOT / "docs/openapi.json").read_text()))


def what_was_said(exchange):
    body = tuple(exchange["body"].items())
    return exchange["method"], exchange["path"], exchange["status"], body


@pytest.fixture(scope="module")
def exchanges():
    """Each once: who waits for something gets the same answer many times."""
    found = list({what_was_said(e): e for e in exchanges_in(ANSWERS)}.values())
    assert found, f"{ANSWERS}: no answers: run the black-box tests first"
    return found


def problems_of(number):
    exchange = problems_of.exchanges[number]
    said = f"{exchange['method']} {exchange['path']} -> {exchange['status']}"
    return [f"{said}: {problem}" for problem in problems_of.contract.problems(exchange)]


def test_every_answer_is_as_declared(contract, exchanges):
    # inherited by the processes, one for each core
    problems_of.contract, problems_of.exchanges = contract, exchanges
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as pool:
        found = pool.map(problems_of, range(len(exchanges)), chunksize=CHUNK)
        seen = Counter(problem for problems in found for problem in problems)
    assert not seen, "\n".join(f"{n} x {what}" for what, n in seen.most_common(SHOWN))


def test_every_operation_was_reached(contract, exchanges):
    unreached = contract.unreached(exchanges)
    assert not unreached, "\n".join(f"no test reached {m} {path}" for m, path in unreached)
