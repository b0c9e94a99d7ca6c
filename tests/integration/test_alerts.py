"""Alerts: one for each silence and each stuck run, closed when it is over."""

import json
import uuid
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from hooks import ALLOWED, DAY, EPOCH, HOUR, alerts, register, report, seconds
from muster import Server
from people import add_user, log_in
from postgres import by_another_server
from stored import of_tenant, stored
from waiting import always, until

pytestmark = pytest.mark.administered

KEYS = [
    "alert_id", "type", "state", "agent_name", "run_id", "since_at", "opened_at", "closed_at",
    "closed_by", "away_seconds", "acknowledged_at", "acknowledged_by", "note", "reminded_at",
    "muted", "detail",
]  # fmt: skip


def until_open(tenant, **query):
    (alert,) = until(lambda: alerts(tenant, state="open", **query))
    return alert


def closed(tenant, alert):
    """The alert, if it is closed."""
    (now,) = [a for a in alerts(tenant) if a["alert_id"] == alert["alert_id"]]
    return now if now["state"] == "closed" else None


def until_closed(tenant, alert):
    return until(lambda: closed(tenant, alert))


def stays(tenant, expected, *others):
    """Nothing opens and nothing closes while the watch looks several times."""
    is_so = lambda: [(a["alert_id"], a["state"]) for a in alerts(tenant)] == expected  # noqa: E731
    always(is_so, tenant.server, *others)


@pytest.fixture
def world(own_server):
    tenant = own_server.add_tenant("--max-agents", "50")
    yield tenant
    tenant.client.close()


def reopen(tenant, server):
    tenant.client.close()
    tenant.server, tenant.client = server, server.client(tenant.token)


@pytest.mark.smoke
def test_an_alert_opens_once_and_closes_with_the_next_sign_of_life(world, clock):
    register(world)
    report(world)
    register(world, "chatty", DAY)
    report(world, "chatty")
    clock.advance(ALLOWED + 10)
    report(world, "chatty")
    alert = until_open(world)
    assert list(alert) == KEYS
    assert (alert["type"], alert["agent_name"], alert["run_id"]) == ("agent.silent", "worker", None)
    assert (alert["closed_at"], alert["away_seconds"], alert["muted"]) == (None, None, False)
    assert alert["detail"] == {"interval_seconds": HOUR, "grace_seconds": HOUR // 2}
    silent_for = seconds(alert["opened_at"]) - seconds(alert["since_at"])
    assert ALLOWED <= silent_for < ALLOWED + 30
    clock.advance(HOUR)
    report(world, "chatty")
    stays(world, [(alert["alert_id"], "open")])
    report(world)
    closed = until_closed(world, alert)
    assert closed["closed_by"] == "seen"
    assert abs(closed["away_seconds"] - (ALLOWED + HOUR + 10)) < 60
    clock.advance(ALLOWED + 10)
    report(world, "chatty")
    again = until_open(world)
    assert again["alert_id"] > alert["alert_id"]
    assert [a["alert_id"] for a in alerts(world)] == [again["alert_id"], alert["alert_id"]]


@pytest.mark.parametrize("how", ["disabled", "no interval", "never seen", "late only"])
@pytest.mark.same_threads
def test_some_agents_do_not_alert(world, clock, how):
    register(world)
    if how != "never seen":
        report(world)
    if how == "disabled":
        world.server.cli("agent", "disable", "worker", "--tenant", world.slug)
    if how == "no interval":
        register(world, interval=None)
    clock.advance(HOUR + 60 if how == "late only" else 10 * DAY)
    stays(world, [])


def test_a_start_gives_everybody_a_full_allowance(world, clock, own_server):
    register(world)
    report(world)
    own_server.stop()
    clock.advance(DAY)  # we were away
    own_server.start()
    reopen(world, own_server)
    stays(world, [])
    clock.advance(ALLOWED - 60)
    stays(world, [])
    clock.advance(120)
    alert = until_open(world)
    assert seconds(alert["opened_at"]) - seconds(alert["since_at"]) > DAY


def test_a_restart_neither_loses_nor_repeats_an_alert(world, clock, own_server):
    register(world)
    report(world)
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    own_server.kill()
    own_server.start()
    reopen(world, own_server)
    clock.advance(ALLOWED + 10)
    stays(world, [(alert["alert_id"], "open")])
    own_server.stop()
    own_server.start()
    reopen(world, own_server)
    report(world)
    assert until_closed(world, alert)["closed_by"] == "seen"
    stays(world, [(alert["alert_id"], "closed")])


@pytest.mark.parametrize("step", [DAY, -DAY])
@pytest.mark.same_threads
def test_a_step_of_the_clock_raises_no_alarm(world, clock, step):
    register(world)
    report(world)
    time_to_tick(world)
    clock.step(step)
    stays(world, [])
    clock.advance(ALLOWED - 60)
    stays(world, [])
    clock.advance(120)
    alert = until_open(world)
    clock.step(-step)  # and back: still the same silence
    stays(world, [(alert["alert_id"], "open")])
    report(world)
    assert until_closed(world, alert)["away_seconds"] >= 0


def time_to_tick(tenant, *others):
    """The watch has looked at the clocks since the start."""
    always(lambda: alerts(tenant) == [], tenant.server, *others)


@pytest.mark.same_threads
def test_another_interval_is_honoured_at_once(world, clock):
    listen(world)
    register(world)
    report(world)
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    register(world, interval=DAY)  # nothing is late by that
    closed = until_closed(world, alert)
    assert (closed["closed_by"], closed["away_seconds"]) == ("interval", None)
    summary = messages(world)[-1][1]["summary"]
    assert summary == "Agent 'worker' is no longer silent: its schedule was changed"
    stays(world, [(alert["alert_id"], "closed")])
    register(world, interval=60)
    assert until_open(world)["detail"]["interval_seconds"] == 60


def test_an_interval_of_any_length_leaves_the_watch_over_others_alone(world, clock):
    """One that the database cannot add to a time must not end the watch over the others."""
    for name, interval in (("worker", HOUR), ("patient", 2**63 - 1), ("hasty", -(2**63))):
        register(world, name, interval)
        report(world, name)
    clock.advance(ALLOWED + 10)
    assert until_open(world)["agent_name"] == "worker"


@pytest.mark.parametrize("how", ["disable", "delete"])
@pytest.mark.same_threads
def test_an_alert_ends_with_what_is_expected(world, clock, how):
    listen(world)
    register(world)
    report(world)
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    world.server.cli("agent", how, "worker", "--tenant", world.slug)
    assert until_closed(world, alert)["closed_by"] == how + "d"
    assert messages(world)[-1][1]["summary"] == f"Agent 'worker' is no longer silent: it was {how}d"


@pytest.mark.same_threads
def test_a_muted_agents_alerts_are_rows_all_the_same(world, clock):
    register(world)
    report(world)
    email = add_user(world.server, "--tenant", world.slug, "--role", "member")
    person = log_in(world.server, email)
    path, until_at = world.path("agents/worker/mute"), "2100-01-01T00:00:00Z"
    answer = person.request("PUT", path, {"until": until_at})
    said = {"agent_name": "worker", "muted_until": until_at}
    assert (answer.status, answer.json()) == (200, said)
    agent = world.path("agents/worker")
    assert world.client.get(agent).json()["muted_until"] == until_at
    clock.advance(ALLOWED + 10)
    assert until_open(world)["muted"] is True
    answer = person.request("DELETE", path)
    assert (answer.status, answer.json()["muted_until"]) == (200, None)
    assert world.client.get(agent).json()["muted_until"] is None
    nobody = world.path("agents/nobody/mute")
    assert person.request("PUT", nobody, {"until": until_at}).status == 404
    assert person.request("PUT", path, {"until": "soon"}).status == 422
    assert world.client.request("PUT", path, {"until": until_at}).status == 403
    person.close()


def mute(tenant, name="worker", until_at=None):
    """Until that time, or unmuted."""
    person = log_in(
        tenant.server, add_user(tenant.server, "--tenant", tenant.slug, "--role", "member")
    )
    path = tenant.path(f"agents/{name}/mute")
    body = ("PUT", path, {"until": until_at}) if until_at else ("DELETE", path)
    assert person.request(*body).status == 200
    person.close()


def messages(tenant):
    rows = stored(
        tenant.server,
        f"SELECT type, data FROM messages WHERE {of_tenant(tenant)} ORDER BY created_at, type",
    )
    return [(row["type"], json.loads(row["data"])) for row in rows]


def listen(tenant, *options):
    """Messages are stored for each webhook; none is delivered here."""
    url = "https://example.com/hook"
    tenant.server.cli("webhook", "add", url, "--tenant", tenant.slug, *options)


@pytest.mark.parametrize("how", ["the time comes", "by hand"])
@pytest.mark.same_threads
def test_what_is_still_wrong_when_a_mute_ends_is_told_then(world, clock, how):
    listen(world)
    run = str(uuid.uuid4())
    for name in ("worker", "back"):
        register(world, name)
        report(world, name, run_id=run if name == "worker" else str(uuid.uuid4()),
               timestamp=now_text(clock))  # fmt: skip
        moment = EPOCH + timedelta(seconds=clock.now() + 2 * DAY)
        mute(world, name, moment.isoformat().replace("+00:00", "Z"))
    clock.advance(DAY + 300)
    until(lambda: len(alerts(world, state="open")) == 4)
    assert {a["muted"] for a in alerts(world)} == {True}
    report(world, "back")
    until(lambda: len(alerts(world, state="closed")) == 1)
    assert messages(world) == []
    if how == "by hand":
        mute(world)
    else:
        clock.advance(DAY)
    until(lambda: len(messages(world)) >= (2 if how == "by hand" else 3))
    mine = alerts(world, agent_name="worker")
    assert [a["muted"] for a in mine] == [False, False]
    told = [(t, d["alert_id"]) for t, d in messages(world) if d["agent_name"] == "worker"]
    assert sorted(told) == sorted((a["type"], a["alert_id"]) for a in mine)
    assert {d["summary"].rsplit(" ", 1)[0] for _, d in messages(world)} >= {
        "Agent 'worker' is still silent: last seen",
        f"Run {run} of agent 'worker' is still open: started",
    }
    report(world)
    until(lambda: alerts(world, agent_name="worker", state="closed"))
    assert [t for t, d in messages(world) if d["agent_name"] == "worker"][-1] == "agent.recovered"


@pytest.mark.same_threads
def test_a_deleted_agent_is_not_muted_when_it_comes_back(world):
    report(world)
    mute(world, until_at="2100-01-01T00:00:00Z")
    world.server.cli("agent", "delete", "worker", "--tenant", world.slug)

    def is_back():  # with PostgreSQL the server learns of the deletion within a second
        report(world)
        answer = world.client.get(world.path("agents/worker"))
        return answer.status == 200 and answer

    assert until(is_back).json()["muted_until"] is None


def by_business(tenant):
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()),
            "timestamp": "2025-01-01T00:00:00Z", "metrics": {"leads": 1}}  # fmt: skip
    return tenant.client.post("/api/v1/telemetry/business", body)


def by_llm(tenant):
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": "m",
            "timestamp": "2025-01-01T00:00:00Z"}  # fmt: skip
    return tenant.client.post("/api/v1/telemetry/llm", body)


def by_heartbeat(tenant):
    client = tenant.agent_client("worker")
    answer = client.post("/api/v1/heartbeat?client_id=p1")
    client.close()
    return answer


def by_foreign_heartbeat(tenant):
    return tenant.client.post("/api/v1/heartbeat?client_id=worker")


@pytest.mark.parametrize(
    ("send", "counts"),
    [(by_business, True), (by_llm, True), (by_heartbeat, True), (by_foreign_heartbeat, False)],
)
@pytest.mark.same_threads
def test_whatever_an_agent_sends_ends_its_silence(world, clock, send, counts):
    register(world)
    report(world)
    clock.advance(ALLOWED + 10)
    alert = until_open(world)
    assert send(world).status in (200, 202)
    if counts:
        assert until_closed(world, alert)["closed_by"] == "seen"
    else:
        stays(world, [(alert["alert_id"], "open")])


NAMES = ["日" * 100, "x" + "é" * 150, "🤖" * 60 + "!", "a" * 199 + "ü"]


@pytest.mark.same_threads
def test_agents_may_be_called_anything(world, clock):
    """Names are cut in sentences, and never within a character: the store would refuse that."""
    listen(world)
    for name in [*NAMES, "plain"]:
        register(world, name)
        report(world, name, timestamp=now_text(clock))
    clock.advance(DAY + 300)
    until(lambda: len(alerts(world, state="open")) == 2 * len(NAMES) + 2)
    for name in [*NAMES, "plain"]:
        world.server.cli("agent", "disable", name, "--tenant", world.slug)
    clock.advance(61)
    until(lambda: alerts(world, state="open") == [])
    told = messages(world)
    assert len(told) == 2 * len(alerts(world))
    for kind in ("agent.silent", "agent.recovered", "run.stuck", "run.recovered"):
        assert sorted(d["agent_name"] for t, d in told if t == kind) == sorted([*NAMES, "plain"])


@pytest.mark.same_threads
def test_alerts_are_paged_and_filtered(world, clock):
    names = [f"a{i}" for i in range(5)]
    for name in names:
        register(world, name)
        report(world, name)
    clock.advance(ALLOWED + 10)
    until(lambda: len(alerts(world, state="open")) == 5)
    report(world, "a0")
    until(lambda: len(alerts(world, state="closed")) == 1)
    found, cursor = [], {}
    while cursor is not None:
        answer = world.client.get(world.path("alerts?" + urlencode({"limit": 2, **cursor}))).json()
        found += answer["alerts"]
        cursor = {"cursor": answer["next"]} if answer["next"] else None
    assert found == alerts(world)
    assert sorted(a["agent_name"] for a in found) == names
    assert [a["agent_name"] for a in alerts(world, agent_name="a3")] == ["a3"]
    assert alerts(world, agent_name="nobody") == []
    assert alerts(world, agent_name="a3", state="closed") == []
    assert len(alerts(world, type="agent.silent")) == 5
    assert alerts(world, type="run.stuck") == []
    assert world.client.get(world.path("alerts?state=odd")).status == 422
    other = world.server.add_tenant()
    assert alerts(other) == []
    assert other.client.get(world.path("alerts")).status == 403
    other.client.close()


def now_text(clock):
    moment = EPOCH + timedelta(seconds=clock.now())
    return moment.isoformat().replace("+00:00", "Z")


def test_a_run_that_stays_open_is_stuck_until_it_closes(world, clock):
    run = str(uuid.uuid4())
    report(world, run_id=run, timestamp=now_text(clock))
    done = str(uuid.uuid4())
    report(world, run_id=done, timestamp=now_text(clock))
    report(world, run_id=done, timestamp=now_text(clock), event="completed")
    clock.advance(DAY - 120)
    stays(world, [])
    clock.advance(300)
    alert = until_open(world)
    assert (alert["type"], alert["agent_name"], alert["run_id"]) == ("run.stuck", "worker", run)
    assert alert["detail"] == {"limit_seconds": DAY}
    clock.advance(DAY)
    stays(world, [(alert["alert_id"], "open")])
    report(world, run_id=run, timestamp=now_text(clock), event="failed")
    clock.advance(61)
    closed = until_closed(world, alert)
    assert (closed["closed_by"], closed["away_seconds"]) == ("closed", None)


@pytest.mark.same_threads
def test_a_stuck_run_that_another_agent_turns_out_to_have_started_is_over_when_it_closes(world, clock):
    run = str(uuid.uuid4())
    report(world, "callee", run_id=run, timestamp=now_text(clock), event="in_progress")
    clock.advance(DAY + 300)
    alert = until_open(world)
    assert alert["agent_name"] == "callee"
    for event in ("started", "completed"):
        report(world, run_id=run, timestamp=now_text(clock), event=event)
    clock.advance(61)
    assert until_closed(world, alert)["closed_by"] == "closed"


@pytest.mark.same_threads
def test_slow_agents_have_longer(world, clock):
    slow = {"event": "completed", "duration_ms": 10 * HOUR * 1000}
    for _ in range(3):
        report(world, timestamp="2025-01-01T00:00:00Z", **slow)
    run = str(uuid.uuid4())
    report(world, run_id=run, timestamp=now_text(clock))
    clock.advance(DAY + 300)
    stays(world, [])
    clock.advance(26 * HOUR)
    assert until_open(world)["detail"] == {"limit_seconds": 50 * HOUR}


@contextmanager
def second_server(first, folder):
    key = {"MUSTER_MASTER_KEY_FILE": str(first.data / "master.key")}
    server = Server(folder / "second", by_another_server(first.database), environment={**first.environment, **key})
    try:
        yield server.start()
        server.stop()
    finally:
        if server.process is not None:
            server.process.kill()
            server.process.wait()
