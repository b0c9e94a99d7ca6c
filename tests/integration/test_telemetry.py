"""Run events: in once, whatever is repeated or raced, and out again field by field."""

import datetime
import json
import threading
import uuid

import pytest

TELEMETRY = "/api/v1/telemetry"

FULL = {
    "event_id": "évent/1",
    "agent_name": "collector \U0001f680",
    "agent_version": "1.0β",
    "run_id": "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b",
    "event": "failed",
    "timestamp": "2025-01-02T03:04:05.000006Z",
    "duration_ms": 0,
    "records_processed": 9223372036854775807,
    "error_type": "",
    "error_message": 'line\nbreak "quoted" \\ \u001b \u007f \u2028',
    "metadata": {"": "empty key", "ключ": "значение", "b": "\U0001f600"},
    "output": {"nested": [1, 2.5, None, True, {"deep": ["x"]}], "big": 12345678901234567890},
    "workflow_run_id": "wf",
    "message": "'; DROP TABLE events; -- <script>",
    "level": "success",
    "category": "中文",
    "source": "a.py:1",
    "seq": -9223372036854775808,
    "metrics": {"int": 3, "float": 0.1, "big": 1e300, "neg": -0.5},
    "links": ["https://example.org/?a=b&c", "", "ссылка"],
}
DEFAULTS = {
    "event_id": "",
    "agent_version": "",
    "duration_ms": None,
    "records_processed": None,
    "error_type": None,
    "error_message": None,
    "metadata": {},
    "output": None,
    "workflow_run_id": None,
    "message": "",
    "level": "info",
    "category": "",
    "source": "",
    "seq": 0,
    "metrics": {},
    "links": [],
}


def post(tenant, event, status=202):
    answer = tenant.client.post(TELEMETRY, event)
    assert answer.status == status, answer.body
    return answer.json()


def narrative(tenant, run_id):
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    assert answer.status == 200, answer.body
    return answer.json()


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def test_every_field_is_read_back_exactly(tenant):
    event = {**FULL, "client_id": tenant.slug}
    before = now()
    assert post(tenant, event) == {
        "status": "accepted",
        "event_id": event["event_id"],
        "run_id": event["run_id"],
    }
    (stored,) = narrative(tenant, event["run_id"])["events"]
    received_at = datetime.datetime.fromisoformat(stored.pop("received_at").replace("Z", "+00:00"))
    assert before <= received_at <= now()
    assert stored.pop("clock_skewed", False) is False
    assert json.dumps(stored, sort_keys=True) == json.dumps(event, sort_keys=True)


def test_what_is_left_out_is_read_back_as_its_default(tenant):
    event = tenant.event()
    del event["event_id"]
    post(tenant, event)
    (stored,) = narrative(tenant, event["run_id"])["events"]
    stored.pop("received_at")
    stored.pop("clock_skewed", None)
    assert json.dumps(stored, sort_keys=True) == json.dumps({**DEFAULTS, **event}, sort_keys=True)


def test_null_and_empty_are_told_apart(tenant):
    run_id = str(uuid.uuid4())
    for seq, (error_type, output) in enumerate([(None, None), ("", {}), ("x", {"a": None})]):
        post(tenant, tenant.event(run_id=run_id, seq=seq, error_type=error_type, output=output))
    events = narrative(tenant, run_id)["events"]
    assert [(e["error_type"], e["output"]) for e in events] == [
        (None, None),
        ("", {}),
        ("x", {"a": None}),
    ]


def test_strings_of_full_length_in_four_byte_letters_fit(tenant):
    rocket = "\U0001f680"
    event = tenant.event(message=rocket * 16384, category=rocket * 256, event_id=rocket * 256)
    post(tenant, event)
    (stored,) = narrative(tenant, event["run_id"])["events"]
    assert stored["message"] == event["message"]
    assert post(tenant, event)["status"] == "duplicate"


@pytest.mark.smoke
def test_an_event_id_is_stored_once_whatever_else_differs(tenant):
    first = tenant.event(message="first")
    again = tenant.event(event_id=first["event_id"], message="second", agent_name="other")
    assert post(tenant, first)["status"] == "accepted"
    assert post(tenant, first)["status"] == "duplicate"
    assert post(tenant, again) == {
        "status": "duplicate",
        "event_id": again["event_id"],
        "run_id": again["run_id"],  # the request's own
    }
    assert [e["message"] for e in narrative(tenant, first["run_id"])["events"]] == ["first"]
    missing = tenant.client.get(tenant.path(f"runs/{again['run_id']}/events"))
    assert missing.status == 404


def test_a_duplicate_does_not_make_its_run_its_agents(tenant):
    first, run_id = tenant.event(agent_name="one"), str(uuid.uuid4())
    post(tenant, first)
    post(tenant, tenant.event(event_id=first["event_id"], run_id=run_id, agent_name="one"))
    post(tenant, tenant.event(run_id=run_id, agent_name="two"))
    assert narrative(tenant, run_id)["run"]["agent_name"] == "two"


def test_the_same_ids_in_two_tenants_are_two_events_of_two_runs(server, tenant):
    other = server.add_tenant()
    event = tenant.event(message="mine")
    assert post(tenant, event)["status"] == "accepted"
    theirs = {**event, "client_id": other.slug, "message": "theirs"}
    assert post(other, theirs)["status"] == "accepted"
    for side, message in ((tenant, "mine"), (other, "theirs")):
        (stored,) = narrative(side, event["run_id"])["events"]
        assert (stored["message"], stored["client_id"]) == (message, side.slug)
    other.client.close()


def at_once(n, act):
    """Runs act(i) in n threads that start together; what they returned, in order."""
    together, results = threading.Barrier(n), [None] * n

    def run(i):
        together.wait(120)
        results[i] = act(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def test_of_32_simultaneous_senders_of_one_id_exactly_one_is_accepted(server, tenant):
    clients = [server.client(tenant.token) for _ in range(32)]
    for client in clients:
        assert client.get("/api/v1/limits").status == 200  # connected
    for _ in range(5):
        event = tenant.event()
        answers = at_once(32, lambda i, event=event: clients[i].post(TELEMETRY, event))
        assert {answer.status for answer in answers} == {202}
        said = sorted(answer.json()["status"] for answer in answers)
        assert said == ["accepted"] + ["duplicate"] * 31
        assert narrative(tenant, event["run_id"])["run"]["event_count"] == 1
    for client in clients:
        client.close()


def test_of_50_agents_racing_for_the_last_place_exactly_one_gets_it(server):
    clients = []
    for number in range(3):
        tenant = server.add_tenant("--max-agents", "2")
        post(tenant, tenant.event(agent_name="first"))
        clients = [server.client(tenant.token) for _ in range(50)]
        answers = at_once(
            50,
            lambda i, t=tenant, c=clients: c[i].post(TELEMETRY, t.event(agent_name=f"agent-{i}")),
        )
        assert sorted(answer.status for answer in answers) == [202] + [403] * 49, number
        for client in (*clients, tenant.client):
            client.close()


def test_a_restart_keeps_what_was_stored_and_what_was_seen(own_server):
    tenant = own_server.add_tenant()
    events = [tenant.event(message=str(i)) for i in range(20)]
    for event in events:
        assert post(tenant, event)["status"] == "accepted"
    for end in (own_server.stop, own_server.kill):
        end()
        own_server.start()
        tenant.client = own_server.client(tenant.token)
        for event in events:
            assert post(tenant, event)["status"] == "duplicate"
            stored = narrative(tenant, event["run_id"])["events"]
            assert [e["message"] for e in stored] == [event["message"]]


def test_a_narrative_goes_by_seq_then_timestamp_then_arrival(tenant):
    run_id = str(uuid.uuid4())
    arrivals = [(3, 9, "5"), (1, 2, "2"), (1, 1, "1"), (1, 2, "3"), (2, 0, "4")]
    for seq, second, message in arrivals:
        post(tenant, tenant.event(
            run_id=run_id, seq=seq, timestamp=f"2025-01-01T00:00:0{second}Z", message=message
        ))  # fmt: skip
    assert [e["message"] for e in narrative(tenant, run_id)["events"]] == list("12345")


def test_a_run_follows_from_its_events_in_any_order(tenant):
    run_id = str(uuid.uuid4())

    def report(event, second, **more):
        stamp = f"2025-01-01T00:00:{second:02}Z"
        post(tenant, tenant.event(run_id=run_id, event=event, timestamp=stamp, **more))
        return narrative(tenant, run_id)["run"]

    run = report("in_progress", 5, message="halfway", workflow_run_id="flow", agent_version="1")
    assert (run["status"], run["started_at"]) == ("in_progress", "2025-01-01T00:00:05Z")
    assert (run["ended_at"], run["duration_ms"], run["message"]) == (None, None, "halfway")
    run = report("failed", 9, error_type="Timeout", error_message="too slow", agent_version="2")
    assert (run["status"], run["error_type"], run["error_message"]) == (
        "failed", "Timeout", "too slow",
    )  # fmt: skip
    run = report("started", 1, agent_name="another")
    assert (run["started_at"], run["duration_ms"]) == ("2025-01-01T00:00:01Z", 8000)
    run = report("completed", 20, duration_ms=77, records_processed=3, message="done")
    assert run == {
        "run_id": run_id,
        "agent_name": "another",  # that started it
        "agent_version": "2",
        "workflow_run_id": "flow",
        "status": "completed",
        "started_at": "2025-01-01T00:00:01Z",
        "ended_at": "2025-01-01T00:00:20Z",
        "duration_ms": 77,
        "records_processed": 3,
        "error_type": None,
        "error_message": None,
        "message": "done",
        "event_count": 4,
        "last_event_at": "2025-01-01T00:00:20Z",
    }
    run = report("in_progress", 30, message="late")  # a closed run goes on accepting
    assert (run["status"], run["message"], run["event_count"]) == ("completed", "done", 5)
    assert run["last_event_at"] == "2025-01-01T00:00:30Z"


def test_all_spellings_of_a_uuid_are_one_run(tenant):
    run_id = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"
    bare = run_id.replace("-", "")
    spellings = [run_id, run_id.upper(), bare, bare.upper(), f"{{{run_id}}}", f"urn:uuid:{run_id}"]
    for spelling in spellings:
        assert post(tenant, tenant.event(run_id=spelling))["run_id"] == run_id
    for spelling in (run_id, run_id.upper(), bare):
        read = narrative(tenant, spelling)
        assert (read["run"]["run_id"], read["run"]["event_count"]) == (run_id, len(spellings))
        assert {event["run_id"] for event in read["events"]} == {run_id}


def test_a_clock_over_an_hour_ahead_is_marked_and_the_event_kept(tenant):
    run_id = str(uuid.uuid4())
    for seq, minutes in enumerate((-60 * 24 * 365, 0, 59, 61, 60 * 24 * 365)):
        stamp = (now() + datetime.timedelta(minutes=minutes)).isoformat()
        post(tenant, tenant.event(run_id=run_id, seq=seq, timestamp=stamp))
    events = narrative(tenant, run_id)["events"]
    assert [event["clock_skewed"] for event in events] == [False, False, False, True, True]


def test_of_duplicate_keys_the_last_wins_and_unknown_ones_are_ignored(tenant):
    event = tenant.event()
    text = json.dumps(event)[:-1] + ', "message": "one", "message": "two", "unknown": [1]}'
    assert tenant.client.post(TELEMETRY, text).status == 202
    (stored,) = narrative(tenant, event["run_id"])["events"]
    assert stored["message"] == "two"
    assert "unknown" not in stored


def test_an_unknown_run_is_404(tenant):
    run_id = str(uuid.uuid4())
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    assert (answer.status, answer.json()) == (
        404,
        {"detail": f"There is no run '{run_id}' in tenant '{tenant.slug}'"},
    )
