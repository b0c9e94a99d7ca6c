"""Packed rows of events on PostgreSQL: what is read is what was sent."""

import json
import uuid
from itertools import count

import pytest
from postgres import add_sequence, add_trigger, run_sql, uses_of_sequence
from stored import of_tenant, stored, texts_of_events
from test_alerts import until
from test_retention import at

pytestmark = pytest.mark.administered

BATCH = "/api/v1/telemetry/batch"
ODD = [{"region": "eu-west-1", "customer": "c-17"}, {"50%": "100 %s", "a\"b": "\\"}, {"": ""}, {},
       {f"k{i}": str(i) for i in range(16)}, {f"k{i}": str(i) for i in range(17)},
       {"k" * 500: "too long a form"}, {"line\nbreak": "tab\t\u001f\u0001", "ä": "日本"}]  # fmt: skip


@pytest.fixture
def world(own_server):
    if not own_server.database:
        pytest.skip("SQLite packs rows in its own way")
    tenant = own_server.add_tenant("--max-agents", "50")
    yield tenant
    tenant.client.close()


def send(tenant, clock, *events):
    for e in events:
        e["timestamp"] = at(clock)
    answer = tenant.client.post(BATCH, {"events": events})
    assert answer.status == 202, answer.body
    return answer.json()


def event(tenant, run, n, source="ledger.py:214", **fields):
    return tenant.event(run_id=run, seq=n, event="in_progress", level="info", category="posting",
                        source=source, message=f"step {n}", **fields)  # fmt: skip


def rows(tenant, columns):
    return stored(tenant.server, f"SELECT {columns} FROM events WHERE {of_tenant(tenant)}"
                                 " ORDER BY event_no")  # fmt: skip


def test_what_is_read_is_what_was_sent(world, clock):
    """Each combination three times: its first events have their own texts, its third those of its kind."""
    run, sent = str(uuid.uuid4()), []
    for n in range(3 * len(ODD)):
        metadata = ODD[n % len(ODD)]
        sent.append(event(world, run, n, metadata=metadata, metrics={"ms": n, "x%": 0.5 + n}))
    for e in sent:
        send(world, clock, e)
    got = world.client.get(world.path(f"runs/{run}/events")).json()
    assert "damaged" not in got
    for e, one in zip(sent, got["events"], strict=True):
        assert {key: one[key] for key in e if key in one} == {key: e[key] for key in e if key in one}
    last = rows(world, "event_id, event_key, kind_no, event, category, received_at, metadata")[-len(ODD):]
    assert all(row["event_id"] is None and row["event_key"] for row in last)
    assert all(row["kind_no"] is not None and row["category"] is None and row["event"] is None
               and row["received_at"] is None for row in last)  # fmt: skip
    assert last[0]["metadata"] == "eu-west-1\x1fc-17"
    assert world.server.run("check").returncode == 0
    lines = world.client.get(world.path("export/events?time_range=all")).body.splitlines()
    assert [json.loads(line)["metadata"] for line in lines] == [e["metadata"] for e in sent]
    for filters, n in (("steps_only=true&q=ledger&category=posting", len(sent)), ("category=other", 0),
                       ("q=step%201", 11), ("level=error", 0), ("level=warning", 0)):  # fmt: skip
        found = world.client.get(world.path(f"runs/{run}/events?{filters}")).json()["events"]
        assert len(found) == n, filters


def test_a_kind_that_the_database_has_lost_is_added_again(world, clock):
    """As after a standby that was behind has become the primary, at a moment without reports."""
    run = str(uuid.uuid4())
    for n in range(4):
        send(world, clock, event(world, run, n))
    assert rows(world, "kind_no")[-1]["kind_no"] is not None
    run_sql(world.server.database, "DELETE FROM event_kinds",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()")  # fmt: skip
    later, numbers = str(uuid.uuid4()), count()

    def is_packed():
        """Each of two writers learns a kind by itself, and must have its connection back."""
        posted = world.client.post(BATCH, {"events": [event(world, later, next(numbers))]})
        return posted.status == 202 and rows(world, "kind_no")[-1]["kind_no"] is not None

    until(is_packed)
    got = world.client.get(world.path(f"runs/{later}/events")).json()
    assert "damaged" not in got and got["events"]


def test_events_that_are_sent_again_make_no_kinds(world, clock):
    batch = [tenant_event for n in range(20)
             for tenant_event in [event(world, str(uuid.uuid4()), n, source=f"of request {n}")]]  # fmt: skip
    for _ in range(3):
        send(world, clock, *batch)
    assert stored(world.server, f"SELECT COUNT(*) AS n FROM event_kinds WHERE {of_tenant(world)}") == [
        {"n": 0}
    ]


def test_an_event_whose_number_is_taken_gets_another(world, clock):
    """As after a clock was set back: it is stored with the next try, and no duplicate."""
    run = str(uuid.uuid4())
    send(world, clock, event(world, run, 0))
    taken = rows(world, "event_no")[0]["event_no"]
    database = world.server.database
    add_sequence(database, "tries")
    add_trigger(database, "take", "BEFORE INSERT ON events FOR EACH ROW",
                f"IF nextval('tries') = 1 THEN NEW.event_no := {taken}; END IF; RETURN NEW")  # fmt: skip
    again = send(world, clock, event(world, run, 1))
    assert (again["accepted"], again["duplicates"]) == (1, 0), again
    assert len(rows(world, "event_no")) == 2
    assert uses_of_sequence(database, "tries") == 2


def test_an_event_of_a_transaction_that_is_tried_again_counts_once(world, clock):
    database = world.server.database
    add_sequence(database, "tries")
    add_trigger(database, "fail", "BEFORE INSERT ON tenant_bytes FOR EACH ROW",
                "IF nextval('tries') < 3 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF; RETURN NEW")  # fmt: skip
    run = str(uuid.uuid4())
    assert send(world, clock, event(world, run, 0))["accepted"] == 1
    assert send(world, clock, event(world, run, 1))["accepted"] == 1
    assert [row["kind_no"] for row in rows(world, "kind_no")] == [None, None]
    assert uses_of_sequence(database, "tries") > 3


def test_the_kinds_of_a_tenant_have_a_bound(world, clock):
    known = str(uuid.uuid4())
    for n in range(3):
        send(world, clock, event(world, known, n, source="known.py:1"))
    run_sql(world.server.database,
            "INSERT INTO event_kinds (tenant_id, kind_no, bytes, event, agent_version, level, category, source)"
            " SELECT tenant_id, n, 9, 0, 'filled', '', '', '' FROM tenants, generate_series(1, 4096) n"
            f" WHERE slug = '{world.slug}'")  # fmt: skip
    run = str(uuid.uuid4())
    for n in range(4):
        send(world, clock, event(world, run, n))
    last = rows(world, "kind_no, category")[-4:]
    assert all(row["kind_no"] is None and row["category"] == "posting" for row in last)
    assert "there is no room for more" in world.server.log()
    send(world, clock, event(world, known, 3, source="known.py:1"))  # one that it has is still used
    assert rows(world, "kind_no")[-1]["kind_no"] is not None
    other = world.server.add_tenant()
    for n in range(4):
        send(other, clock, event(other, run, n))
    assert rows(other, "kind_no")[-1]["kind_no"] is not None
    other.client.close()


def test_a_changed_kind_shows_in_each_of_its_events(world, clock):
    run = str(uuid.uuid4())
    send(world, clock, *[event(world, run, n, metadata={"a": str(n)}) for n in range(2)])
    send(world, clock, *[event(world, run, n, metadata={"a": str(n)}) for n in range(2, 4)])
    packed = sum(row["kind_no"] is not None for row in rows(world, "kind_no"))
    assert packed == 2  # a combination has a number once two events with it were stored
    for column in ("agent_version", "level", "category", "source", "metadata"):
        run_sql(world.server.database, f"UPDATE event_kinds SET {column} = {column} || ' '")
        found = world.server.run("check").stderr.splitlines()
        assert len(found) == packed, (column, found)
        narrative = world.client.get(world.path(f"runs/{run}/events")).json()
        assert narrative["damaged"] == packed
        run_sql(world.server.database,
                f"UPDATE event_kinds SET {column} = SUBSTR({column}, 1, LENGTH({column}) - 1)")  # fmt: skip
    for wrong in ("%r", "%", "%1$s", "%s" * 17):
        run_sql(world.server.database, f"UPDATE event_kinds SET metadata = '{{\"a\":\"{wrong}\"}}'")
        assert len(world.server.run("check").stderr.splitlines()) == packed, wrong
    run_sql(world.server.database, "UPDATE event_kinds SET metadata = '{\"a\":\"%s\"}'")
    assert world.server.run("check").returncode == 0
    run_sql(world.server.database, "UPDATE events SET metadata = '' WHERE kind_no IS NOT NULL")
    assert len(world.server.run("check").stderr.splitlines()) == packed
    texts = stored(world.server, f"SELECT metadata FROM {texts_of_events(world.server)} AS t")
    assert len(texts) == 4
