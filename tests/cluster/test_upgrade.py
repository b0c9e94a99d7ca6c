"""Nodes of two versions on one PostgreSQL, under load: nothing is lost, and no migration is in the way.

`muster_next` is this version with the migrations of tests/hooks/next; the version before is built from the history.
"""

import subprocess
import threading
import time
from contextlib import closing, contextmanager

import pytest
import skewed
from account import Load, Sender
from before import last_migration, next_migration, program_before
from muster import BINARY, Postgres, Server
from postgres import Session
from stored import stored
from waiting import until

NEXT = BINARY.with_name("muster_next")
NODES, SENDERS = 3, 6
BUILDS = "waiting for another process that builds an index"  # logged once a minute
MIGRATES = (7211980251, 7211980252)  # advisory locks of a session that does
# How long each session of a node waits for a lock that a session that migrates has, or asked for before.
WAITS = f"""WITH locks AS MATERIALIZED (SELECT * FROM pg_locks),
migrating AS (SELECT pid FROM locks WHERE locktype = 'advisory' AND granted
    AND (classid::bigint << 32 | objid::bigint) IN {MIGRATES})
SELECT EXTRACT(EPOCH FROM clock_timestamp() - l.waitstart)
FROM locks l WHERE NOT l.granted AND l.locktype <> 'advisory' AND l.waitstart IS NOT NULL
AND l.pid NOT IN (SELECT pid FROM migrating)
AND pg_blocking_pids(l.pid) && ARRAY(SELECT pid FROM migrating)"""
LONGEST_S, LOOK_S = 1, 0.05
MANY = {"events": 300_000, "runs": 30_000}  # rows of another tenant


class Nodes:
    """Three on one database, each of them of any version; a sender asks one that runs."""

    def __init__(self, folder, url):
        self.all = [
            Server(folder / f"node-{i}", url, environment=self._key(folder, i)) for i in range(NODES)
        ]
        self.turn = 0

    @staticmethod
    def _key(folder, number):
        return {"MUSTER_MASTER_KEY_FILE": str(folder / "node-0/master.key")} if number else {}

    def __getitem__(self, number):
        return self.all[number]

    def choose(self):
        self.turn += 1
        running = [node for node in self.all if node.process and node.address]
        return running[self.turn % len(running)]

    def start(self, number, program):
        self[number].binary = program
        return self[number].start()

    def restart(self, number, program):
        self[number].stop()
        self.start(number, program)


@contextmanager
def empty_nodes(folder):
    postgres = Postgres()
    url = postgres.create()
    nodes = Nodes(folder, url)
    try:
        yield nodes
    finally:
        for node in nodes.all:
            if node.process is not None:
                node.kill()
        postgres.drop(url)


@contextmanager
def load(nodes):
    """Senders over all nodes; at the end nothing that was acknowledged is lost."""
    tenant = nodes.choose().add_tenant("--max-agents", "1000")
    with Load(Sender(n, tenant, nodes.choose, pause=0.01) for n in range(SENDERS)) as made:
        yield made
    made.holds(nodes.choose())
    nodes.choose().cli("check")


def progress(load):
    """Waits until each sender's next batch but one was acknowledged, so that one began after this."""
    load.moves(batches=2)


def version(nodes):
    return stored(nodes.choose(), "SELECT MAX(number) AS n FROM schema_version")[0]["n"]


def test_nodes_of_this_and_the_next_version_restart_in_any_order(tmp_path):
    with empty_nodes(tmp_path) as nodes:
        nodes.start(0, BINARY)
        nodes.start(1, BINARY)
        with load(nodes) as made:
            progress(made)
            nodes.start(2, NEXT)  # migrates
            assert version(nodes) == next_migration()
            order = [(0, BINARY), (2, NEXT), (1, NEXT), (2, BINARY), (1, BINARY), (0, NEXT), (1, NEXT)]
            for number, program in order:
                progress(made)
                nodes.restart(number, program)
            progress(made)


@contextmanager
def locked(url, table):
    """A reader that has not ended: a migration of the table has to wait for it."""
    reader = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", url], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        reader.stdin.write(f"BEGIN; SELECT COUNT(*) >= 0 FROM {table};\n")
        reader.stdin.flush()
        assert reader.stdout.readline().strip() == "t"
        yield
    finally:
        reader.communicate("COMMIT;\n", timeout=60)


@contextmanager
def vacuumed(url, table):
    """While PostgreSQL vacuums the table by itself, for minutes."""
    with closing(Session(url)) as session:
        try:
            session.run("ALTER SYSTEM SET autovacuum_naptime = '1s'")
            session.run("SELECT pg_reload_conf()")
            session.run(f"ALTER TABLE {table} SET (autovacuum_vacuum_threshold = 1,"
                        " autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_limit = 1,"
                        " autovacuum_vacuum_cost_delay = 100)")  # fmt: skip
            session.run(f"UPDATE {table} SET agent_name = agent_name || 'x'")
            running = f"SELECT pid FROM pg_stat_progress_vacuum WHERE relid = '{table}'::regclass"
            until(lambda: session.run(running), 90)
            yield
        finally:
            session.run("ALTER SYSTEM RESET autovacuum_naptime")
            session.run("SELECT pg_reload_conf()")


def test_a_migration_gets_past_an_autovacuum(tmp_path):
    with empty_nodes(tmp_path) as nodes:
        nodes.start(0, BINARY)
        nodes[0].add_tenant()
        with closing(Session(nodes[0].database)) as session:
            session.run("INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at, agent_id)"
                        " OVERRIDING SYSTEM VALUE SELECT t.tenant_id, 'old-' || i, 1, 1, i"
                        " FROM tenants t, generate_series(1, 100000) i")  # fmt: skip
        with vacuumed(nodes[0].database, "agents"):
            nodes.start(1, NEXT)
        assert version(nodes) == next_migration()


def test_a_migration_that_has_to_wait_holds_up_no_report(tmp_path):
    with empty_nodes(tmp_path) as nodes:
        nodes.start(0, BINARY)
        with load(nodes) as made:
            newer = Server(tmp_path / "newer", nodes[0].database, NEXT,
                           environment=nodes[1].environment)  # fmt: skip
            starts = threading.Thread(target=newer.start)
            with locked(nodes[0].database, "runs"):
                starts.start()
                for tries in (1, 3):  # it asks for the lock again and again, and reports go on
                    until(lambda n=tries: newer.log().count("waiting for a lock") >= n, 60)
                    progress(made)
                assert version(nodes) == last_migration()
            starts.join()
            newer.stop()
            assert version(nodes) == next_migration()


class LockWatch(threading.Thread):
    """Looks all the time at who waits for a session that migrates."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.session, self.ends = Session(url), threading.Event()
        self.longest_s = self.gap_s = self.looks = 0

    def run(self):
        last = time.monotonic()
        while not self.ends.wait(LOOK_S):
            waits = [float(row[0]) for row in self.session.run(WAITS)]
            self.longest_s = max([self.longest_s, *waits])
            self.gap_s = max(self.gap_s, time.monotonic() - last - LOOK_S)
            last, self.looks = time.monotonic(), self.looks + 1

    def __enter__(self):
        self.start()
        until(lambda: self.looks)
        return self

    def __exit__(self, *trouble):
        self.ends.set()
        self.join()
        self.session.close()

    def beyond_s(self):
        """The longest wait, less what this machine was away for."""
        return self.longest_s - self.gap_s


def fill(session):
    """Large tables, so that a migration that reads or writes all of one is seen."""
    for table, rows in MANY.items():
        columns = session.run("SELECT column_name, data_type FROM information_schema.columns"
                              f" WHERE table_name = '{table}' ORDER BY ordinal_position")  # fmt: skip
        names = ", ".join(f'"{name}"' for name, _ in columns)
        values = ", ".join(skewed.MOSTLY.get(n, skewed.value(n, kind)) for n, kind in columns)
        session.run("SET session_replication_role = replica")
        session.run(f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {values}"
                    f" FROM generate_series(1, {rows}) i, (SELECT 999999 AS t) x")  # fmt: skip
    session.run("RESET session_replication_role")


def test_a_migration_of_large_tables_blocks_no_writer_for_more_than_a_second(tmp_path):
    with empty_nodes(tmp_path) as nodes:
        nodes.start(0, BINARY)
        url = nodes[0].database
        tenant = nodes[0].add_tenant("--max-agents", "1000")
        with closing(Session(url)) as session:
            fill(session)
            with Load(Sender(n, tenant, nodes.choose, pause=0.01) for n in range(SENDERS)) as made:
                progress(made)
                with LockWatch(url) as watch:
                    nodes.start(1, NEXT)  # migrates
                    progress(made)
                assert version(nodes) == next_migration()
                assert watch.beyond_s() < LONGEST_S, (watch.longest_s, watch.gap_s)
                # the control: one that holds a table for three seconds is seen
                with LockWatch(url) as watch:
                    session.run(f"BEGIN; SELECT pg_advisory_xact_lock({MIGRATES[0]});"
                                " LOCK TABLE runs; SELECT pg_sleep(3); COMMIT")  # fmt: skip
                assert watch.longest_s > LONGEST_S
        made.holds(nodes[0])


def test_a_node_waits_for_another_that_builds_an_index(tmp_path):
    """For longer than for a lock that someone holds, which is a minute."""
    with empty_nodes(tmp_path) as nodes, closing(Session(nodes[0].database)) as builder:
        nodes.start(0, BINARY)
        builder.run(f"SELECT pg_advisory_lock({MIGRATES[1]})")
        newer = nodes[1]
        newer.binary = NEXT
        starts = threading.Thread(target=newer.start)
        starts.start()
        until(lambda: newer.log().count(BUILDS) >= 2, 180)
        assert version(nodes) == next_migration() - 1
        builder.run(f"SELECT pg_advisory_unlock({MIGRATES[1]})")
        starts.join()
        assert version(nodes) == next_migration()


def test_nodes_of_the_version_before_go_on_beside_this_one(tmp_path):
    before = program_before()
    if before is None:
        pytest.skip("NOT TESTED: nodes of the version before, without one in the history")
    with empty_nodes(tmp_path) as nodes:
        nodes.start(0, before)
        nodes.start(1, before)
        with load(nodes) as made:
            progress(made)
            nodes.start(2, BINARY)  # migrates
            assert version(nodes) == last_migration()
            for number, program in [(1, before), (1, BINARY), (0, BINARY)]:
                progress(made)
                nodes.restart(number, program)
            progress(made)
