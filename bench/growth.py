"""Growth: is everything as fast with 30 and 100 million events as with none? `scripts/bench growth`.

It takes half an hour and 40 GB of disk, so it is not one of the measures that are run when no name is given.
GROWTH=0.01 takes a hundredth of the events, to try the measure itself.
"""

import os
import shutil
from statistics import harmonic_mean

from common import BATCH, Filled, Row, check_all_accepted, cpu_row
from reads import READS, compared_p99, tell_narratives
from servers import Muster, scratch

SIZES = {30_000_000: 0.95, 100_000_000: 0.9}  # events stored, and the bar of the rate then against an empty store
FEW = 100_000  # events of the store that reads are held against
ROUND = 2_500_000  # events of a round of batches; three of them are one turn of merges
SLOWER = 1.3  # times at most, for reads


def at_rest(filled):
    """MiB right after a start, and when what the start left to do is done."""
    with Muster(filled.data) as server:
        at_start = server.memory_mib()
        server.wait_for_rest()
        return at_start, server.memory_mib()


class Round:
    """Batches, the seconds that they took, and the server's processor time for each event."""

    def __init__(self, server, count, first):
        before = server.cpu_seconds()
        done = server.load(count=count, first=first, **BATCH)
        check_all_accepted(done)
        self.seconds = count / done["events_per_s"]
        self.cpu_us = 1e6 * (server.cpu_seconds() - before) / count


def rounds_in_turn(plan, filled, count, warm_up):
    """All after a warm-up, and when the system has written what was stored before. Those of the full store are
    one run of the service: a start would begin its merge from the beginning."""
    rounds = {"ours": [], "theirs": []}
    with Muster(filled.data) as full:
        full.wait_for_rest()
        Round(full, warm_up, filled.n)
        filled.n += warm_up
        for _ in range(plan.rounds):
            with Muster() as empty:
                Round(empty, warm_up, 0)
                os.sync()
                rounds["theirs"].append(Round(empty, count, warm_up))
            os.sync()
            # later than what is stored, as what is reported next always is
            rounds["ours"].append(Round(full, count, filled.n))
            filled.n += count
    return rounds


def rate(plan, filled, bar):
    """Of all rounds together: one of them has the merge of eight million ids, which a median leaves out."""
    stored, count = filled.n, min(ROUND, filled.n // 10)
    rounds = rounds_in_turn(plan, filled, count, count // 10)
    rates = {side: [count / each.seconds for each in each_side] for side, each_side in rounds.items()}
    mine, other = (harmonic_mean(rates[side]) for side in ("ours", "theirs"))
    what = f"batches of 500 with {stored:,} events stored against none"
    yield Row(what, mine, "events/s", f">= {bar}", mine / other >= bar, other, mine / other, rates)
    yield cpu_row(what, {side: [each.cpu_us for each in each_side] for side, each_side in rounds.items()})


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
               "<= 0.7", ratio <= 0.7, filled.event_bytes, ratio)  # fmt: skip


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
            yield from memory_and_start(filled)
            yield from reads(plan, filled)
            yield from rate(plan, filled, bar)  # the last: it stores more
    finally:
        shutil.rmtree(data, ignore_errors=True)
