"""Runs, as tests report them and read them page by page."""

import urllib.parse
from datetime import datetime, timedelta, timezone

BATCH = "/api/v1/telemetry/batch"
T0 = datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def at(seconds):
    return (T0 + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def run_id(number):
    return f"3f2b8c1e-9a4d-4e6f-8b7a-{number:012}"


def numbers(runs):
    return [int(run["run_id"][-12:]) for run in runs]


def report(tenant, events, at_once=1000, client=None):
    """In as few batches as the limits allow; all are new."""
    events = list(events)
    for first in range(0, len(events), at_once):
        part = events[first : first + at_once]
        answer = (client or tenant.client).post(BATCH, {"events": part})
        assert (answer.status, answer.json().get("accepted")) == (202, len(part)), answer.body


def ask(tenant, path, client=None, **query):
    path = tenant.path(path) + "?" * bool(query) + urllib.parse.urlencode(query)
    return (client or tenant.client).get(path)


def read(tenant, path, **query):
    answer = ask(tenant, path, **query)
    assert answer.status == 200, answer.body
    assert len(answer.body) <= 17 << 20  # any page ends at about 16 MiB
    return answer.json()


def pages(tenant, path, **query):
    """All pages, by their cursors."""
    got = read(tenant, path, **query)
    yield got
    while got["next"] is not None:
        got = read(tenant, path, **{**query, "cursor": got["next"]})
        yield got
