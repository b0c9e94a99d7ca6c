"""Agents that report for the first time, many at once: each is added once, and the cap is exact."""

import concurrent.futures

from postgres import is_distributed
from stored import change, of_tenant, stored

BATCH = "/api/v1/telemetry/batch"
REGISTER = "/api/v1/agents/register"


def names_of(n):
    return [f"agent-{i:03}" for i in range(n)]


def send(tenant, names):
    """The status of each event, one for each name."""
    events = [tenant.event(agent_name=name) for name in names]
    answer = tenant.client.post(BATCH, {"events": events})
    assert answer.status == 202, answer.body
    return [result["status"] for result in answer.json()["results"]]


def agents_of(server, tenant):
    return stored(
        server,
        "SELECT a.agent_name, a.first_seen_at, s.last_seen_at FROM agents a JOIN agent_signs s"
        " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id"
        f" WHERE a.{of_tenant(tenant)} AND a.deleted_at IS NULL ORDER BY a.agent_name",
    )


def counts():
    """The table with the count that the cap goes by."""
    return "agent_counts" if is_distributed() else "tenants"


def counted(server, tenant):
    """The number of agents as people see it, which is also the one that the cap goes by."""
    (row,) = stored(server, f"SELECT agents FROM {counts()} WHERE {of_tenant(tenant)}")
    shown = server.client(tenant.token).get(f"/api/v1/tenants/{tenant.slug}").json()["agents"]
    assert shown == row["agents"]
    return shown


def test_new_and_known_agents_of_one_batch_are_added_once_and_count_as_seen(server):
    tenant = server.add_tenant("--max-agents", "1000")
    names = [*names_of(120), "büro \"x\\", "l" * 256]
    assert set(send(tenant, names[:30])) == {"accepted"}
    assert set(send(tenant, [*reversed(names), *names])) == {"accepted"}
    rows = agents_of(server, tenant)
    assert sorted(row["agent_name"] for row in rows) == sorted(names)
    assert all(row["last_seen_at"] >= row["first_seen_at"] > 0 for row in rows)
    assert counted(server, tenant) == len(names)
    runs = stored(server, f"SELECT agent_id FROM runs WHERE {of_tenant(tenant)}")
    assert len(runs) == 30 + 2 * len(names)
    tenant.client.close()


def test_the_cap_is_exact_when_a_batch_brings_more_agents_than_have_room(server):
    tenant = server.add_tenant("--max-agents", "50")
    assert set(send(tenant, names_of(10))) == {"accepted"}
    said = send(tenant, names_of(100))
    assert said == ["accepted"] * 50 + ["rejected"] * 50
    assert len(agents_of(server, tenant)) == counted(server, tenant) == 50
    server.cli("tenant", "set", tenant.slug, "--max-agents", "100")
    assert send(tenant, names_of(101)) == ["accepted"] * 100 + ["rejected"]
    assert counted(server, tenant) == 100
    tenant.client.close()


def test_a_deleted_agent_among_new_ones_is_restored_and_counts_again(server):
    tenant = server.add_tenant("--max-agents", "20")
    assert set(send(tenant, names_of(5))) == {"accepted"}
    server.cli("agent", "delete", "agent-002", "--tenant", tenant.slug)
    assert counted(server, tenant) == 4
    assert send(tenant, names_of(21)) == ["accepted"] * 20 + ["rejected"]
    assert len(agents_of(server, tenant)) == counted(server, tenant) == 20
    tenant.client.close()


def test_many_registrations_at_once_add_agents_that_were_not_seen_yet(server):
    tenant = server.add_tenant("--max-agents", "1000")
    names = names_of(60)

    def register(name):
        client = server.client(tenant.token)
        answer = client.post(REGISTER, {"agent_name": name})
        client.close()
        assert answer.status == 200, answer.body
        return answer.json()["status"]

    with concurrent.futures.ThreadPoolExecutor(30) as threads:
        assert set(threads.map(register, names)) == {"registered"}
        assert set(threads.map(register, names)) == {"updated"}
    assert all(row["last_seen_at"] is None for row in agents_of(server, tenant))
    assert counted(server, tenant) == 60
    assert set(send(tenant, names)) == {"accepted"}
    assert all(row["last_seen_at"] is not None for row in agents_of(server, tenant))
    tenant.client.close()


def test_check_finds_a_tenant_that_is_counted_for_fewer_agents_than_it_has(own_server):
    tenant = own_server.add_tenant("--max-agents", "20")
    assert set(send(tenant, names_of(5))) == {"accepted"}
    tenant.client.close()
    own_server.stop()
    assert "intact" in own_server.cli("check")
    change(own_server, f"UPDATE {counts()} SET agents = 3 WHERE {of_tenant(tenant)}")
    told = own_server.run("check")
    assert told.returncode == 1 and "has 5 agents, but is counted for 3" in told.stderr
    change(own_server, f"UPDATE {counts()} SET agents = 1000000000")  # as docs/OPERATIONS.md says
    assert "intact" in own_server.cli("check")
    own_server.start()
    tenant.client = own_server.client(tenant.token)
    assert send(tenant, names_of(21)) == ["accepted"] * 20 + ["rejected"]
    assert counted(own_server, tenant) == 20
    tenant.client.close()
