"""Numbers of runs by the values they can be filtered by: always as many as the list then has."""

import itertools
from datetime import timedelta

import pytest
from runs import T0, read, report, run_id

AGENTS = ("reader", "matcher", "payer")
ENDS = ("completed", "failed", "failed", None)
ERRORS = ("Timeout", "BadGateway", "Refused", "Timeout")
FIELDS = ("status", "agent_name", "agent_version", "error_type", "workflow_run_id")
N = 40


def run_of(number):
    end = ENDS[number % 4]
    return {
        "agent_name": AGENTS[number % 3],
        "agent_version": f"1.{number % 2}",
        "workflow_run_id": f"night-{number // 10}" if number % 5 else None,
        "status": end or "in_progress",
        "error_type": ERRORS[number // 4 % 4] if end == "failed" else None,
    }


def events_of(tenant, number):
    run = run_of(number)
    when = [(T0 + timedelta(minutes=number, seconds=s)).isoformat() for s in (0, 1)]
    shared = {
        "run_id": run_id(number),
        **{name: run[name] for name in FIELDS[1:3] + FIELDS[4:]},
    }
    yield tenant.event(**shared, timestamp=when[0])
    if run["status"] == "in_progress":
        return
    error = {"error_type": run["error_type"], "error_message": "gave up"} if run["error_type"] else {}
    yield tenant.event(**shared, event=run["status"], timestamp=when[1], **error)


@pytest.fixture
def filled(tenant):
    report(tenant, [event for number in range(N) for event in events_of(tenant, number)])
    return tenant


def ask(tenant, what, **query):
    return read(tenant, f"dashboard/{what}", **query)


def counted(tenant, **query):
    answer = ask(tenant, "facets", **query)
    found = {name: {one["value"]: one["runs"] for one in answer[name]} for name in FIELDS}
    return answer, found


def expected(field, since=0, **filters):
    others = {name: one for name, one in filters.items() if name != field}
    counts = {}
    for number in range(since, N):
        run = run_of(number)
        if run[field] is not None and all(run[name] == one for name, one in others.items()):
            counts[run[field]] = counts.get(run[field], 0) + 1
    return counts


CHOICES = {
    "status": "failed",
    "agent_name": "reader",
    "agent_version": "1.1",
    "error_type": "Timeout",
    "workflow_run_id": "night-2",
}
COMBINED = [names for n in range(4) for names in itertools.combinations(FIELDS, n)]


def test_each_value_is_counted_as_if_only_the_other_filters_were_set(filled):
    for names in COMBINED:
        filters = {name: CHOICES[name] for name in names}
        answer, found = counted(filled, **filters)
        for field in FIELDS:
            assert found[field] == expected(field, **filters), (filters, field)
        assert answer["runs"] == len(ask(filled, "runs", limit=100, **filters)["runs"]), filters
        assert answer["examined_since"] is None


def test_values_are_in_order_of_their_number_and_bounded(tenant):
    events = [
        tenant.event(
            run_id=run_id(number),
            agent_name="many",
            agent_version=f"v{min(number, 30):02}",
            timestamp=(T0 + timedelta(minutes=number)).isoformat(),
        )
        for number in range(33)
    ]
    report(tenant, events)
    versions = ask(tenant, "facets")["agent_version"]
    assert versions[0] == {"value": "v30", "runs": 3}
    assert [one["value"] for one in versions[1:]] == [f"v{n:02}" for n in range(19)]
    chosen = ask(tenant, "facets", agent_version="v25")["agent_version"]
    assert chosen[-1] == {"value": "v25", "runs": 1}, "the chosen one is there wherever it stands"


def test_the_range_and_a_text_hold_for_the_numbers(filled):
    since = (T0 + timedelta(minutes=20)).isoformat()
    answer, found = counted(filled, since=since)
    assert answer["runs"] == N - 20
    assert found["agent_name"] == expected("agent_name", since=20)
    answer, found = counted(filled, q="READ")
    assert found["agent_name"] == {"reader": expected("agent_name")["reader"]}
    assert answer["runs"] == found["agent_name"]["reader"]
    answer, found = counted(filled, q="gave up", agent_name="payer")
    assert found["status"] == {"failed": expected("status", agent_name="payer")["failed"]}
    assert counted(filled, agent_name="unheard-of")[0]["runs"] == 0


def test_failed_runs_without_a_type_are_counted_and_listed(filled):
    empty = {"error_type": "", "error_message": "gave up"}
    for number, more in ((100, {}), (101, empty), (102, {"error_message": "gave up"})):
        times = [(T0 + timedelta(hours=1, minutes=number, seconds=s)).isoformat() for s in (0, 1)]
        shared = {"run_id": run_id(number), "agent_name": "reader", "agent_version": "9"}
        events = [
            filled.event(**shared, timestamp=times[0]),
            filled.event(**shared, timestamp=times[1], event="failed", **more),
        ]
        report(filled, events)
    wanted = [run_id(number) for number in (102, 101, 100)]
    for query in ({}, {"order": "duration"}, {"agent_name": "reader", "status": "failed"}, {"ascending": "true"}):
        listed = ask(filled, "runs", untyped="true", **query)["runs"]
        assert {one["run_id"] for one in listed} == set(wanted), query
    assert ask(filled, "runs", untyped="true", status="completed")["runs"] == []
    totals = ask(filled, "totals", time_range=f"{T0.isoformat()}/{(T0 + timedelta(days=1)).isoformat()}")
    assert {one["error_type"]: one["runs"] for one in totals["errors"]}[""] == 3
    answer, found = counted(filled)
    assert answer["untyped"] == 3 and "" not in found["error_type"]
    answer, found = counted(filled, untyped="true")
    assert (answer["runs"], answer["untyped"]) == (3, 3)
    assert found["status"] == {"failed": 3} and found["agent_version"] == {"9": 3}
    assert found["error_type"] == expected("error_type"), "what could be chosen instead"
    assert counted(filled, agent_name="payer")[0]["untyped"] == 0
    assert counted(filled, error_type="Timeout")[0]["untyped"] == 3
    both = filled.client.get(filled.path("dashboard/runs?untyped=true&error_type=Timeout"))
    assert both.status == 422 and both.json()["detail"][0]["loc"] == ["query", "error_type"]
    assert filled.client.get(filled.path("dashboard/facets?untyped=true&error_type=x")).status == 422
