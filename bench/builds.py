#!/usr/bin/python3
"""Compares programs in rounds in turn: what a change is worth, also on a machine that others use.

    builds.py MEASURE ROUNDS NAME=PROGRAM...

MEASURE is one of MEASURES below; those of PostgreSQL run under tests/drivers/with_postgres --synced.
Prints events/s, microseconds of the processor per event (of muster and of PostgreSQL), events per
group and the p99 of each round, and the medians. Processor time hardly depends on what else the
machine does; rates do. `nice -n -15` helps.
"""

import contextlib
import sys
from statistics import median

import servers
from servers import Muster, Postgres
from single import CONNECTIONS, group_of

SECONDS, BATCHES = 4, 400
SINGLE = {"connections": CONNECTIONS, "seconds": SECONDS}
BATCH = {"connections": 8, "batch": 500, "count": 500 * BATCHES}
MEASURES = {"single": SINGLE, "half": SINGLE, "batch": BATCH,
            "postgres_single": SINGLE, "postgres_batch": BATCH}  # fmt: skip


def measured(measure, program):
    servers.MUSTER = program
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Postgres()) if measure.startswith("postgres") else None
        server = stack.enter_context(Muster(database=database.url if database else None))
        options, clocks = dict(MEASURES[measure]), {"muster us": server}
        if database:
            clocks["PostgreSQL us"] = database
        if measure == "half":
            options["rate"] = int(server.load(**options, seed=1)["requests_per_s"] / 2)
        before = {name: clock.cpu_seconds() for name, clock in clocks.items()}
        done = server.load(**options, seed=2)
        spent = {name: clock.cpu_seconds() - before[name] for name, clock in clocks.items()}
        events = done["status_202"] * options.get("batch", 1)
        return {"events/s": done["events_per_s"], "p99 ms": done["p99_us"] / 1000,
                "group": group_of(server),
                **{name: 1e6 * each / events for name, each in spent.items()}}  # fmt: skip


def show(title, row):
    print(title, ", ".join(f"{name} {value:,.1f}" for name, value in row.items()), flush=True)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in MEASURES:
        sys.exit(f"{__doc__}\nThe measures: {', '.join(MEASURES)}")
    programs = dict(argument.split("=", 1) for argument in sys.argv[3:])
    rows = {name: [] for name in programs}
    for i in range(int(sys.argv[2])):
        for name in sorted(programs, reverse=i % 2 == 1):
            rows[name].append(measured(sys.argv[1], programs[name]))
            show(f"{i + 1} {name}:", rows[name][-1])
    for name, each in rows.items():
        show(f"median of {name}:", {key: median(row[key] for row in each) for key in each[0]})


if __name__ == "__main__":
    main()
