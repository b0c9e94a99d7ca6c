"""Alerts that help: failing agents counted, rules for runs, acknowledgements, notes, reminders."""

import dataclasses
import json
import threading
import uuid
from contextlib import closing
from datetime import datetime, timedelta, timezone

import pytest
from hooks import ALLOWED, HOUR, alerts, register, report, seconds
from people import tenant_person
from postgres import Session, lock_waits
from stored import change, of_tenant, stored
from test_alerts import listen, messages, reopen, second_server, until_closed, until_open
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

    def add_many(self, events):
        """A letter each: f for a run that fails, c for one that completes."""
        for letter in events:
            last = self.add({"f": "failed", "c": "completed"}[letter])
        return last


def counts(alert):
    return alert["detail"]["failed"], alert["detail"]["runs"]


def test_three_failures_and_a_fifth_are_one_open_alert_with_a_count(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    runs = Runs(world, clock)
    runs.add_many("ccff")
    assert alerts(world, state="open") == []  # half of them, but only two
    runs.add("failed", error_type="Timeout")
    first = until_open(world)
    assert (first["type"], first["agent_name"]) == ("agent.failing", "worker")
    assert counts(first) == (3, 5)
    last = runs.add("failed", error_type="Refused")
    now = until_open(world)
    assert now["alert_id"] == first["alert_id"]
    assert now["detail"] == {"failed": 4, "runs": 6, "run_id": last, "error_type": "Refused"}
    runs.add("completed")  # counted without another failure
    until(lambda: counts(until_open(world)) == (4, 7))
    assert [t for t, _ in messages(world)] == ["agent.failing"]


def test_failures_of_which_few_are_open_no_alert(world, clock):
    """One of 20, which is what a good agent looks like; then 3 of 20; then a fifth of them."""
    runs = Runs(world, clock)
    runs.add_many("c" * 19 + "f")
    runs.add_many("ff")
    assert alerts(world, state="open") == []
    assert len(alerts(world, type="run.failed")) == 3  # each is told of all the same
    runs.add("failed")
    assert counts(until_open(world)) == (4, 20)


def test_a_failing_agent_is_healthy_when_less_than_a_tenth_fails(world, clock, own_server):
    listen(world, "--types", "agent.failing,agent.healthy")
    runs = Runs(world, clock)
    runs.add_many("ccccffff")
    alert = until_open(world)
    runs.add_many("c" * 14)  # many times five good ones, while it is four of twenty
    until(lambda: counts(until_open(world)) == (4, 20))
    own_server.stop()  # what is open is judged by the runs, not by what a process has seen
    own_server.start()
    reopen(world, own_server)
    runs.at += timedelta(minutes=1)
    runs.add_many("cccc")
    until(lambda: counts(until_open(world)) == (2, 20))  # a tenth
    runs.add("completed")
    closed = until_closed(world, alert)
    assert closed["closed_by"] == "recovered"
    told = [(t, d["summary"]) for t, d in messages(world)]
    assert told == [
        ("agent.failing", "Agent 'worker' is failing: 3 of its last 7 runs failed"),
        ("agent.healthy", "Agent 'worker' is healthy again: 19 of its last 20 runs completed"),
    ]
    runs.add_many("cf")
    assert alerts(world, state="open") == []  # it is not failing again for one


@pytest.mark.parametrize("how", ["rule", "disabled", "deleted"])
def test_a_failing_agents_alert_ends_with_what_it_is_about(world, clock, how):
    Runs(world, clock).add_many("fff")
    alert = until_open(world)
    if how == "rule":
        set_rules(world, run_failed=False)
    else:
        verb = {"disabled": "disable", "deleted": "delete"}[how]
        world.server.cli("agent", verb, "worker", "--tenant", world.slug)
    assert until_closed(world, alert)["closed_by"] == how


def test_old_failures_before_good_runs_open_nothing(world, clock):
    runs = Runs(world, clock)
    runs.add_many("c" * 20)
    runs.at -= timedelta(minutes=10)  # reported late
    runs.add_many("ffff")
    assert alerts(world, **FAILING) == []
    assert len(alerts(world, type="run.failed")) == 4


def start(runs, n):
    """Runs that do not end."""
    for _ in range(n):
        runs.at += timedelta(seconds=1)
        report(runs.tenant, runs.name, run_id=str(uuid.uuid4()), event="started",
               timestamp=text(runs.at))  # fmt: skip


def test_runs_that_have_not_ended_are_no_recovery(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    busy, other = Runs(world, clock, "busy"), Runs(world, clock, "other")
    busy.add_many("fff")
    before = until_open(world)
    start(busy, 60)
    other.add_many("fff")
    (others,) = alerts(world, agent_name="other", state="open")
    other.add_many("c" * 19)
    until_closed(world, others)  # so the watch has looked at both
    assert until_open(world) == before
    late = busy.at
    busy.at -= timedelta(seconds=70)  # a failure before them changes nothing either
    busy.add("failed")
    busy.at = late
    assert until_open(world)["alert_id"] == before["alert_id"]
    busy.add_many("c" * 19)  # more than 40 of the newest 60 still have no end
    until_closed(world, before)
    told = [d["summary"] for t, d in messages(world) if t == "agent.healthy"]
    assert told == [
        "Agent 'other' is healthy again: 19 of its last 20 runs completed",
        "Agent 'busy' is healthy again: 19 of its last 20 runs completed",
    ]


def test_failures_before_many_runs_that_have_not_ended_are_an_alert(world, clock):
    listen(world, "--types", "agent.failing,agent.healthy")
    runs = Runs(world, clock)
    start(runs, 60)
    runs.at -= timedelta(minutes=10)
    runs.add_many("ff")
    run = runs.add("failed", error_type="Timeout")
    detail = {"failed": 3, "runs": 3, "run_id": run, "error_type": "Timeout"}
    assert until_open(world)["detail"] == detail
    ((_, message),) = messages(world)
    assert message["summary"] == "Agent 'worker' is failing: 3 of its last 3 runs failed"


@pytest.mark.parametrize("how", ["runs deleted", "rule switched off"])
def test_the_watch_closes_what_nothing_else_would(world, clock, own_server, how):
    listen(world, "--types", "agent.failing,agent.healthy")
    set_rules(world, run_failed=True)
    Runs(world, clock).add_many("fff")
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


def test_a_batch_opens_the_alerts_of_many_agents_and_the_watch_counts_on(world, clock):
    """Of the agents whose alert is open, only some are counted with the next batch: it stays quick."""
    names = [f"agent-{i}" for i in range(24)]
    now = datetime.fromtimestamp(clock.now(), timezone.utc)
    failed = lambda name, age: world.event(  # noqa: E731
        agent_name=name, run_id=str(uuid.uuid4()), event="failed", timestamp=text(now - age)
    )

    def send(events):  # a busy machine may refuse it: it is sent again
        until(lambda: world.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202)

    def counted():
        return sorted((a["agent_name"], *counts(a)) for a in alerts(world, state="open", limit=100))

    few = [failed(f"few-{i}", timedelta(minutes=1)) for i in range(2)]
    send([failed(name, timedelta(minutes=1)) for name in names * 3] + few)
    assert counted() == sorted((name, 3, 3) for name in names)
    send([failed(name, timedelta(seconds=1)) for name in names])
    until(lambda: counted() == sorted((name, 4, 4) for name in names))


def test_runs_that_fail_on_two_nodes_at_once_are_counted_together(world, clock, own_server, tmp_path):
    """The transactions meet before either is committed: one of them waits, and sees the other's run."""
    if not own_server.database:
        pytest.skip("SQLite has one node, whose writer does one change after the other")
    Runs(world, clock).add("failed")
    with second_server(own_server, tmp_path) as node, closing(Session(own_server.database)) as other:
        there = dataclasses.replace(world, server=node, client=node.client(world.token))
        failures = [
            threading.Thread(target=report, args=(tenant,),
                             kwargs={"run_id": str(uuid.uuid4()), "event": "failed"})
            for tenant in (world, there)
        ]  # fmt: skip
        other.run("BEGIN")
        other.run("LOCK TABLE tenant_bytes IN SHARE MODE")  # the last that a transaction stores
        for thread in failures:
            thread.start()
        until(lambda: lock_waits(own_server.database) == 2, 60)
        other.run("COMMIT")
        for thread in failures:
            thread.join()
        assert counts(until_open(world)) == (3, 3)
        there.client.close()


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
    first = person.post(path + "/acknowledge").json()
    assert (first["state"], first["acknowledged_by"] is not None) == ("open", True)
    clock.advance(60)
    assert person.post(path + "/acknowledge").json() == first  # the first one stands
    assert world.client.post(path + "/acknowledge").status == 403
    assert person.post(path + "/notes", {"note": "who knows"}).json()["note"] == "who knows"
    taken_back = person.request("DELETE", path + "/acknowledge").json()
    assert (taken_back["acknowledged_at"], taken_back["acknowledged_by"]) == (None, None)
    entries = person.get(path + "/history").json()["entries"]
    assert [(e["what"], e["note"]) for e in entries] == [
        ("acknowledged", None), ("note", "who knows"), ("unacknowledged", None),
    ]  # fmt: skip
    assert len({e["actor"] for e in entries}) == 1
    assert person.post(path + "/notes", {"note": ""}).status == 422
    for method, what in (("POST", "acknowledge"), ("DELETE", "acknowledge"), ("POST", "notes"), ("GET", "history")):
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
