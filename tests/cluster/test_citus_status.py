"""What `muster cluster status` and `cluster enable` say of servers that are missing, dead or hung, and of
shards that cannot move.

On a cluster of its own, whose rebalances stay scheduled: nothing takes their tasks.
"""

import os

import pytest
from muster import Server
from nodes import in_threads
from postgres import run_sql
from servers import Citus, environment, fence, hang, kept_environment, port_of, resume, start_again
from waiting import until

DATABASE = "cluster_status"
REBALANCE = "SELECT citus_rebalance_start()"
START = "citus_rebalance_start()"


class Cluster:
    """Servers that do not know each other yet, with the extension in a database of each."""

    def __init__(self, citus, folder):
        self.citus = citus
        self.urls = [self.with_extension(url) for url in citus.start()]
        self.commands = Server(folder, self.urls[0])

    def with_extension(self, url):
        run_sql(url, f"CREATE DATABASE {DATABASE}")
        of_database = f"{url.rsplit('/', 1)[0]}/{DATABASE}"
        run_sql(of_database, "CREATE EXTENSION citus")
        return of_database

    def name(self, number):
        return f"127.0.0.1:{port_of(self.urls[number])}"

    def call(self, function, number):
        run_sql(self.urls[0], f"SELECT {function}('127.0.0.1', {port_of(self.urls[number])})")

    def status(self, returncode=0):
        done = self.commands.run("cluster", "status")
        assert done.returncode == returncode, done.stdout + done.stderr
        return done.stdout

    def line(self, number, returncode=0):
        """That of a server."""
        return next(line for line in self.status(returncode).splitlines() if f" {self.name(number)} " in line)

    def refusal(self):
        done = self.commands.run("cluster", "enable")
        assert done.returncode == 1, done.stdout
        return done.stderr


@pytest.fixture(name="cluster", scope="module")
def citus_servers(tmp_path_factory):
    citus = Citus({"citus.shard_count": 4, "citus.background_task_queue_interval": -1})
    with kept_environment():
        os.environ.update(environment(citus.programs, ""))
        try:
            yield Cluster(citus, tmp_path_factory.mktemp("data"))
        finally:
            citus.stop()


def test_status_says_what_is_missing_before_enable(cluster):
    assert "before `muster cluster enable`: the workers do not know" in cluster.status()
    cluster.call("citus_set_coordinator_host", 0)
    assert "before `muster cluster enable`: the cluster has no worker" in cluster.status()
    for number in (1, 2):
        cluster.call("citus_add_node", number)
    assert "stop the nodes of muster, then: muster cluster enable" in cluster.status()


def test_a_dead_server_is_named_before_enable(cluster):
    dead = cluster.citus.servers[2]
    fence(dead)
    told = f"{cluster.name(2)} does not answer"
    assert f"before `muster cluster enable`: {told}" in cluster.status(1)
    assert told in cluster.refusal()
    assert start_again(dead)
    until(lambda: cluster.commands.run("cluster", "status").returncode == 0)


def test_of_two_that_enable_at_once_one_does_and_the_other_is_told(cluster):
    done = []
    in_threads([lambda: done.append(cluster.commands.run("cluster", "enable"))] * 2)
    first, second = sorted(done, key=lambda one: one.returncode)
    assert first.returncode == 0 and "tables are distributed now" in first.stdout, done
    assert "another `muster cluster enable` is running" in second.stderr or second.returncode == 0, done
    assert "wal_level" not in first.stdout


def test_a_server_that_is_dead_or_hangs_is_seen(cluster):
    assert cluster.line(1).endswith(" shards") and cluster.line(2).endswith(" shards")
    hung = cluster.citus.servers[1]
    hang(hung)
    try:
        assert cluster.line(1, 1).endswith("shards, does not answer")
        assert cluster.line(2, 1).endswith(" shards")
    finally:
        resume(hung)
    assert cluster.line(1).endswith(" shards")
    fence(hung)
    assert cluster.line(1, 1).endswith("shards, does not answer")
    assert START not in cluster.status(1)
    assert start_again(hung)
    until(lambda: cluster.commands.run("cluster", "status").returncode == 0)


def test_a_rebalance_is_advised_where_it_works(cluster):
    cluster.citus.settings["wal_level"] = "replica"
    cluster.urls.append(cluster.with_extension(cluster.citus.start_another()))
    cluster.call("citus_add_node", 3)
    told = cluster.status()
    assert f"set wal_level = logical on {cluster.name(3)}, and restart" in told and START not in told
    assert f"wal_level = logical on {cluster.name(3)}" in cluster.commands.cli("cluster", "enable")

    added = cluster.citus.added[0]
    added.settings["wal_level"], added.port = "logical", port_of(cluster.urls[3])
    assert start_again(added)
    until(lambda: cluster.commands.run("cluster", "status").returncode == 0)
    told = cluster.status()
    assert "wal_level" not in told and START in told

    run_sql(cluster.urls[0], REBALANCE)
    told = cluster.status()
    assert "shards are being moved" in told and START not in told
    run_sql(cluster.urls[0], "SELECT citus_rebalance_stop()")

    run_sql(cluster.urls[0], f"SELECT citus_disable_node('127.0.0.1', {added.port}, synchronous := true)")
    assert cluster.line(3).endswith("0 shards, inactive")
    assert START not in cluster.status()
