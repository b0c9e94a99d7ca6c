"""Alerts are delivered: once by rule, signed, again while the target fails, and without delaying requests.

The clock is set: hours pass in no time. All tests of a store share a server and its clock, which
only goes forward; each has a tenant of its own.
"""

import base64
import email
import email.policy
import json
import re
import threading
from contextlib import contextmanager

import pytest
from conftest import running
from hooks import (
    ALLOWED,
    DAY,
    LOCAL,
    Hook,
    alerts,
    all_of,
    cli,
    fall_silent,
    register,
    remove_all,
    report,
    seconds,
)
from mail_server import WAIT_S, mail_server
from muster import Clock
from people import tenant_person
from receiver import receiving
from waiting import until

# So that a test that is kept waiting still finds the first attempt to be the last one.
LATER = {"Retry-After": "30"}
DELAYS = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 72000]
TRIES = 5  # all with one agent: others would fall silent as the clock moves
FROM, TO = "muster@example.com", "ops@example.com"


@pytest.fixture(scope="module")
def mails():
    with mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def sender(store, mails, tmp_path_factory):
    """A server that may send to loopback, with the clock that it follows."""
    folder = tmp_path_factory.mktemp("delivery")
    clock = Clock(folder)
    arguments = [*LOCAL, "--smtp-url", mails.url, "--smtp-from", FROM]
    with running(
        store, folder, administered=True, arguments=arguments, environment=clock.environment
    ) as server:
        server.clock = clock
        yield server


@pytest.fixture
def clock(sender):
    return sender.clock


@pytest.fixture
def world(sender):
    """A tenant; it has no webhooks afterwards, so that later alerts are not delivered."""
    tenant = sender.add_tenant("--max-agents", "50")
    yield tenant
    remove_all(tenant)
    tenant.client.close()


@pytest.mark.smoke
def test_a_silence_and_its_end_are_told_once_and_signed(world, clock):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        fall_silent(world, clock)
        first = receiver.next()
        (alert,) = alerts(world)
        assert first.is_signed_with(hook.secret)
        assert abs(int(first.headers["webhook-timestamp"]) - clock.now()) < 30
        assert first.json()["type"] == "agent.silent"
        assert first.json()["data"]["alert_id"] == alert["alert_id"]
        assert first.json()["timestamp"] == alert["opened_at"]
        summary = first.json()["data"]["summary"]
        assert re.fullmatch(r"Agent 'worker' is silent: last seen [-0-9]+T[:0-9]{8}Z", summary)
        hook.until_told(1)
        clock.advance(100)
        report(world)
        second = receiver.next()
        (alert,) = until(lambda: alerts(world, state="closed"))
        assert second.is_signed_with(hook.secret) and second.id != first.id
        assert second.json()["type"] == "agent.recovered"
        assert second.json()["data"]["away_seconds"] == alert["away_seconds"]
        assert second.json()["data"]["summary"] == f"Agent 'worker' is back after {alert['away_seconds']} s"
        assert second.json()["data"]["since_at"] == first.json()["data"]["since_at"] == alert["since_at"]
        assert abs(alert["away_seconds"] - (ALLOWED + 110)) < 30
        hook.until_told(1)
        rows = hook.deliveries()
        assert [(row["message_id"], row["state"]) for row in rows] == [
            (second.id, "delivered"),
            (first.id, "delivered"),
        ]
        assert not receiver.has_more()


def test_what_fails_is_tried_ten_times_and_then_by_hand(world, clock):
    with receiving() as receiver:
        receiver.answer = 500
        hook = Hook(world, receiver.url)
        fall_silent(world, clock)
        ids, stamps = set(), set()
        for attempt, delay in enumerate([*DELAYS, None], 1):
            message = receiver.next()
            assert message.is_signed_with(hook.secret)
            ids.add(message.id)
            stamps.add(message.headers["webhook-timestamp"])
            row = hook.until_told(attempt)
            assert (row["last_status"], row["message_id"]) == (500, message.id)
            assert "500" in row["last_error"] and row["last_ms"] >= 0
            if delay:
                assert row["state"] == "waiting"
                assert delay <= seconds(row["next_at"]) - seconds(row["last_at"]) < delay * 1.1 + 1
                clock.advance(max(seconds(row["next_at"]) - clock.now() + 0.1, 0))
        assert (row["state"], row["next_at"]) == ("dead", None)
        assert (hook.row()["waiting"], hook.row()["dead"]) == (0, 1)
        assert len(ids) == 1 and len(stamps) == 10  # one message, signed again each time
        receiver.answer = 200
        cli(world, "retry", hook.id, row["delivery_id"])
        assert receiver.next().id in ids
        row = hook.until_delivery(lambda row: row["state"] == "delivered")
        assert (row["attempts"], row["last_status"], row["last_error"]) == (1, 200, None)
        assert not receiver.has_more()


def test_a_target_that_is_gone_is_switched_off(world, clock):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        receiver.answer, receiver.headers = 500, LATER
        fall_silent(world, clock, "other")
        receiver.next()
        hook.until_told(1)  # this one waits for its next attempt
        receiver.answer = 410
        fall_silent(world, clock, "worker")
        until(lambda: len(alerts(world, state="open")) == 2)
        until(lambda: not hook.row()["enabled"])
        states = {(row["state"], row["next_at"]) for row in hook.deliveries()}
        assert states == {("dead", None)}
        assert 410 in [row["last_status"] for row in hook.deliveries()]
        assert cli(world, "retry", hook.id, hook.deliveries()[0]["delivery_id"]).returncode == 1
        report(world, "worker")
        until(lambda: alerts(world, state="closed"))
        assert {row["type"] for row in hook.deliveries()} == {"agent.silent"}  # the webhook is off
        receiver.answer = 200
        while receiver.has_more():
            receiver.next()
        hook.do("enable")
        report(world, "other")
        assert receiver.next().json()["data"]["agent_name"] == "other"


def test_a_target_may_ask_for_time(world, clock):
    asks = [(429, "soon", 5), (429, "7200", 7200), (503, "3600", 3600), (500, "999999999", DAY)]
    with receiving() as a, receiving() as b, receiving() as c, receiving() as d:
        pairs = []
        for receiver, (status, header, wait_s) in zip((a, b, c, d), asks, strict=True):
            receiver.answer, receiver.headers = status, {"Retry-After": header}
            pairs.append((Hook(world, receiver.url), wait_s))
        fall_silent(world, clock)
        for hook, wait_s in pairs:
            row = hook.until_told(1)
            assert row["state"] == "waiting"
            assert 0 <= seconds(row["next_at"]) - seconds(row["last_at"]) - wait_s < 1


def test_everybody_is_told_what_they_asked_for(world, clock):
    register(world, "quiet")
    member = tenant_person(world, "member")
    mute = world.path("agents/quiet/mute")
    assert member.request("PUT", mute, {"until": "2100-01-01T00:00:00Z"}).status == 200
    member.close()
    with receiving() as receiver:
        every = Hook(world, receiver.url)
        back = Hook(world, receiver.url, "--types", "agent.recovered,run.failed")
        none = Hook(world, receiver.url, "--types", "run.failed")
        slack = Hook(world, receiver.url, "--format", "slack")
        off = Hook(world, receiver.url)
        off.do("disable")
        fall_silent(world, clock, "worker", "quiet")
        until(lambda: len(alerts(world, state="open")) == 2)
        report(world, "worker")
        report(world, "quiet")
        until(lambda: len(alerts(world, state="closed")) == 2)
        for hook, types in [
            (every, ["agent.recovered", "agent.silent"]),
            (back, ["agent.recovered"]),
            (none, []),
            (slack, ["agent.recovered", "agent.silent"]),
            (off, []),
        ]:
            until(lambda h=hook, t=types: [row["type"] for row in h.deliveries()] == t)
            until(lambda h=hook: all(r["state"] == "delivered" for r in h.deliveries()))
        got = [receiver.next() for _ in range(5)]
        assert not receiver.has_more()
    texts = [m.json()["text"] for m in got if "text" in m.json()]
    assert any("'worker' is silent" in text for text in texts) and len(texts) == 2
    assert {m.json()["data"]["agent_name"] for m in got if "data" in m.json()} == {"worker"}
    ids = {row["message_id"] for row in every.deliveries()}
    assert {m.id for m in got} == ids  # the same message to each webhook has one id


def goes_on_beside_one_that_hangs(world, clock):
    """Is all else done before the fifteen seconds are over that a target is given?"""
    with receiving() as stuck, receiving() as well:
        stuck.hold.clear()
        slow, quick = Hook(world, stuck.url), Hook(world, well.url)
        fall_silent(world, clock)
        stuck.next()  # it is in the air from here on
        assert well.next().json()["type"] == "agent.silent"
        for _ in range(100):
            report(world, "busy")
        report(world)
        assert well.next().json()["type"] == "agent.recovered"
        hangs = slow.deliveries()[-1]["last_at"] is None
        until(lambda: {row["state"] for row in quick.deliveries()} == {"delivered"})
        remove_all(world)
        return hangs


def test_a_target_that_hangs_holds_up_nobody(world, clock):
    """Who waited for the target would do so each time; a busy machine is late now and then."""
    assert any(goes_on_beside_one_that_hangs(world, clock) for _ in range(TRIES))


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_what_is_in_the_air_when_a_webhook_goes_is_not_tried_again(world, clock, verb):
    with receiving() as receiver:
        receiver.answer, receiver.headers = 500, LATER
        hook, other = Hook(world, receiver.url), Hook(world, receiver.url)
        receiver.hold.clear()
        fall_silent(world, clock)
        receiver.next()
        receiver.next()
        hook.do(verb)
        receiver.hold.set()
        other.until_told(1)
        if verb == "delete":
            assert [w["webhook_id"] for w in all_of(world)] == [other.id]
            return
        clock.advance(60)
        assert other.until_told(2)["state"] == "waiting"
        (row,) = hook.deliveries()
        assert (row["state"], row["next_at"], row["attempts"]) == ("dead", None, 1)


def test_a_retry_by_hand_is_the_last_word(world, clock):
    """An attempt that fails after another one was asked for leaves that one alone."""
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        receiver.answer, receiver.headers = 500, LATER
        receiver.hold.clear()
        fall_silent(world, clock)
        first = receiver.next()
        hook.do("retry", hook.deliveries()[0]["delivery_id"])
        assert receiver.next().id == first.id
        receiver.hold.set()  # both fail now, in whatever order
        row = hook.until_told(1)
        assert 30 <= seconds(row["next_at"]) - seconds(row["last_at"]) < 31
        receiver.answer = 200
        clock.advance(31)
        assert receiver.next().id == first.id
        assert hook.until_told(2)["state"] == "delivered"


def test_what_follows_a_retry_by_hand_does_not_wait_for_the_attempt_before_it(world, clock):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        receiver.answer, receiver.headers = 500, LATER
        held, receiver.hold = receiver.hold, threading.Event()
        fall_silent(world, clock)
        first = receiver.next()  # and is not answered
        receiver.hold, held = held, receiver.hold
        hook.do("retry", hook.deliveries()[0]["delivery_id"])
        assert receiver.next().id == first.id
        hook.until_told(1)
        receiver.answer = 200
        clock.advance(31)
        assert receiver.next().id == first.id
        assert hook.until_told(2)["state"] == "delivered"
        held.set()


def test_a_clock_that_is_set_back_delays_nothing(store, tmp_path):
    clock = Clock(tmp_path)
    with (
        running(store, tmp_path, True, arguments=LOCAL, environment=clock.environment) as server,
        receiving() as receiver,
    ):
        tenant = server.add_tenant()
        receiver.answer, receiver.headers = 500, LATER
        hook = Hook(tenant, receiver.url)
        fall_silent(tenant, clock)
        receiver.next()
        row = hook.until_told(1)
        receiver.answer = 200
        clock.step(-DAY)
        assert receiver.next().id == row["message_id"]
        assert hook.until_told(2)["state"] == "delivered"
        assert not receiver.has_more()
        tenant.client.close()


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_clock_that_leaps_during_a_delivery_sends_it_once(store, tmp_path, step):
    clock = Clock(tmp_path)
    with (
        running(store, tmp_path, True, arguments=LOCAL, environment=clock.environment) as server,
        receiving() as slow,
        receiving() as quick,
    ):
        tenant = server.add_tenant()
        held = Hook(tenant, slow.url, "--types", "agent.silent")
        control = Hook(tenant, quick.url, "--types", "agent.recovered")
        slow.hold.clear()
        fall_silent(tenant, clock)
        first = slow.next()
        clock.step(step)
        report(tenant)
        assert quick.next().json()["type"] == "agent.recovered"  # so it has looked since
        control.until_told(1)
        slow.hold.set()
        row = held.until_delivery(lambda row: row["state"] == "delivered")
        assert row["message_id"] == first.id
        assert not slow.has_more()
        tenant.client.close()


def test_a_test_is_written_down(world):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        hook.do("test")
        assert cli(world, "test", "whk_none").returncode == 1
    shown = world.server.cli(
        "audit", "list", "--tenant", world.slug, "--action", "webhook.test", "--json"
    )
    assert [entry["target"] for entry in json.loads(shown)["entries"]] == [hook.id]


def test_an_old_secret_signs_for_a_day(world, clock):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        fresh = hook.do("rotate")["secret"]
        fall_silent(world, clock)
        message = receiver.next()
        assert message.is_signed_with(hook.secret) and message.is_signed_with(fresh)
        hook.until_told(1)
        clock.advance(DAY)
        report(world)
        message = receiver.next()
        assert message.json()["type"] == "agent.recovered"
        assert message.is_signed_with(fresh) and not message.is_signed_with(hook.secret)


def test_the_log_tells_what_was_sent_page_by_page(world, clock):
    with receiving() as receiver:
        hook = Hook(world, receiver.url)
        fall_silent(world, clock, "a", "b", "c")
        sent = {receiver.next().id for _ in range(3)}
        receiver.answer, receiver.headers = 500, {"Retry-After": "3600"}  # not while we look
        report(world, "a")
        receiver.next()
        hook.until_told(1)
        until(lambda: all(row["last_at"] for row in hook.deliveries()))
        admin = tenant_person(world, "admin")
        path = world.path(f"webhooks/{hook.id}/deliveries")
        rows, cursor = [], ""
        while cursor is not None:
            page = admin.get(f"{path}?limit=2{cursor}")
            assert page.status == 200, page.body
            rows += page.json()["deliveries"]
            cursor = f"&cursor={page.json()['next']}" if page.json()["next"] else None
        assert rows == hook.deliveries() and len(rows) == 4
        assert {row["message_id"] for row in rows if row["state"] == "delivered"} == sent
        for row in rows:
            assert (row["attempts"], row["last_status"] in (200, 500)) == (1, True)
            assert 0 <= row["last_ms"] < 30_000
            assert seconds(row["created_at"]) <= seconds(row["last_at"])
        (waiting,) = admin.get(f"{path}?state=waiting").json()["deliveries"]
        assert waiting == rows[0]
        assert admin.get(f"{path}?state=dead").json() == {"deliveries": [], "next": None}
        receiver.answer = 200
        again = admin.post(f"{path}/{waiting['delivery_id']}/retry")
        assert again.status < 300, again.body
        assert receiver.next().id == waiting["message_id"]
        admin.close()


@contextmanager
def verdict(mails, line):
    mails.verdict, before = line, mails.verdict
    try:
        yield
    finally:
        mails.verdict = before


def test_a_mail_is_sent_whatever_an_agent_is_called(world, clock, mails):
    name = "o'hara\r\nBcc: all@example.com\r\n\r\n.\r\n<b>é"
    hook = Hook(world, f"mailto:{TO}")
    with verdict(mails, "452 not now"):
        fall_silent(world, clock, name)
        row = hook.until_told(1)
        assert (row["state"], row["last_status"]) == ("waiting", 452)
        assert mails.mails.empty()
    clock.advance(60)
    mail = mails.mails.get(timeout=WAIT_S)
    assert (mail.sender.split(" ")[0], mail.recipients) == (f"<{FROM}>", [f"<{TO}>"])
    assert not any("Bcc" in command for command in mail.commands)
    read = email.message_from_bytes(mail.data, policy=email.policy.default)
    assert sorted(read.keys()) == [
        "Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From",
        "MIME-Version", "Message-ID", "Subject", "To",
    ]  # fmt: skip
    assert [a.addr_spec for a in read["To"].addresses] == [TO]
    assert [a.addr_spec for a in read["From"].addresses] == [FROM]
    (alert,) = alerts(world)
    assert abs(read["Date"].datetime.timestamp() - seconds(alert["opened_at"])) <= 1
    (row,) = hook.deliveries()
    assert read["Message-ID"] == f"<{row['message_id']}@muster>"
    text = base64.b64decode(read.get_payload()).decode()
    assert text.startswith("Agent 'o'hara\r\nBcc: all@example.com")  # in the text it may stand
    assert "is silent" in text and alert["alert_id"] in text
    assert hook.until_told(2)["state"] == "delivered"
