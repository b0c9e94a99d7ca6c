"""The ledger of the crash tests sees each kind of damage it looks for."""

import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

from ledger import Verdict, check_files, check_resend, check_stored  # noqa: E402
from load import Sent  # noqa: E402


class Tenant:
    """Holds the events `there` in its one run, and answers the events sent with `statuses`."""

    slug = "acme"

    def __init__(self, there=(), statuses=()):
        self.client = self
        self.there, self.statuses = there, statuses

    def path(self, rest):
        return rest

    def answer(self, status, value):
        return SimpleNamespace(status=status, body=json.dumps(value), json=lambda: value)

    def get(self, _path):
        return self.answer(200, {"events": [{"event_id": event_id} for event_id in self.there]})

    def post(self, _path, _body):
        return self.answer(202, {"status": self.statuses.pop(0)})


ROWS = [
    ("good", [Sent(["a"], "1", acked=True)], ["a"], None),
    ("in doubt and gone", [Sent(["a"], "1")], [], None),
    ("in doubt and kept", [Sent(["a", "b"], "1")], ["a", "b"], None),
    ("lost", [Sent(["a", "b"], "1", acked=True)], ["a"], "lost"),
    ("doubled", [Sent(["a"], "1", acked=True)], ["a", "a"], "doubled"),
    ("torn", [Sent(["a", "b"], "1")], ["b"], "torn"),
    ("never sent", [Sent(["a"], "1", acked=True)], ["a", "x"], "strange"),
    ("refused and stored", [Sent(["a"], "1", refused=503)], ["a"], "strange"),
]


@pytest.mark.parametrize(("name", "requests", "there", "kind"), ROWS)
def test_damage_is_seen_and_named(name, requests, there, kind):
    verdict = Verdict()
    check_stored(verdict, Tenant(there), requests)
    named = [kind for kind, value in vars(verdict).items() if isinstance(value, list) and value]
    assert verdict.good() == (kind is None), name
    assert named == ([kind] if kind else []), name


@pytest.mark.parametrize(
    ("statuses", "good"),
    [
        (["accepted", "duplicate"], True),
        (["accepted", "accepted"], False),
        (["duplicate", "duplicate"], False),
    ],
)
def test_a_resend_that_is_answered_wrongly_is_seen(statuses, good):
    verdict = Verdict()
    requests = [Sent(["kept"], "1", acked=True), Sent(["gone"], "1")]  # in doubt goes first
    check_resend(verdict, Tenant(statuses=list(statuses)), requests, Counter({"kept": 1}))
    assert verdict.good() == good


def test_a_damaged_database_file_is_seen(tmp_path):
    path = tmp_path / "muster.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a);")
    connection.executemany("INSERT INTO t VALUES (?)", [(f"row {n}",) for n in range(1000)])
    connection.commit()
    connection.close()
    verdict = Verdict()
    check_files(verdict, tmp_path)
    assert verdict.good(), verdict
    path.write_bytes(path.read_bytes().replace(b"row 500", b"row 5x0", 1))
    check_files(verdict, tmp_path)
    assert verdict.corrupt
