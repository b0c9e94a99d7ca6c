"""The quota of a plan: what stored reports take is counted exactly, and at the quota they are 507."""

import json
import uuid
from contextlib import closing

import pytest
from stored import of_tenant, stored
from test_alerts import second_server, until
from test_retention import DAY, MINUTE, at, keep
from test_rotation import seconds

EVENT, BATCH = "/api/v1/telemetry", "/api/v1/telemetry/batch"
BUSINESS, LLM = "/api/v1/telemetry/business", "/api/v1/telemetry/llm"
TEXTS = {
    "events": "event_id agent_version error_type error_message workflow_run_id message level category"
    " source metadata metrics links output",
    "business_values": "key full_key text_value",
    "business_breakdowns": "metric dimensions full_dimensions cells",
    "llm_usage": "run_id model agent_version workflow_run_id",
}


def counted(tenant):
    told = tenant.client.get(f"/api/v1/tenants/{tenant.slug}").json()["stored_bytes"]
    assert tenant.client.get("/api/v1/limits").json()["stored_bytes"] == told
    return told


def there(tenant):
    """What the rows take, added up anew: texts, and 100 for each."""
    rows = [(table, row) for table in TEXTS
            for row in stored(tenant.server, f"SELECT * FROM {table} WHERE {of_tenant(tenant)}")]
    return sum(100 + sum(len((row[c] or "").encode()) for c in TEXTS[table].split())
               for table, row in rows)  # fmt: skip


def business(run, when, text="yes", cells=1):
    return {"agent_name": "a", "run_id": run, "timestamp": when,
            "metrics": {"n": 1, "r": 0.5, "word": text, "k" * 700: 2},
            "breakdowns": [{"metric": "m", "by": ["d", "e" * 600],
                            "rows": [{"d": f"x{i}", "e" * 600: "ü", "value": i}
                                     for i in range(cells)]}]}  # fmt: skip


def usage(run, when, **more):
    return {"agent_name": "a", "run_id": run, "timestamp": when, "model": "m", "input_tokens": 1,
            "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 1,
            **more}  # fmt: skip


def tell(tenant, *reports):
    for path, body in reports:
        assert tenant.client.post(path, body).status == 202, body


def fill(tenant, when):
    """Reports of every kind, some of them twice, some replaced."""
    run = str(uuid.uuid4())
    event = tenant.event(timestamp=when, message="ä" * 50, metadata={"a": "b"}, output={"x": [1]})
    bare = tenant.event(timestamp=when, event_id="", metadata={}, metrics={}, links=[])
    tell(tenant, (EVENT, event), (EVENT, event),
         (BATCH, {"events": [tenant.event(timestamp=when), event, bare]}),
         (BUSINESS, business(run, when)), (BUSINESS, business(run, when)),
         (BUSINESS, business(run, when, "a longer word", 5)),
         (BUSINESS, business(run, when, "short", 2)),
         (LLM, usage(run, when)), (LLM, usage(run, when)),
         (LLM, usage(run, when, agent_version="1.2.3", calls=2)))  # fmt: skip


def test_what_is_stored_is_counted_to_the_byte_and_what_is_deleted_no_longer(own_server, clock):
    tenant, other = own_server.add_tenant(), own_server.add_tenant()
    fill(tenant, at(clock, 30 * DAY))
    old = counted(tenant)
    assert old == there(tenant) > 2000
    fill(tenant, at(clock))
    fill(other, at(clock, 30 * DAY))
    assert counted(tenant) == there(tenant) == 2 * old
    keep(tenant, 10, 10, 10)
    clock.advance(MINUTE)
    until(lambda: there(tenant) == old)
    until(lambda: counted(tenant) == old)
    assert counted(other) == there(other) == old
    own_server.restart()
    with closing(own_server.client(tenant.token)) as client:
        assert client.get("/api/v1/limits").json()["stored_bytes"] == old
    own_server.cli("tenant", "delete", other.slug, "--confirm", other.slug)
    clock.advance(MINUTE)
    until(lambda: len(stored(own_server, "SELECT * FROM tenant_bytes")) <= 1 + bool(own_server.database))
    tenant.client.close()
    other.client.close()


def plan(tenant, quota):
    """Sets the quota; another process's change is seen within a second."""
    tenant.server.cli("tenant", "set", tenant.slug, "--max-bytes", str(quota))
    until(lambda: tenant.client.get("/api/v1/limits").json()["max_bytes"] == quota)


def refused(tenant):
    when, run = "2025-01-02T03:04:05Z", str(uuid.uuid4())
    answers = [tenant.client.post(path, body) for path, body in (
        (EVENT, tenant.event()), (BATCH, {"events": [tenant.event()] * 2}),
        (BUSINESS, business(run, when)), (LLM, usage(run, when)))]  # fmt: skip
    return {answer.status for answer in answers}, answers[0].json().get("detail")


def test_at_the_quota_reports_are_507_and_all_else_goes_on(own_server, clock):
    tenant, other = own_server.add_tenant(), own_server.add_tenant()
    fill(tenant, at(clock, 30 * DAY))
    used = counted(tenant)
    plan(tenant, used + 1)
    tell(tenant, (EVENT, tenant.event()))  # reaches it
    over = counted(tenant)
    assert over > used + 1
    statuses, detail = refused(tenant)
    assert statuses == {507}
    assert f"take {over} bytes" in detail and f"allows {used + 1}" in detail and "retention" in detail
    assert counted(tenant) == there(tenant) == over  # nothing of a batch either
    limits = tenant.client.get("/api/v1/limits").json()
    assert (limits["max_bytes"], limits["stored_bytes"]) == (used + 1, over)
    assert tenant.client.get(tenant.path("dashboard/runs")).status == 200
    heartbeat = {"client_id": "p", "agent_name": "a"}
    assert tenant.client.post("/api/v1/heartbeat", heartbeat).status in (200, 202, 404, 422)
    assert refused(other)[0] == {202}
    metrics = own_server.metrics().decode()
    assert "\nmuster_tenants_over_quota 1\n" in metrics
    assert "\nmuster_quota_refused_total 4\n" in metrics
    own_server.restart()
    tenant.client = own_server.client(tenant.token)
    assert refused(tenant)[0] == {507}
    keep(tenant, 10, 10, 10)  # what is old makes room
    clock.advance(MINUTE)
    until(lambda: counted(tenant) == 0)  # all of it: what is reported before would fill it again
    assert refused(tenant)[0] == {202}
    plan(tenant, 1)
    assert refused(tenant)[0] == {507}
    plan(tenant, 0)
    assert refused(tenant)[0] == {202}
    listed = json.loads(own_server.cli("tenant", "list", "--json"))["tenants"]
    assert {t["max_bytes"] for t in listed} == {0}
    assert own_server.run("tenant", "set", tenant.slug, "--max-bytes", "-1").returncode != 0
    tenant.client.close()
    other.client.close()


def test_a_report_that_is_refused_at_the_quota_is_a_sign_of_life(own_server, clock):
    tenant = own_server.add_tenant()
    agents = tenant.path("agents")
    when, run = "2025-01-02T03:04:05Z", str(uuid.uuid4())
    tell(tenant, (BUSINESS, business(run, when)), (EVENT, tenant.event()))
    plan(tenant, 1)
    for path, body, name in (
        (EVENT, tenant.event(), "collector"),
        (BATCH, {"events": [tenant.event()] * 2}, "collector"),
        (BUSINESS, business(run, when), "a"),
        (LLM, usage(run, when), "a"),
        (EVENT, tenant.event(agent_name="new"), None),
    ):
        clock.advance(1000)
        before = clock.now() - 10
        assert tenant.client.post(path, body).status == 507
        seen = {row["agent_name"]: seconds(row["last_seen_at"])
                for row in tenant.client.get(agents).json()["agents"]}  # fmt: skip
        assert {name for name, at in seen.items() if at >= before} == ({name} if name else set())
    assert set(seen) == {"collector", "a"}  # the new one was not added
    tenant.client.close()


def test_two_servers_of_one_database_agree(own_server, clock, tmp_path):
    if not own_server.database:
        pytest.skip("one server only")
    tenant = own_server.add_tenant()
    with second_server(own_server, tmp_path) as second:
        there_too = second.client(tenant.token)
        with closing(there_too):
            own_server.cli("tenant", "set", tenant.slug, "--max-bytes", "2000")
            for i in range(40):
                client = (tenant.client, there_too)[i % 2]
                client.post(EVENT, tenant.event(message="x" * 40))
                clock.advance(1)
            until(lambda: {c.post(EVENT, tenant.event()).status for c in (tenant.client, there_too)}
                  == {507})  # fmt: skip
            assert 2000 <= there(tenant) < 4000
    tenant.client.close()
