"""Nodes that use different servers of a Citus cluster: the sessions that they need, what each goes on with
when one of these is killed, and a tenant that moves to a shard of its own.

The first node uses the coordinator, the others a worker each.
"""

import re

import pytest
from account import Load
from muster import Trouble
from postgres import run_sql
from servers import fence
from stored import stored
from topology import METRICS_TOKEN, running_cluster
from waiting import until

TENANTS = 6
PLACES = (
    "SELECT t.slug, t.tenant_id, p.groupid, p.shardid FROM tenants t JOIN pg_dist_placement p ON p.shardid ="
    " get_shard_id_for_distribution_column('agents', t.tenant_id)"
)
COORDINATOR, FIRST, SECOND = range(3)
LOOKS = 10  # of each node's watch, which asks all shards each time
FEW = 20  # sessions: those that Citus begins for itself, or that a busy machine has lost
WATCHED = re.compile(rb"^muster_watch_looks_total (\d+)$", re.M)


@pytest.fixture(name="cluster", scope="module")
def citus():
    with running_cluster(citus=True, down_s=3600, beside=(COORDINATOR, FIRST, SECOND)) as made:
        yield made


@pytest.fixture(name="tenants", scope="module")
def some_tenants(cluster):
    return cluster.tenants(TENANTS)


def places(cluster):
    return {row["slug"]: row for row in stored(cluster.reads, PLACES)}


def kill(cluster, number):
    """A server, with its sessions, of which some could still commit."""
    name = ("coordinator", "worker-1", "worker-2")[number]
    cluster.away[name] = float("inf")  # until bring_back()
    cluster.kill(name)
    fence(cluster.databases.servers[number])


def bring_back(cluster):
    cluster.away = dict.fromkeys(cluster.away, 0)
    until(lambda: cluster.look() or not cluster.away, 90)


def sessions_begun(cluster):
    """In the database of the cluster, on all of its servers, so far."""
    name = cluster.reads.database.rsplit("/", 1)[1].split("?")[0]
    asked = f"SELECT sessions FROM pg_stat_database WHERE datname = '{name}'"
    servers = [f"postgresql://muster@127.0.0.1:{server.port}/postgres" for server in cluster.databases.servers]
    return sum(int(run_sql(url, asked)[0][0]) for url in servers)


def looks(node):
    return int(WATCHED.search(node.client(METRICS_TOKEN).get("/metrics").body).group(1))


def test_nodes_that_watch_all_shards_begin_no_sessions_for_it(cluster, tenants):
    """One session of a node has one on each worker, and keeps it."""
    for tenant in tenants:
        assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
    for _ in range(2):  # in the first round nodes may still open what they will keep
        before, seen = sessions_begun(cluster), [looks(node) for node in cluster.nodes]
        until(lambda s=seen: all(looks(n) >= m + LOOKS for n, m in zip(cluster.nodes, s, strict=True)))
        begun = sessions_begun(cluster) - before
    print(f"{begun} sessions begun in {LOOKS} looks of each node")
    assert begun <= FEW


def test_nodes_beside_workers_go_on_without_the_coordinator(cluster, tenants):
    beside = (FIRST, SECOND)
    assert {place["groupid"] for place in places(cluster).values()} == {1, 2}
    with Load.of(cluster.nodes, tenants, 0) as load:
        load.moves()
        kill(cluster, COORDINATOR)
        until(lambda: cluster.nodes[COORDINATOR].client().get("/api/v1/health").status == 503)
        gone = load.stands(places=[COORDINATOR])
        for _ in range(5):
            load.moves(places=beside)
        assert load.stands(places=[COORDINATOR]) == gone
        for n in beside:
            node = cluster.nodes[n]
            assert node.client().get("/api/v1/health").status == 200
            for tenant in tenants:
                assert node.client(tenant.token).get(tenant.path("dashboard/runs")).status == 200
            with pytest.raises(Trouble):  # keys are on all servers
                node.cli("key", "add", "--tenant", tenants[0].slug)
        bring_back(cluster)
        load.moves()
    load.holds(cluster.reads)


def test_a_node_whose_own_worker_is_killed_serves_nothing_and_the_others_go_on(cluster, tenants):
    where = places(cluster)
    living = {slug for slug, place in where.items() if place["groupid"] == SECOND}
    assert living and living != {t.slug for t in tenants}
    with Load.of(cluster.nodes, tenants, 1000) as load:
        load.moves()
        kill(cluster, FIRST)
        until(lambda: cluster.nodes[FIRST].client().get("/api/v1/health").status == 503)
        gone = load.stands(places=[FIRST])
        for _ in range(5):
            load.moves(living, (COORDINATOR, SECOND))
        assert load.stands(places=[FIRST]) == gone
        for n in (COORDINATOR, SECOND):
            until(lambda n=n: cluster.nodes[n].client().get("/api/v1/health").status == 200)
        bring_back(cluster)
        load.moves()
    load.holds(cluster.reads)


def test_a_tenant_moves_to_a_shard_of_its_own_under_load(cluster, tenants):
    where = places(cluster)
    place = where[tenants[0].slug]
    to = SECOND if place["groupid"] == FIRST else FIRST
    servers = cluster.databases.servers
    with Load.of(cluster.nodes, tenants, 2000) as load:
        load.moves()
        run_sql(cluster.reads.database,
                f"SELECT isolate_tenant_to_new_shard('agents', {place['tenant_id']}, 'CASCADE',"
                " shard_transfer_mode := 'block_writes')")  # fmt: skip
        apart = places(cluster)[tenants[0].slug]
        assert apart["shardid"] not in {row["shardid"] for slug, row in where.items()}
        load.moves()
        run_sql(cluster.reads.database,
                f"SELECT citus_move_shard_placement({apart['shardid']}, '127.0.0.1', "
                f"{servers[place['groupid']].port}, '127.0.0.1', {servers[to].port})")  # fmt: skip
        assert places(cluster)[tenants[0].slug]["groupid"] == to
        load.moves()
    load.holds(cluster.reads)
