"""A pytest plugin: runs the files that it takes, one by one, from a queue shared with other processes.

MUSTER_TEST_QUEUE names the queue: one file per line, the longest first. One process takes many files,
so they share its session fixtures, such as a running server. MUSTER_TEST_TIMES names a folder for
what each file took: seconds, and seconds of a processor by pytest and all that it started.
scripts/run_tests.py uses both.
"""

import contextlib
import fcntl
import json
import os
from collections import Counter
from pathlib import Path

import pytest

QUEUE = os.environ.get("MUSTER_TEST_QUEUE")
TIMES = os.environ.get("MUSTER_TEST_TIMES")

TICKS = os.sysconf("SC_CLK_TCK")

seconds, processor = Counter(), Counter()


def take(queue):
    """Removes the first line of the file `queue`; None when it is empty."""
    with open(queue, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        first, _, rest = file.read().partition("\n")
        file.seek(0)
        file.truncate()
        file.write(rest)
    return first or None


def items_in_turn(items, queue):
    """The tests of one file after the other, while the queue has any."""
    by_file = {}
    for item in items:
        by_file.setdefault(item.location[0], []).append(item)
    while name := take(queue):
        yield from by_file.get(name, [])


def processor_s(top):
    """Seconds of a processor, of a process and all below it, those that ended too."""
    spent, below = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            rest = path.read_text().rpartition(")")[2].split()
            below.setdefault(int(rest[1]), []).append(int(path.parent.name))
            spent[int(path.parent.name)] = sum(map(int, rest[11:15])) / TICKS
    waiting, total = [top], 0.0
    while waiting:
        pid = waiting.pop()
        total += spent.get(pid, 0)
        waiting += below.get(pid, [])
    return total


def starts_databases(pid):
    name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return any(part.endswith((b"with_postgres", b"with_citus")) for part in name[:2])


def top_process():
    """pytest, or what started databases beside it."""
    top, parent = os.getpid(), os.getppid()
    while starts_databases(parent):
        top, parent = parent, int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
    return top


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """As pytest's own, which knows all tests from the start."""
    if QUEUE is None or session.config.option.collectonly:
        return None
    if session.testsfailed:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    turns = items_in_turn(session.items, QUEUE)
    item, top = next(turns, None), top_process()
    before = processor_s(top)
    while item is not None:
        following = next(turns, None)  # its fixtures decide what is torn down between the two
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if following is None or following.location[0] != item.location[0]:
            after = processor_s(top)
            processor[item.location[0]] += after - before
            before = after
        item = following
    return True


def pytest_runtest_logreport(report):
    seconds[report.location[0]] += report.duration


def pytest_sessionfinish():
    if TIMES:
        path = Path(TIMES) / f"{os.getpid()}.json"
        took = {name: [seconds[name], processor[name]] for name in seconds}
        path.write_text(json.dumps(took), encoding="utf-8")
