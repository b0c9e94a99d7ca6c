"""The queue on disk keeps what it was given, within its bound, across processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from muster.spool import MemorySpool, Spool

LIBRARY = Path(__file__).resolve().parents[1]


def drain(spool):
    lines = []
    while chunk := spool.read(10, 1000):
        lines += chunk.lines
        spool.commit(chunk)
    return lines


def numbered(count):
    return [b"report-%05d" % number for number in range(count)]


def test_reports_come_out_in_order_and_leave_no_file(tmp_path):
    spool = Spool(tmp_path, "events", 1 << 20)
    for line in numbered(1000):
        spool.append(line)
    assert spool.waiting()[0] == 1000
    assert drain(spool) == numbered(1000)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_what_was_read_but_not_committed_is_read_again_by_the_next_process(tmp_path):
    spool = Spool(tmp_path, "events", 1 << 20)
    for line in numbered(30):
        spool.append(line)
    spool.commit(spool.read(10, 1000))
    assert spool.read(10, 1000).lines == numbered(30)[10:20]
    spool.close()
    assert set(numbered(30)[10:]) <= set(drain(Spool(tmp_path, "events", 1 << 20)))


def test_a_report_larger_than_a_chunk_comes_alone(tmp_path):
    spool = Spool(tmp_path, "events", 1 << 20)
    spool.append(b"x" * 5000)
    spool.append(b"y")
    assert drain(spool) == [b"x" * 5000, b"y"]


def test_a_full_spool_loses_its_oldest_reports_and_counts_them(tmp_path):
    spool = Spool(tmp_path, "events", 16 * 1024)
    lines = numbered(5000)
    for number, line in enumerate(lines):
        spool.append(line)
        if number % 50 == 0:
            assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 16 * 1024
    kept = drain(spool)
    assert kept == lines[-len(kept) :] and len(kept) > 1000
    assert spool.lost == 5000 - len(kept)


def test_a_torn_line_is_skipped(tmp_path):
    spool = Spool(tmp_path, "events", 1 << 20)
    spool.append(b"whole")
    spool.close()
    with next(tmp_path.iterdir()).open("ab") as file:
        file.write(b"torn by a power failu")
    spool = Spool(tmp_path, "events", 1 << 20)
    spool.append(b"after")
    assert drain(spool) == [b"whole", b"after"]


def test_a_running_process_keeps_its_files_and_a_dead_one_loses_them(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c",
         "import sys, pathlib; from muster.spool import Spool\n"
         "spool = Spool(pathlib.Path(sys.argv[1]), 'events', 1 << 20)\n"
         "spool.append(b'theirs'); print('ready', flush=True); sys.stdin.read()", tmp_path],
        cwd=LIBRARY, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert owner.stdout.readline() == b"ready\n"
    spool = Spool(tmp_path, "events", 1 << 20)
    assert drain(spool) == []
    owner.kill()
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    spool.adopt()
    assert drain(spool) == [b"theirs"]


def test_a_disk_that_refuses_costs_the_report_and_not_the_agent(tmp_path, monkeypatch):
    spool = Spool(tmp_path, "events", 1 << 20)
    spool.append(b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("muster.spool.os.write", full)
        spool.append(b"lost")
    spool.append(b"after")
    assert drain(spool) == [b"before", b"after"] and spool.lost == 1


@pytest.mark.parametrize("in_between", [0, 3])
def test_the_queue_in_memory_is_bounded_in_the_same_way(in_between):
    spool = MemorySpool(max_bytes=120)
    for line in numbered(10):
        spool.append(line)
    chunk = spool.read(5, 1000)
    for line in numbered(in_between):
        spool.append(line)
    spool.commit(chunk)
    assert spool.lost == in_between and spool.waiting()[0] == 5 + in_between
