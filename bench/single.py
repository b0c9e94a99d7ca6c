"""Single events: against nginx, beside a sync, and on PostgreSQL."""

import os
import re
import shutil
import time
from statistics import median

from common import Row, check_all_accepted, compared, cpu_row
from servers import Muster, Nginx, Postgres, program, scratch, wrk

CONNECTIONS = 64
SYNC_BYTES = 16384  # about what a small group adds to the log


def single(plan):
    cpu_us = {"ours": [], "theirs": []}

    def rate(server, side, seed):
        before = server.cpu_seconds()
        requests_per_s = wrk(server.port, token, seed, plan.seconds)
        spent = server.cpu_seconds() - before
        cpu_us[side].append(1e6 * spent / (requests_per_s * plan.seconds))
        return requests_per_s

    with Nginx() as nginx, Muster() as server:
        token = server.token
        yield compared(
            plan, "single events against nginx `return 202`", "requests/s", 0.5,
            lambda i: rate(server, "ours", 2 * i + 1), lambda i: rate(nginx, "theirs", 2 * i + 2),
        )  # fmt: skip
    yield cpu_row("a single event, muster and nginx", cpu_us)


def sync_ms(seconds):
    """The median of appending and syncing a little, again and again, to a file on the same disk."""
    directory, took = scratch(), []
    try:
        with (directory / "log").open("wb", buffering=0) as file:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                began = time.perf_counter()
                file.write(bytes(SYNC_BYTES))
                os.fdatasync(file.fileno())
                took.append(1000 * (time.perf_counter() - began))
    finally:
        shutil.rmtree(directory)
    return median(took)


def latency(plan):
    """The p99 of single events that come at half of the rate that the server can do."""
    with Muster() as server:
        load = {"connections": CONNECTIONS, "seconds": plan.seconds}
        capacity = server.load(**load, seed=1)["requests_per_s"]

        def p99_ms(i):
            done = server.load(**load, rate=int(capacity / 2), seed=2 + i)
            check_all_accepted(done)
            return done["p99_us"] / 1000

        p99s, syncs = [], []
        for i in range(plan.rounds):
            syncs.append(sync_ms(plan.seconds / 2))
            p99s.append(p99_ms(i))
    ours, theirs = median(p99s), median(syncs)
    yield Row("p99 of a single event at half of capacity against a sync", ours, "ms", "<= 3",
              ours <= 3 * theirs, theirs, ours / theirs,
              {"ours": p99s, "theirs": syncs, "capacity": [capacity]})  # fmt: skip


def group_of(server):
    """The mean number of events per commit so far."""
    text = server.metrics()
    total = {name: float(re.search(rf"^muster_commit_events_{name} (\S+)", text, re.M)[1])
             for name in ("sum", "count")}  # fmt: skip
    return total["sum"] / total["count"]


def postgres_single(plan):
    groups = []

    def ours(i):
        with Postgres() as database, Muster(database=database.url) as server:
            done = server.load(connections=CONNECTIONS, seconds=plan.seconds, seed=i)
            check_all_accepted(done)
            groups.append(group_of(server))
            return done["events_per_s"]

    def theirs(_):
        group = max(1, round(groups[-1]))
        count = plan.postgres_events // 5 // group * group
        with Postgres() as database:
            return program("bare_postgres", "--database", database.url, "--batch", group,
                           "--count", count)["rows_per_s"]  # fmt: skip

    ours(99)  # so that the first of theirs knows the size of a group
    row = compared(plan, "PostgreSQL: single events against bare libpq, the same groups",
                   "events/s", 0.8, ours, theirs)  # fmt: skip
    row.rounds["events per group"] = groups
    yield row
