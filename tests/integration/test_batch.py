"""Batches of run events: verdicts, limits, all or nothing; disabled agents; rebuilt runs."""

import json
import threading
import uuid
from contextlib import closing

import pytest
from postgres import run_sql
from waiting import until

BATCH = "/api/v1/telemetry/batch"


def statuses(answer):
    return [result["status"] for result in answer.json()["results"]]


@pytest.mark.smoke
def test_each_event_of_a_batch_gets_its_verdict_in_order(tenant):
    run_id = str(uuid.uuid4())
    events = [tenant.event(event_id=name, run_id=run_id) for name in ("a", "b", "a", "")]
    first = tenant.client.post(BATCH, {"events": events + [tenant.event(event_id="", run_id=run_id)]})
    assert first.status == 202
    assert statuses(first) == ["accepted", "accepted", "duplicate", "accepted", "accepted"]
    told = first.json()
    assert (told["accepted"], told["duplicates"], told["rejected"]) == (4, 1, 0)
    assert [result["index"] for result in told["results"]] == [0, 1, 2, 3, 4]
    assert [result["event_id"] for result in told["results"]] == ["a", "b", "a", "", ""]
    again = tenant.client.post(BATCH, {"events": events})
    assert statuses(again) == ["duplicate", "duplicate", "duplicate", "accepted"]
    narrative = tenant.client.get(tenant.path(f"runs/{run_id}/events")).json()
    assert narrative["run"]["event_count"] == len(narrative["events"]) == 5


@pytest.mark.same_threads
def test_an_empty_batch_is_accepted(tenant):
    for body in ({}, {"events": []}):
        answer = tenant.client.post(BATCH, body)
        assert answer.status == 202
        assert answer.json() == {"accepted": 0, "duplicates": 0, "rejected": 0, "results": []}


@pytest.mark.same_threads
def test_one_bad_event_and_nothing_is_stored(tenant):
    good = tenant.event()
    bad = {**tenant.event(), "event": "finished"}
    answer = tenant.client.post(BATCH, {"events": [good, bad]})
    assert answer.status == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "events", 1, "event"]
    assert tenant.client.get(tenant.path(f"runs/{good['run_id']}/events")).status == 404


@pytest.mark.same_threads
def test_one_event_under_a_foreign_name_and_nothing_is_stored(tenant):
    bound = tenant.agent_client("collector")
    good = tenant.event()
    for other in ({"client_id": "elsewhere"}, {"agent_name": "another"}):
        answer = bound.post(BATCH, {"events": [good, tenant.event(**other)]})
        assert answer.status == 403
    assert tenant.client.get(tenant.path(f"runs/{good['run_id']}/events")).status == 404
    bound.close()


@pytest.mark.same_threads
def test_more_events_than_allowed_are_413_even_if_one_is_malformed(tenant):
    event = tenant.event(event_id="")
    assert tenant.client.post(BATCH, {"events": [event] * 1000}).json()["accepted"] == 1000
    for events in ([event] * 1001, [event] * 1000 + [{}]):
        answer = tenant.client.post(BATCH, {"events": events})
        assert answer.status == 413
        assert (answer.json()["limit"], answer.json()["unit"]) == (1000, "events")


@pytest.mark.same_threads
def test_more_bytes_than_allowed_are_413(tenant):
    body = json.dumps({"events": [], "pad": "x" * 5242880})
    answer = tenant.client.post(BATCH, body, headers={"Content-Type": "application/json"})
    assert answer.status == 413
    assert (answer.json()["limit"], answer.json()["unit"]) == (5242880, "bytes")


@pytest.mark.same_threads
def test_agents_beyond_the_cap_are_rejected_one_by_one(server):
    tenant = server.add_tenant("--max-agents", "2")
    events = [tenant.event(agent_name=name) for name in ("a", "b", "c", "a", "d")]
    answer = tenant.client.post(BATCH, {"events": events})
    assert statuses(answer) == ["accepted", "accepted", "rejected", "accepted", "rejected"]
    reasons = [result.get("reason") for result in answer.json()["results"]]
    assert reasons == [None, None, "agent_cap_reached", None, "agent_cap_reached"]
    server.cli("tenant", "set", tenant.slug, "--max-agents", "3")
    again = tenant.client.post(BATCH, {"events": events[2:]})
    assert statuses(again) == ["accepted", "duplicate", "rejected"]
    tenant.client.close()


def test_a_disabled_agent_is_rejected_and_the_others_are_stored(tenant, server):
    events = [tenant.event(agent_name=name) for name in ("one", "two")]
    assert statuses(tenant.client.post(BATCH, {"events": events})) == ["accepted", "accepted"]
    server.cli("agent", "disable", "one", "--tenant", tenant.slug)
    fresh = [tenant.event(agent_name=name) for name in ("one", "two")]
    until_rejected(tenant, fresh[0])
    answer = tenant.client.post(BATCH, {"events": [*fresh, events[0]]})
    assert statuses(answer) == ["rejected", "accepted", "rejected"]  # also its duplicates
    assert answer.json()["results"][0]["reason"] == "agent_disabled"
    single = tenant.client.post("/api/v1/telemetry", fresh[0])
    assert single.status == 202
    assert single.json()["status"] == "rejected"
    assert single.json()["reason"] == "agent_disabled"
    assert "one" in single.json()["detail"]
    for path, more in (("business", {}), ("llm", {"model": "m"})):
        body = {**{k: fresh[0][k] for k in ("agent_name", "run_id", "timestamp")}, **more}
        report = tenant.client.post(f"/api/v1/telemetry/{path}", body)
        assert (report.status, report.json()["status"]) == (202, "rejected")
    server.cli("agent", "enable", "one", "--tenant", tenant.slug)
    until_accepted(tenant)
    refused = server.run("agent", "disable", "nobody", "--tenant", tenant.slug)
    assert (refused.returncode, "nobody" in refused.stderr) == (1, True)


def until_rejected(tenant, event):
    """A change is seen by every server within a second, and by all of its threads."""

    def is_rejected():
        answer = tenant.client.post("/api/v1/telemetry", {**event, "event_id": ""})
        return answer.json()["status"] == "rejected"

    until(lambda: all(is_rejected() for _ in range(10)))


def until_accepted(tenant):
    event = tenant.event(agent_name="one", event_id="")
    until(lambda: tenant.client.post("/api/v1/telemetry", event).json()["status"] == "accepted")


def test_batches_that_race_for_the_same_ids_store_each_once(tenant, server):
    ids = [str(uuid.uuid4()) for _ in range(200)]
    run_id = str(uuid.uuid4())
    accepted, lock = [], threading.Lock()

    def send(order):
        client = server.client(tenant.token)
        events = [tenant.event(event_id=name, run_id=run_id) for name in order]
        results = client.post(BATCH, {"events": events}).json()["results"]
        with lock:
            accepted.extend(r["event_id"] for r in results if r["status"] == "accepted")
        client.close()

    threads = [threading.Thread(target=send, args=(ids[i:] + ids[:i],)) for i in range(0, 160, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == sorted(ids)
    narrative = tenant.client.get(tenant.path(f"runs/{run_id}/events")).json()
    assert narrative["run"]["event_count"] == len(narrative["events"]) == len(ids)


def spoil(server, slug):
    """Writes nonsense over the states of the tenant's runs, behind the server's back."""
    where = f"tenant_id = (SELECT tenant_id FROM tenants WHERE slug = '{slug}')"
    statement = f"UPDATE runs SET event_count = 77, closing_message = 'spoilt' WHERE {where}"
    if server.database:
        run_sql(server.database, statement)
        return
    import sqlite3

    with sqlite3.connect(server.data / "muster.db") as db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("events_of_a_run", [1, 7])
def test_runs_can_be_made_anew_from_their_events(own_server, events_of_a_run):
    tenant = own_server.add_tenant()
    runs = [str(uuid.uuid4()) for _ in range(600)]  # more than one step
    events = [
        tenant.event(run_id=run, seq=i, event="completed" if i == 3 else "in_progress",
                     message=f"step {i}", agent_version=f"v{i}")
        for run in runs for i in range(events_of_a_run)
    ]  # fmt: skip
    for at in range(0, len(events), 1000):
        assert tenant.client.post(BATCH, {"events": events[at : at + 1000]}).status == 202
    before = [tenant.client.get(tenant.path(f"runs/{run}/events")).json()["run"] for run in runs]
    own_server.stop()
    spoil(own_server, tenant.slug)
    own_server.start()
    done = json.loads(own_server.cli("run", "rebuild", "--tenant", tenant.slug, "--json"))
    assert done == {"runs": 600, "changed": 600, "damaged": 0}
    client = own_server.client(tenant.token)
    after = [client.get(tenant.path(f"runs/{run}/events")).json()["run"] for run in runs]
    assert after == before
    again = json.loads(own_server.cli("run", "rebuild", "--tenant", tenant.slug, "--json"))
    assert again == {"runs": 600, "changed": 0, "damaged": 0}
    client.close()


def test_the_next_event_continues_the_run_that_was_made_anew(own_server):
    """The writer remembers runs of which it has just stored an event: not what they were before."""
    tenant, run = own_server.add_tenant(), str(uuid.uuid4())
    events = [tenant.event(run_id=run, seq=i, event="in_progress") for i in range(6)]
    assert tenant.client.post(BATCH, {"events": events[:4]}).status == 202
    own_server.stop()
    spoil(own_server, tenant.slug)
    own_server.start()
    with closing(own_server.client(tenant.token)) as client:
        assert client.post(BATCH, {"events": events[4:5]}).status == 202
        own_server.cli("run", "rebuild", "--tenant", tenant.slug)
        assert client.post(BATCH, {"events": events[5:]}).status == 202
        (listed,) = client.get(tenant.path("dashboard/runs")).json()["runs"]
        assert listed["event_count"] == 6
    done = json.loads(own_server.cli("run", "rebuild", "--tenant", tenant.slug, "--json"))
    assert done == {"runs": 1, "changed": 0, "damaged": 0}


def test_a_page_of_runs_made_anew_is_short_when_its_runs_are_long(server):
    """Others wait for the writer meanwhile: three long runs are more than it does at once."""
    tenant = server.add_tenant()
    for _ in range(3):
        run = str(uuid.uuid4())
        for _ in range(4):
            events = [tenant.event(run_id=run, seq=i) for i in range(1000)]
            assert tenant.client.post(BATCH, {"events": events}).status == 202
    done = json.loads(server.cli("run", "rebuild", "--tenant", tenant.slug, "--json"))
    assert done == {"runs": 3, "changed": 0, "damaged": 0}
    listed = server.cli("audit", "list", "--tenant", tenant.slug, "--json")
    actions = [entry["action"] for entry in json.loads(listed)["entries"]]
    assert actions.count("runs.rebuild") > 2  # the last page is empty
