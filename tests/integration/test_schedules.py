"""Schedules that people set, pauses and maintenance: when an agent is expected, and when not."""

from datetime import datetime, timedelta, timezone

import pytest
from hooks import ALLOWED, DAY, HOUR, alerts, register, report, seconds
from test_alerts import stays, until_closed, until_open
from waiting import until

pytestmark = pytest.mark.administered

FORM = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture
def world(own_server):
    tenant = own_server.add_tenant("--max-agents", "50")
    yield tenant
    tenant.client.close()


def agent_of(world, name="worker"):
    answer = world.client.get(world.path(f"agents/{name}"))
    assert answer.status == 200, answer.body
    return answer.json()


def schedule(world, *options, name="worker"):
    world.server.cli("agent", "schedule", name, "--tenant", world.slug, *options)


def plan(world, *options):
    world.server.cli("maintenance", "add", "--tenant", world.slug, *options)


def window_ids(world):
    answer = world.client.get(world.path("maintenance"))
    assert answer.status == 200, answer.body
    return [one["window_id"] for one in answer.json()["windows"]]


def moment(world, after=0):
    """The service's own clock, which tests move."""
    last = seconds(agent_of(world)["last_seen_at"])
    return (datetime.fromtimestamp(last, timezone.utc) + timedelta(seconds=after)).strftime(FORM)


def test_an_agent_that_declares_nothing_gets_a_schedule_and_falls_silent(world, clock):
    report(world)
    before = agent_of(world)
    assert (before["schedule"], before["state"]) == (None, "unscheduled")
    schedule(world, "--every", str(HOUR), "--grace", "600")
    agent = agent_of(world)
    assert agent["schedule"] == {
        "kind": "interval", "interval_seconds": HOUR, "cron": None, "time_zone": None,
        "grace_seconds": 600, "set_grace_seconds": 600, "paused": False, "source": "set",
    }  # fmt: skip
    assert (agent["interval_seconds"], agent["state"]) == (None, "up")
    assert seconds(agent["silent_at"]) - seconds(agent["next_expected_at"]) == 600
    clock.advance(HOUR + 500)
    stays(world, [])
    clock.advance(200)
    alert = until_open(world)
    assert alert["detail"] == {"interval_seconds": HOUR, "grace_seconds": 600}
    report(world)
    assert until_closed(world, alert)["closed_by"] == "seen"


def test_a_person_goes_before_the_agent_until_the_schedule_is_removed(world, clock):
    register(world)
    report(world)
    assert agent_of(world)["schedule"]["source"] == "declared"
    schedule(world, "--every", str(10 * HOUR))
    clock.advance(ALLOWED + 10)
    stays(world, [])
    assert agent_of(world)["interval_seconds"] == HOUR  # what it declares is still shown
    world.server.cli("agent", "unschedule", "worker", "--tenant", world.slug)
    assert agent_of(world)["schedule"]["source"] == "declared"
    stays(world, [])  # what it declares counts from now on
    clock.advance(ALLOWED + 10)
    until_open(world)


def test_cron_in_a_time_zone_says_when_the_agent_is_expected_next(world, clock):
    report(world)
    schedule(world, "--cron", "30 8 * * *", "--time-zone", "Asia/Tokyo")
    agent = agent_of(world)
    due = datetime.fromisoformat(agent["next_expected_at"].replace("Z", "+00:00"))
    assert (due.hour, due.minute, due.second) == (23, 30, 0)  # 08:30 in Tokyo
    assert agent["schedule"]["grace_seconds"] == HOUR
    wait = seconds(agent["next_expected_at"]) - seconds(agent["last_seen_at"])
    assert 0 < wait <= DAY
    clock.advance(wait + 60)
    stays(world, [])
    assert agent_of(world)["state"] == "late"
    clock.advance(HOUR)
    alert = until_open(world)
    assert alert["detail"] == {
        "cron": "30 8 * * *", "time_zone": "Asia/Tokyo", "grace_seconds": HOUR,
    }  # fmt: skip
    report(world)
    until_closed(world, alert)
    assert agent_of(world)["next_expected_at"] > agent["next_expected_at"]


def test_a_pause_closes_the_alert_and_opens_none_until_it_ends(world, clock):
    register(world)
    report(world)
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    schedule(world, "--paused")
    assert until_closed(world, alert)["closed_by"] == "paused"
    agent = agent_of(world)
    assert (agent["state"], agent["next_expected_at"]) == ("unscheduled", None)
    assert agent["schedule"]["paused"] is True
    clock.advance(10 * DAY)
    stays(world, [(alert["alert_id"], "closed")])
    world.server.cli("agent", "unschedule", "worker", "--tenant", world.slug)
    stays(world, [(alert["alert_id"], "closed")])  # no alert at once
    clock.advance(ALLOWED + 10)
    assert until_open(world)["alert_id"] != alert["alert_id"]


@pytest.mark.parametrize("whose", ["worker", None])
def test_no_alert_opens_in_a_window_and_the_agent_gets_a_new_start_after_it(world, clock, whose):
    register(world)
    report(world)
    only = () if whose is None else ("--agent", whose)
    plan(world, "--from", moment(world, HOUR - 60), "--until", moment(world, 5 * HOUR), *only)
    agent = agent_of(world)
    assert agent["maintenance_until"] is None
    assert seconds(agent["next_expected_at"]) - seconds(agent["last_seen_at"]) == pytest.approx(
        6 * HOUR, abs=2
    )
    clock.advance(2 * HOUR)
    stays(world, [])
    agent = agent_of(world)
    assert agent["maintenance_until"] is not None and agent["state"] == "up"
    clock.advance(4 * HOUR - 60)  # nearly an hour after the window
    stays(world, [])
    clock.advance(HOUR)
    until_open(world)


def test_a_report_in_a_window_counts_and_other_agents_are_not_spared(world, clock):
    for name in ("worker", "other"):
        register(world, name)
        report(world, name)
    plan(world, "--from", moment(world), "--until", moment(world, 3 * HOUR), "--agent", "worker")
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    assert alert["agent_name"] == "other"
    report(world)
    agent = agent_of(world)
    assert seconds(agent["next_expected_at"]) > seconds(agent["maintenance_until"])
    assert [a["agent_name"] for a in alerts(world)] == ["other"]


@pytest.mark.parametrize("hours", [20, 4])  # it is ended early, or over
def test_a_window_that_is_removed_gives_agents_a_new_start(world, clock, hours):
    register(world)
    report(world)
    plan(world, "--from", moment(world), "--until", moment(world, hours * HOUR))
    clock.advance(5 * HOUR)
    (window_id,) = window_ids(world)
    world.server.cli("maintenance", "delete", window_id, "--tenant", world.slug)
    assert window_ids(world) == []
    stays(world, [])
    clock.advance(ALLOWED + 10)
    until_open(world)


def test_weekly_windows_are_listed_and_bounded(world):
    register(world)
    days = ("--weekdays", "mon,wed", "--start", "02:30", "--minutes", "90")
    plan(world, *days, "--time-zone", "Europe/Berlin", "--note", "updates")
    (one,) = world.client.get(world.path("maintenance")).json()["windows"]
    assert (one["weekdays"], one["start"], one["minutes"]) == (["mon", "wed"], "02:30", 90)
    assert (one["from"], one["agent_name"], one["note"]) == (None, None, "updates")
    if world.server.database:
        return  # below are the same checks, of the same code
    people = world.server.operator()
    body = {"weekdays": ["sun"], "start": "01:00", "minutes": 5}
    path = world.path("maintenance")
    statuses = [people.post(path, body).status for _ in range(100)]
    assert statuses == [201] * 99 + [409]
    assert until(lambda: len(window_ids(world)) == 100)
    gone = window_ids(world)[-1]
    assert people.delete(f"{path}/{gone}").status == 200
    assert until(lambda: gone not in window_ids(world))
    assert people.delete(f"{path}/{gone}").status == 404


def refused(answer, field):
    assert answer.status == 422, answer.body
    assert [one["loc"][-1] for one in answer.json()["detail"]] == [field]


def test_what_cannot_be_a_schedule_is_refused(server):
    if server.database:
        pytest.skip("the checks come before the store")
    world = server.add_tenant()
    report(world)
    person, path = server.operator(), world.path("agents/worker/schedule")
    refused(person.request("PUT", path, {"cron": "61 * * * *"}), "cron")
    refused(person.request("PUT", path, {"cron": "0 0 30 2 *"}), "cron")
    refused(person.request("PUT", path, {"cron": "* * * * *", "interval_seconds": 5}), "cron")
    refused(person.request("PUT", path, {"cron": "* * * * *", "time_zone": "Mars/Base"}), "time_zone")
    refused(person.request("PUT", path, {"interval_seconds": 0}), "interval_seconds")
    assert person.request("PUT", path, {"paused": True}).status == 409  # it declares nothing
    missing = world.path("agents/missing/schedule")
    assert person.request("PUT", missing, {"interval_seconds": 5}).status == 404
    windows = world.path("maintenance")
    refused(person.post(windows, {}), "from")
    refused(person.post(windows, {"weekdays": ["sun"], "start": "25:00", "minutes": 5}), "start")
    refused(person.post(windows, {"weekdays": ["day"], "start": "01:00", "minutes": 5}), "weekdays")
    backwards = {"from": "2030-01-02T00:00:00Z", "until": "2030-01-01T00:00:00Z"}
    refused(person.post(windows, backwards), "until")
    unknown = {"weekdays": ["sun"], "start": "01:00", "minutes": 5, "agent_name": "missing"}
    assert person.post(windows, unknown).status == 404


def test_an_agent_that_is_removed_takes_its_schedule_with_it(world, clock):
    report(world)
    schedule(world, "--every", str(HOUR))
    plan(world, "--from", moment(world), "--until", moment(world, HOUR), "--agent", "worker")
    world.server.cli("agent", "delete", "worker", "--tenant", world.slug)
    assert window_ids(world) == []
    report(world)
    assert agent_of(world)["schedule"] is None
