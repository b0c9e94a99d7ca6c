"""Citus under load, while a worker is killed, hangs or is added: three nodes, two workers.

A transaction of reports touches one worker: it is committed in one phase, and a worker that is away
fails its own tenants only. The cluster is one of its own (topology.py); Citus must be installed, or
CITUS_SOURCE name its source.
"""

import re
import threading
import time
import uuid
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from account import ID, Load, balance, sent_id
from nodes import in_threads
from postgres import Session, run_sql
from servers import hang, port_of, resume
from stored import stored
from test_citus import beside
from topology import METRICS_TOKEN, running_cluster
from waiting import until

TENANTS = 8
PAUSE_S = 0.5  # of a sender while shards move, which takes minutes of both processors by itself
PLACES = (
    "SELECT t.slug, n.nodeport FROM tenants t JOIN pg_dist_placement p ON p.shardid ="
    " get_shard_id_for_distribution_column('agents', t.tenant_id) JOIN pg_dist_node n"
    " ON n.groupid = p.groupid"
)
STATEMENT = re.compile(r"^@(\d+) LOG:  (?:statement|execute [^:]*): (.*)$", re.MULTILINE)
CHANGED = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM|COPY) (?:ONLY )?(?:public\.)?([a-z_]+)_\d{5,}")
REPORTED = {"agents", "agent_counts", "agent_signs", "business_rollups", "business_values", "events",
            "heartbeats", "kpis", "llm_totals", "llm_usage", "runs"}  # fmt: skip
BACKGROUND = {"keys", "agent_signs"}


@pytest.fixture(name="cluster", scope="module")
def citus():
    with running_cluster(citus=True, down_s=3600) as made:
        yield made


@pytest.fixture(name="tenants", scope="module")
def eight_tenants(cluster):
    return cluster.tenants(TENANTS)


def ports(cluster):
    return {row["slug"]: row["nodeport"] for row in stored(cluster.reads, PLACES)}


def port_of_worker(cluster, number):
    return cluster.databases.servers[number].port


def dead_and_living(cluster, tenants, port):
    """The tenants of a worker that will be away, and the others."""
    dead = {slug for slug, where in ports(cluster).items() if where == port}
    living = {t.slug for t in tenants} - dead
    assert dead and living
    return dead, living


def counts(load, slugs):
    """Batches that were acknowledged, and refused by status."""
    chosen = load.chosen(slugs)
    return (sum(s.acknowledged // s.batch for s in chosen),
            sum((s.refused for s in chosen), Counter()))  # fmt: skip


def url_at(cluster, number):
    """Of the cluster's database at one of its servers."""
    return re.sub(r"@[^/]*", f"@127.0.0.1:{port_of_worker(cluster, number)}", cluster.reads.database)


class Logged:
    """What servers are asked meanwhile, by their logs."""

    def __init__(self, cluster):
        self.logs = [Path(server.log) for server in cluster.databases.servers]
        self.urls = [url_at(cluster, n) for n in range(len(self.logs))]

    def _set(self, *statements):
        for url in self.urls:
            run_sql(url, *statements, "SELECT pg_reload_conf()")

    def __enter__(self):
        self.begins = [log.stat().st_size for log in self.logs]
        self._set("ALTER SYSTEM SET log_statement = 'all'", "ALTER SYSTEM SET log_line_prefix = '@%p '")
        return self

    def __exit__(self, *trouble):
        self._set("ALTER SYSTEM RESET log_statement", "ALTER SYSTEM RESET log_line_prefix")

    def sessions(self):
        """The statements of each session, in their order."""
        found = {}
        for number, (log, begin) in enumerate(zip(self.logs, self.begins, strict=True)):
            text = log.read_bytes()[begin:].decode(errors="replace")
            for pid, said in STATEMENT.findall(text):
                found.setdefault((number, pid), []).append(said)
        return found.values()

    def two_phases(self):
        """The tables that each transaction of two phases changed."""
        for statements in self.sessions():
            changed = set()
            for said in statements:
                if said.startswith("PREPARE TRANSACTION"):
                    yield frozenset(changed)
                if said.startswith(("BEGIN", "COMMIT", "ROLLBACK", "PREPARE TRANSACTION")):
                    changed = set()
                changed.update(CHANGED.findall(said))


def node_at_a_worker(cluster):
    return beside(cluster.nodes[0], cluster.folder / "node-at-a-worker", url_at(cluster, 1))


def report_all_kinds(node, tenant, agent):
    """By an agent that nobody has heard of yet: a run that fails and one that completes, a
    registration, values of KPIs, LLM usage, and a heartbeat."""
    client = node.client(tenant.token)
    runs = [str(uuid.uuid4()), str(uuid.uuid4())]
    told = [("started", 0, {}), ("failed", 0, {"error_type": "Timeout", "error_message": "too late"}),
            ("started", 1, {}), ("in_progress", 1, {"message": agent}), ("completed", 1, {})]  # fmt: skip
    events = [
        tenant.event(agent_name=agent, run_id=runs[run], event_id=str(uuid.uuid4()), event=event, **more)
        for event, run, more in told
    ]
    base = {"agent_name": agent, "client_id": tenant.slug, "run_id": runs[1],
            "timestamp": events[0]["timestamp"]}  # fmt: skip
    kpis = [{"key": "invoices", "label": "Invoices", "unit": "count", "agg": "sum"}]
    for path, body, status in (
        ("telemetry", tenant.event(agent_name=agent), 202),
        ("agents/register", {"agent_name": f"{agent}-new", "business_kpis": kpis}, 200),
        ("agents/register", {"agent_name": agent, "business_kpis": kpis}, 200),
        ("telemetry/batch", {"events": events}, 202),
        ("telemetry/business", {**base, "metrics": {"invoices": 3}}, 202),
        ("telemetry/llm", {**base, "model": "m-1", "input_tokens": 5, "output_tokens": 6}, 202),
        (f"heartbeat?client_id={agent}", None, 200),
    ):
        answer = client.post(f"/api/v1/{path}", body)
        while answer.status == 503:  # a busy machine
            print(f"{path} is sent again: {node.log()[-400:]}")
            answer = client.post(f"/api/v1/{path}", body)
        assert answer.status == status, (path, answer.status, answer.body)
    client.close()


def test_reports_are_committed_in_one_phase(cluster, tenants):
    """Of nodes at the coordinator and at a worker. What nodes store of all tenants in the background may
    take two: the last uses of keys, and when agents were last seen."""
    assert len(set(ports(cluster).values())) == 2
    with node_at_a_worker(cluster) as another, Logged(cluster) as logged:
        nodes = [*cluster.nodes, another]
        for tenant in tenants:
            until(lambda t=tenant: another.client(t.token).get("/api/v1/limits").status == 200)
        for turn in range(3):
            in_threads([
                partial(report_all_kinds, node, tenant, f"agent-{turn}-{n}")
                for n, node in enumerate(nodes) for tenant in tenants
            ])  # fmt: skip
        # the control: what touches two workers takes two phases, and is seen
        run_sql(another.database, "UPDATE agents SET enabled = enabled")
        until(lambda: frozenset({"agents"}) in logged.two_phases())
        written = {table for s in logged.sessions() for said in s for table in CHANGED.findall(said)}
        counts = Counter(logged.two_phases())
    assert written >= REPORTED, " ".join(sorted(written))
    del counts[frozenset({"agents"})]
    print(f"transactions of two phases, by what they changed: {dict(counts)}")
    assert all(tables <= BACKGROUND for tables in counts), counts


def away(node):
    answer = node.client().get("/api/v1/health")
    assert "tenants" not in answer.json()  # they are not for strangers
    return answer.status, answer.json()["status"]


def tenants_away(node):
    """Whose reports cannot be stored, as far as the node knows."""
    answer = node.client(METRICS_TOKEN).get("/api/v1/health")
    assert answer.status == 200 or "tenants" not in answer.json()
    return answer.json().get("tenants", [])


def test_a_killed_worker_fails_its_own_tenants_and_nothing_is_lost(cluster, tenants):
    dead, living = dead_and_living(cluster, tenants, port_of_worker(cluster, 1))
    with Load.of(cluster.nodes, tenants, 1000) as load:
        load.moves(dead | living)
        stored_before, refused_before = counts(load, living)
        process = cluster.named()["worker-1"]
        cluster.kill("worker-1")
        process.wait(60)
        for node in cluster.nodes:
            until(lambda n=node: away(n) == (200, "degraded"))
        gone, _ = counts(load, dead)
        for _ in range(5):
            load.moves(living)
        for node in cluster.nodes:
            until(lambda n=node: away(n) == (200, "degraded"))  # a busy machine may be late once
            until(lambda n=node: tenants_away(n) == sorted(dead))
        assert counts(load, dead)[0] == gone
        stored_now, refused_now = counts(load, living)
        cluster.away["worker-1"] = 0
        until(lambda: cluster.look() or not cluster.away, 90)
        load.moves(dead | living)
    few_refused(stored_now - stored_before, refused_now - refused_before, 100)
    load.holds(cluster.reads)
    all_are_well(cluster)


def few_refused(batches, statuses, of):
    refused = sum(statuses.values())
    print(f"{batches} batches of living tenants were stored, {refused} refused")
    assert refused <= (batches + refused) / of


def all_are_well(cluster):
    for node in cluster.nodes:
        until(lambda n=node: (away(n), tenants_away(n)) == ((200, "ok"), []))


def read_all(cluster, tenants, times):
    """What so many reads of each tenant on each node, all at once, were answered, by slug."""
    answers = {tenant.slug: Counter() for tenant in tenants}

    def read(node, tenant):
        answer = node.client(tenant.token).get(tenant.path("dashboard/runs"))
        answers[tenant.slug][answer.status] += 1

    in_threads([partial(read, node, tenant) for _ in range(times) for tenant in tenants
                for node in cluster.nodes])  # fmt: skip
    return answers


def test_a_worker_that_hangs_fails_its_own_tenants_and_nothing_is_lost(cluster, tenants):
    """It refuses nothing: whatever needs it waits. One writer of a node does, the other goes on."""
    server = cluster.databases.servers[2]
    dead, living = dead_and_living(cluster, tenants, server.port)
    with Load.of(cluster.nodes, tenants, 2000) as load:
        load.moves(dead | living)
        hang(server)
        try:
            for node in cluster.nodes:
                until(lambda n=node: tenants_away(n) == sorted(dead))
            gone, _ = counts(load, dead)
            stored_before, refused_before = counts(load, living)
            for _ in range(20):
                load.moves(living)
            stored_now, refused_now = counts(load, living)
            assert counts(load, dead)[0] == gone
            for node in cluster.nodes:
                until(lambda n=node: away(n) == (200, "degraded"))
            answers = read_all(cluster, tenants, 5)
            assert {slug for slug, seen in answers.items() if 200 in seen} == living, answers
        finally:
            resume(server)
        load.moves(dead | living)
    few_refused(stored_now - stored_before, refused_now - refused_before, 20)
    load.holds(cluster.reads)
    all_are_well(cluster)


class Reads:
    """Reads of each tenant on each node, more at once than a node has readers, again and again."""

    def __init__(self, cluster, tenants, each=3):
        self.statuses, self.ends = Counter(), threading.Event()
        self.threads = [
            threading.Thread(target=self._read, args=(node, tenant), daemon=True)
            for node in cluster.nodes for tenant in tenants for _ in range(each)
        ]  # fmt: skip

    def _read(self, node, tenant):
        while not self.ends.wait(0.1):
            answer = node.client(tenant.token).get(tenant.path("dashboard/runs"))
            self.statuses[answer.status] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *trouble):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def test_reads_of_a_worker_that_hangs_leave_readers_to_the_other_tenants(cluster, tenants):
    """Nothing is reported meanwhile: a read has to find out that it hangs, and that it is back."""
    server = cluster.databases.servers[2]
    dead, _ = dead_and_living(cluster, tenants, server.port)
    of_dead = [t for t in tenants if t.slug in dead]
    living = [t for t in tenants if t.slug not in dead]
    hang(server)
    try:
        with Reads(cluster, of_dead) as reads:
            for node in cluster.nodes:
                until(lambda n=node: tenants_away(n) == sorted(dead))
            answers = Counter()
            for _ in range(20):
                for seen in read_all(cluster, living, 1).values():
                    answers += seen
    finally:
        resume(server)
    print(f"reads of living tenants: {dict(answers)}, of the others: {dict(reads.statuses)}")
    assert set(reads.statuses) == {503}
    assert sum(answers.values()) - answers[200] <= sum(answers.values()) / 20, answers
    until(lambda: all(set(seen) == {200} for seen in read_all(cluster, tenants, 1).values()))
    all_are_well(cluster)


def waits_for_a_lock(cluster, node, tenant):
    """A report of a run whose row is locked is refused. What its worker's tenants see then: are their
    reads answered, and are they not said to be away?"""
    client, event = node.client(tenant.token), tenant.event(event="in_progress")
    assert client.post("/api/v1/telemetry", event).status == 202
    number = stored(cluster.reads, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
    session = Session(cluster.reads.database)
    try:
        session.run("BEGIN")
        locked = session.run(f"SELECT run_no FROM runs WHERE tenant_id = {number[0]['tenant_id']}"
                             f" AND run_id = '{event['run_id']}' FOR UPDATE")  # fmt: skip
        assert len(locked) == 1
        another = tenant.event(event="in_progress", run_id=event["run_id"])
        assert client.post("/api/v1/telemetry", another).status == 503
        read = client.get(tenant.path("dashboard/runs")).status
        told = (read, away(node), tenants_away(node))
    finally:
        session.close()
    until(lambda: client.post("/api/v1/telemetry", another).status == 202)
    return told


def test_a_report_that_waits_for_a_lock_does_not_make_its_worker_one_that_hangs(cluster, tenants):
    """Unless the worker takes two seconds to answer anything, as it may on a busy machine, but not
    each time."""
    node, told, well = cluster.nodes[0], [], (200, (200, "ok"), [])
    for tenant in tenants[:4]:
        until(lambda: (away(node), tenants_away(node)) == ((200, "ok"), []))
        told.append(waits_for_a_lock(cluster, node, tenant))
        if told[-1] == well:
            break
    assert well in told, told


def slow_looks(node):
    """How often a look at all alerts was not answered in time."""
    return len(re.findall(r"tick failed: [a-z ]+: PostgreSQL: no answer in time", node.log()))


def while_looks_take_long(cluster, node):
    """What health says while a look at all tenants takes longer than a tick has for it, on a worker that is
    well: from the first that is given up until after another."""
    session = Session(url_at(cluster, 1))
    try:
        session.run("BEGIN; SET LOCAL citus.override_table_visibility = off;"
                    " SET LOCAL citus.enable_manual_changes_to_shards = on")  # fmt: skip
        tables = session.run("SELECT relname FROM pg_class"
                             " WHERE relkind = 'r' AND relname ~ '^alerts_[0-9]+$'")  # fmt: skip
        assert tables
        session.run(f"LOCK TABLE {', '.join(row[0] for row in tables)} IN ACCESS EXCLUSIVE MODE")
        first, told = slow_looks(node), set()
        until(lambda: slow_looks(node) > first, 90)

        def after_another():
            told.add(away(node))
            return slow_looks(node) > first + 1

        until(after_another, 90)
        return told
    finally:
        session.close()


def test_a_look_at_all_tenants_that_takes_long_does_not_make_a_worker_one_that_hangs(cluster):
    """Unless the worker takes two seconds to answer anything, as it may on a busy machine, but not
    each time."""
    node, told, well = cluster.nodes[0], [], {(200, "ok")}
    while len(told) < 4 and well not in told:
        until(lambda: away(node) == (200, "ok"), 90)
        told.append(while_looks_take_long(cluster, node))
    assert well in told, told


def test_the_account_sees_an_event_that_is_gone_from_a_worker(cluster, tenants):
    with Load.of(cluster.nodes, tenants[:2], 5000) as load:
        load.moves()
    assert balance(cluster.reads, load.senders)[1:] == (0, 0)
    gone = sent_id(load.senders[0].number, 3)
    run_sql(cluster.reads.database, f"DELETE FROM events WHERE {ID} = '{gone}'")
    assert balance(cluster.reads, load.senders)[1:] == (1, 0)


def add_worker(cluster):
    """A third, which has no shards yet: its port."""
    url = cluster.databases.start_another()
    name = cluster.reads.database.rsplit("/", 1)[1].split("?")[0]
    run_sql(url, f"CREATE DATABASE {name}")
    run_sql(url.replace("/postgres", f"/{name}"), "CREATE EXTENSION citus")
    run_sql(cluster.reads.database, f"SELECT citus_add_node('127.0.0.1', {port_of(url)})")
    return port_of(url)


def moves_end(cluster):
    """Have all shards moved? Raises if one of them did not."""
    rows = stored(cluster.reads, "SELECT CAST(status AS TEXT) AS status, message"
                  " FROM pg_dist_background_task")  # fmt: skip
    failed = [row["message"] for row in rows if row["status"] in ("error", "runnable")]
    assert not any(failed), failed  # one that failed says why, and is tried again
    return rows and {row["status"] for row in rows} == {"done"}


def test_a_worker_is_added_under_load_and_nothing_is_lost(cluster, tenants):
    port, slugs = add_worker(cluster), {tenant.slug for tenant in tenants}
    with Load.of(cluster.nodes, tenants, 3000, PAUSE_S) as load:
        load.moves(slugs)
        run_sql(cluster.reads.database, "SELECT citus_rebalance_start()")
        until(lambda: moves_end(cluster), 900)
        moved = {slug for slug, where in ports(cluster).items() if where == port}
        load.moves(slugs)
    assert moved, "no tenant has moved"
    print(f"{len(moved)} of {len(slugs)} tenants moved while {load.holds(cluster.reads)} events were stored")
