"""The way of one event: in by POST, out by the run's narrative, the same after a restart."""

import pytest


def narrative(tenant, run_id):
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    assert answer.status == 200, answer.body
    return answer.json()["events"]


def test_health_needs_no_token(server):
    answer = server.client().get("/api/v1/health")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["X-Request-Id"]


@pytest.mark.smoke
def test_an_accepted_event_can_be_read_back_and_sent_again(tenant):
    event = tenant.event(message="hello from outside", seq=7)
    for status in ("accepted", "duplicate", "duplicate"):
        answer = tenant.client.post("/api/v1/telemetry", event)
        assert answer.status == 202
        assert answer.json() == {
            "status": status,
            "event_id": event["event_id"],
            "run_id": event["run_id"],
        }
    (stored,) = narrative(tenant, event["run_id"])
    assert {name: stored[name] for name in event} == event


@pytest.mark.smoke
def test_a_restart_changes_nothing_that_was_accepted(own_server):
    tenant = own_server.add_tenant()
    event = tenant.event(message="before the restart")
    assert tenant.client.post("/api/v1/telemetry", event).json()["status"] == "accepted"
    own_server.restart()
    tenant.client = own_server.client(tenant.token)
    assert tenant.client.post("/api/v1/telemetry", event).json()["status"] == "duplicate"
    assert [stored["message"] for stored in narrative(tenant, event["run_id"])] == [
        "before the restart"
    ]
