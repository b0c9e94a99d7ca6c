"""The list of runs: text search, filters by version and error, and sorting by any column."""

from datetime import timedelta

import pytest
import runs
from runs import T0, numbers, report, run_id

# Each run: agent, version, how it ended, duration, records, error type, message; oldest first.
RUNS = [
    ("price-watcher", "1.0", "completed", 300, 7, None, "Stored 7 prices"),
    ("price-watcher", "1.1", "failed", 900, None, "TooManyRequests", "The shop said 429_now"),
    ("invoice-reader", "2.0", "failed", 100, 1, "Timeout", "Gave up after 100% of its time"),
    ("invoice-reader", "2.0", None, None, None, None, "reading page 3"),
    ("Lead-Scorer", "1.0", "completed", 500, 90, None, "Scored"),
]


def events_of(tenant, number):
    agent, version, end, ms, records, error, message = RUNS[number]
    shared = {"run_id": run_id(number), "agent_name": agent, "agent_version": version}
    when = [(T0 + timedelta(minutes=number, seconds=s)).isoformat() for s in (0, 1)]
    yield tenant.event(**shared, timestamp=when[0])
    if end is None:
        yield tenant.event(**shared, event="in_progress", timestamp=when[1], message=message)
        return
    texts = {"error_type": error, "error_message": message} if error else {"message": message}
    yield tenant.event(
        **shared, event=end, timestamp=when[1], duration_ms=ms, records_processed=records, **texts
    )


@pytest.fixture
def filled(tenant):
    report(tenant, [one for number in range(len(RUNS)) for one in events_of(tenant, number)])
    return tenant


def ask(tenant, **query):
    return runs.ask(tenant, "dashboard/runs", **query)


def listed(tenant, **query):
    return numbers(runs.read(tenant, "dashboard/runs", **query)["runs"])


SEARCHES = [
    ({"q": "PRICE"}, [1, 0]),  # the agent's name, and a message, in any case
    ({"q": "toomany"}, [1]),  # the error's type
    ({"q": "gave up"}, [2]),  # its message
    ({"q": "page 3"}, [3]),  # the latest step of a run that goes on
    ({"q": "lead-s"}, [4]),
    ({"q": "100%"}, [2]),  # not a pattern
    ({"q": "429_n"}, [1]),
    ({"q": "4_9"}, []),
    ({"q": "!"}, []),
    ({"agent_version": "1.0"}, [4, 0]),
    ({"error_type": "Timeout"}, [2]),
    ({"error_type": "time"}, []),
    ({"agent_name": "price-watcher", "agent_version": "1.1"}, [1]),
    ({"status": "failed", "q": "time"}, [2]),
]


@pytest.mark.parametrize(("query", "wanted"), SEARCHES)
def test_filters_find_their_runs(query, wanted, filled):
    assert listed(filled, **query) == wanted


ORDERS = [
    ({"order": "started"}, [4, 3, 2, 1, 0]),
    ({"ascending": "true"}, [0, 1, 2, 3, 4]),
    ({"order": "duration"}, [1, 4, 0, 2, 3]),  # what has none is last
    ({"order": "duration", "ascending": "true"}, [2, 0, 4, 1, 3]),
    ({"order": "records"}, [4, 0, 2, 3, 1]),
    ({"order": "agent", "ascending": "true"}, [4, 3, 2, 1, 0]),  # by bytes: L before i
    ({"order": "agent"}, [1, 0, 3, 2, 4]),
    ({"order": "version"}, [3, 2, 1, 4, 0]),
    ({"order": "error", "ascending": "true"}, [2, 1, 4, 3, 0]),
    ({"order": "events", "limit": 2}, [4, 3]),  # as many each: the newest first
    ({"order": "duration", "status": "failed"}, [1, 2]),
    ({"order": "duration", "agent_name": "price-watcher", "ascending": "true"}, [0, 1]),
]


@pytest.mark.parametrize(("query", "wanted"), ORDERS)
def test_a_list_is_sorted_by_any_column(query, wanted, filled):
    assert listed(filled, **query) == wanted


# Each: a run, a model of SPENT_PRICES or none, and input tokens.
SPENT = [(0, "dear", 10), (1, "cheap", 500), (1, "cheap", 500), (2, "unpriced", 7000), (4, "dear", 20)]
SPENT_PRICES = {"dear": "1000", "cheap": "1"}  # dollars per million tokens


@pytest.fixture
def spent(filled, server):
    for model, price in SPENT_PRICES.items():
        server.cli("price", "set", f"{model}-of-{filled.slug}", "--input", price, "--output", "0")
    for place, (number, model, tokens) in enumerate(SPENT):
        report = {
            "agent_name": RUNS[number][0],
            "run_id": run_id(number),
            "timestamp": (T0 + timedelta(minutes=number, seconds=place)).isoformat(),
            "model": f"{model}-of-{filled.slug}",
            "input_tokens": tokens,
            "output_tokens": 0,
        }
        answer = filled.client.post("/api/v1/telemetry/llm", report)
        assert answer.status == 202, answer.body
    return filled


SPENDING_ORDERS = [
    ({"order": "tokens"}, [2, 1, 4, 0, 3]),
    ({"order": "tokens", "ascending": "true"}, [0, 4, 1, 2, 3]),  # what has none is last
    ({"order": "cost"}, [4, 0, 1, 3, 2]),  # those without a price are last, the newest first
    ({"order": "cost", "ascending": "true", "limit": 3}, [1, 0, 4]),
    ({"order": "cost", "status": "completed"}, [4, 0]),
    ({"order": "tokens", "q": "price", "limit": 1}, [1]),
    ({"order": "tokens", "agent_name": "invoice-reader"}, [2, 3]),
]


@pytest.mark.parametrize(("query", "wanted"), SPENDING_ORDERS)
def test_a_list_is_sorted_by_what_runs_spent(query, wanted, spent):
    assert listed(spent, **query) == wanted


def test_runs_are_listed_with_what_they_spent(spent):
    plain = ask(spent).json()["runs"]
    assert not any("tokens" in run or "cost" in run for run in plain)
    for order in ({}, {"order": "tokens"}, {"order": "duration"}):
        told = ask(spent, include_cost="true", **order).json()["runs"]
        found = {int(run["run_id"][-12:]): (run.get("tokens"), run.get("cost")) for run in told}
        assert found == {
            0: (10, "0.01"),
            1: (1000, "0.001"),
            2: (7000, None),
            3: (None, None),
            4: (20, "0.02"),
        }


def test_what_runs_of_another_tenant_spent_is_not_theirs(spent, server):
    other = server.add_tenant()
    report(other, events_of(other, 0))  # the same run id
    (run,) = ask(other, include_cost="true", order="cost").json()["runs"]
    assert "tokens" not in run and "cost" not in run


def test_a_sorted_list_has_no_pages_and_is_complete(filled):
    answer = ask(filled, order="duration", limit=2).json()
    assert answer["next"] is None
    assert "examined_since" not in answer
    cursor = ask(filled, limit=2).json()["next"]
    refused = ask(filled, order="duration", cursor=cursor)
    assert refused.status == 422
    assert refused.json()["detail"][0]["loc"] == ["query", "cursor"]


@pytest.mark.parametrize("query", [{"q": ""}, {"q": "x" * 65}, {"order": "price"}])
def test_a_search_that_cannot_be_is_refused(query, filled):
    answer = ask(filled, **query)
    assert answer.status == 422
    assert answer.json()["detail"][0]["loc"] == ["query", next(iter(query))]
