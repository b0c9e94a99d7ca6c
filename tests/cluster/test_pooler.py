"""PgBouncer: nodes read by it in transaction mode, and say so where they cannot work by it."""

import os
import subprocess

import pytest
from muster import WATCHES, Postgres, Server, Trouble, running
from nodes import in_threads, more_servers
from pooler import Pooler
from stored import stored

SESSIONS = 2  # of the pooler
OWN = 4  # of each node: two writers, the watch and the ear


@pytest.fixture(name="database")
def empty_database():
    postgres = Postgres()
    url = postgres.create_migrated()
    yield url
    postgres.drop(url)


def by(pooler, database):
    return f"{pooler.url}/{database.rsplit('/', 1)[1]}"


def ask_plainly(url, sql):
    """By psql, which changes no setting of the session; ours (postgres.py) do."""
    asked = ["psql", "-X", "-A", "-t", url, "-c", sql]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


def report_and_read(tenant, node):
    client = node.client(tenant.token)
    for _ in range(30):
        event = tenant.event()
        assert client.post("/api/v1/telemetry", event).status == 202
        path = tenant.path(f"runs/{event['run_id']}/events")
        told = client.get(path).json()["events"]
        assert [e["event_id"] for e in told] == [event["event_id"]]
        assert client.get(tenant.path("dashboard/runs?limit=1000")).status == 200


def held_under_load(nodes):
    """The sessions that nodes, and the pooler for them, hold after reports and reads of three tenants."""
    tenants = [nodes[0].add_tenant() for _ in range(3)]
    in_threads([lambda t=t, n=n: report_and_read(t, n) for t in tenants for n in nodes])
    asked = ("SELECT COUNT(*) AS n FROM pg_stat_activity WHERE application_name = 'muster'"
             " AND datname = current_database()")  # fmt: skip
    return stored(nodes[0], asked)[0]["n"]


def test_two_nodes_read_by_the_few_sessions_of_a_pooler(tmp_path):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], size=SESSIONS) as pooler:
        os.environ["MUSTER_TEST_POOL"] = pooler.url
        try:
            with running("postgres", tmp_path) as first, more_servers(first, tmp_path, 1) as others:
                held = held_under_load([first, *others])
                assert held <= OWN * 2 + SESSIONS, "the readers have sessions of their own"
                # what readers set is gone with their transactions: the pool's sessions are as new
                assert ask_plainly(by(pooler, first.database), "SHOW statement_timeout") == "0"
        finally:
            del os.environ["MUSTER_TEST_POOL"]


def test_the_same_load_without_a_pooler_takes_more_sessions(tmp_path):
    """The control: readers that had sessions of their own would be seen."""
    with running("postgres", tmp_path) as first, more_servers(first, tmp_path, 1) as others:
        assert held_under_load([first, *others]) > OWN * 2 + SESSIONS


def test_a_pooler_that_shares_sessions_is_refused_as_the_way_to_write(tmp_path, database):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], size=1) as pooler:
        server = Server(tmp_path / "data", by(pooler, database))
        with pytest.raises(Trouble, match="pool_mode = session, and give this URL as database_pool"):
            server.start()


def test_commands_by_a_pooler_that_shares_sessions_say_so(tmp_path, database):
    """One that finds no traces of another in its session works, and leaves some; the pooler gives a session
    up when a command ended within a transaction."""
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], size=1) as pooler:
        server = Server(tmp_path / "data", by(pooler, database))
        for words in ("tenant list", "tenant add", "check"):
            for number in range(5):
                named = [f"other-{number}"] if words == "tenant add" else []
                done = server.run(*words.split(), *named)
                if done.returncode != 0:
                    break
            assert done.returncode == 1, done.stdout
            assert "a pool with pool_mode = session, and give this URL as database_pool" in done.stderr, done.stderr


def test_a_pool_without_transactions_is_refused(tmp_path, database):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], mode="statement") as pooler:
        pool = {"MUSTER_DATABASE_POOL": by(pooler, database)}
        server = Server(tmp_path / "data", database, environment=pool)
        with pytest.raises(Trouble, match="database_pool: the pool has pool_mode = statement"):
            server.start()
        server = Server(tmp_path / "other", by(pooler, database))
        with pytest.raises(Trouble, match="pool_mode = session, and give this URL as database_pool"):
            server.start()


def test_a_pooler_that_keeps_sessions_apart_is_a_way_to_write(tmp_path, database):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], mode="session", size=30) as pooler:
        token = {"MUSTER_METRICS_TOKEN": WATCHES}
        server = Server(tmp_path / "data", by(pooler, database), environment=token).start()
        try:
            tenant = server.add_tenant()

            def report():
                client = server.client(tenant.token)
                for _ in range(400):
                    assert client.post("/api/v1/telemetry", tenant.event()).status == 202
                    # the pooler makes up the number of the session by which a node knows its own words
                    assert b"\nmuster_other_nodes_writing 0\n" in server.metrics(), "it hears itself"

            in_threads([report] * 4)
        finally:
            server.stop()


def test_a_pool_of_the_embedded_store_is_refused(tmp_path):
    server = Server(tmp_path / "data", environment={"MUSTER_DATABASE_POOL": "postgresql://x/y"})
    with pytest.raises(Trouble, match="database_pool: SQLite has no pool"):
        server.start()
