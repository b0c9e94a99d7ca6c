"""Nodes whose clocks are 90 seconds off raise no alert for an agent that reports to another."""

import pytest
from conftest import running
from hooks import LOCAL, alerts
from muster import Clock
from nodes import more_servers
from stored import of_tenant, stored
from waiting import always, until

INTERVAL, GRACE = 10, 60
TURNS = 10  # longer than interval and grace since the nodes began to listen
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
