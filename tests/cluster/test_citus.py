"""Citus: a database is distributed with what it holds, and several nodes work on it.

Under tests/cluster/with_citus, which starts a coordinator and two workers.
"""

import json
import os
import subprocess
import uuid
from contextlib import contextmanager

import pytest
from muster import BINARY, WATCHES, Postgres, Server, Trouble, running
from postgres import Session
from stored import of_tenant, stored
from waiting import until

COUNTED = (
    "SELECT COUNT(*) FROM agent_counts c JOIN (SELECT tenant_id, COUNT(*) AS n FROM agents GROUP BY tenant_id) a"
    " ON a.tenant_id = c.tenant_id WHERE a.n = c.agents"
)
NEXT = BINARY.with_name("muster_next")
UNLOGGED = (
    "SELECT COUNT(*) FROM pg_class c JOIN pg_dist_partition p ON p.logicalrelid = c.oid"
    " WHERE c.relpersistence = 'u'"
)
TAKEN_BACK = "SELECT undistribute_table('nodes')"


@contextmanager
def plain_database():
    """One on servers that know each other, with nothing distributed."""
    postgres = Postgres()
    url = postgres.create()
    try:
        yield url
    finally:
        postgres.drop(url)


def psql(url, *statements):
    commands = [part for statement in statements for part in ("-c", statement)]
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *commands, url],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout.strip()


@contextmanager
def beside(first, folder, url, binary=BINARY):
    """One more node of the same service."""
    key = {"MUSTER_MASTER_KEY_FILE": str(first.data / "master.key")}
    node = Server(folder, url, binary, environment={**first.environment, **key})
    try:
        yield node.start()
        node.stop()
    finally:
        if node.process is not None:
            node.kill()


def url_of_worker(url, number):
    host = os.environ["MUSTER_TEST_CITUS"].split()[number].rsplit("/", 1)[0]
    return f"{host}/{url.rsplit('/', 1)[1]}"


def report_all(tenant, run):
    """Something in most tables; three events that only their arrival orders."""
    events = [
        tenant.event(run_id=run, event_id=f"{run}-{i}", event=event, message=f"number {i}")
        for i, event in enumerate(("started", "in_progress", "in_progress", "completed"))
    ]
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    base = {"agent_name": "collector", "client_id": tenant.slug, "run_id": run,
            "timestamp": "2025-01-02T03:04:05Z"}  # fmt: skip
    kpis = [{"key": "invoices", "label": "Invoices", "unit": "count", "agg": "sum"}]
    registered = {"agent_name": "collector", "client_id": tenant.slug, "business_kpis": kpis}
    assert tenant.client.post("/api/v1/agents/register", registered).status == 200
    business = {**base, "metrics": {"invoices": 3}}
    assert tenant.client.post("/api/v1/telemetry/business", business).status == 202
    usage = {**base, "model": "m-1", "input_tokens": 5, "output_tokens": 6}
    assert tenant.client.post("/api/v1/telemetry/llm", usage).status == 202
    return events


def reads(tenant, run):
    paths = ("dashboard/runs", f"runs/{run}/events", "business/catalog",
             "business/summary?time_range=3650d", "llm/usage?time_range=3650d")  # fmt: skip
    answers = {path: tenant.client.get(tenant.path(path)) for path in paths}
    assert {path: a.status for path, a in answers.items()} == dict.fromkeys(paths, 200)
    told = {path: answer.json() for path, answer in answers.items()}
    for answer in told.values():
        answer.pop("since", None)  # by the clock
        answer.pop("until", None)
    return told


def test_a_database_is_distributed_with_what_it_holds(tmp_path):
    with plain_database() as url:
        server = Server(tmp_path / "data", url).start()
        try:
            tenants = [server.add_tenant() for _ in range(6)]
            runs = {tenant.slug: str(uuid.uuid4()) for tenant in tenants}
            for tenant in tenants:
                report_all(tenant, runs[tenant.slug])
            before = {t.slug: reads(t, runs[t.slug]) for t in tenants}
            refused = server.run("cluster", "enable")
            assert refused.returncode == 1 and "stop its nodes" in refused.stderr
            server.stop()
            assert "0 of " in server.cli("cluster", "status")
            plain = json.loads(server.cli("cluster", "status", "--json"))
            assert plain["coordinator"] and plain["distributed"] == 0 < plain["tables"]
            assert "tables are distributed now" in server.cli("cluster", "enable")
            assert psql(url, COUNTED) == str(len(tenants)), "agents of some are not counted"
            assert "were distributed already" in server.cli("cluster", "enable")
            assert psql(url, UNLOGGED) == "0"  # shards move by their log
            psql(url, TAKEN_BACK)
            told = json.loads(server.cli("cluster", "status", "--json"))
            assert told["distributed"] == told["tables"] - 1
            assert "1 tables are distributed now" in server.cli("cluster", "enable")
            assert psql(url, UNLOGGED) == "0"
            told = json.loads(server.cli("cluster", "enable", "--json"))
            assert told["distributed"] == told["tables"]
            assert told == json.loads(server.cli("cluster", "status", "--json"))
            assert psql(url, "SELECT pg_relation_size('events')") == "0", "the old rows are left"
            server.start()
            for tenant in tenants:
                tenant.client = server.client(tenant.token)
                assert reads(tenant, runs[tenant.slug]) == before[tenant.slug]
                again = report_all(tenant, runs[tenant.slug])  # all are known
                assert stored(server, f"SELECT COUNT(*) AS n FROM events WHERE {of_tenant(tenant)}") == [
                    {"n": len(again)}
                ]
            server.cli("check")
            server.stop()
        finally:
            if server.process is not None:
                server.kill()


def test_tables_are_not_moved_under_a_node_of_another_server(tmp_path):
    """A node that uses a worker is none of the coordinator's sessions, and its URL may name it otherwise."""
    postgres = Postgres()
    url = postgres.create_migrated()
    node = Server(tmp_path / "data", url_of_worker(url, 0) + "?application_name=fleet")
    commands = Server(tmp_path / "commands", url)
    try:
        node.start()
        tenant = node.add_tenant()
        psql(url, TAKEN_BACK)
        refused = commands.run("cluster", "enable")
        assert refused.returncode == 1 and "stop its nodes" in refused.stderr, refused.stderr
        assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
        node.stop()
        assert "1 tables are distributed now" in commands.cli("cluster", "enable")
        assert psql(url, UNLOGGED) == "0"
    finally:
        if node.process is not None:
            node.kill()
        postgres.drop(url)


def test_a_database_that_is_distributed_in_part_is_refused_until_enable_has_ended(tmp_path):
    with plain_database() as url:
        server = Server(tmp_path / "data", url)
        server.cli("tenant", "add", "acme")
        other = Session(url)
        try:
            other.run("BEGIN")
            other.run("LOCK TABLE webhooks")  # one of the last that are distributed
            broken_off = server.run("cluster", "enable")
            assert broken_off.returncode == 1 and "lock timeout" in broken_off.stderr, broken_off.stderr
        finally:
            other.close()
        told = json.loads(server.cli("cluster", "status", "--json"))
        assert 0 < told["distributed"] < told["tables"]
        with pytest.raises(Trouble, match="distributed in part.*run `muster cluster enable --database URL`"):
            server.start()
        for words in (("tenant", "add", "other"), ("tenant", "list")):
            refused = server.run(*words)
            assert refused.returncode == 1 and "distributed in part" in refused.stderr, refused.stderr
        server.cli("cluster", "enable")
        assert "acme" in server.cli("tenant", "list")
        server.start().stop()


def test_copies_that_an_earlier_run_left_are_cleared(tmp_path):
    """It ended after it had moved the table; nodes may run by now."""
    with running("postgres", tmp_path) as server:
        url, tenant = server.database, server.add_tenant()
        report_all(tenant, str(uuid.uuid4()))
        psql(url, "SELECT undistribute_table('kpis')",
             "SELECT create_distributed_table('kpis', 'tenant_id', colocate_with => 'agents')")  # fmt: skip
        assert psql(url, "SELECT pg_relation_size('kpis')") != "0"
        assert "were distributed already" in server.cli("cluster", "enable")
        assert psql(url, "SELECT pg_relation_size('kpis')") == "0"
        assert psql(url, "SELECT COUNT(*) FROM kpis") == "1"


def test_a_migration_distributes_what_it_makes():
    postgres = Postgres()
    url = postgres.create_migrated()
    try:
        psql(url, "DROP TABLE rate_windows")  # tests/hooks/next makes it again
        node = Server("data", url)
        node.binary = NEXT
        node.cli("tenant", "list")
        placed = "SELECT partmethod FROM pg_dist_partition WHERE logicalrelid = 'rate_windows'::regclass"
        assert psql(url, placed) == "h"
    finally:
        postgres.drop(url)


def test_nodes_on_any_server_see_one_another(tmp_path):
    """And what only its arrival orders comes back in that order, whichever node took it in."""
    with running("postgres", tmp_path) as first:
        with beside(first, tmp_path / "on-a-worker", url_of_worker(first.database, 0)) as worker:
            for _ in range(4):
                tenant = first.add_tenant()
                run = str(uuid.uuid4())
                for i in range(6):
                    node = (first, worker)[i % 2]
                    event = tenant.event(run_id=run, event="in_progress", message=str(i), seq=1)
                    answer = node.client(tenant.token).post("/api/v1/telemetry", event)
                    assert answer.status == 202
                    again = (worker, first)[i % 2].client(tenant.token)
                    assert again.post("/api/v1/telemetry", event).json()["status"] == "duplicate"
                for node in (first, worker):
                    told = node.client(tenant.token).get(tenant.path(f"runs/{run}/events")).json()
                    assert [e["message"] for e in told["events"]] == [str(i) for i in range(6)]


def test_a_worker_that_is_away_fails_only_its_tenants(tmp_path):
    with running("postgres", tmp_path, environment={"MUSTER_METRICS_TOKEN": WATCHES}) as server:
        tenants = [server.add_tenant() for _ in range(8)]
        for tenant in tenants:  # later ones are of known agents
            assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
        away, name = url_of_worker(server.database, 0), server.database.rsplit("/", 1)[1]
        maintenance = away.replace(name, "postgres")
        port = away.split(":")[-1].split("/")[0]
        of_worker = {
            row["slug"]
            for row in stored(
                server,
                "SELECT t.slug FROM tenants t JOIN pg_dist_placement p ON p.shardid ="
                " get_shard_id_for_distribution_column('agents', t.tenant_id) JOIN pg_dist_node n"
                f" ON n.groupid = p.groupid WHERE n.nodeport = {port}",
            )
        }
        assert 0 < len(of_worker) < len(tenants)
        psql(maintenance, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
             f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # fmt: skip
        try:
            wanted = {t.slug: 503 if t.slug in of_worker else 202 for t in tenants}

            def is_degraded():
                """While such reports come; the first meet connections that have ended."""
                told = {t.slug: t.client.post("/api/v1/telemetry", t.event()).status for t in tenants}
                health = server.client().get("/api/v1/health")
                assert "tenants" not in health.json()  # they are not for strangers
                return told == wanted and (health.status, health.json()["status"]) == (200, "degraded")

            until(is_degraded)
            told = server.client(WATCHES).get("/api/v1/health").json()
            assert told["tenants"] == sorted(of_worker)
        finally:
            psql(maintenance, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        for tenant in tenants:
            until(lambda t=tenant: t.client.post("/api/v1/telemetry", t.event()).status == 202)
        until(lambda: server.client().get("/api/v1/health").json()["status"] == "ok")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["DROP EXTENSION citus CASCADE"], "CREATE EXTENSION citus"),
        (["SELECT citus_remove_node(nodename, nodeport) FROM pg_dist_node WHERE groupid <> 0"],
         "has no worker"),
        (["UPDATE pg_dist_node SET isactive = false WHERE groupid = 2"], "is not active"),
    ],
)  # fmt: skip
def test_what_cannot_be_distributed_is_refused_in_a_sentence(tmp_path, change, said):
    with plain_database() as url:
        psql(url, *change)
        done = Server(tmp_path, url).run("cluster", "enable")
        assert done.returncode == 1 and said in done.stderr, done.stderr


def test_a_worker_is_refused_as_the_place_to_enable(tmp_path):
    with plain_database() as url:
        done = Server(tmp_path, url_of_worker(url, 1)).run("cluster", "enable")
        assert done.returncode == 1 and "URL of the coordinator" in done.stderr, done.stderr
