"""The queue on disk keeps what it was given, within its bound, across processes."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from muster.spool import Spool
from muster.state import lock_file, open_state

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
    assert drain(Spool(tmp_path, "events", 1 << 20)) == numbered(30)


def files_of_a_dead_process(folder, count):
    """Many small files, as a process leaves them."""
    spool = Spool(folder, "events", 16 * 1024)
    for line in numbered(count):
        spool.append(line)
    spool.close()
    left = sorted(folder.iterdir())
    assert len(left) > 5
    return left


def test_files_left_behind_are_adopted_in_the_order_of_their_writing(tmp_path):
    files_of_a_dead_process(tmp_path, 600)
    assert drain(Spool(tmp_path, "events", 1 << 20)) == numbered(600)


def test_files_of_one_process_are_adopted_together_or_not_at_all(tmp_path):
    left = files_of_a_dead_process(tmp_path, 600)
    with left[3].open("r+b") as held:  # another process is at it
        assert lock_file(held)
        spool = Spool(tmp_path, "events", 1 << 20)
        assert drain(spool) == []
    spool.adopt()
    assert drain(spool) == numbered(600)


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


@pytest.mark.parametrize("in_between", [0, 3])
def test_the_queue_in_memory_is_bounded_in_the_same_way(in_between):
    spool = Spool(None, "events", max_bytes=130)
    for line in numbered(10):
        spool.append(line)
    chunk = spool.read(5, 1000)
    for line in numbered(in_between):
        spool.append(line)
    assert spool.lost == in_between and spool.waiting()[0] == 10
    spool.commit(chunk)
    assert drain(spool) == numbered(10)[max(1, in_between) :] + numbered(in_between)


def refuse(code):
    def call(*_):
        raise OSError(code, "refused")

    return call


@pytest.mark.parametrize("fault", ["renamed", "EIO", "ENOSPC", "EMFILE", "EROFS"])
def test_what_the_disk_refuses_is_kept_in_its_place_and_nothing_is_lost(
    tmp_path, monkeypatch, fault, caplog
):
    folder = tmp_path / "spool"
    folder.mkdir()
    spool = Spool(folder, "events", 1 << 20)
    spool.segment_bytes = 1000
    for line in numbered(400)[:200]:
        spool.append(line)
    with monkeypatch.context() as patched:
        if fault == "renamed":
            folder.rename(tmp_path / "moved")
        else:
            patched.setattr("muster.spool.os.write", refuse(getattr(errno, fault)))
            patched.setattr("muster.spool.os.open", refuse(getattr(errno, fault)))
        for line in numbered(400)[200:300]:
            spool.append(line)
        assert spool.waiting()[0] == 300
    if fault == "renamed":
        (tmp_path / "moved").rename(folder)
    monkeypatch.setattr(spool, "_disk_again", 0.0)
    for line in numbered(400)[300:]:
        spool.append(line)
    on_disk = b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    assert numbered(400)[-1] in on_disk, "the disk is used again"
    assert drain(spool) == numbered(400) and spool.lost == 0
    assert [each.levelname for each in caplog.records].count("WARNING") == 1


def test_what_is_in_memory_at_the_end_goes_to_a_disk_that_takes_it_again(tmp_path, monkeypatch):
    spool = Spool(tmp_path, "events", 1 << 20)
    with monkeypatch.context() as patched:
        patched.setattr("muster.spool.os.open", refuse(errno.ENOSPC))
        for line in numbered(20):
            spool.append(line)
    spool.close()
    assert drain(Spool(tmp_path, "events", 1 << 20)) == numbered(20)


def test_a_report_larger_than_the_whole_spool_costs_no_other(tmp_path):
    spool = Spool(tmp_path, "events", 16 * 1024)
    for line in numbered(300):
        spool.append(line)
    spool.append(b"x" * 20000)
    assert spool.lost == 1 and drain(spool) == numbered(300)


def test_a_folder_is_usable_while_another_process_replaces_files_in_it(tmp_path):
    folder = open_state(tmp_path, "http://h", "t", "a").folder
    (folder / "model.json.1.1.next").symlink_to(folder / "gone")  # listed, and then not there
    assert open_state(tmp_path, "http://h", "t", "a").writable
