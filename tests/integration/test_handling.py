"""Alerts that help: failing agents counted, rules for runs, acknowledgements, notes, reminders."""

import json
import threading
import uuid
from contextlib import closing
from datetime import datetime, timedelta, timezone

import pytest
from people import tenant_person
from postgres import Session, lock_waits
from stored import change, of_tenant, stored
from test_alerts import (
    ALLOWED,
    DAY,
    HOUR,
    alerts,
    listen,
    messages,
    register,
    reopen,
    report,
    seconds,
    until_closed,
    until_open,
)
from test_rules import MINUTE, REST, set_rules
from waiting import until

pytestmark = pytest.mark.administered

FAILING = {"type": "agent.failing"}


@pytest.fixture
def world(own_server, clock):
    tenant = own_server.add_tenant("--max-agents", "50")
    clock.advance(REST)
    yield tenant
    tenant.client.close()


def text(moment):
    return moment.isoformat().replace("+00:00", "Z")


class Runs:
    """Runs of one agent, one a second, each later than the one before."""

    def __init__(self, tenant, clock, name="worker"):
        self.tenant, self.name = tenant, name
        self.at = datetime.fromtimestamp(clock.now(), timezone.utc) - timedelta(hours=1)

    def add(self, event, seconds=1, **fields):
        run = str(uuid.uuid4())
        self.at += timedelta(seconds=1)
        ended = text(self.at + timedelta(seconds=seconds))
        report(self.tenant, self.name, run_id=run, event="started", timestamp=text(self.at))
        report(self.tenant, self.name, run_id=run, event=event, timestamp=ended, **fields)
        return run


def test_failures_are_one_open_alert_with_a_count(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    set_rules(world, run_failed=True)
    runs = Runs(world, clock)
    for _ in range(3):
        runs.add("completed")
    runs.add("failed", error_type="Timeout")
    first = until_open(world)
    assert (first["type"], first["agent_name"]) == ("agent.failing", "worker")
    assert (first["detail"]["failed"], first["detail"]["runs"]) == (1, 4)
    last = runs.add("failed", error_type="Refused")
    now = until_open(world)
    assert now["alert_id"] == first["alert_id"]
    assert now["detail"] == {"failed": 2, "runs": 5, "run_id": last, "error_type": "Refused"}
    runs.add("completed")  # counted without another failure
    until(lambda: until_open(world)["detail"]["runs"] == 6)
    for _ in range(4):
        runs.add("completed")
    closed = until_closed(world, first)
    assert closed["closed_by"] == "recovered"
    told = [(t, d["summary"]) for t, d in messages(world)]
    assert told == [
        ("agent.failing", "Agent 'worker' is failing: 1 of its last 4 runs failed"),
        ("agent.healthy", "Agent 'worker' is healthy again: 8 of its last 10 runs completed"),
    ]


def test_a_failing_agent_recovers_with_a_day_without_failures(world, clock):
    set_rules(world, run_failed=True)
    runs = Runs(world, clock)
    runs.add("failed")
    alert = until_open(world)
    clock.advance(DAY + HOUR)
    assert until_open(world)["alert_id"] == alert["alert_id"]  # no run has completed since
    Runs(world, clock).add("completed")
    assert until_closed(world, alert)["closed_by"] == "recovered"


@pytest.mark.parametrize("how", ["rule", "disabled", "deleted"])
def test_a_failing_agents_alert_ends_with_what_it_is_about(world, clock, how):
    set_rules(world, run_failed=True)
    Runs(world, clock).add("failed")
    alert = until_open(world)
    if how == "rule":
        set_rules(world, run_failed=False)
    else:
        verb = {"disabled": "disable", "deleted": "delete"}[how]
        world.server.cli("agent", verb, "worker", "--tenant", world.slug)
    assert until_closed(world, alert)["closed_by"] == how


def test_old_failures_before_good_runs_open_nothing(world, clock):
    set_rules(world, run_failed=True)
    runs = Runs(world, clock)
    for _ in range(5):
        runs.add("completed")
    runs.at -= timedelta(minutes=10)  # reported late
    runs.add("failed")
    assert alerts(world, **FAILING) == []
    assert len(alerts(world, type="run.failed")) == 1


def start(runs, n):
    """Runs that do not end."""
    for _ in range(n):
        runs.at += timedelta(seconds=1)
        report(runs.tenant, runs.name, run_id=str(uuid.uuid4()), event="started",
               timestamp=text(runs.at))  # fmt: skip


def test_runs_that_have_not_ended_are_no_recovery(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    set_rules(world, run_failed=True)
    busy, other = Runs(world, clock, "busy"), Runs(world, clock, "other")
    busy.add("failed")
    before = until_open(world)
    start(busy, 60)
    other.add("failed")
    (others,) = alerts(world, agent_name="other", state="open")
    for _ in range(5):
        other.add("completed")
    until_closed(world, others)  # so the watch has looked at both
    assert until_open(world) == before
    late = busy.at
    busy.at -= timedelta(seconds=60)  # a failure among them changes nothing either
    busy.add("failed")
    busy.at = late
    assert until_open(world)["alert_id"] == before["alert_id"]
    for _ in range(5):  # more than 40 of the newest 60 still have no end
        busy.add("completed")
    until_closed(world, before)
    told = [d["summary"] for t, d in messages(world) if t == "agent.healthy"]
    assert told == [
        "Agent 'other' is healthy again: 5 of its last 6 runs completed",
        "Agent 'busy' is healthy again: 5 of its last 7 runs completed",
    ]


def test_a_failure_before_many_runs_that_have_not_ended_is_an_alert(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    set_rules(world, run_failed=True)
    runs = Runs(world, clock)
    start(runs, 60)
    runs.at -= timedelta(minutes=10)
    run = runs.add("failed", error_type="Timeout")
    detail = {"failed": 1, "runs": 1, "run_id": run, "error_type": "Timeout"}
    assert until_open(world)["detail"] == detail
    ((_, message),) = messages(world)
    assert message["summary"] == "Agent 'worker' is failing: 1 of its last 1 runs failed"


@pytest.mark.parametrize("how", ["runs deleted", "rule switched off"])
def test_the_watch_closes_what_nothing_else_would(world, clock, own_server, how):
    listen(world, "--types", "agent.failing,agent.healthy")
    set_rules(world, run_failed=True)
    Runs(world, clock).add("failed")
    alert = until_open(world)
    own_server.stop()
    if how == "runs deleted":
        change(own_server, f"DELETE FROM runs WHERE {of_tenant(world)}")
    else:  # as by a request that was committed just before the alert opened
        change(own_server, f"UPDATE alert_rules SET run_failed = 0 WHERE {of_tenant(world)}")
    own_server.start()
    reopen(world, own_server)
    reason = "recovered" if how == "runs deleted" else "rule"
    assert until_closed(world, alert)["closed_by"] == reason
    told = [d["summary"] for t, d in messages(world) if t == "agent.healthy"]
    gone = ["Agent 'worker' is no longer failing: its runs were deleted"]
    assert told == (gone if how == "runs deleted" else [])


def test_agents_that_fail_together_have_an_alert_each(world):
    set_rules(world, run_failed=True)
    names = [f"agent-{i}" for i in (3, 1, 2)]
    events = [
        world.event(agent_name=name, run_id=str(uuid.uuid4()), event="failed")
        for name in (*reversed(names), *names)
    ]
    assert world.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    found = alerts(world, state="open")
    assert sorted(a["agent_name"] for a in found) == sorted(names)
    assert {(a["detail"]["failed"], a["detail"]["runs"]) for a in found} == {(2, 2)}


def test_a_batch_opens_the_alerts_of_many_agents_and_the_watch_counts_their_runs(world, clock):
    """Only the runs of some of them are counted with the batch: it stays quick."""
    set_rules(world, run_failed=True)
    names = [f"agent-{i}" for i in range(24)]
    now = datetime.fromtimestamp(clock.now(), timezone.utc)
    failed = lambda name, age: world.event(  # noqa: E731
        agent_name=name, run_id=str(uuid.uuid4()), event="failed", timestamp=text(now - age)
    )
    events = [failed(name, timedelta(minutes=1)) for name in names * 2]
    old = [failed(f"old-{i}", timedelta(days=3)) for i in range(2)]
    body = {"events": events + old}  # a busy machine may refuse it: it is sent again
    until(lambda: world.client.post("/api/v1/telemetry/batch", body).status == 202)
    found = alerts(world, state="open", limit=100)
    assert sorted(a["agent_name"] for a in found if a["agent_name"][:3] != "old") == sorted(names)

    def counted():
        now = [a for a in alerts(world, state="open", limit=100) if a["agent_name"] in names]
        return {(a["detail"]["failed"], a["detail"]["runs"]) for a in now} == {(2, 2)}

    until(counted)


def test_a_failure_rate_beyond_its_limit_is_one_alert(world, clock):
    rate = {"agent_name": "worker", "runs": 4, "percent": 25}
    set_rules(world, failure_rates=[rate, {**rate, "paused": True, "percent": 0}])
    runs = Runs(world, clock)
    for event in ("failed", "failed", "completed"):
        runs.add(event)
    clock.advance(MINUTE)
    assert alerts(world) == []  # three runs are too few for a verdict
    runs.add("completed")
    clock.advance(MINUTE)
    alert = until_open(world)
    assert (alert["type"], alert["agent_name"]) == ("failure_rate.exceeded", "worker")
    assert alert["detail"] == {**rate, "failed": 2}
    for _ in range(3):
        runs.add("failed")
    clock.advance(MINUTE)
    until(lambda: until_open(world)["detail"]["failed"] == 3)
    for _ in range(3):
        runs.add("completed")
    clock.advance(MINUTE)
    assert until_closed(world, alert)["closed_by"] == "recovered"


def test_a_duration_beyond_its_limit_is_one_alert_until_the_rule_is_paused(world, clock):
    rule = {"agent_name": None, "runs": 4, "percentile": 50, "seconds": 60}
    set_rules(world, durations=[rule])
    runs = Runs(world, clock)
    for seconds in (10, 70, 90, 80):
        runs.add("completed", seconds)
    clock.advance(MINUTE)
    alert = until_open(world)
    assert (alert["type"], alert["agent_name"]) == ("duration.exceeded", None)
    assert alert["detail"] == {**rule, "value": 70}
    set_rules(world, durations=[{**rule, "paused": True}])
    assert until_closed(world, alert)["closed_by"] == "rule"


def silent(world, clock, *names):
    for name in names:
        register(world, name)
        report(world, name)
    clock.advance(ALLOWED + 10)
    until(lambda: len(alerts(world, state="open")) == len(names))
    return {a["agent_name"]: a for a in alerts(world, state="open")}


def test_many_alerts_are_acknowledged_at_once_with_a_note(world, clock):
    found = silent(world, clock, "a", "b", "c")
    person = tenant_person(world, "member")
    ids = [found[name]["alert_id"] for name in "ab"]
    path = world.path("alerts/acknowledge")
    body = {"alert_ids": [*ids, "alt_x"], "note": "moving house"}
    assert person.post(path, body).json() == {"acknowledged": 2}
    assert person.post(path, {"alert_ids": ids}).json() == {"acknowledged": 0}
    assert [a["agent_name"] for a in alerts(world, acknowledged="false")] == ["c"]
    assert {a["note"] for a in alerts(world, acknowledged="true")} == {"moving house"}
    counts = world.client.get(world.path("alerts/counts")).json()
    assert counts == {
        "open": 3, "unacknowledged": 1, "complete": True,
        "types": [{"type": "agent.silent", "open": 3, "unacknowledged": 1}],
    }  # fmt: skip
    assert world.client.post(path, body).status == 403
    assert person.post(path, {"alert_ids": ["x"] * 1001}).status == 422
    person.close()


def test_an_alert_named_many_times_is_acknowledged_once(world, clock):
    found = silent(world, clock, "a", "b")
    first, second = (found[name]["alert_id"] for name in "ab")
    person = tenant_person(world, "member")
    body = {"alert_ids": [first] * 1000, "note": "x" * 2000}
    assert person.post(world.path("alerts/acknowledge"), body).json() == {"acknowledged": 1}
    body = {"alert_ids": [first, second, "alt_x"], "note": "later"}
    assert person.post(world.path("alerts/acknowledge"), body).json() == {"acknowledged": 1}
    history = person.get(world.path(f"alerts/{first}/history")).json()["entries"]
    assert [(e["what"], e["note"]) for e in history] == [("acknowledged", "x" * 2000)]
    assert {a["alert_id"]: a["note"] for a in alerts(world)} == {first: "x" * 2000, second: "later"}
    log = world.server.cli("audit", "list", "--tenant", world.slug, "--action",
                           "alert.acknowledge", "--json")  # fmt: skip
    assert [e["detail"] for e in json.loads(log)["entries"]] == [
        {"acknowledged": 1, "alert_ids": [second]},
        {"acknowledged": 1, "alert_ids": [first]},
    ]
    person.close()


def test_a_history_has_a_hundred_entries(world, clock):
    (alert,) = silent(world, clock, "a").values()
    person = tenant_person(world, "member")
    path = world.path(f"alerts/{alert['alert_id']}")
    for i in range(100):
        assert person.post(path + "/notes", {"note": f"note {i}"}).status == 200
    assert person.post(path + "/notes", {"note": "one more"}).status == 409
    assert alerts(world)[0]["note"] == "note 99"  # the refused one was taken back
    body = {"alert_ids": [alert["alert_id"]]}
    assert person.post(world.path("alerts/acknowledge"), body).json() == {"acknowledged": 1}
    entries = person.get(path + "/history").json()["entries"]
    assert [e["note"] for e in entries] == [f"note {i}" for i in range(100)]
    person.close()


def test_a_note_on_an_alert_that_another_node_deletes_leaves_nothing(world, clock, store):
    if store != "postgres":
        pytest.skip("SQLite has one node, whose writer does one change after the other")
    (alert,) = silent(world, clock, "a").values()
    alert_id, person = alert["alert_id"], tenant_person(world, "member")
    answers = []
    path = world.path(f"alerts/{alert_id}/notes")
    notes = threading.Thread(target=lambda: answers.append(person.post(path, {"note": "on it"})))
    with closing(Session(world.server.database)) as other:
        other.run("BEGIN")
        other.run(f"DELETE FROM alerts WHERE {of_tenant(world)} AND alert_id = '{alert_id}'")
        notes.start()
        until(lambda: lock_waits(world.server.database, "UPDATE %alerts% SET note%"), 60)
        other.run("COMMIT")
        notes.join()
    assert answers[0].status == 404, answers[0].body
    left = f"SELECT entry_id FROM alert_history WHERE alert_id = '{alert_id}'"
    assert stored(world.server, left) == []
    person.close()


def test_an_alert_has_a_history_of_what_people_did(world, clock):
    (alert,) = silent(world, clock, "a").values()
    person = tenant_person(world, "member")
    path = world.path(f"alerts/{alert['alert_id']}")
    assert person.post(path + "/acknowledge").json()["acknowledged_by"] is not None
    assert person.post(path + "/notes", {"note": "who knows"}).json()["note"] == "who knows"
    taken_back = person.request("DELETE", path + "/acknowledge").json()
    assert (taken_back["acknowledged_at"], taken_back["acknowledged_by"]) == (None, None)
    entries = person.get(path + "/history").json()["entries"]
    assert [(e["what"], e["note"]) for e in entries] == [
        ("acknowledged", None), ("note", "who knows"), ("unacknowledged", None),
    ]  # fmt: skip
    assert len({e["actor"] for e in entries}) == 1
    assert person.post(path + "/notes", {"note": ""}).status == 422
    for method, what in (("DELETE", "acknowledge"), ("POST", "notes"), ("GET", "history")):
        body = {"note": "x"} if what == "notes" else None
        assert person.request(method, world.path(f"alerts/alt_x/{what}"), body).status == 404
    person.close()
    other = world.server.add_tenant()
    stranger = tenant_person(other, "admin")
    assert stranger.get(path + "/history").status == 403
    elsewhere = other.path(f"alerts/{alert['alert_id']}/history")
    assert stranger.get(elsewhere).status == 404
    stranger.close()
    other.client.close()


def test_an_open_alert_is_repeated_until_it_is_acknowledged(world, clock):
    listen(world)
    set_rules(world, reminder_hours=6)
    (alert,) = silent(world, clock, "a").values()
    told = lambda: [d["summary"] for t, d in messages(world) if t == "agent.silent"]  # noqa: E731
    assert len(told()) == 1
    clock.advance(6 * HOUR + 10)
    until(lambda: len(told()) == 2)
    assert told()[1].startswith("Agent 'a' is still silent: last seen ")
    assert until_open(world)["reminded_at"] is not None
    clock.advance(6 * HOUR + 10)
    until(lambda: len(told()) == 3)
    person = tenant_person(world, "member")
    path = world.path(f"alerts/{alert['alert_id']}")
    person.post(path + "/acknowledge")
    entries = person.get(path + "/history").json()["entries"]
    assert [e["what"] for e in entries] == ["reminded", "acknowledged"]  # the newest reminder
    assert seconds(entries[0]["at"]) > seconds(alert["opened_at"]) + 12 * HOUR
    person.close()
    (second,) = (a for n, a in silent_too(world, clock).items() if n == "b")
    clock.advance(6 * HOUR + 10)
    until(lambda: len(told()) == 5)  # that of the second alert, and its repetition
    names = [d["agent_name"] for t, d in messages(world) if t == "agent.silent"]
    assert names == ["a", "a", "a", "b", "b"]
    assert second["state"] == "open"


def silent_too(world, clock):
    register(world, "b")
    report(world, "b")
    clock.advance(ALLOWED + 10)
    until(lambda: len(alerts(world, state="open")) == 2)
    return {a["agent_name"]: a for a in alerts(world, state="open")}
