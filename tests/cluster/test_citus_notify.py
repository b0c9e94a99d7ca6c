"""Citus: nodes that use different servers are told of changes, as those of one server are.

Under tests/cluster/with_citus, which starts a coordinator and two workers.
"""

import time
import uuid
from contextlib import ExitStack
from statistics import median

import pytest
from account import ID
from muster import running
from people import platform_admin
from stored import of_tenant, stored
from test_citus import beside, psql, url_of_worker
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

AHEAD_S = 90
# The clock of a server, as far as it is asked for the time in this database.
WRONG_CLOCK = (
    "SET citus.enable_ddl_propagation = off; CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz"
    f" LANGUAGE sql AS $$SELECT pg_catalog.clock_timestamp() + interval '{AHEAD_S} s'$$",
    "SET citus.enable_ddl_propagation = off;"
    " ALTER DATABASE {} SET search_path = public, pg_catalog",
)
PAIRS = {"coordinator to worker": (0, 1), "worker to coordinator": (1, 0), "worker to worker": (1, 2)}


@pytest.fixture(name="nodes", scope="module")
def a_node_at_each_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    with ExitStack() as stack:
        first = stack.enter_context(running("postgres", folder))
        urls = [url_of_worker(first.database, n) for n in (0, 1)]
        others = [beside(first, folder / f"worker-{n}", url) for n, url in enumerate(urls)]
        nodes = [first, *map(stack.enter_context, others)]
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


def test_a_node_of_a_worker_finds_the_coordinator_again(nodes):
    """It listens there; what was changed between two of its sessions is noticed too."""
    node, other = nodes[1], nodes[0]
    made = Changes(node, other)
    ended = psql(other.database, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE"
                 " datname = current_database() AND application_name = 'muster'")  # fmt: skip
    assert int(ended) > 0
    until(lambda: made.report("a"))
    until(lambda: median(seconds_until_seen(made.disabled) for _ in range(CHANGES)) < SOON_S)


def seconds_ahead(node, tenant):
    """How far the node's clock is ahead, by when it says that an event came; in seconds."""
    event = tenant.event(agent_name="a", event_id=str(uuid.uuid4()))
    before = time.time()
    answer = node.client(tenant.token).post("/api/v1/telemetry", event)
    assert answer.status == 202, answer.body
    (row,) = stored(node, "SELECT received_at AS us FROM events"
                    f" WHERE {of_tenant(tenant)} AND {ID} = '{event['event_id']}'")  # fmt: skip
    return row["us"] / 1e6 - before


def test_a_node_of_a_worker_goes_by_the_clock_of_the_coordinator(tmp_path):
    with running("postgres", tmp_path) as first:
        url, tenant = url_of_worker(first.database, 0), first.add_tenant()
        for statement in WRONG_CLOCK:
            psql(url, *statement.format(url.rsplit("/", 1)[1]).split("; "))
        asked = psql(url, "SELECT EXTRACT(EPOCH FROM clock_timestamp() - pg_catalog.clock_timestamp())")
        assert round(float(asked)) == AHEAD_S
        with beside(first, tmp_path / "on-a-worker", url) as node:
            until(lambda: abs(seconds_ahead(node, tenant)) < AHEAD_S / 2)
            assert abs(seconds_ahead(first, tenant)) < AHEAD_S / 2
