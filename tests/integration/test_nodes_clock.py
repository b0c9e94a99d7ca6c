"""Nodes whose clocks are 90 seconds off: no false alert, no message twice, and the grace of keys as it is."""

import time

import pytest
from conftest import running
from hooks import LOCAL, Hook, alerts, fall_silent
from muster import Clock
from nodes import more_servers
from receiver import receiving
from stored import of_tenant, stored
from waiting import always, until

INTERVAL, GRACE = 10, 60
TURNS = 10  # longer than interval and grace since the nodes began to listen
KEY_GRACE = 300
ATTEMPT_S = 15  # then an attempt to deliver a message has failed
LOOKS = 30  # of the watch, ten in a second: the courier has looked for what is due meanwhile
AGENTS = [f"agent-{i}" for i in range(5)]


@pytest.mark.parametrize("skew", [90, -90])
def test_a_node_whose_clock_is_off_raises_no_false_alert(store, tmp_path, skew):
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    clock = Clock(tmp_path)
    off = {"MUSTER_TEST_SKEW_S": str(skew)}
    with (
        running(store, tmp_path, arguments=LOCAL, environment=clock.environment) as first,
        more_servers(first, tmp_path, 2, [{}, off]) as (_, skewed),
    ):
        tenant = first.add_tenant()
        other = skewed.client(tenant.token)
        until(lambda: other.get("/api/v1/limits").status == 200)
        for name in AGENTS:
            body = {"agent_name": name, "interval_seconds": INTERVAL}
            assert tenant.client.post("/api/v1/agents/register", body).status == 200
        for _ in range(TURNS):  # half of the agents report to a right node, half to the skewed one
            since = clock.now() - 4  # those before are nine seconds older
            for number, name in enumerate(AGENTS):
                client = (tenant.client, other)[number % 2]
                answer = client.post("/api/v1/telemetry", tenant.event(agent_name=name))
                assert answer.status == 202, answer.body
            recent = f"last_seen_at > {int(since * 1_000_000)}"
            seen = f"SELECT COUNT(*) AS n FROM agent_signs WHERE {of_tenant(tenant)} AND {recent}"
            until(lambda seen=seen: stored(first, seen)[0]["n"] == len(AGENTS))
            always(lambda: alerts(tenant) == [], first, skewed)
            clock.advance(INTERVAL * 0.9)
        # the control: when they do fall silent, each has one alert
        clock.advance(INTERVAL + GRACE)
        until(lambda: len(alerts(tenant)) == len(AGENTS))


def skewed_by(seconds):
    return {"MUSTER_TEST_SKEW_S": str(seconds)}


@pytest.mark.parametrize("skew", [90, -90])
def test_a_rotated_key_has_its_grace_on_a_node_whose_clock_is_off(store, tmp_path, skew):
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    clock = Clock(tmp_path)
    with running(store, tmp_path, environment=clock.environment) as first:
        tenant = first.add_tenant()

        def works(node):
            return node.client(tenant.token).get("/api/v1/limits").status == 200

        assert tenant.client.post("/api/v1/agents/refresh-key").status == 200
        clock.advance(KEY_GRACE - 60)
        # it learns of the key now: by its own clock the grace would be over, or would last on
        with more_servers(first, tmp_path, 1, [skewed_by(skew)]) as (skewed,):
            always(lambda: works(skewed) and works(first), first, skewed)
            clock.advance(70)
            until(lambda: not works(first))
            until(lambda: not works(skewed), 40)  # 90 seconds more by its own clock


def sends_once(tenant, clock, receiver, others):
    """A message whose attempt lasts while the others start and look. None: it lasted for too long."""
    receiver.hold.clear()
    fall_silent(tenant, clock)
    first = receiver.next()
    began = time.monotonic()
    with others() as (other,):
        enough = other.looks() + LOOKS
        until(lambda: other.looks() >= enough or receiver.has_more())
        in_time = time.monotonic() - began < ATTEMPT_S / 2
        twice = receiver.has_more() and receiver.next().id == first.id
        receiver.hold.set()
    return not twice if in_time else None


@pytest.mark.parametrize("skews", [(0, 90), (-90, 0)])
def test_a_node_whose_clock_is_off_does_not_take_over_what_another_delivers(store, tmp_path, skews):
    """A lease lasts for a minute: by its own clock the second node would have it at once."""
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        clock = Clock(folder)
        environment = {**clock.environment, **skewed_by(skews[0])}
        with (
            running(store, folder, arguments=LOCAL, environment=environment) as first,
            receiving() as receiver,
        ):
            tenant = first.add_tenant()
            Hook(tenant, receiver.url)
            once = sends_once(tenant, clock, receiver,
                              lambda: more_servers(first, folder, 1, [skewed_by(skews[1])]))  # fmt: skip
        assert once is not False, "it was sent twice"
        if once:
            return
    pytest.fail("the machine was away each time")
