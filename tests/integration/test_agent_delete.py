"""Removing an agent: it no longer counts, its keys end, and what it reported stays."""

import json

from stored import of_tenant, stored
from waiting import until


def report(client, tenant, **fields):
    return client.post("/api/v1/telemetry", tenant.event(**fields))


def delete(tenant, name):
    return tenant.server.run("agent", "delete", name, "--tenant", tenant.slug)


def test_a_removed_agent_leaves_its_reports_and_nothing_else(server):
    tenant = server.add_tenant("--max-agents", "1")
    bound = tenant.agent_client("bü/ro")
    declared = {"agent_name": "bü/ro", "description": "d", "interval_seconds": 60,
                "business_kpis": [{"key": "k"}]}  # fmt: skip
    assert bound.post("/api/v1/agents/register", declared).status == 200
    event = tenant.event(agent_name="bü/ro")
    assert bound.post("/api/v1/telemetry", event).status == 202
    server.cli("model", "set", "own", "--tenant", tenant.slug, "--agent", "bü/ro")
    told = json.loads(server.cli("agent", "delete", "bü/ro", "--tenant", tenant.slug, "--json"))
    assert told == {"agent_name": "bü/ro", "keys_revoked": 1}
    until(lambda: bound.get("/api/v1/limits").status == 401)
    assert stored(server, f"SELECT 1 AS n FROM kpis WHERE {of_tenant(tenant)}") == []
    (row,) = stored(server, f"SELECT description, interval_seconds, registered_at FROM agents"
                            f" WHERE {of_tenant(tenant)}")  # fmt: skip
    assert row == {"description": "", "interval_seconds": None, "registered_at": None}
    model = tenant.client.get("/api/v1/agents/model?agent_name=b%C3%BC%2Fro").json()
    assert model["model"] is None
    story = tenant.client.get(tenant.path(f"runs/{event['run_id']}/events")).json()
    assert story["run"]["agent_name"] == "bü/ro"
    runs = tenant.client.get(tenant.path("dashboard/runs?agent_name=b%C3%BC%2Fro")).json()["runs"]
    assert [run["run_id"] for run in runs] == [event["run_id"]]
    assert report(tenant.client, tenant, agent_name="other").status == 202  # there is room again
    assert delete(tenant, "bü/ro").returncode == 1  # it is gone already
    log = json.loads(server.cli("audit", "list", "--tenant", tenant.slug, "--json"))["entries"]
    assert ("agent.delete", "bü/ro") in {(e["action"], e["target"]) for e in log}
    bound.close()
    tenant.client.close()


def test_a_removed_agent_that_reports_again_counts_again(server):
    tenant = server.add_tenant("--max-agents", "1")
    client, bound = tenant.client, server.client(tenant.add_key("a"))
    assert report(client, tenant, agent_name="a").status == 202
    server.cli("agent", "disable", "a", "--tenant", tenant.slug)
    server.cli("agent", "delete", "a", "--tenant", tenant.slug)
    until(lambda: bound.get("/api/v1/limits").status == 401)  # so the server has heard of it
    enable = server.run("agent", "enable", "a", "--tenant", tenant.slug)
    assert (enable.returncode, "no agent 'a'" in enable.stderr) == (1, True)
    assert report(client, tenant, agent_name="a").json()["status"] == "accepted"
    assert report(client, tenant, agent_name="b").status == 403
    server.cli("agent", "delete", "a", "--tenant", tenant.slug)
    until(lambda: report(client, tenant, agent_name="b").status != 403)
    until(lambda: report(client, tenant, agent_name="a").status == 403)  # "b" has its place
    assert client.post("/api/v1/agents/register", {"agent_name": "a"}).status == 403
    server.cli("agent", "delete", "b", "--tenant", tenant.slug)
    again = client.post("/api/v1/agents/register", {"agent_name": "a"})
    assert (again.status, again.json()["status"]) == (200, "registered")
    agent = client.get(tenant.path("agents/a")).json()
    assert (agent["state"], agent["last_seen_at"]) == ("never_reported", None)
    assert agent["counts"]["runs"] > 0  # what it reported stays
    bound.close()
    tenant.client.close()


def test_an_agent_that_never_was_cannot_be_removed(server):
    tenant = server.add_tenant()
    token = tenant.add_key("early")
    done = delete(tenant, "early")
    assert (done.returncode, done.stderr) == (1, "muster: there is no agent 'early'\n")
    client = server.client(token)
    assert client.get("/api/v1/limits").status == 200  # its key is as good as before
    client.close()
    assert tenant.client.request("DELETE", tenant.path("agents/x")).status == 403
    tenant.client.close()
