"""Citus: a node migrates the database from any server, by the coordinator.

Under tests/cluster/with_citus, which starts a coordinator and two workers. `muster_next` is this version
with the migrations of tests/hooks/next.
"""

from contextlib import ExitStack, contextmanager

import pytest
from account import Load, Sender
from before import last_migration, next_migration
from muster import BINARY, Postgres, Server, Trouble, running
from servers import plain, port_of
from stored import stored
from test_citus import beside, plain_database, psql, url_of_worker

NEXT = BINARY.with_name("muster_next")
MANY = 20  # tries; without a pause it gives up after 60 s and about 50 of them
VERSION = "SELECT MAX(number) AS n FROM schema_version"


@contextmanager
def node_on_a_worker(folder):
    """One that is not started, and the coordinator's URL."""
    postgres = Postgres()
    url = postgres.create_migrated()
    node = Server(folder, url_of_worker(url, 0))
    try:
        yield node, url
    finally:
        if node.process is not None:
            node.kill()
        postgres.drop(url)


def tables(url):
    rows = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"
    return int(psql(url, rows))


def test_a_node_with_the_url_of_a_worker_migrates_the_database(tmp_path):
    with node_on_a_worker(tmp_path) as (node, url):
        node.start()  # nothing is to be migrated
        node.stop()
        assert stored(node, VERSION) == [{"n": last_migration()}]
        node.binary = NEXT
        node.start()
        tenant = node.add_tenant()
        assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
        for at in (url, node.database, url_of_worker(url, 1)):
            assert psql(at, "SELECT MAX(number) FROM schema_version") == str(next_migration())
        node.stop()


def test_a_migration_has_its_locks_though_reports_come_without_a_pause(tmp_path):
    """It needs those of all shards at once: nodes begin no transaction while it tries."""
    with running("postgres", tmp_path) as first, ExitStack() as stack:
        url = first.database
        second = stack.enter_context(beside(first, tmp_path / "second", url_of_worker(url, 0)))
        nodes, tenants = (first, second), [first.add_tenant() for _ in range(4)]
        with Load(Sender(n, tenants[n % 4], lambda n=n: nodes[n % 2], batch=2) for n in range(8)) as load:
            load.moves(batches=5)
            third = stack.enter_context(beside(first, tmp_path / "third", url, NEXT))
            assert third.log().count("waiting for a lock") < MANY
            load.moves()
        assert stored(first, VERSION) == [{"n": next_migration()}]
        load.holds(first)


def test_a_worker_that_does_not_lead_to_the_coordinator_says_what_to_do(tmp_path):
    with node_on_a_worker(tmp_path) as (node, _):
        psql(node.database, "UPDATE pg_dist_node SET nodeport = 1 WHERE groupid = 0")
        node.binary = NEXT
        with pytest.raises(Trouble, match="start a node with the coordinator's URL first"):
            node.start()
        # and one that leads elsewhere
        own = node.database.split(":")[-1].split("/")[0]
        psql(node.database, "UPDATE pg_dist_node SET nodename = 'localhost',"
             f" nodeport = {own} WHERE groupid = 0")  # fmt: skip
        with pytest.raises(Trouble, match="is not the coordinator from here"):
            node.start()
        assert stored(node, VERSION) == [{"n": last_migration()}]


def test_a_database_without_citus_is_not_taken_for_the_coordinator(tmp_path):
    other = plain.Server(synced=False)
    try:
        with node_on_a_worker(tmp_path) as (node, _):
            elsewhere = other.start()
            name = node.database.rsplit("/", 1)[1]
            psql(elsewhere, f"CREATE DATABASE {name}")
            psql(node.database, "UPDATE pg_dist_node SET nodename = '127.0.0.1',"
                 f" nodeport = {port_of(elsewhere)} WHERE groupid = 0")  # fmt: skip
            node.binary = NEXT
            with pytest.raises(Trouble, match="is not the coordinator from here"):
                node.start()
            assert tables(elsewhere.rsplit("/", 1)[0] + f"/{name}") == 0
    finally:
        other.stop()


def test_a_node_does_not_start_at_a_worker_while_tables_are_distributed(tmp_path):
    """As after `cluster enable` broke off: the first tables are distributed, the last are not."""
    with plain_database() as url:
        psql(url, "CREATE TABLE schema_version (number INTEGER PRIMARY KEY)",
             "SELECT create_reference_table('schema_version')")  # fmt: skip
        with pytest.raises(Trouble, match="the tables are being distributed"):
            Server(tmp_path, url_of_worker(url, 0)).start()


def test_a_worker_gets_no_tables_of_its_own(tmp_path):
    with plain_database() as url:
        node = Server(tmp_path, url_of_worker(url, 0))
        before = tables(node.database)
        with pytest.raises(Trouble, match="run `muster cluster enable` with the coordinator's URL"):
            node.start()
        assert tables(node.database) == before
