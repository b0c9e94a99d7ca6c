"""The narrative of a run in parts: from its end, searched and filtered; and its timeline."""

import uuid
from datetime import datetime, timedelta

import pytest
import runs
from runs import T0
from runs import report as add

N = 240
CATEGORIES = ["fetch", "parse", ""]
LEVELS = {7: "warning", 50: "WARN", 90: "error", 130: "Critical"}


def step(tenant, run, number, **more):
    fields = {
        "run_id": run, "event": "in_progress", "seq": number // 2, "message": f"step {number}",
        "timestamp": (T0 + timedelta(seconds=number)).isoformat(),
        "category": CATEGORIES[number % 3], "level": LEVELS.get(number, "info"),
    }  # fmt: skip
    return tenant.event(**(fields | more))


@pytest.fixture
def story(tenant):
    """A run, and its events in the order of the narrative; they arrive in another."""
    run = str(uuid.uuid4())
    events = [step(tenant, run, number) for number in range(N)]
    events[20]["source"] = "Reader.py:100%"
    events[21]["error_type"], events[22]["error_message"] = "Time_out", "Gave up"
    events.append(step(tenant, run, N, event="failed", error_type="Stuck", level="info"))
    add(tenant, events[100:])
    add(tenant, events[:100])
    return run, events


def read(tenant, run, **query):
    return runs.read(tenant, f"runs/{run}/events", **query)


def pages(tenant, run, **query):
    return runs.pages(tenant, f"runs/{run}/events", **query)


def ids(events):
    return [event["event_id"] for event in events]


@pytest.mark.parametrize("limit", [1, 7, 120, 10_000])
def test_a_narrative_is_read_from_its_end_without_gap_or_repeat(tenant, story, limit):
    run, events = story
    got = list(pages(tenant, run, limit=limit, from_end="true"))
    assert [one for page in reversed(got) for one in ids(page["events"])] == ids(events)
    assert all(len(page["events"]) == limit for page in got[:-1])


def is_error(event):
    return event["event"] == "failed" or event["level"].lower() in ("error", "critical")


FILTERS = [
    ({"q": "step 20"}, lambda e: e["message"].startswith("step 20")),
    ({"q": "STEP 20"}, lambda e: e["message"].startswith("step 20")),
    ({"q": "reader.PY"}, lambda e: "source" in e and e["source"] == "Reader.py:100%"),
    ({"q": "100%"}, lambda e: e.get("source") == "Reader.py:100%"),  # not a pattern
    ({"q": "time_"}, lambda e: e.get("error_type") == "Time_out"),
    ({"q": "gave up"}, lambda e: e.get("error_message") == "Gave up"),
    ({"q": "fetch"}, lambda e: e["category"] == "fetch"),
    ({"q": "nowhere"}, lambda e: False),
    ({"level": "error"}, is_error),
    ({"level": "warning"}, lambda e: is_error(e) or e["level"] in ("warning", "WARN")),
    ({"category": "parse"}, lambda e: e["category"] == "parse"),
    ({"category": ""}, lambda e: e["category"] == ""),
    ({"category": "pars"}, lambda e: False),
    ({"category": "fetch", "level": "error", "q": "step"}, lambda e: is_error(e) and e["category"] == "fetch"),
]


@pytest.mark.parametrize(("query", "matches"), FILTERS)
def test_a_filter_leaves_what_matches_from_both_ends(tenant, story, query, matches):
    run, events = story
    wanted = ids(filter(matches, events))
    page = read(tenant, run, **query)
    assert (ids(page["events"]), page["next"]) == (wanted, None)
    assert page["run"]["event_count"] == len(events)
    if len(wanted) > 1:
        forth = list(pages(tenant, run, limit=3, **query))
        assert [one for page in forth for one in ids(page["events"])] == wanted
        back = list(pages(tenant, run, limit=3, from_end="true", **query))
        assert [one for page in reversed(back) for one in ids(page["events"])] == wanted


BAD = ["q=", f"q={'x' * 65}", "level=info", "from_end=maybe", "limit=0", "limit=10001", "cursor=x", "cursor="]


@pytest.mark.parametrize("query", BAD)
def test_a_query_that_cannot_be_is_422(tenant, story, query):
    answer = tenant.client.get(tenant.path(f"runs/{story[0]}/events?{query}"))
    assert answer.status == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.split("=")[0]]


def test_a_page_of_a_search_looks_at_ten_thousand_events(tenant):
    run = str(uuid.uuid4())
    add(tenant, [step(tenant, run, number) for number in range(10_500)])
    last = read(tenant, run, q="step 10499")
    assert last["events"] == [] and last["next"] is not None  # not looked at yet
    found = [e["message"] for page in pages(tenant, run, q="step 10499") for e in page["events"]]
    assert found == ["step 10499"]
    first = list(pages(tenant, run, category="fetch", q="step 0", from_end="true"))
    assert [len(page["events"]) for page in first] == [0, 1]


def timeline_of(tenant, run):
    return runs.read(tenant, f"runs/{run}/timeline")


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_a_timeline_counts_every_event_once(tenant, story):
    run, events = story
    told = timeline_of(tenant, run)
    errors = len(list(filter(is_error, events)))
    assert (told["events"], told["errors"], told["warnings"]) == (len(events), errors, 2)
    assert told["other_events"] == 0
    assert [lane["category"] for lane in told["lanes"]] == CATEGORIES
    for lane in told["lanes"]:
        own = [e for e in events if e["category"] == lane["category"]]
        times = sorted(moment(e["timestamp"]) for e in own)
        assert (lane["events"], lane["errors"]) == (len(own), len(list(filter(is_error, own))))
        assert (moment(lane["first_at"]), moment(lane["last_at"])) == (times[0], times[-1])
        ticks = [moment(tick["at"]) for tick in lane["ticks"]]
        assert ticks == sorted(set(ticks)) and set(ticks) <= set(times)
        assert sum(tick["events"] for tick in lane["ticks"]) == len(own)
        assert sum(tick["errors"] for tick in lane["ticks"]) == lane["errors"]


def test_a_timeline_has_at_most_200_ticks_over_the_whole_run(tenant):
    run = str(uuid.uuid4())
    add(tenant, [step(tenant, run, number, category="work") for number in range(1000)])
    (lane,) = timeline_of(tenant, run)["lanes"]
    assert 150 < len(lane["ticks"]) <= 200
    at = [(moment(tick["at"]) - T0).total_seconds() for tick in lane["ticks"]]
    assert at[0] == 0 and at[-1] >= 990
    assert max(later - earlier for earlier, later in zip(at, at[1:])) <= 10


def test_a_timeline_tells_24_categories_apart(tenant):
    run = str(uuid.uuid4())
    add(tenant, [step(tenant, run, number, category=f"c{number % 30:02}") for number in range(90)])
    told = timeline_of(tenant, run)
    assert [lane["category"] for lane in told["lanes"]] == [f"c{n:02}" for n in range(24)]
    assert (told["events"], told["other_events"]) == (90, 18)


def test_the_timeline_of_another_tenants_run_is_404(tenant, story, server):
    other = server.add_tenant()
    assert other.client.get(other.path(f"runs/{story[0]}/timeline")).status == 404
    assert tenant.client.get(tenant.path(f"runs/{uuid.uuid4()}/timeline")).status == 404
    other.client.close()
