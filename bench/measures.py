"""The measures. Each is a function of a Plan that returns rows of the table.

What is compared is run side by side: rounds alternate between ours and theirs, and the medians
are compared. Absolute figures say something about one machine only.
"""

import shutil
from statistics import median

from citus import citus
from common import BATCH, Row, check_all_accepted, compared, cpu_row
from expensive import expensive
from exports import export
from growth import growth
from keys import keys
from nodes import first_contact, nodes_batch, nodes_single, nodes_spare
from reads import reads, reads_under_load
from servers import Muster, Postgres, Watch, program, scratch
from single import latency, postgres_single, single
from spans import spans
from summaries import summaries
from tls import tls
from usage import usage

def batch_rate(server, plan, **more):
    done = server.load(count=plan.events, **BATCH, **more)
    check_all_accepted(done)
    return done["events_per_s"]


def batch(plan):
    cpu_us = {"ours": [], "theirs": []}

    def ours(_):
        with Muster() as server:
            before = server.cpu_seconds()
            rate = batch_rate(server, plan)
            cpu_us["ours"].append(1e6 * (server.cpu_seconds() - before) / plan.events)
            return rate

    def theirs(_):
        directory = scratch()
        try:
            done = program("bare_sqlite", "--file", directory / "bare.db", "--count", plan.events)
            cpu_us["theirs"].append(1e6 * done["cpu_s"] / plan.events)
            return done["rows_per_s"]
        finally:
            shutil.rmtree(directory)

    yield compared(plan, "batches of 500 against bare SQLite", "events/s", 0.5, ours, theirs)
    yield cpu_row("an event of a batch, muster and bare SQLite", cpu_us)


def stored(plan):
    store = plan.store()

    def full(i):
        with Muster(store.data) as server:
            # later than what is stored, as what is reported next always is
            return batch_rate(server, plan, seed=10 + i, first=store.n + i * plan.events)

    def empty(_):
        with Muster() as server:
            return batch_rate(server, plan)

    name = f"batches of 500 with {store.n:,} events stored against none"
    yield compared(plan, name, "events/s", 0.9, full, empty)


def postgres(plan):
    def ours(_):
        with Postgres() as database, Muster(database=database.url) as server:
            done = server.load(count=plan.postgres_events, **BATCH)
            check_all_accepted(done)
            return done["events_per_s"]

    def theirs(_):
        with Postgres() as database:
            return program("bare_postgres", "--database", database.url,
                           "--count", plan.postgres_events)["rows_per_s"]  # fmt: skip

    name = "PostgreSQL: batches of 500 against bare libpq"
    yield compared(plan, name, "events/s", 0.8, ours, theirs)


def disk(plan):
    store = plan.store()
    each = store.disk_bytes / store.n
    ratio = each / store.event_bytes
    name = f"bytes on disk of {store.n:,} events against their JSON"
    yield Row(name, each, "bytes/event", "<= 0.7", ratio <= 0.7, store.event_bytes, ratio)


def postgres_bytes(n, most):
    with Postgres() as database, Muster(database=database.url) as server:
        check_all_accepted(server.load(count=n, **BATCH))
        tables = "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
        here = " AND relnamespace = current_schema()::regnamespace"
        each = int(database.number(tables + here)) / n
    return Row(f"PostgreSQL: bytes on disk of {n:,} events with their indexes", each, "bytes/event",
               f"<= {most}", each <= most)  # fmt: skip


def postgres_disk(_):
    """Of so many that autovacuum has been at work, as it is in a service that runs for long."""
    yield postgres_bytes(3_000_000, 500)


def postgres_first(_):
    """Of the first ones, before autovacuum has made room for the next states of runs: 420 each. A column
    or an index more is seen."""
    yield postgres_bytes(300_000, 540)


def memory(plan):
    with Muster() as server:
        idle = server.memory_mib()
        with Watch(server) as watch:
            done = server.load(connections=1000, seconds=plan.seconds)
    yield Row("memory, idle", idle, "MiB", "<= 32", idle <= 32)
    yield Row("memory, single events over 1,000 connections", watch.memory_mib, "MiB", "<= 192",
              watch.memory_mib <= 192, rounds={"load": done})  # fmt: skip
    refused = done.get("status_503", 0)
    name = "refused of them, though far below the bounds"
    yield Row(name, refused, "requests", "0", refused == 0)
    store = plan.store()
    yield Row(f"memory, idle on {store.n:,} events", store.idle_mib, "MiB", "<= 32",
              store.idle_mib <= 32)  # fmt: skip


def start(plan):
    store = plan.store()
    (_, empty), (third, fewer), (n, seconds) = sorted(store.starts.items())
    for events, took in ((0, empty), (third, fewer)):
        yield Row(f"start with {events:,} events", took, "s", "<= 1", took <= 1)
    grows = seconds > 1.5 * fewer + 0.02
    yield Row(f"start with {n:,} events", seconds, "s", "<= 1, and as with a third of them",
              seconds <= 1 and not grows, fewer, seconds / fewer)  # fmt: skip
    with Muster(store.data) as server:
        server.kill_under_load(2, seconds=10, seed=99, **BATCH)
        seconds = server.start()
    yield Row("start after kill -9 under load", seconds, "s", "<= 1", seconds <= 1)


def saturation(plan):
    """Rounds at the measured capacity and at three times of it, in turn and equally long: both
    then meet the same store and the same disk."""
    loads = []
    later = 10_000_000  # events: each round reports later times than the one before

    def peak(i):
        done = server.load(seconds=plan.seconds, seed=2 * i, first=2 * i * later, **BATCH)
        check_all_accepted(done)
        return done["events_per_s"]

    def overload(i):
        with watch:
            loads.append(server.load(connections=1000, batch=500, seconds=plan.seconds,
                                     seed=2 * i + 1, first=(2 * i + 1) * later,
                                     rate=int(3 * capacity / 500)))  # fmt: skip
        return loads[-1]["events_per_s"]

    with Muster() as server:
        watch, capacity = Watch(server), batch_rate(server, plan, seed=99)
        asked = "at three times capacity"
        yield compared(plan, f"goodput {asked} against the peak", "events/s", 0.9, overload, peak)
    yield Row(f"memory {asked}, 1,000 connections", watch.memory_mib, "MiB", "<= 160",
              watch.memory_mib <= 160, rounds={"loads": loads})  # fmt: skip
    health = watch.health_p99_ms()
    yield Row(f"health answer {asked}, p99", health, "ms", "<= 100, always ok",
              health <= 100 and not watch.unhealthy)  # fmt: skip
    refused = median(load.get("refused_p99_us", 0) for load in loads) / 1000
    yield Row(f"503 {asked}, p99", refused, "ms", "<= 50", 0 < refused <= 50)


ALL = [single, latency, batch, stored, postgres, postgres_single, nodes_single, nodes_batch, nodes_spare,
       first_contact, citus, keys, disk, postgres_first, memory, export, start, saturation, reads,
       reads_under_load, spans, summaries, tls, usage]  # fmt: skip
LONG = [expensive, growth, postgres_disk]  # only when they are named
