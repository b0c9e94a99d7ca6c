"""The list of runs: order, filters, pages, steps; the same bytes from every store."""

import itertools
import string
import threading
import uuid
import zlib
from datetime import datetime, timedelta, timezone

import pytest
import runs as story
from runs import T0, at, numbers, run_id

RUNS = "dashboard/runs"
MOMENT = (
    "Should be a date-time, or a span back from now of at most 100 years such as 90m, 24h, 7d or 4w"
)
CURSOR = "Should be the unchanged next of a page of runs"
INTEGER = "Input should be a valid integer, unable to parse string as an integer"
BOOLEAN = "Input should be a valid boolean, unable to interpret input"
STATUSES = "'in_progress', 'completed' or 'failed'"


def narrative_of(tenant, number):
    return tenant.client.get(tenant.path(f"runs/{run_id(number)}/events")).json()


def base62(value, digits):
    alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
    return "".join(alphabet[value // 62**i % 62] for i in reversed(range(digits)))


def send(tenant, *events, client=None):
    story.report(tenant, [tenant.event(**e) for e in events], client=client)


def ask(tenant, client=None, **query):
    return story.ask(tenant, RUNS, client, **query)


def page(tenant, **query):
    return story.read(tenant, RUNS, **query)


def listed(tenant, **query):
    """The numbers of all runs of a list that fits on one page."""
    got = page(tenant, **query)
    assert got["next"] is None
    return numbers(got["runs"])


def pages(tenant, **query):
    return (got["runs"] for got in story.pages(tenant, RUNS, **query))


def test_a_tenant_without_runs_has_an_empty_page(tenant):
    answer = ask(tenant)
    assert (answer.status, answer.body) == (200, b'{"runs":[],"next":null}')
    assert ask(tenant, agent_name="nobody").body == answer.body
    assert ask(tenant, include_steps="true").body == answer.body
    head = tenant.client.request("HEAD", tenant.path(RUNS))
    assert (head.status, head.body) == (200, b"")


def test_every_store_gives_the_same_bytes(tenant):
    send(
        tenant,
        {"run_id": run_id(1), "timestamp": at(0), "agent_version": "1.2β", "workflow_run_id": "w"},
        {"run_id": run_id(2), "timestamp": at(1), "agent_name": "other"},
        {"run_id": run_id(2), "timestamp": at(2), "event": "in_progress", "message": "half\n"},
        {"run_id": run_id(3), "timestamp": at(1), "event": "failed", "error_type": "E",
         "error_message": '"why"', "records_processed": 0, "duration_ms": 5},
        {"run_id": run_id(1), "timestamp": at(9.5), "event": "completed", "message": "done"},
    )  # fmt: skip
    first, second, third = (
        f'{{"run_id":"{run_id(1)}","agent_name":"collector","agent_version":"1.2β",'
        '"workflow_run_id":"w","status":"completed","started_at":"2025-01-02T03:04:05Z",'
        '"ended_at":"2025-01-02T03:04:14.500000Z","duration_ms":9500,"records_processed":null,'
        '"error_type":null,"error_message":null,"message":"done","event_count":2,'
        '"last_event_at":"2025-01-02T03:04:14.500000Z"}',
        f'{{"run_id":"{run_id(2)}","agent_name":"other","agent_version":"","workflow_run_id":null,'
        '"status":"in_progress","started_at":"2025-01-02T03:04:06Z","ended_at":null,'
        '"duration_ms":null,"records_processed":null,"error_type":null,"error_message":null,'
        '"message":"half\\n","event_count":2,"last_event_at":"2025-01-02T03:04:07Z"}',
        f'{{"run_id":"{run_id(3)}","agent_name":"collector","agent_version":"",'
        '"workflow_run_id":null,"status":"failed","started_at":"2025-01-02T03:04:06Z",'
        '"ended_at":"2025-01-02T03:04:06Z","duration_ms":5,"records_processed":0,'
        '"error_type":"E","error_message":"\\"why\\"","message":"","event_count":1,'
        '"last_event_at":"2025-01-02T03:04:06Z"}',
    )
    assert ask(tenant).body.decode() == f'{{"runs":[{third},{second},{first}],"next":null}}'
    text = base62(int(T0.timestamp() + 1) * 1_000_000, 11) + run_id(2)
    cursor = text + base62(zlib.crc32(text.encode()), 6)
    got = ask(tenant, limit=2)
    assert got.body.decode() == f'{{"runs":[{third},{second}],"next":"{cursor}"}}'
    assert ask(tenant, cursor=cursor).body.decode() == f'{{"runs":[{first}],"next":null}}'


@pytest.mark.smoke
def test_the_text_of_started_is_the_message_until_something_later_says_more(tenant):
    run = {"run_id": run_id(1)}

    def message(**event):
        send(tenant, {**run, **event})
        ((listed_run,), alone) = page(tenant)["runs"], narrative_of(tenant, 1)["run"]
        assert listed_run == alone
        return listed_run["message"]

    assert message(timestamp=at(0), message="Nightly invoices") == "Nightly invoices"
    assert message(timestamp=at(1), event="in_progress") == "Nightly invoices"  # says nothing
    assert listed(tenant, q="NIGHTLY") == [1]
    assert message(timestamp=at(9), message="Started again") == "Nightly invoices"
    assert message(timestamp=at(3), event="completed") == "Nightly invoices"
    assert message(timestamp=at(2), event="in_progress", message="Step") == "Step"
    assert message(timestamp=at(2.5), event="in_progress") == "Step"
    assert listed(tenant, q="NIGHTLY") == []
    assert message(timestamp=at(4), event="failed", message="Closed") == "Closed"


def test_filters_hold_alone_and_together(tenant):
    send(
        tenant,
        {"run_id": run_id(1), "timestamp": at(10)},
        {"run_id": run_id(2), "timestamp": at(20), "event": "completed", "workflow_run_id": "w 1&"},
        {"run_id": run_id(3), "timestamp": at(30), "event": "failed", "workflow_run_id": ""},
        {"run_id": run_id(4), "timestamp": at(40), "event": "completed", "agent_name": "ü+ %",
         "workflow_run_id": "w 1&"},
        {"run_id": run_id(5), "timestamp": at(50), "event": "in_progress", "agent_name": "ü+ %"},
    )  # fmt: skip
    rows = [
        ({}, [5, 4, 3, 2, 1]),
        ({"agent_name": "collector"}, [3, 2, 1]),
        ({"agent_name": "ü+ %"}, [5, 4]),
        ({"agent_name": "Collector"}, []),
        ({"agent_name": ""}, []),
        ({"status": "in_progress"}, [5, 1]),
        ({"status": "completed"}, [4, 2]),
        ({"status": "failed"}, [3]),
        ({"workflow_run_id": "w 1&"}, [4, 2]),
        ({"workflow_run_id": "w"}, []),
        ({"workflow_run_id": ""}, [3]),
        ({"since": at(20)}, [5, 4, 3, 2]),
        ({"since": at(20.000001)}, [5, 4, 3]),
        ({"until": at(40)}, [3, 2, 1]),
        ({"until": at(40.000001)}, [4, 3, 2, 1]),
        ({"since": at(20), "until": at(40)}, [3, 2]),
        ({"since": at(20), "until": at(20)}, []),
        ({"since": "2025-01-02T04:04:25+01:00", "until": "2025-01-02 03:04:35"}, [2]),
        ({"since": "24h"}, []),
        ({"until": "24h"}, [5, 4, 3, 2, 1]),
        ({"agent_name": "collector", "status": "completed", "workflow_run_id": "w 1&"}, [2]),
        ({"agent_name": "ü+ %", "status": "failed"}, []),
        ({"status": "completed", "since": at(21)}, [4]),
        ({"limit": 1000, "include_steps": "false"}, [5, 4, 3, 2, 1]),
    ]
    for query, expected in rows:
        assert listed(tenant, **query) == expected, query


def test_a_run_is_listed_by_its_start_once_that_is_known(tenant):
    send(tenant, {"run_id": run_id(1), "timestamp": at(10)})
    send(tenant, {"run_id": run_id(2), "timestamp": at(20), "event": "in_progress"})
    assert listed(tenant) == [2, 1]
    send(tenant, {"run_id": run_id(2), "timestamp": at(5)})
    assert listed(tenant) == [1, 2]
    assert listed(tenant, since=at(6)) == [1]


@pytest.mark.parametrize("limit", [1, 7, 50, None])
def test_the_pages_of_a_list_make_up_the_list(tenant, limit):
    events = [{"run_id": run_id(n), "timestamp": at(n // 5)} for n in range(60)]
    for i in range(0, 60, 20):
        send(tenant, *reversed(events[i : i + 20]))
    query = {"limit": limit} if limit else {}
    got = [numbers(runs) for runs in pages(tenant, **query)]
    assert list(itertools.chain(*got)) == list(range(59, -1, -1))
    assert {len(runs) for runs in got[:-1]} <= {limit or 50}
    assert 0 < len(got[-1]) <= (limit or 50)
    narrow = {"since": at(2), "until": at(9), "agent_name": "collector", **query}
    got = [n for runs in pages(tenant, **narrow) for n in numbers(runs)]
    assert got == list(range(44, 9, -1))


def test_pages_have_no_gap_and_no_repeat_while_runs_arrive(tenant):
    """Whatever arrives meanwhile: each run that was there is on exactly one page."""
    for i in range(0, 400, 100):
        send(tenant, *({"run_id": run_id(n), "timestamp": at(n // 4)} for n in range(i, i + 100)))
    done = threading.Event()

    def report(first):
        client = tenant.server.client(tenant.token)
        for n in itertools.count(first, 2):
            if done.is_set():
                break
            # before, between and after the others, and among those of one start
            send(tenant, {"run_id": str(uuid.uuid4()), "timestamp": at(n * 37 % 110)},
                 {"run_id": run_id(n % 400), "timestamp": at(200), "event": "completed"},
                 client=client)  # fmt: skip
        client.close()

    threads = [threading.Thread(target=report, args=(n,)) for n in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for limit in (3, 10, 64):
            seen = [run["run_id"] for runs in pages(tenant, limit=limit) for run in runs]
            assert len(seen) == len(set(seen))
            old = [n for n in seen if n.startswith("3f2b8c1e-9a4d-4e6f-8b7a-")]
            assert numbers({"run_id": n} for n in old) == list(range(399, -1, -1))
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_steps_are_there_exactly_when_they_are_asked_for(tenant):
    send(
        tenant,
        {"run_id": run_id(1), "timestamp": at(1), "seq": 0},
        {"run_id": run_id(1), "timestamp": at(4), "seq": 3, "event": "in_progress"},
        {"run_id": run_id(1), "timestamp": at(3), "seq": 2, "event": "in_progress",
         "metrics": {"x": 1.5}, "metadata": {"a": "b"}, "links": ["l"], "output": {}},
        {"run_id": run_id(1), "timestamp": at(5), "seq": 4, "event": "completed"},
        {"run_id": run_id(2), "timestamp": at(2), "event": "failed"},
    )  # fmt: skip
    plain = page(tenant)
    assert all("steps" not in run for run in plain["runs"])
    assert page(tenant, include_steps="0") == plain
    without, with_steps = page(tenant, include_steps="true")["runs"]
    assert without.pop("steps") == []
    narrative = narrative_of(tenant, 1)
    assert [step["seq"] for step in with_steps["steps"]] == [2, 3]
    assert with_steps.pop("steps") == narrative["events"][1:3]
    assert [without, with_steps] == plain["runs"]
    assert with_steps == narrative["run"]
    (run,) = page(tenant, include_steps="true", agent_name="collector", limit=1)["runs"]
    assert run["steps"] == []


def problem(kind, name, msg, value, **ctx):
    item = {"type": kind, "loc": ["query", name], "msg": msg, "input": value}
    return item | ({"ctx": ctx} if ctx else {})


def rule(name, sentence, value):
    return problem("value_error", name, f"Value error, {sentence}", value, error=sentence)


REVERSED = "since should not be after until"
BAD = [
    ("limit=0", problem("greater_than_equal", "limit",
                        "Input should be greater than or equal to 1", "0", ge=1)),
    ("limit=1001", problem("less_than_equal", "limit",
                           "Input should be less than or equal to 1000", "1001", le=1000)),
    ("limit=abc", problem("int_parsing", "limit", INTEGER, "abc")),
    ("include_steps=maybe", problem("bool_parsing", "include_steps", BOOLEAN, "maybe")),
    ("status=started", problem("literal_error", "status", f"Input should be {STATUSES}", "started",
                               expected=STATUSES)),
    ("since=yesterday", rule("since", MOMENT, "yesterday")),
    ("until=-5h", rule("until", MOMENT, "-5h")),
    ("since=24h&until=7d", rule("since", REVERSED, "24h")),
    ("cursor=abc", rule("cursor", CURSOR, "abc")),
    ("cursor=" + "0" * 53, rule("cursor", CURSOR, "0" * 53)),
]  # fmt: skip


@pytest.mark.parametrize("query, expected", BAD)
def test_a_bad_query_is_told_what_is_wrong_with_it(tenant, query, expected):
    answer = tenant.client.get(tenant.path(f"{RUNS}?{query}"))
    assert (answer.status, answer.json()) == (422, {"detail": [expected]})


def test_runs_and_failures_are_counted_over_time(tenant):
    now = datetime.now(timezone.utc)
    yesterday = now - timedelta(days=1)

    def run(number, when, event, **more):
        when = when.isoformat().replace("+00:00", "Z")
        return {"run_id": run_id(number), "timestamp": when, "event": event, **more}

    send(
        tenant,
        run(1, now, "completed"),
        run(2, now, "failed", error_type="Timeout"),
        run(3, now, "started"),
        run(4, yesterday, "failed", error_type="Timeout"),
        run(5, yesterday, "failed", error_type="Refused"),
        run(6, yesterday, "failed"),
        run(7, now - timedelta(days=30), "failed", error_type="Long ago"),
    )

    def totals(time_range):
        answer = tenant.client.get(tenant.path(f"dashboard/totals?time_range={time_range}"))
        assert answer.status == 200, answer.body
        return answer.json()

    week = totals("7d")
    assert (week["bucket"], len(week["periods"]), week["truncated"]) == ("day", 8, False)
    assert week["periods"][0]["t"].endswith("T00:00:00Z")
    counts = [(p["completed"], p["failed"], p["in_progress"]) for p in week["periods"]]
    if datetime.now(timezone.utc).date() == now.date():  # else the test ran over midnight
        assert counts[-2:] == [(0, 3, 0), (1, 1, 1)]
    assert [sum(column) for column in zip(*counts)] == [1, 4, 1]
    errors = [(e["error_type"], e["runs"]) for e in week["errors"]]
    assert errors == [("Timeout", 2), ("", 1), ("Refused", 1)]
    day = totals("24h")
    assert (day["bucket"], len(day["periods"])) == ("hour", 25)
    assert sum(p["failed"] for p in totals("60d")["periods"]) == 5
    assert {p["p50_ms"] for p in week["periods"]} == {None}  # only of one agent
    for bad in ("all", "500d", "x"):
        answer = tenant.client.get(tenant.path(f"dashboard/totals?time_range={bad}"))
        assert (answer.status, answer.json()["detail"][0]["loc"]) == (422, ["query", "time_range"])


def test_runs_of_one_agent_are_counted_with_their_durations(tenant):
    now = datetime.now(timezone.utc)
    stamp = now.isoformat().replace("+00:00", "Z")
    for number, ms in enumerate(range(100, 2100, 100)):  # twenty runs
        send(tenant, {"run_id": run_id(number), "timestamp": stamp, "event": "completed",
                      "duration_ms": ms, "agent_name": "swift"})  # fmt: skip
    send(tenant, {"run_id": run_id(50), "timestamp": stamp, "event": "started",
                  "agent_name": "swift"},
         {"run_id": run_id(51), "timestamp": stamp, "event": "failed", "duration_ms": 9000,
          "error_type": "Other", "agent_name": "slow"})  # fmt: skip

    def totals(agent_name):
        path = f"dashboard/totals?time_range=24h&agent_name={agent_name}"
        answer = tenant.client.get(tenant.path(path)).json()
        periods = [p for p in answer["periods"] if p["completed"] + p["failed"] + p["in_progress"]]
        return [e["error_type"] for e in answer["errors"]], periods

    errors, (period,) = totals("swift")
    assert (errors, period["completed"], period["in_progress"]) == ([], 20, 1)
    assert (period["p50_ms"], period["p95_ms"]) == (1000, 1900)
    errors, (period,) = totals("slow")
    assert (errors, period["failed"], period["p50_ms"]) == (["Other"], 1, 9000)
    assert totals("nobody") == ([], [])
