"""kill -9 at random instants while agents fall silent and come back: every alert is told.

Whatever is killed when, in the end every alert that was opened, and every one that was closed, has
one message; each message was received at least once, under one id; nothing else was received; and
each silence has one alert. ALERT_KILLS raises the number (scripts/crash does), SEED repeats a run.
The same harness is turned on a store that loses messages, and must catch it.
"""

import json
import os
import random
import sqlite3
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hooks import LOCAL, Hook, until
from muster import Clock, Postgres, Server
from receiver import receiving
from stored import of_tenant, stored
from test_kill import await_quiet

KILLS = int(os.environ.get("ALERT_KILLS", "8"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
AGENTS = [f"agent-{i}" for i in range(8)]
INTERVAL, ALLOWED = 60, 120 + 8  # the latter with what a shared store may take
FAILS = 0.2  # of the answers of the receiver
ADDED = {"workspace", "link", "next_step"}  # to the data of a message when it is sent


@dataclass
class Verdict:
    """What is wrong, and counts that prove that there was something."""

    opened: int = 0
    closed: int = 0
    received: int = 0
    untold: list = field(default_factory=list)  # opened or closed, and no message stored
    lost: list = field(default_factory=list)  # messages that never came
    doubled: list = field(default_factory=list)  # two messages, or two alerts, for one thing
    invented: list = field(default_factory=list)  # received, and not stored so
    missing: list = field(default_factory=list)  # agents that are silent without an alert

    def good(self):
        return not any(value for value in vars(self).values() if isinstance(value, list))

    def __str__(self):
        bad = {name: v[:3] for name, v in vars(self).items() if isinstance(v, list) and v}
        counts = f"{self.opened} opened, {self.closed} closed, {self.received} received"
        return f"{counts}, {bad or 'nothing wrong'}"


class World:
    """A server, its clock, a tenant whose agents come and go, and who is told of it."""

    def __init__(self, server, clock, receiver):
        self.server, self.clock, self.receiver = server, clock, receiver
        self.chance = random.Random(SEED)
        self.tenant = server.add_tenant()
        self.hook = Hook(self.tenant, receiver.url)
        self.received = []
        for name in AGENTS:
            body = {"agent_name": name, "interval_seconds": INTERVAL}
            assert self.tenant.client.post("/api/v1/agents/register", body).status == 200
            self.report(name)

    def report(self, name):
        event = self.tenant.event(agent_name=name)
        assert self.tenant.client.post("/api/v1/telemetry", event).status == 202

    def kill_and_start(self):
        self.tenant.client.close()
        self.server.kill()
        if self.server.database:
            await_quiet(self.server)
        self.server.start()
        self.tenant.client = self.server.client(self.tenant.token)

    def count_open(self):
        alerts = f"alerts WHERE closed_at IS NULL AND {of_tenant(self.tenant)}"
        return stored(self.server, f"SELECT COUNT(*) AS n FROM {alerts}")[0]["n"]

    def one_kill(self, noticed):
        """They fall silent, some are heard of again, and somewhere in between it ends."""
        self.receiver.answer = 500 if self.chance.random() < FAILS else 200
        self.clock.advance(ALLOWED)
        if noticed:  # so that there is something to end
            until(lambda: self.count_open() == len(AGENTS))
        else:
            time.sleep(self.chance.uniform(0.5, 1.5))  # a random instant about the first look
        for name in AGENTS:
            if self.chance.random() < 0.5:
                self.report(name)
        time.sleep(self.chance.choice([0, self.chance.uniform(0, 1)]))  # and another
        self.kill_and_start()

    def rows(self, columns, table):
        return stored(self.server, f"SELECT {columns} FROM {table} WHERE {of_tenant(self.tenant)}")

    def come_to_rest(self):
        """All are silent and every message has gone out, or been given up."""
        self.receiver.answer = 200
        self.clock.advance(ALLOWED)
        until(lambda: self.count_open() >= len(AGENTS))

        def all_gone():
            self.clock.advance(60)  # leases end, attempts are due
            if any(row["pending"] for row in self.rows("pending", "messages")):
                return False  # first of the two: a message becomes deliveries
            return not any(row["next_at"] for row in self.rows("next_at", "deliveries"))

        until(all_gone)
        while self.receiver.has_more():
            message = self.receiver.next()
            assert message.is_signed_with(self.hook.secret)
            self.received.append((message.id, message.json()))

    def judge(self):
        alerts = self.rows("alert_id, agent_id, since_at, opened_at, closed_at", "alerts")
        messages = {
            row["message_id"]: (row["type"], json.loads(row["data"]))
            for row in self.rows("message_id, type, data", "messages")
        }
        return judge(alerts, messages, self.received)


def judge(alerts, messages, received):
    verdict = Verdict(len(alerts), sum(a["closed_at"] is not None for a in alerts), len(received))
    told = Counter((kind, data["alert_id"]) for kind, data in messages.values())
    due = [("agent.silent", a["alert_id"]) for a in alerts]
    due += [("agent.recovered", a["alert_id"]) for a in alerts if a["closed_at"] is not None]
    verdict.untold += [one for one in due if not told[one]]
    verdict.doubled += [one for one, n in told.items() if n > 1]
    verdict.invented += [one for one in told if one not in due]
    ids = {message_id for message_id, _ in received}
    verdict.lost += [message_id for message_id in messages if message_id not in ids]
    for message_id, body in received:
        data = {name: value for name, value in body["data"].items() if name not in ADDED}
        if messages.get(message_id) != (body["type"], data):
            verdict.invented.append(message_id)
    for agent_id in {a["agent_id"] for a in alerts}:
        mine = [a for a in alerts if a["agent_id"] == agent_id]
        mine.sort(key=lambda a: a["opened_at"])
        verdict.doubled += [
            b["alert_id"]
            for a, b in zip(mine, mine[1:], strict=False)
            if a["closed_at"] is None or b["since_at"] <= a["since_at"]
        ]
    still_open = {a["agent_id"] for a in alerts if a["closed_at"] is None}
    verdict.missing += ["an agent"] * (len(AGENTS) - len(still_open))
    return verdict


@contextmanager
def new_world(store, folder):
    clock = Clock(folder)
    postgres = Postgres() if store == "postgres" else None
    database = postgres.create() if postgres else None
    server = Server(folder / "data", database, arguments=LOCAL, environment=clock.environment)
    server.recorder = None  # tests/contract need not see these
    try:
        with receiving() as receiver:
            yield World(server.start(), clock, receiver)
    finally:
        if server.process is not None:
            server.kill()
        if postgres:
            postgres.drop(database)


def campaign(world, kills):
    for i in range(kills):
        world.one_kill(noticed=i % 2 == 0)
    world.come_to_rest()
    verdict = world.judge()
    print(f"{kills} kills, SEED={SEED}: {verdict}")
    return verdict


@pytest.mark.parametrize(("store", "kills"), [("sqlite", KILLS), ("postgres", max(KILLS // 2, 1))])
def test_every_alert_is_told_whenever_we_are_killed(store, kills, tmp_path):
    with new_world(store, tmp_path) as world:
        verdict = campaign(world, kills)
        assert verdict.good(), verdict
        assert verdict.opened > len(AGENTS) and verdict.closed > 0, f"little happened: {verdict}"
        world.server.stop()


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_report_that_is_acknowledged_has_ended_the_silence(store, tmp_path):
    """Also the first one after a start: sent as soon as we listen, and killed as soon as it is acknowledged."""
    with new_world(store, tmp_path) as world:
        world.clock.advance(ALLOWED)
        until(lambda: world.count_open() == len(AGENTS))
        for n, name in enumerate(AGENTS[:3]):
            if n > 0:
                world.kill_and_start()
            world.report(name)
            world.kill_and_start()
            assert world.count_open() == len(AGENTS) - n - 1
        world.come_to_rest()
        verdict = world.judge()
        assert verdict.good() and verdict.closed == 3, verdict


def test_a_store_that_loses_messages_is_caught(tmp_path):
    """Two of three deliveries are gone as soon as it is written, though its alert is there."""
    with new_world("sqlite", tmp_path) as world:
        world.server.stop()
        connection = sqlite3.connect(world.server.data / "muster.db")
        connection.execute(
            "CREATE TRIGGER lose AFTER INSERT ON deliveries"
            " WHEN random() % 3 <> 0"
            " BEGIN DELETE FROM deliveries WHERE delivery_id = NEW.delivery_id; END"
        )
        connection.close()
        world.server.start()
        world.tenant.client = world.server.client(world.tenant.token)
        verdict = campaign(world, 1)
    assert verdict.lost, f"the harness saw no loss: {verdict}"


def test_what_was_never_stored_or_told_twice_is_caught():
    """The judge by itself, on rows of which one at a time is wrong."""
    alert = {"alert_id": "a", "agent_id": 1, "since_at": 1, "opened_at": 2, "closed_at": None}
    message = ("agent.silent", {"alert_id": "a"})
    body = {"type": message[0], "data": message[1]}
    later = {**alert, "alert_id": "b", "opened_at": 3}
    other = ("agent.silent", {"alert_id": "b"})
    for alerts, messages, received, wrong in [
        ([alert], {"m": message}, [("m", body)], set()),
        ([alert], {"m": message}, [("m", body), ("m", body)], set()),
        ([alert], {"m": message}, [], {"lost"}),
        ([alert], {}, [], {"untold"}),
        ([alert], {"m": message}, [("m", body), ("n", body)], {"invented"}),
        ([alert], {"m": message}, [("m", {**body, "type": "x"})], {"invented"}),
        ([alert], {"m": message, "n": message}, [("m", body), ("n", body)], {"doubled"}),
        (
            [alert, later],
            {"m": message, "n": other},
            [("m", body), ("n", {"type": other[0], "data": other[1]})],
            {"doubled"},
        ),
    ]:
        verdict = judge(alerts, messages, received)
        verdict.missing = []
        assert {name for name, v in vars(verdict).items() if isinstance(v, list) and v} == wrong
