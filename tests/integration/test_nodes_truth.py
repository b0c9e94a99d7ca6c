"""Three servers on one PostgreSQL agree: on who may report, on what pages show, and on who writes."""

import itertools
import threading
import time
from statistics import median

import pytest
from muster import WATCHES, running
from nodes import more_servers
from people import platform_admin
from waiting import PATIENCE_S, until

CHANGES = 9
SOON_S = 0.4  # a node that is not told of changes looks for them each second: its median is about 1
ROUNDS = 3  # a busy machine is late now and then: the best of them counts
HEARD_S = 1  # there are 0.8 s between two ticks; a page that is not told gets one every five seconds
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
        self.seen, self.ends = [], threading.Event()

    def run(self):
        while not self.ends.is_set():
            events = {"events": [self.tenant.event(agent_name="a")]}
            sent = time.monotonic()
            answer = self.client.post("/api/v1/telemetry/batch", events)
            self.seen.append((sent, answer.json()["accepted"] == 1))

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
    for number, reporter in enumerate(reporters):
        verdicts = reporter.verdicts()
        assert changes(verdicts) == 1, f"node {number // 2} wavers"
        after = {accepted for sent, accepted in verdicts if sent > answered}
        assert number >= 2 or after <= {enabled}, "the node that changed it wavers"


class Changes:
    """Changes of a tenant on one node, each with a request to another that shows when it holds there."""

    def __init__(self, node, other):
        self.node, self.tenant = node, node.add_tenant("--max-agents", "1")
        self.other, self.numbers = other.client(self.tenant.token), itertools.count(2)
        self.path = f"/api/v1/tenants/{self.tenant.slug}"
        until(lambda: self.report("a"))

    def report(self, agent):
        events = {"events": [self.tenant.event(agent_name=agent)]}
        answer = self.other.post("/api/v1/telemetry/batch", events)
        return answer.status == 202 and answer.json()["accepted"] == 1

    def patch(self, path, body):
        answer = self.node.admin.request("PATCH", path, body)
        assert answer.status == 200, answer.body

    def switch(self, enabled):
        """The agent, which the other node knows as it was before."""
        self.patch(f"{self.path}/agents/a", {"enabled": not enabled})
        until(lambda: self.report("a") != enabled)
        self.patch(f"{self.path}/agents/a", {"enabled": enabled})
        return lambda: self.report("a") == enabled

    def disabled(self):
        return self.switch(False)

    def enabled(self):
        return self.switch(True)

    def set_cap(self, agents):
        self.patch(self.path, {"max_agents": agents})

    def plan(self):
        limit = 1_000_000 + next(self.numbers)
        self.patch(self.path, {"rate_limit": limit})
        return lambda: self.other.get("/api/v1/limits").json()["rate_limit"] == limit

    def key(self):
        """Revokes one that was used on the other node."""
        made = self.node.make(f"{self.path}/keys", {})
        until(lambda: self.other.get("/api/v1/limits", token=made["token"]).status == 200)
        assert self.node.admin.delete(f"{self.path}/keys/{made['key_id']}").status == 200
        return lambda: self.other.get("/api/v1/limits", token=made["token"]).status == 401


def seconds_until_seen(change):
    """From the answer to the change on one node until the first request to the other that it holds for
    was sent: how long requests take counts for nothing."""
    holds = change()
    answered = sent = time.monotonic()
    while not holds():
        sent = time.monotonic()
        assert sent < answered + PATIENCE_S, "it never holds"
    return sent - answered


@pytest.mark.parametrize("what", ["disabled", "enabled", "plan", "key"])
def test_a_change_holds_elsewhere_within_a_fraction_of_a_second(nodes, what):
    """Each change comes right after the one before was seen: a node that only looks each second has
    just looked."""
    made, rounds = Changes(nodes[0], nodes[1]), []
    while not rounds or median(rounds[-1]) >= SOON_S:
        assert len(rounds) < ROUNDS, rounds
        rounds.append([seconds_until_seen(getattr(made, what)) for _ in range(CHANGES)])


def test_a_cap_holds_on_every_node_from_the_answer_on(nodes):
    """The database compares: no node has to be told."""
    made = Changes(nodes[0], nodes[1])
    for n in range(2, 2 + CHANGES):
        assert not made.report(f"agent-{n}"), "the tenant is full"
        made.set_cap(n)
        assert made.report(f"agent-{n}"), "there is room for one more"
        made.set_cap(n + 100)
        made.set_cap(n)


def seconds_until_heard(node, tenant, page):
    """From the answer to a report to the node until the page's tick."""
    event = tenant.event(agent_name="a")
    assert node.client(tenant.token).post("/api/v1/telemetry", event).status == 202
    answered = time.monotonic()
    until(lambda: b"tick" in page.readline())
    return time.monotonic() - answered


def test_a_page_on_one_node_hears_within_a_second_of_what_another_took_in(nodes):
    """A page that is not told of it gets the ticks that come every five seconds, each time."""
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
    rounds = []
    while not rounds or median(rounds[-1]) >= HEARD_S:
        assert len(rounds) < ROUNDS, rounds
        rounds.append([seconds_until_heard(nodes[0], tenant, answer) for _ in range(CHANGES)])
        print(f"heard after {median(rounds[-1]):.2f} s, at most {max(rounds[-1]):.2f} s")
    stream.close()
