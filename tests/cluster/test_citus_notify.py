"""Citus: nodes that use different servers are told of changes, as those of one server are.

Under tests/cluster/with_citus, which starts a coordinator and two workers.
"""

from contextlib import ExitStack
from statistics import median

import pytest
from muster import Server, running
from people import platform_admin
from test_citus import psql, url_of_worker
from test_nodes_truth import (
    CHANGES,
    HEARD_S,
    ROUNDS,
    SOON_S,
    Changes,
    seconds_until_heard,
    seconds_until_seen,
)
from waiting import until

PAIRS = {"coordinator to worker": (0, 1), "worker to coordinator": (1, 0), "worker to worker": (1, 2)}


@pytest.fixture(name="nodes", scope="module")
def a_node_at_each_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    with ExitStack() as stack:
        first = stack.enter_context(running("postgres", folder))
        nodes = [first]
        for n in (0, 1):
            node = Server(
                folder / f"worker-{n}", url_of_worker(first.database, n),
                environment={"MUSTER_MASTER_KEY_FILE": str(first.data / "master.key")},
            )  # fmt: skip
            stack.callback(lambda s=node: s.process and s.kill())
            nodes.append(node.start())
        for node in nodes:
            node.admin = platform_admin(node)
        yield nodes


def best_of(rounds_of, limit):
    rounds = []
    while not rounds or median(rounds[-1]) >= limit:
        assert len(rounds) < ROUNDS, rounds
        rounds.append([rounds_of() for _ in range(CHANGES)])


@pytest.mark.parametrize("pair", PAIRS)
def test_a_disabled_agent_is_refused_by_the_node_of_another_server(nodes, pair):
    node, other = (nodes[n] for n in PAIRS[pair])
    made = Changes(node, other)
    best_of(lambda: seconds_until_seen(made.disabled), SOON_S)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_page_hears_of_what_the_node_of_another_server_took_in(nodes, pair):
    node, other = (nodes[n] for n in PAIRS[pair])
    tenant = nodes[0].add_tenant()
    until(lambda: other.client(tenant.token).get("/api/v1/limits").status == 200)
    until(lambda: node.client(tenant.token).get("/api/v1/limits").status == 200)
    stream = other.client(tenant.token)
    stream.connection.request(
        "GET", tenant.path("stream"), headers={"Authorization": f"Bearer {tenant.token}"}
    )
    answer = stream.connection.getresponse()
    assert answer.status == 200
    while b"ready" not in answer.readline():
        pass
    best_of(lambda: seconds_until_heard(node, tenant, answer), HEARD_S)
    stream.close()


def test_a_node_of_a_worker_goes_on_without_the_coordinator_and_finds_it_again(nodes):
    node, other = nodes[1], nodes[0]
    made = Changes(node, other)
    psql(other.database, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname ="
         " current_database() AND application_name = 'muster'")  # fmt: skip
    until(lambda: "that use other servers are noticed within a second only" in node.log())
    until(lambda: made.report("a"))
    until(lambda: median(seconds_until_seen(made.disabled) for _ in range(CHANGES)) < SOON_S)
