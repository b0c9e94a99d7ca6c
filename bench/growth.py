"""Growth: is everything as fast with 30 and 100 million events as with none? `scripts/bench growth`.

It takes half an hour and 40 GB of disk, so it is not one of the measures that are run when no name is given.
GROWTH=0.01 takes a hundredth of the events, to try the measure itself.
"""

import os
import shutil

from common import BATCH, Filled, Row, check_all_accepted, compared
from reads import READS, compared_p99, tell_narratives
from servers import Muster, scratch

SIZES = {30_000_000: 0.95, 100_000_000: 0.9}  # events stored, and the bar of the rate then against an empty store
FEW = 100_000  # events of the store that reads are held against
SLOWER = 1.3  # times at most, for reads


def at_rest(filled):
    """MiB right after a start, and when what the start left to do is done."""
    with Muster(filled.data) as server:
        at_start = server.memory_mib()
        server.wait_for_rest()
        return at_start, server.memory_mib()


def rate(plan, filled, bar):
    def batches(server, **more):
        done = server.load(count=plan.events, **BATCH, **more)
        check_all_accepted(done)
        return done["events_per_s"]

    def full(i):
        with Muster(filled.data) as server:
            # later than what is stored, as what is reported next always is
            return batches(server, seed=10 + i, first=filled.n + i * plan.events)

    def empty(_):
        with Muster() as server:
            return batches(server)

    name = f"batches of 500 with {filled.n:,} events stored against none"
    return compared(plan, name, "events/s", bar, full, empty)


def memory_and_start(filled):
    at_start, rest = at_rest(filled)
    for when, mib in (("after the start", at_start), ("at rest", rest)):
        yield Row(f"memory {when}, {filled.n:,} events", mib, "MiB", "<= 64", mib <= 64)
    with Muster(filled.data) as server:
        server.kill_under_load(2, seconds=10, seed=99, first=filled.n + 10**7, **BATCH)
        seconds = server.start()
    yield Row(f"start after kill -9 under load, {filled.n:,} events", seconds, "s", "<= 0.3",
              seconds <= 0.3)  # fmt: skip


def reads(plan, filled):
    data = scratch()
    try:
        few = Filled(min(FEW, filled.n // 3), data, starts=False)
        with Muster(filled.data) as big, Muster(data) as small:
            for server in (big, small):
                tell_narratives(server)
                server.wait_for_rest()
            sizes = f"{filled.n:,} events against {few.n:,}"
            for name, paths in READS.items():
                yield compared_p99(plan, f"{name}, {sizes}", paths, (big, small), SLOWER)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def disk(filled):
    each = Muster(filled.data).bytes_on_disk() / filled.n
    ratio = each / filled.event_bytes
    return Row(f"bytes on disk of {filled.n:,} events against their JSON", each, "bytes/event",
               "<= 0.6", ratio <= 0.6, filled.event_bytes, ratio)  # fmt: skip


def growth(plan):
    data, part = scratch(), float(os.environ.get("GROWTH", 1))
    try:
        filled = None
        for size, bar in SIZES.items():
            if filled is None:
                filled = Filled(int(part * size), data, starts=False)
            else:
                filled.fill(int(part * size))
            yield disk(filled)
            yield rate(plan, filled, bar)
            yield from memory_and_start(filled)
            yield from reads(plan, filled)
    finally:
        shutil.rmtree(data, ignore_errors=True)
