#!/usr/bin/python3
"""Where the processor time of an event goes: by thread and part, in microseconds.

    profile.py single|batch|postgres_single|postgres_batch [PROGRAM]

Needs perf, and the measures of PostgreSQL tests/drivers/with_postgres --synced. Samples are of what
the processor did; they are scaled to the processor time that the kernel counted.
"""

import collections
import contextlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import servers
from builds import BATCH, SINGLE
from servers import Muster, Postgres, scratch

LEAST_US = 0.1  # parts with less are not shown
FRAME = re.compile(r"\s*[0-9a-f]+ (.*) \((.*)\)$")
CALL = re.compile(r"(?:__x64_sys_|ksys_|do_(?=writev|readv))(\w+)")


def part_of(frames):
    """What the first frame belongs to; of the kernel, the system call."""
    symbol, module = frames[0]
    name = Path(module).name
    if not module.startswith("[kernel"):
        if name.startswith("libc.") and re.search("alloc|free", symbol):
            return "libc: malloc, free"
        return name.split(".so")[0]
    calls = (CALL.match(each) for each, _ in frames)
    return "kernel: " + next((call[1] for call in calls if call), "other")


def samples(file):
    """Pairs of a thread's name and the part that it was in."""
    text = subprocess.run(
        ["perf", "script", "-i", file, "-F", "comm,ip,sym,dso", "--no-inline"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
    ).stdout  # fmt: skip
    for block in text.split("\n\n"):
        thread, *lines = block.strip().split("\n")
        found = (FRAME.match(line) for line in lines)
        frames = [(each[1].split("+")[0], each[2]) for each in found if each]
        if frames:
            yield thread.strip(), part_of(frames)


def processes(server, database):
    """The ids of muster, and of the server processes of PostgreSQL that it has by now."""
    ids = [str(server.process.pid)]
    if database:
        asked = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        said = subprocess.run(["psql", "-XAt", database.url, "-c", asked], check=True,
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
        ids += said.stdout.split()
    return ",".join(ids)


def show(title, counted, us):
    """`us` of an event in all."""
    total = sum(counted.values())
    if total == 0:
        return
    print(f"{title}: {us:.1f} us")
    threads = collections.Counter()
    for (thread, _), n in counted.items():
        threads[thread] += n
    for thread, n in threads.most_common():
        if us * n / total < LEAST_US:
            continue
        print(f"  {thread}: {us * n / total:.2f}")
        for (each, part), n_part in counted.most_common():
            if each == thread and us * n_part / total >= LEAST_US:
                print(f"    {us * n_part / total:6.2f}  {part}")


def profile(measure):
    directory, options = scratch(), dict(SINGLE if measure.endswith("single") else BATCH)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Postgres()) if measure.startswith("postgres") else None
        server = stack.enter_context(Muster(database=database.url if database else None))
        server.load(**options, seed=9)  # so that its threads and sessions are there
        perf = subprocess.Popen(["perf", "record", "-q", "-F", "1500", "-g", "-o", directory / "data",
                                 "-p", processes(server, database)])  # fmt: skip
        stack.callback(perf.wait)
        stack.callback(perf.terminate)
        time.sleep(1)  # it has begun
        clocks = [server, *([database] if database else [])]
        before = [clock.cpu_seconds() for clock in clocks]
        done = server.load(**options, seed=1, first=50_000_000)
        spent = [clock.cpu_seconds() - then for clock, then in zip(clocks, before)]
        events = done["status_202"] * options.get("batch", 1)
    print(f"{measure}: {done['events_per_s']:,.0f} events/s")
    seen = collections.Counter(samples(directory / "data"))
    shutil.rmtree(directory)
    for title, us in zip(("muster", "postgres"), (1e6 * each / events for each in spent)):
        show(title, collections.Counter({k: n for k, n in seen.items() if k[0].startswith(title)}), us)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    servers.MUSTER = sys.argv[2] if len(sys.argv) > 2 else servers.MUSTER
    profile(sys.argv[1])
