"""POST /api/v1/heartbeat: a process says that it is alive."""

from contextlib import closing
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import pytest
from stored import change, of_tenant, stored
from waiting import until

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def beat(client, name):
    return client.post(f"/api/v1/heartbeat?client_id={quote(name, safe='')}")


def noted(tenant):
    """When each process was last heard of."""
    rows = stored(
        tenant.server, f"SELECT client_id, last_at FROM heartbeats WHERE {of_tenant(tenant)}"
    )
    return {row["client_id"]: row["last_at"] for row in rows}


def agents(tenant):
    """When each agent was last heard of, as stored."""
    rows = stored(
        tenant.server,
        "SELECT a.agent_name, s.last_seen_at FROM agents a JOIN agent_signs s"
        f" ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id WHERE a.{of_tenant(tenant)}",
    )
    return {row["agent_name"]: row["last_seen_at"] for row in rows}


def microseconds(text):
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize("name", ["worker-1", "", "ü/é?&", "€" * 256, "another-tenants-slug"])
def test_a_process_is_noted_as_alive_under_the_keys_tenant(tenant, name):
    answer = beat(tenant.client, name)
    assert answer.status == 200, answer.body
    said = answer.json()
    assert list(said) == ["status", "client_id", "received_at"]
    assert (said["status"], said["client_id"]) == ("ok", name)
    assert noted(tenant) == {name: microseconds(said["received_at"])}
    later = beat(tenant.client, name).json()["received_at"]
    assert noted(tenant) == {name: microseconds(later)}
    assert agents(tenant) == {}


def test_an_agents_own_key_is_a_sign_of_life_of_that_agent(tenant):
    for name in ("own", "other"):
        tenant.client.post("/api/v1/agents/register", {"agent_name": name})
    assert beat(tenant.client, "own").status == 200
    assert agents(tenant) == {"own": None, "other": None}  # a workspace key speaks for no agent
    client = tenant.agent_client("own")
    said = beat(client, "a process").json()
    client.close()
    assert agents(tenant) == {"own": microseconds(said["received_at"]), "other": None}


def test_a_heartbeat_makes_no_agent_known(tenant):
    client = tenant.agent_client("never-seen")
    assert beat(client, "p").status == 200
    client.close()
    assert agents(tenant) == {}
    assert list(noted(tenant)) == ["p"]


def test_what_an_agent_sends_is_a_sign_of_life(own_server, clock):
    tenant = own_server.add_tenant()
    run = tenant.event()["run_id"]
    report = {"run_id": run, "timestamp": "2025-01-02T03:04:05Z"}
    sent = {
        "event": ("telemetry", tenant.event(agent_name="event")),
        "batch": ("telemetry/batch", {"events": [tenant.event(agent_name="batch")]}),
        "business": ("telemetry/business", {**report, "agent_name": "business"}),
        "llm": ("telemetry/llm", {**report, "agent_name": "llm", "model": "m"}),
    }
    for name, (path, body) in sent.items():
        assert tenant.client.post(f"/api/v1/{path}", body).status == 202, name
    first = agents(tenant)
    for name in sent:  # the first sign is stored with the report
        assert abs(first[name] / 1_000_000 - clock.now()) < 60
    tenant.client.post("/api/v1/agents/register", {"agent_name": "silent"})
    own_server.cli("agent", "disable", "event", "--tenant", tenant.slug)
    clock.advance(86400)
    for name, (path, body) in sent.items():
        answer = tenant.client.post(f"/api/v1/{path}", body)
        assert answer.status == 202, name
    disabled = sent["event"][1]
    until(lambda: tenant.client.post("/api/v1/telemetry", disabled).json()["status"] == "rejected")
    tenant.client.close()
    own_server.stop()  # what is known only in memory is stored
    later = agents(tenant)
    for name in sent:
        assert abs(later[name] / 1_000_000 - clock.now()) < 60
    assert later["silent"] is None
    own_server.start()


def test_after_a_crash_last_seen_is_a_few_seconds_old_at_most(own_server, clock):
    tenant = own_server.add_tenant()
    tenant.client.post("/api/v1/telemetry", tenant.event())
    clock.advance(86400)
    tenant.client.post("/api/v1/telemetry", tenant.event())
    until(lambda: agents(tenant)["collector"] / 1_000_000 >= clock.now() - 60)
    tenant.client.close()
    own_server.kill()
    assert abs(agents(tenant)["collector"] / 1_000_000 - clock.now()) < 60
    own_server.start()


def test_the_oldest_processes_make_room_for_new_ones(own_server):
    tenant = own_server.add_tenant()
    tenant.client.close()
    own_server.stop()
    change(own_server, "INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
           " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
           f" SELECT t.tenant_id, 'p' || n.i, n.i, n.i FROM n JOIN tenants t ON t.slug = '{tenant.slug}'")  # fmt: skip
    own_server.start()
    with closing(own_server.client(tenant.token)) as client:
        assert beat(client, "p1").status == 200  # the oldest no longer
        assert beat(client, "new").status == 200
    kept = noted(tenant)
    assert len(kept) == 9001
    assert {"p1", "new", "p1002", "p10000"} <= set(kept) and not {"p2", "p1001"} & set(kept)
