"""Three servers on one PostgreSQL agree: on who may report, on what pages show, and on who writes."""

import os
import threading
import time

import pytest
from conftest import running
from muster import WATCHES
from nodes import more_servers
from people import platform_admin
from waiting import until

SOON_S = 0.2  # after the answer, elsewhere
SLACK_S, TURNS = 2, 10  # of a machine that does other things too: so many requests take as long
TRIES = 9  # a busy machine is late now and then, and in time more often
ENOUGH = 5  # verdicts of each reporter, before and after the change


@pytest.fixture(name="nodes", scope="module")
def three_nodes(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    folder = tmp_path_factory.mktemp("nodes")
    token = {"MUSTER_METRICS_TOKEN": WATCHES}
    with (
        running(store, folder, environment=token) as first,
        more_servers(first, folder, 2) as others,
    ):
        first.admin = platform_admin(first)
        yield [first, *others]


def set_enabled(node, tenant, enabled):
    path = f"/api/v1/tenants/{tenant.slug}/agents/a"
    answer = node.admin.request("PATCH", path, {"enabled": enabled})
    assert answer.status == 200, answer.body


def is_accepted(node, tenant):
    events = {"events": [tenant.event(agent_name="a")]}
    return node.client(tenant.token).post("/api/v1/telemetry/batch", events).json()["accepted"] == 1


class Reporter(threading.Thread):
    """Reports to a node as fast as it can; keeps when each verdict came."""

    def __init__(self, node, tenant):
        super().__init__(daemon=True)
        self.client, self.tenant = node.client(tenant.token), tenant
        self.seen, self.ends, self.longest_s = [], threading.Event(), 0

    def run(self):
        while not self.ends.is_set():
            events = {"events": [self.tenant.event(agent_name="a")]}
            sent = time.monotonic()
            answer = self.client.post("/api/v1/telemetry/batch", events)
            self.seen.append((sent, answer.json()["accepted"] == 1))
            self.longest_s = max(self.longest_s, time.monotonic() - sent)

    def has_said(self, accepted):
        """Often enough, and last."""
        last = self.seen[-ENOUGH:]
        return len(last) == ENOUGH and all(verdict == accepted for _, verdict in last)

    def verdicts(self):
        self.ends.set()
        self.join()
        return self.seen


def changes(verdicts):
    return sum(a != b for (_, a), (_, b) in zip(verdicts, verdicts[1:], strict=False))


@pytest.mark.parametrize("enabled", [False, True])
def test_a_disabled_agent_is_refused_everywhere_at_once_and_no_node_wavers(nodes, enabled):
    tenant = nodes[0].add_tenant()
    for node in nodes:  # each knows the key and the agent
        event = tenant.event(agent_name="a")
        assert node.client(tenant.token).post("/api/v1/telemetry", event).status == 202
    set_enabled(nodes[0], tenant, not enabled)
    for node in nodes:
        until(lambda n=node: is_accepted(n, tenant) != enabled)
    reporters = [Reporter(node, tenant) for node in nodes for _ in range(2)]
    for reporter in reporters:
        reporter.start()
    until(lambda: all(reporter.has_said(not enabled) for reporter in reporters))
    set_enabled(nodes[0], tenant, enabled)
    answered = time.monotonic()
    until(lambda: all(reporter.has_said(enabled) for reporter in reporters))
    soon_s = SOON_S + SLACK_S + TURNS * max(reporter.longest_s for reporter in reporters)
    for number, reporter in enumerate(reporters):
        verdicts = reporter.verdicts()
        grace = 0 if number < 2 else soon_s
        late = [accepted for sent, accepted in verdicts if sent > answered + grace]
        assert set(late) <= {enabled}, f"node {number // 2}"
        assert changes(verdicts) == 1, f"node {number // 2} wavers"


def hears_of_three(node, tenant, page):
    """Reports to the node and waits for the page's tick, three times: seconds from the first tick."""
    heard = []
    for _ in range(3):
        event = tenant.event(agent_name="a")
        assert node.client(tenant.token).post("/api/v1/telemetry", event).status == 202
        until(lambda: b"tick" in page.readline())
        heard.append(time.monotonic())
    return heard[2] - heard[0]


def test_a_page_on_one_node_hears_within_a_second_of_what_another_took_in(nodes):
    tenant = nodes[0].add_tenant()
    assert nodes[1].client(tenant.token).get("/api/v1/limits").status == 200
    stream = nodes[1].client(tenant.token)
    stream.connection.request(
        "GET", tenant.path("stream"), headers={"Authorization": f"Bearer {tenant.token}"}
    )
    answer = stream.connection.getresponse()
    assert answer.status == 200
    while b"ready" not in answer.readline():
        pass
    # A page that is not told of it gets the ticks that come every five seconds, each time.
    seconds, most = [], TRIES // 2 + 1
    while sum(s < 9 for s in seconds) < most:
        seconds.append(hears_of_three(nodes[0], tenant, answer))
        assert sum(s >= 9 for s in seconds) < most, f"late most of the time: {seconds}"
    stream.close()


def is_beside_writers(node):
    return b"\nmuster_other_nodes_writing 1\n" in node.metrics()


@pytest.mark.skipif("MUSTER_TEST_CITUS" in os.environ, reason="groups are for one server there")
def test_a_node_knows_whether_others_write_often(nodes):
    tenant = nodes[0].add_tenant()
    assert not any(map(is_beside_writers, nodes))
    reporters = [Reporter(nodes[0], tenant) for _ in range(4)]
    for one in reporters:
        one.start()
    until(lambda: all(map(is_beside_writers, nodes[1:])))
    assert not is_beside_writers(nodes[0]), "it hears itself"
    for one in reporters:
        one.verdicts()
    until(lambda: not any(map(is_beside_writers, nodes)))
