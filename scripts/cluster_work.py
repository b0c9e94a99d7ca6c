"""What `make test-cluster` runs: the tests of several nodes, of failover, of PgBouncer, of upgrades and of Citus.

Most of them wait: for a server that was killed, a standby that takes over, a node that notices. So they run
side by side. Those that send as fast as they are answered run one after another, beside the others; the
black-box tests on Citus, which can be divided, have the slots that are left. What holds the program to its
milliseconds runs at the end, with nothing else at work.
"""

import subprocess

from black_box import WITH_CITUS, WITH_POSTGRES, files_in, on, run_exclusive, stored
from jobs import FIRST_S, ROOT, Pool, build, failed, in_parallel, run, run_again, run_all
from machine import Watch
from slots import CORES, Busy

ABSENT = 77  # the status of with_citus if there is no Citus
MOST_SLOTS = 2 * CORES + 1  # a worker on Citus has three servers of PostgreSQL
SHOWN = "-rPfEs"  # what tests printed, and which of them could not run

# Black-box tests in which several nodes share a database.
NODES = ("nodes_*", "delivery_nodes", "plans")

senders = Busy(most=1)


class Part(Pool):
    """Test files of one worker, which comes before what can be divided. Of the parts that `send` as fast
    as they are answered one runs at a time: the slot of one that ends takes the next."""

    def __init__(self, *words, sends=False, **more):
        super().__init__(*words, **more, again=True)
        self.sends = sends

    def urgency(self):
        if self.begun or (self.sends and senders.is_full()):
            return 0
        return FIRST_S + sum(map(self.seconds, self.files))

    def begin(self):
        senders.add(self.sends)
        return super().begin()

    def work(self, number):
        try:
            super().work(number)
        finally:
            senders.add(-self.sends)


def of_cluster(*names):
    return files_in("tests/cluster", names)


def loaded(name, kind, files, beside=()):
    """A part whose servers have the limits that users have: refusals are expected while others are away."""
    limited = on("release", "postgres", MUSTER_TEST_WAIT_MS="", MUSTER_TEST_ANSWERS="")
    return Part(name, kind, files, limited, [SHOWN], beside, sends=True)


def patient(name, kind, files, beside):
    """A part in which no request is refused because the processors are busy."""
    return Part(name, kind, files, on("release", "postgres", MUSTER_TEST_ANSWERS=""), ["-rfEs"], beside)


def on_postgres():
    """The parts that need no Citus."""
    return [
        loaded("what `make cluster` starts, and failover", "cluster", of_cluster("cluster", "failover")),
        loaded("three nodes while nodes and the database are killed", "cluster-faults",
               of_cluster("faults"), [WITH_POSTGRES]),
        loaded("nodes of two versions", "cluster-upgrade", of_cluster("upgrade"), [WITH_POSTGRES]),
        patient("several nodes: locks, limits, clocks, a database that hangs", "cluster-nodes",
                files_in("tests/integration", NODES), [WITH_POSTGRES]),
        patient("PgBouncer, and what PostgreSQL refuses", "cluster-pooler",
                of_cluster("pooler", "refusals"), [WITH_POSTGRES]),
    ]  # fmt: skip


def on_citus():
    """One coordinator and two workers."""
    under_load = of_cluster("citus_workers", "citus_topology", "citus_status")  # with servers of their own
    others = [file for file in of_cluster("citus*") if file not in under_load]
    return [
        loaded("Citus under load: workers are killed, hang and are added", "citus-load", under_load),
        patient("Citus: distribution, migrations, plans", "citus-own", others, [WITH_CITUS]),
        black_box(),
    ]  # fmt: skip


def black_box():
    return stored("black-box tests on Citus, of the release", "citus", [WITH_CITUS])


def has_citus():
    """Whether there is one to test on. If CITUS_SOURCE names its source, it is built now."""
    tried = subprocess.run([WITH_CITUS, "true"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tried.returncode == ABSENT:
        print(f"\n{tried.stderr.strip()}\n=== the tests on Citus are left out", flush=True)
        return False
    return tried.returncode == 0 or run("Citus is installed, or built once", [WITH_CITUS, "true"])


def prepare():
    """What is built: the program, its next version and the one before, and Citus. Whether the first could
    be, and whether there is a Citus."""
    found = {}

    def release():
        found["release"] = build("release", "muster", "test_hooks", "muster_next")

    def before():
        run("the version before is built once", ["/usr/bin/python3", "tests/cluster/before.py", "build"])

    def citus():
        found["citus"] = has_citus()

    in_parallel(release, before, citus)
    return found["release"], found["citus"]


def run_cluster():
    """All of it: the parts, and how many tests were run again."""
    watch = Watch()
    watch.start()
    is_built, is_citus = prepare()
    if not is_built:
        return [], 0
    work = on_postgres() + (on_citus() if is_citus else [])
    run_all(work, MOST_SLOTS)
    again = run_again(watch)
    if is_citus:
        run_exclusive([WITH_CITUS])
    return work, again


def run_citus():
    """The black-box tests alone: the parts."""
    build("release", "muster", "test_hooks")
    run("Citus is installed, or built once", [WITH_CITUS, "true"])
    if failed:
        return []
    work = black_box()
    run_all([work], 2 * CORES)  # each has three servers of PostgreSQL
    run_exclusive([WITH_CITUS])
    return [work]
