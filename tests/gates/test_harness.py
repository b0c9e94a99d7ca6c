"""The harness of the black-box tests notices a server that misbehaves."""

import http.client
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import muster  # noqa: E402
import test_hostile as hostile  # noqa: E402

LISTENS = "print('muster: listening on 127.0.0.1:1', flush=True)"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of a few lines of Python: server(script)."""
    monkeypatch.setattr(muster, "STOP_S", 1)

    def make(script):
        binary = tmp_path / "muster"
        binary.write_text(f"#!/usr/bin/python3\nimport os, signal, sys\n{script}\n")
        binary.chmod(0o755)
        return muster.Server(tmp_path / "data", binary=binary)

    return make


def ends(status=0, says=""):
    """Listens, and at SIGTERM says something on standard error and ends."""
    handler = f"os.write(2, {says.encode()!r}) and 0 or os._exit({status})"
    return f"signal.signal(15, lambda *_: {handler})\n{LISTENS}\nsignal.pause()"


def test_a_server_that_stops_well_passes(server):
    server(f"print('set up at ...')\n{ends()}").start().stop()


BAD = {
    "a status": (ends(3), "exit status 3"),
    "no end": (f"signal.signal(15, signal.SIG_IGN)\n{LISTENS}\nsignal.pause()", "still running"),
    "asan": (ends(0, "==7==ERROR: AddressSanitizer: heap"), "a sanitizer reported"),
    "tsan": (ends(0, "WARNING: ThreadSanitizer: data race"), "a sanitizer reported"),
    "ubsan": (ends(0, "a.c:1:2: runtime error: overflow"), "a sanitizer reported"),
}


@pytest.mark.parametrize(("script", "says"), BAD.values(), ids=BAD)
def test_a_server_that_stops_badly_is_reported(server, script, says):
    started = server(script).start()
    with pytest.raises(muster.Trouble, match=says):
        started.stop()


def test_a_server_that_died_by_itself_is_reported(server):
    started = server(LISTENS).start()
    started.process.wait()
    with pytest.raises(muster.Trouble, match="by itself"):
        started.stop()


def test_a_server_that_does_not_start_is_reported_with_what_it_said(server):
    with pytest.raises(muster.Trouble, match="(?s)exit status.*port taken"):
        server("sys.exit('port taken')").start()


def test_a_command_that_fails_is_reported(server):
    broken = server("sys.exit('no such tenant')")
    with pytest.raises(muster.Trouble, match="no such tenant"):
        broken.cli("key", "add")
    assert broken.run("key", "add").returncode == 1


def test_postgres_tests_fail_rather_than_skip_without_postgres(monkeypatch):
    monkeypatch.delenv("MUSTER_TEST_POSTGRES", raising=False)
    with pytest.raises(muster.Trouble, match="with_postgres"):
        muster.Postgres()


@pytest.fixture
def record(tmp_path, monkeypatch):
    """How many of these answers, each of another server, are recorded."""
    monkeypatch.setattr(muster.Recorder, "seen", Counter())

    def count(*bodies):
        for number, body in enumerate(bodies):
            answer = muster.Answer(200, http.client.HTTPMessage(), body)
            recorder = muster.Recorder(tmp_path)
            recorder.add("GET", f"/api/v1/tenants/tenant-{number}/keys", answer)
        return len(recorder.path.read_text().splitlines())

    return count


def test_answers_that_differ_in_what_is_made_up_are_recorded_once(record):
    form = b'{"id": "0f8fad5b-d9cb-469f-a165-70867728950%d", "at": "2025-01-02T03:04:0%dZ", "n": %d}'
    assert record(form % (1, 1, 1), form % (2, 2, 1)) == 1
    assert record(form % (1, 1, 1), form % (2, 2, 2)) == 2


def test_of_large_answers_few_are_recorded(record):
    assert record(*(bytes([65 + n]) * muster.LARGE for n in range(5))) == muster.LARGE_KEPT
    assert record(*(bytes([65 + n]) * (muster.LARGE - 1) for n in range(5))) == muster.LARGE_KEPT + 5


def test_times_taken_while_the_machine_was_taken_away_do_not_count():
    """50 of 1,000 requests take a second, during which others had nine tenths of the processors; so do ten
    during which the machine was ours."""
    rows, stolen = [], 0
    for n in range(1000):
        away = 100 <= n < 150
        rows.append(("event", 202, 1.0 if away or n >= 990 else 0.001, 0.05 * n, 10 * n, stolen))
        stolen += 9 if away else 0
    kept = hostile.ours(rows)
    assert not any(0.05 * 100 <= row[3] < 0.05 * 150 for row in kept)
    assert 900 < len(kept) < 950
    assert hostile.p99(rows, "event") == 1.0
    assert hostile.p99(rows[:990], "event") == 0.001
    with pytest.raises(AssertionError, match="taken away"):
        hostile.p99(rows[90:140], "event")
