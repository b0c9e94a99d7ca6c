"""A tenant that is deleted is gone: rows, files, backups made afterwards, memory."""

import re
import uuid

import pytest
from muster import Tenant
from nodes import more_servers
from people import platform_admin, tenant_person
from stored import of_tenant, stored
from waiting import until

TELEMETRY = "/api/v1/telemetry"
AT = "2025-01-02T03:04:05Z"
WAIT_S = 15  # other processes may store reports for ten seconds
SWEEP_S = 65  # retention begins a pass each minute


@pytest.fixture
def server(own_server):
    own_server.admin = own_server.admin or platform_admin(own_server)
    return own_server


def tables(server):
    """Every table that has a tenant_id, as the schema says."""
    if server.database:
        sql = (
            "SELECT table_name AS name FROM information_schema.columns"
            " WHERE column_name = 'tenant_id' AND table_schema = 'public'"
        )
        return [row["name"] for row in stored(server, sql)]
    schema = stored(server, "SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return [row["name"] for row in schema if re.search(r"\btenant_id\b", row["sql"])]


def rows_of(server, tenant_id):
    """{table: its rows of the tenant}, without tables that have none."""
    sql = " UNION ALL ".join(
        f"SELECT '{name}' AS name, COUNT(*) AS n FROM {name} WHERE tenant_id = {tenant_id}"
        for name in tables(server)
    )
    return {row["name"]: row["n"] for row in stored(server, sql) if row["n"]}


def ask(server, method, path, body, *statuses):
    answer = server.admin.request(method, path, body)
    assert answer.status in statuses, (path, answer.body)
    return answer


def report_all(tenant, marker):
    """One of everything that agents report; `marker` is in each text that is kept."""
    about = {"agent_name": "collector", "client_id": tenant.slug}
    run = {**about, "run_id": str(uuid.uuid4()), "timestamp": AT}
    points = [{"by": marker, "value": 1}]
    for path, body in (
        (TELEMETRY, tenant.event(message=marker)),
        (TELEMETRY, tenant.event(event="failed", error_type="e", error_message=marker)),
        (f"{TELEMETRY}/business", {
            **run, "metrics": {"sold": 1, "why": marker},
            "breakdowns": [{"metric": "sold", "by": ["by"], "points": points}]}),
        (f"{TELEMETRY}/llm", {**run, "model": marker, "input_tokens": 1, "output_tokens": 1}),
        ("/api/v1/agents/register", {
            **about, "description": marker, "business_kpis": [{"key": "sold"}],
            "config_schema": {"params": [{"key": "param"}]}}),
        (f"/api/v1/heartbeat?client_id={tenant.slug}", None),
    ):  # fmt: skip
        answer = tenant.client.post(path, body)
        assert answer.status in (200, 202), (path, answer.body)


def administrate(server, tenant, marker):
    """One of everything that people set."""
    at = tenant.path
    agent = at("agents/collector")
    ask(server, "PUT", at("retention"), {"events_days": 999}, 200)
    ask(server, "PUT", at("secrets/token"), {"value": marker}, 200, 201)
    ask(server, "PUT", at("model"), {"model": marker}, 200)
    ask(server, "PUT", at("command-policy"), {"mode": "allowlist", "allow": [marker]}, 200)
    ask(server, "PUT", f"{agent}/document", {"format": "text", "document": marker}, 200, 201)
    ask(server, "PUT", f"{agent}/values/param", {"value": marker}, 200)
    ask(server, "POST", at("webhooks"), {"url": "https://receiver.invalid/", "label": marker}, 201)
    ask(server, "PUT", at("rules"), {"run_failed": True}, 200)


def populate(server, slug=None):
    tenant = server.add_tenant(slug=slug)
    marker = f"marker{uuid.uuid4().hex}"
    administrate(server, tenant, marker)
    report_all(tenant, marker)
    tenant_id = stored(server, f"SELECT tenant_id FROM tenants WHERE {of_tenant(tenant)}")
    return tenant, tenant_id[0]["tenant_id"], marker


def delete(server, tenant, confirm=None):
    path = f"/api/v1/tenants/{tenant.slug}"
    return server.admin.request("DELETE", path, {"confirm": confirm or tenant.slug})


def await_erased(server, clock, tenant_id):
    if server.database:
        clock.advance(WAIT_S)
    until(lambda: not rows_of(server, tenant_id))


def test_a_deleted_tenant_leaves_nothing(server, clock, tmp_path):
    (tenant, tenant_id, marker), (other, other_id, _) = populate(server), populate(server)
    person = tenant_person(tenant, "admin")
    filled, kept = rows_of(server, tenant_id), rows_of(server, other_id)
    assert len(filled) > 20, filled  # or the test proves little
    assert delete(server, tenant, "other").status == 422
    assert tenant.client.get("/api/v1/limits").status == 200
    answer = delete(server, tenant)
    assert (answer.status, answer.json()) == (200, {"slug": tenant.slug})
    assert tenant.client.get("/api/v1/limits").status == 401
    assert ask(server, "GET", f"/api/v1/tenants/{tenant.slug}", None, 404)
    until(lambda: person.get(tenant.path("dashboard/runs")).status in (403, 404))
    assert delete(server, tenant).status == 404
    again = server.add_tenant(slug=tenant.slug)  # the slug is free, and the new one is empty
    assert again.client.get(again.path("dashboard/runs")).json()["runs"] == []
    await_erased(server, clock, tenant_id)
    assert rows_of(server, other_id).keys() >= kept.keys()  # its messages may have left meanwhile
    assert other.client.get("/api/v1/limits").status == 200
    entries = ask(server, "GET", "/api/v1/platform/audit", None, 200).json()["entries"]
    assert ("tenant.delete", tenant.slug) in {(e["action"], e["target"]) for e in entries}
    assert "intact" in server.cli("check")
    new_id = stored(server, f"SELECT tenant_id FROM tenants WHERE {of_tenant(again)}")
    assert new_id[0]["tenant_id"] > other_id  # never used again
    if server.database:
        return
    server.cli("backup", str(tmp_path / "copy"))
    assert marker.encode() not in (tmp_path / "copy").read_bytes()
    server.stop()
    for file in server.data.iterdir():
        assert not file.is_file() or marker.encode() not in file.read_bytes(), file.name
    server.start()


def test_a_kill_in_the_middle_only_delays_it(server, clock):
    tenant, tenant_id, _ = populate(server)
    for _ in range(3):
        run = str(uuid.uuid4())
        events = [tenant.event(run_id=run, seq=i) for i in range(1000)]
        assert tenant.client.post(f"{TELEMETRY}/batch", {"events": events}).status == 202
    before = rows_of(server, tenant_id)
    assert delete(server, tenant).status == 200
    server.kill()
    left = rows_of(server, tenant_id)
    assert left.get("tenants") == 1
    assert left["events"] <= before["events"]
    server.start()
    client = server.client(tenant.token)
    assert client.post(TELEMETRY, tenant.event()).status == 401
    await_erased(server, clock, tenant_id)


def report_many(tenant, runs=20, events=1000, **fields):
    for _ in range(runs):
        run = str(uuid.uuid4())
        batch = [tenant.event(run_id=run, seq=i, **fields) for i in range(events)]
        assert tenant.client.post(f"{TELEMETRY}/batch", {"events": batch}).status == 202


def await_gone(server, clock, tenant_id, wait_s=WAIT_S):
    """Its own row goes last."""
    clock.advance(wait_s)
    until(lambda: not stored(server, f"SELECT slug FROM tenants WHERE tenant_id = {tenant_id}"))
    assert rows_of(server, tenant_id) == {}


def id_of(server, tenant):
    return stored(server, f"SELECT tenant_id FROM tenants WHERE {of_tenant(tenant)}")[0]["tenant_id"]


def test_several_nodes_that_erase_a_tenant_leave_nothing(server, clock, tmp_path):
    """Each finds rows that another has just deleted, and must not take them for the last."""
    if not server.database:
        pytest.skip("SQLite has one process")
    with more_servers(server, tmp_path, 3):
        for _ in range(2):
            tenant = server.add_tenant()
            report_many(tenant)
            tenant_id = id_of(server, tenant)
            assert delete(server, tenant).status == 200
            await_gone(server, clock, tenant_id)


def test_what_is_too_old_and_erased_at_once_leaves_nothing(server, clock):
    """Retention and the erasure delete the same rows."""
    for _ in range(2):
        tenant = server.add_tenant()
        report_many(tenant, timestamp=AT)
        tenant_id = id_of(server, tenant)
        ask(server, "PUT", f"/api/v1/tenants/{tenant.slug}/retention", {"events_days": 2}, 200)
        assert delete(server, tenant).status == 200
        await_gone(server, clock, tenant_id, SWEEP_S)


def test_the_command_wants_the_slug_typed(server):
    tenant = server.add_tenant()
    for given in (("--confirm", "another"), ()):
        done = server.run("tenant", "delete", tenant.slug, *given, stdin="another\n")
        assert (done.returncode, "not confirmed" in done.stderr) == (2, True), done
    done = server.run("tenant", "delete", tenant.slug)  # nothing to read, as in a cron job
    assert (done.returncode, done.stdout) == (2, "") and f"use --confirm {tenant.slug}\n" in done.stderr
    assert tenant.slug in server.cli("tenant", "list")
    said = server.cli("tenant", "delete", tenant.slug, stdin=f"{tenant.slug}\n")
    assert said == f"tenant '{tenant.slug}' deleted; its data is being erased\n"
    assert tenant.slug not in server.cli("tenant", "list")
    scripted = Tenant(server, "by-script", "", None)
    server.cli("tenant", "add", scripted.slug)
    server.cli("tenant", "delete", scripted.slug, "--confirm", scripted.slug)
    assert scripted.slug not in server.cli("tenant", "list")
