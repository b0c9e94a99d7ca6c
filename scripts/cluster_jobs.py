"""What `make test-cluster` runs: the tests of several nodes, of failover, of PgBouncer, of upgrades and of
Citus.

Most of them wait: for a server that was killed, a standby that takes over, a node that notices. So they run
side by side. Those that send as fast as they are answered run one after another, beside the others. What
holds the program to its milliseconds runs at the end, with nothing else at work.
"""

import os
import subprocess

from black_box import EXCLUSIVE, files_in, on, on_store
from jobs import ROOT, WITH_CITUS, WITH_POSTGRES, Job, build, failed, pytest, run, run_all, side_by_side

ABSENT = 77  # the status of with_citus if there is no Citus
CITUS_WORKERS = 3  # each has three servers of PostgreSQL
SHOWN = "-rPfEs"  # what tests printed, and which of them could not run

# Black-box tests in which several nodes share a database.
NODES = ("nodes_*", "delivery_nodes", "plans")


def of_cluster(*names):
    return files_in("tests/cluster", names)


def part(name, kind, files, beside=None, workers=1, **environment):
    folder = f"{os.environ['TMPDIR']}/{kind}"
    command = pytest(SHOWN, f"--basetemp={folder}", *files, beside=beside, workers=workers)
    return Job(name, kind, command, on("release", "postgres", MUSTER_TEST_ANSWERS="", **environment))


def loaded(*words):
    """Their servers have the limits that users have: refusals are expected while others are away."""
    return part(*words, MUSTER_TEST_WAIT_MS="")


def senders():
    """They send as fast as they are answered; the last one needs Citus."""
    return [
        loaded("what `make cluster` starts, and failover", "cluster", of_cluster("cluster", "failover")),
        loaded("three nodes while nodes and the database are killed", "cluster-faults",
               of_cluster("faults"), WITH_POSTGRES),
        loaded("nodes of two versions", "cluster-upgrade", of_cluster("upgrade"), WITH_POSTGRES),
        loaded("Citus under load: workers are killed, hang and are added", "citus-load",
               of_cluster(*CITUS_LOADED)),
    ]  # fmt: skip


CITUS_LOADED = ("citus_workers", "citus_topology", "citus_status")  # with servers of their own


def on_nodes():
    return [
        part("several nodes: locks, limits, clocks, a database that hangs", "cluster-nodes",
             files_in("tests/integration", NODES), WITH_POSTGRES),
        part("PgBouncer, and what PostgreSQL refuses", "cluster-pooler",
             of_cluster("pooler", "refusals"), WITH_POSTGRES),
    ]  # fmt: skip


def on_citus():
    """One coordinator and two workers."""
    own = [file for file in of_cluster("citus*") if file not in of_cluster(*CITUS_LOADED)]
    return [black_box(), part("Citus: distribution, migrations, plans", "citus-own", own, WITH_CITUS)]


def black_box():
    files, environment = on_store("postgres")
    folder = f"{os.environ['TMPDIR']}/citus"
    command = pytest(f"--basetemp={folder}", *files, beside=WITH_CITUS, workers=CITUS_WORKERS)
    return Job("black-box tests on Citus, of the release", "citus", command, environment)


def all_jobs():
    return senders() + on_nodes() + on_citus()


def has_citus():
    """Whether there is one to test on. If CITUS_SOURCE names its source, it is built now."""
    tried = subprocess.run([WITH_CITUS, "true"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tried.returncode == ABSENT:
        print(f"\n{tried.stderr.strip()}\n=== the tests on Citus are left out", flush=True)
        return False
    return tried.returncode == 0 or run("Citus is installed, or built once", [WITH_CITUS, "true"])


def run_overload():
    Job("overload on Citus, with nothing else at work", "overload", pytest(EXCLUSIVE, beside=WITH_CITUS),
        on("release", "postgres", MUSTER_TEST_WAIT_MS="")).run()  # fmt: skip


def test_cluster():
    found = {}

    def release():
        build("release", "muster", "test_hooks", "muster_next")

    def before():
        run("the version before is built once", ["/usr/bin/python3", "tests/cluster/before.py", "build"])

    def citus():
        found["citus"] = has_citus()

    side_by_side(release, before, citus)
    if failed:
        return
    sending = senders() if found["citus"] else senders()[:-1]
    others = on_citus() + on_nodes() if found["citus"] else on_nodes()
    run_all((1, sending), (2, others))
    if found["citus"]:
        run_overload()


def test_citus():
    build("release", "muster", "test_hooks")
    run("Citus is installed, or built once", [WITH_CITUS, "true"])
    if not failed:
        run_all((1, [black_box()]))
        run_overload()
