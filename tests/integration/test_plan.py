"""A tenant's plan, and what it uses of it, for those who are of the tenant."""

from people import tenant_person


def plan_of(client, tenant):
    answer = client.get(f"/api/v1/tenants/{tenant.slug}")
    assert answer.status == 200, answer.body
    return answer.json()


def test_a_member_reads_the_plan_and_what_is_used_of_it(server):
    tenant = server.add_tenant("--name", "Acme Ltd", "--max-agents", "7", rate_limit=12345)
    for name in ("a", "b", "c"):
        tenant.client.post("/api/v1/telemetry", tenant.event(agent_name=name))
    member = tenant_person(tenant, "member")
    told = plan_of(member, tenant)
    assert told.pop("created_at").endswith("Z")
    assert told == {
        "slug": tenant.slug,
        "name": "Acme Ltd",
        "max_agents": 7,
        "rate_limit": 12345,
        "max_bytes": 0,
        "stored_bytes": told["stored_bytes"],
        "agents": 3,
    }
    assert plan_of(tenant.client, tenant)["agents"] == 3  # a workspace key reads it too
    tenant.client.close()


def test_what_was_removed_does_not_count_and_a_new_plan_is_told(server):
    tenant = server.add_tenant("--max-agents", "2")
    for name in ("a", "b"):
        tenant.client.post("/api/v1/telemetry", tenant.event(agent_name=name))
    server.cli("agent", "delete", "a", "--tenant", tenant.slug)
    server.cli("tenant", "set", tenant.slug, "--max-agents", "9")
    told = plan_of(tenant.client, tenant)
    assert (told["agents"], told["max_agents"]) == (1, 9)
    tenant.client.close()


def test_a_name_of_a_tenant_that_is_not_ones_own_tells_nothing(server):
    tenant, other = server.add_tenant(), server.add_tenant()
    admin = tenant_person(tenant, "admin")
    answers = [admin.get(f"/api/v1/tenants/{slug}") for slug in (other.slug, "nobody")]
    assert [one.status for one in answers] == [403, 403]
    assert len({one.body.replace(slug.encode(), b"") for one, slug in zip(answers, (other.slug, "nobody"))}) == 1
    tenant.client.close()
    other.client.close()
