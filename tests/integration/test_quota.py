"""The quota of a plan: what stored reports take is counted exactly, and at the quota they are 507."""

import json
import threading
import uuid
from contextlib import closing

import pytest
from otlp import Json, span
from stored import change, of_tenant, stored, texts_of_events
from test_alerts import second_server, until
from test_otlp import new_trace, send
from test_retention import DAY, MINUTE, at, keep
from test_rotation import seconds

pytestmark = pytest.mark.administered

EVENT, BATCH = "/api/v1/telemetry", "/api/v1/telemetry/batch"
BUSINESS, LLM = "/api/v1/telemetry/business", "/api/v1/telemetry/llm"
TEXTS = {
    "events": "event_id agent_version error_type error_message workflow_run_id message level category"
    " source metadata metrics links output",
    "business_values": "key full_key text_value",
    "business_breakdowns": "metric dimensions full_dimensions cells",
    "llm_usage": "run_id model agent_version workflow_run_id",
    "alert_history": "note",
    "agent_documents": "document",
}


def counted(tenant):
    """As both routes tell it; between the two questions a sweep may delete something."""
    paths = (f"/api/v1/tenants/{tenant.slug}", "/api/v1/limits")

    def told():
        both = [tenant.client.get(path).json()["stored_bytes"] for path in paths]
        return both[:1] if both[0] == both[1] else None

    return until(told)[0]


def there(tenant):
    """What the rows take, added up anew: texts, and 100 for each; of an alert's history, notes."""
    source = {"events": texts_of_events(tenant.server)}
    rows = [(table, row) for table in TEXTS
            for row in stored(tenant.server, f"SELECT * FROM {source.get(table, table)} AS t"
                                             f" WHERE {of_tenant(tenant)}")
            if row.get("what") is None or row["note"] is not None]
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
    others = f"SELECT 1 AS one FROM tenant_bytes WHERE NOT ({of_tenant(tenant)})"
    until(lambda: stored(own_server, others) == [])
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


def test_what_stores_nothing_is_answered_at_the_quota_as_below_it(tenant):
    first, nameless, new = tenant.event(), tenant.event(event_id=""), tenant.event()
    batch = {"events": [tenant.event(), first, tenant.event()]}
    tell(tenant, (EVENT, first), (EVENT, nameless), (BATCH, batch))
    spans = [span(new_trace(), 1)]
    assert send(tenant.client, Json, spans).status == 200
    plan(tenant, 1)
    used = counted(tenant)
    again = tenant.client.post(EVENT, {**first, "message": "with another text"})
    assert (again.status, again.json()["status"]) == (202, "duplicate")
    again = tenant.client.post(BATCH, batch)
    assert (again.status, again.json()["duplicates"], again.json()["accepted"]) == (202, 3, 0)
    assert send(tenant.client, Json, spans).status == 200
    assert send(tenant.client, Json, [*spans, span(new_trace(), 2)]).status == 507
    for path, body in ((EVENT, nameless), (EVENT, new), (BATCH, {"events": [first, new, first]}),
                       (BATCH, {"events": [new, new]}), (EVENT, new)):  # fmt: skip
        assert tenant.client.post(path, body).status == 507
    assert counted(tenant) == there(tenant) == used
    plan(tenant, 0)
    assert tenant.client.post(EVENT, new).json()["status"] == "accepted"  # not taken for known


def test_a_recount_sets_a_wrong_count_right_while_reports_come_in(own_server, clock):
    tenant = own_server.add_tenant()
    own_server.is_asked = False  # the command counts in the store
    fill(tenant, at(clock))
    plan(tenant, 1 << 40)  # so that the count is read again every second
    own_server.stop()
    change(own_server, f"UPDATE tenant_bytes SET bytes = bytes + 12345 WHERE {of_tenant(tenant)}")
    own_server.start()
    tenant.client = own_server.client(tenant.token)
    assert counted(tenant) > there(tenant)
    over = threading.Event()

    def report():
        with closing(own_server.client(tenant.token)) as client:
            while not over.wait(0.01):
                assert client.post(EVENT, tenant.event()).status in (202, 429)

    reporter = threading.Thread(target=report)
    reporter.start()
    for _ in range(3):
        said = own_server.cli("tenant", "recount", tenant.slug)
        assert said.startswith(f"the reports of tenant '{tenant.slug}' take ")
    over.set()
    reporter.join()

    def is_right():
        clock.advance(1)
        return tenant.client.get("/api/v1/limits").json()["stored_bytes"] == there(tenant)

    until(is_right)
    assert counted(tenant) == there(tenant)
    tenant.client.close()
    own_server.stop()
    change(own_server, f"UPDATE tenant_bytes SET bytes = bytes - 1 WHERE {of_tenant(tenant)}")
    assert f"take {there(tenant)} bytes" in own_server.cli("tenant", "recount", tenant.slug)
    assert own_server.run("tenant", "recount", "not-there").returncode == 1
    own_server.start()


def test_a_correction_replaces_the_one_before(server, tenant):
    path, told = f"/api/v1/tenants/{tenant.slug}/bytes-correction", []
    for correction in (5, 5, -2, 0):
        answer = server.admin.request("PUT", path, {"correction": correction})
        told.append((answer.status, answer.json()["stored_bytes"]))
    assert told == [(200, 5), (200, 5), (200, -2), (200, 0)]
    assert tenant.client.request("PUT", path, {"correction": 1}).status == 403


def test_a_correction_is_at_most_what_a_double_counts_exactly(server, tenant):
    path, most = f"/api/v1/tenants/{tenant.slug}/bytes-correction", 1 << 53
    for correction in (most + 1, -most - 1, (1 << 63) - 1, -(1 << 63)):
        assert server.admin.request("PUT", path, {"correction": correction}).status == 422
    for correction in (most, -most, 0):
        answer = server.admin.request("PUT", path, {"correction": correction})
        assert (answer.status, answer.json()["stored_bytes"]) == (200, correction)


def test_notes_count_and_are_507_at_the_quota_while_alerts_are_acknowledged(server, tenant):
    runs = [str(uuid.uuid4()) for _ in range(2)]
    rules = {"run_failed": True}
    assert server.admin.request("PUT", tenant.path("rules"), rules).status == 200
    tell(tenant, *[(EVENT, tenant.event(event="failed", run_id=run)) for run in runs])
    failed = tenant.client.get(tenant.path("alerts?type=run.failed")).json()["alerts"]
    one, other = (tenant.path(f"alerts/{alert['alert_id']}") for alert in failed)
    used = counted(tenant)
    assert server.admin.post(f"{one}/notes", {"note": "ä" * 2000}).status == 200
    assert counted(tenant) == there(tenant) == used + 100 + 4000
    both = {"alert_ids": [alert["alert_id"] for alert in failed], "note": "seen"}
    plan(tenant, 1)
    assert server.admin.post(f"{one}/notes", {"note": "more"}).status == 507
    assert server.admin.post(tenant.path("alerts/acknowledge"), both).status == 507
    assert server.admin.post(f"{other}/acknowledge").status == 200
    plan(tenant, 0)
    assert server.admin.post(tenant.path("alerts/acknowledge"), both).json()["acknowledged"] == 1
    assert counted(tenant) == there(tenant) == used + 100 + 4000 + 104


def test_versions_of_documents_count_and_are_507_at_the_quota(server, tenant):
    document, used = tenant.path("agents/writer/document"), counted(tenant)
    for text in ("ä" * 500, "short"):
        assert server.admin.request("PUT", document, {"document": text}).status == 200
    assert counted(tenant) == there(tenant) == used + 2 * 100 + 1005
    plan(tenant, 1)
    assert server.admin.request("PUT", document, {"document": "more"}).status == 507
    assert server.admin.post(f"{document}/versions/1/restore").status == 507
    same = server.admin.request("PUT", document, {"document": "short"})
    assert (same.status, same.json()["version"]) == (200, 2)  # which stores nothing
    assert server.admin.post(f"{document}/versions/2/restore").json()["version"] == 2
    assert server.admin.get(document).json()["document"] == "short"
    plan(tenant, 0)
    assert server.admin.post(f"{document}/versions/1/restore").status == 200
    assert counted(tenant) == there(tenant) == used + 3 * 100 + 2005


def test_two_servers_of_one_database_agree(own_server, tmp_path):
    """What one has stored fills the quota on the other, too, which is asked with a duplicate: it adds
    nothing, however often it is sent until the other has heard of it."""
    if not own_server.database:
        pytest.skip("one server only")
    tenant = own_server.add_tenant()
    with second_server(own_server, tmp_path) as second:
        there_too = second.client(tenant.token)
        with closing(there_too):
            own_server.cli("tenant", "set", tenant.slug, "--max-bytes", "2000")
            event = tenant.event(message="x" * 40)
            until(lambda: tenant.client.post(EVENT, {**event, "event_id": str(uuid.uuid4())}).status == 507)
            filled = there(tenant)
            until(lambda: there_too.post(EVENT, event).status == 507)
            assert tenant.client.post(EVENT, event).status == 507
            assert 2000 <= filled < 2400 and there(tenant) < filled + 400
    tenant.client.close()
