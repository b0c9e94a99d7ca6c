"""The ledger of the crash tests sees each kind of damage it looks for."""

import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import ledger  # noqa: E402
import reports  # noqa: E402
import synced  # noqa: E402
from ledger import (  # noqa: E402
    Verdict,
    check_files,
    check_reports,
    check_resend,
    check_resend_reports,
    check_stored,
)
from load import BUSINESS, LLM, Sent, check_routes  # noqa: E402


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
        status = self.statuses.pop(0)
        return self.answer(503 if status == "refused" else 202, {"status": status})


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
        (["refused", "accepted", "refused", "duplicate"], True),
        (["refused", "duplicate", "duplicate"], True),
        (["accepted", "refused", "accepted"], False),
    ],
)
def test_a_resend_that_is_answered_wrongly_is_seen(statuses, good):
    verdict = Verdict()
    requests = [Sent(["kept"], "1", acked=True), Sent(["gone"], "1")]  # in doubt goes first
    check_resend(verdict, Tenant(statuses=list(statuses)), requests, Counter({"kept": 1}))
    assert verdict.good() == good


def sent_report(number, path=BUSINESS, run_id="1", **fields):
    make = reports.business if path == BUSINESS else reports.llm
    body, rows, replaced = make("acme", run_id, number)
    return Sent([], run_id, path=path, body=body, rows=rows, replaced=replaced, **fields)


class Rows:
    """In place of the store: the rows of these reports, changed by `change`."""

    def __init__(self, sent, change=lambda rows: None, twice=()):
        self.rows = {}
        for one in sent:
            self.rows.update({**one.rows, **one.replaced})
        change(self.rows)
        self.arrived = dict.fromkeys(self.rows, 1)
        self.times = Counter([*self.rows, *twice])


REAL_0, LAST = ("value", "1", "real 0"), ("value", "1", "last")
ACKED = [sent_report(0, acked=True), sent_report(1, acked=True), sent_report(0, LLM, acked=True)]
REPORT_ROWS = [
    ("good", ACKED, ACKED, {}, None),
    ("in doubt and gone", [*ACKED, sent_report(2)], ACKED, {}, None),
    ("in doubt and kept", [*ACKED, sent_report(2)], [*ACKED, sent_report(2)], {}, None),
    ("a value is lost", ACKED, ACKED, {"change": lambda rows: rows.pop(REAL_0)}, "lost_rows"),
    ("a usage is lost", ACKED, ACKED[:2], {}, "lost_rows"),
    ("another value", ACKED, ACKED, {"change": lambda r: r.update({REAL_0: (7, 7)})}, "lost_rows"),
    ("an older value", ACKED, [ACKED[1], ACKED[0], ACKED[2]], {}, "lost_rows"),
    ("twice", ACKED, ACKED, {"twice": [REAL_0]}, "doubled"),
    ("never sent", ACKED, [*ACKED, sent_report(9, LLM)], {}, "strange"),
    ("refused and stored", [sent_report(0, LLM, refused=503)], [ACKED[2]], {}, "strange"),
    ("in part", [sent_report(0)], ACKED[:1], {"change": lambda rows: rows.pop(REAL_0)}, "torn"),
]


@pytest.mark.parametrize(("name", "requests", "there", "more", "kind"), REPORT_ROWS)
def test_damage_to_reports_is_seen_and_named(name, requests, there, more, kind, monkeypatch):
    monkeypatch.setattr(ledger, "Stored", lambda *_: Rows(there, **more))
    verdict = Verdict()
    check_reports(verdict, Tenant(), requests)
    if kind == "torn":
        verdict.strange.clear()  # the rows of what is there in part are strange too
    named = [kind for kind, value in vars(verdict).items() if isinstance(value, list) and value]
    assert named == ([kind] if kind else []), name


def later(rows):
    rows.arrived[REAL_0] += 1


@pytest.mark.parametrize("change", [None, later])
def test_a_resent_report_that_changes_something_is_seen(change, monkeypatch):
    answers = [Rows(ACKED), Rows(ACKED)]
    if change:
        change(answers[1])
    monkeypatch.setattr(ledger, "Stored", lambda *_: answers.pop(0))
    verdict = Verdict()
    check_resend_reports(verdict, Tenant(statuses=["accepted"] * 3), ACKED)
    assert verdict.changed == ([REAL_0] if change else [])


def test_a_channel_that_is_not_served_is_an_error():
    client = SimpleNamespace(get=lambda _: SimpleNamespace(json=lambda: {"paths": {BUSINESS: {}}}))
    with pytest.raises(AssertionError, match="/api/v1/telemetry/batch.*were to be tested"):
        check_routes(SimpleNamespace(client=lambda: client))


def hexed(data):
    return "".join(f"\\x{byte:02x}" for byte in data)


ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
WAL, SOCKET = hexed(b"/d/muster.db-wal"), hexed(b"socket:[7]")
HEADER = f'[pid 2] pwrite64(5<{WAL}>, "{hexed(bytes([0, 0, 0, 1] * 6))}", 24, 32) = 24'
PART = f'[pid 2] pwrite64(5<{WAL}>, "{hexed(bytes(24))}", 24, 32) = 24'
PAGE = f'[pid 2] pwrite64(5<{WAL}>, "{hexed(ID.encode().ljust(4096))}", 4096, 56) = 4096'
SYNC = [f"[pid 2] fdatasync(5<{WAL}> <unfinished ...>", "[pid 2] <... fdatasync resumed>) = 0"]
ANSWER = hexed(b'HTTP/1.1 202 Accepted\r\n\r\n{"run_id":"' + ID.encode() + b'"}')
LEAVES = f'[pid 3] writev(9<{SOCKET}>, [{{iov_base="{ANSWER}", iov_len=9}}], 1) = 9'
FAILED = "[pid 2] <... fdatasync resumed>) = -1 EIO (Input/output error) (INJECTED)"


@pytest.mark.parametrize(
    ("name", "lines", "good"),
    [
        ("good", [HEADER, PAGE, *SYNC, LEAVES], True),
        ("nothing is written", [LEAVES], False),
        ("not synced", [HEADER, PAGE, LEAVES], False),
        ("not committed", [PART, PAGE, *SYNC, LEAVES], False),
        ("the sync has not ended", [HEADER, PAGE, SYNC[0], LEAVES, SYNC[1]], False),
        ("the sync has failed", [HEADER, PAGE, SYNC[0], FAILED, LEAVES], False),
        ("the sync began too early", [HEADER, SYNC[0], PAGE, SYNC[1], LEAVES], False),
    ],
)
def test_an_answer_that_precedes_its_sync_is_seen(name, lines, good):
    checker = synced.check(lines)
    assert checker.answers == 1
    assert checker.early == ([] if good else [ID.encode()]), name


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
