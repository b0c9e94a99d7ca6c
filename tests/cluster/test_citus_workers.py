"""Citus under load, while a worker is killed: three nodes, two workers.

A transaction of reports touches one worker: it is committed in one phase, and a worker that is away
fails its own tenants only. The cluster is one of its own (topology.py); Citus must be installed, or
CITUS_SOURCE name its source.
"""

import os
import time
from collections import Counter

import pytest
from account import Sender, balance
from nodes import in_threads
from postgres import Session
from stored import stored
from topology import Cluster
from waiting import until

TENANTS = 8
PLACES = (
    "SELECT t.slug, n.nodeport FROM tenants t JOIN pg_dist_placement p ON p.shardid ="
    " get_shard_id_for_distribution_column('agents', t.tenant_id) JOIN pg_dist_node n"
    " ON n.groupid = p.groupid"
)
# Each transaction of two phases leaves its name there; what was inserted stays counted.
PHASES = "SELECT n_tup_ins AS n FROM pg_stat_all_tables WHERE relname = 'pg_dist_transaction'"


@pytest.fixture(name="cluster", scope="module")
def citus():
    kept = dict(os.environ)
    made = Cluster(citus=True, say=lambda text: None, down_s=3600)
    try:
        yield made.start()
    finally:
        made.stop()
        os.environ.clear()
        os.environ.update(kept)


@pytest.fixture(name="tenants", scope="module")
def eight_tenants(cluster):
    made = [cluster.nodes[0].add_tenant("--max-agents", "1000") for _ in range(TENANTS)]
    for node in cluster.nodes:
        for tenant in made:  # each knows the key, whose first use is stored
            until(lambda n=node, t=tenant: n.client(t.token).get("/api/v1/limits").status == 200)
    return made


def ports(cluster):
    return {row["slug"]: row["nodeport"] for row in stored(cluster.reads, PLACES)}


def port_of_worker(cluster, number):
    return cluster.databases.servers[number].port


class Load:
    """A sender for each tenant and node, and what each is answered."""

    def __init__(self, cluster, tenants, first):
        self.senders = [
            Sender(first + len(cluster.nodes) * t + n, tenant, lambda node=node: node, pause=0.02)
            for t, tenant in enumerate(tenants)
            for n, node in enumerate(cluster.nodes)
        ]

    def __enter__(self):
        for sender in self.senders:
            sender.start()
        return self

    def __exit__(self, *trouble):
        in_threads([sender.stop for sender in self.senders])

    def moves(self, slugs):
        """Each of their senders has its next batch acknowledged."""
        chosen = [s for s in self.senders if s.tenant.slug in slugs]
        before = [s.acknowledged for s in chosen]
        until(lambda: all(s.acknowledged > n for s, n in zip(chosen, before, strict=True)), 90)

    def counts(self, slugs):
        """Batches that were acknowledged, and refused by status."""
        chosen = [s for s in self.senders if s.tenant.slug in slugs]
        return (sum(s.acknowledged // s.batch for s in chosen),
                sum((s.refused for s in chosen), Counter()))  # fmt: skip


def two_phases(cluster):
    """Sessions tell their counts within a second of being idle."""
    return stored(cluster.reads, PHASES)[0]["n"]


def test_reports_are_committed_in_one_phase(cluster, tenants):
    assert len(set(ports(cluster).values())) == 2
    slugs = {tenant.slug for tenant in tenants}
    with Load(cluster, tenants, 0) as load:
        load.moves(slugs)
        before = two_phases(cluster)
        for _ in range(3):
            load.moves(slugs)
    time.sleep(2)  # counts are told late
    assert two_phases(cluster) == before
    acknowledged, lost, twice = balance(cluster.reads, load.senders)
    assert acknowledged and (lost, twice) == (0, 0)


def test_what_touches_two_workers_takes_two_phases(cluster, tenants):
    """The control: the count above sees them."""
    before, session = two_phases(cluster), Session(cluster.reads.database)
    session.run("BEGIN")
    session.run("UPDATE agents SET enabled = enabled")
    session.run("COMMIT")
    session.close()
    until(lambda: two_phases(cluster) > before)


def away(node):
    answer = node.client().get("/api/v1/health")
    return answer.status, answer.json()["status"]


def test_a_killed_worker_fails_its_own_tenants_and_nothing_is_lost(cluster, tenants):
    places, port = ports(cluster), port_of_worker(cluster, 1)
    dead = {slug for slug, where in places.items() if where == port}
    living = {t.slug for t in tenants} - dead
    assert dead and living
    with Load(cluster, tenants, 1000) as load:
        load.moves(dead | living)
        stored_before, refused_before = load.counts(living)
        process = cluster.named()["worker-1"]
        cluster.kill("worker-1")
        process.wait(60)
        for node in cluster.nodes:
            until(lambda n=node: away(n) == (200, "degraded"))
        gone, _ = load.counts(dead)
        for _ in range(5):
            load.moves(living)
        for node in cluster.nodes:
            assert away(node) == (200, "degraded")
        assert load.counts(dead)[0] == gone
        stored_now, refused_now = load.counts(living)
        cluster.away["worker-1"] = 0
        until(lambda: cluster.look() or not cluster.away, 90)
        load.moves(dead | living)
    batches, refused = stored_now - stored_before, sum((refused_now - refused_before).values())
    print(f"{batches} batches of living tenants were stored, {refused} refused")
    assert refused <= (batches + refused) / 100
    acknowledged, lost, twice = balance(cluster.reads, load.senders)
    assert acknowledged and (lost, twice) == (0, 0)
    for node in cluster.nodes:
        until(lambda n=node: away(n) == (200, "ok"))
