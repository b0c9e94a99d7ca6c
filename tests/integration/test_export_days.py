"""Exports of a time range: all of it, whenever it arrived, and little else is read."""

import itertools
import random
from datetime import datetime

import pytest
from stored import change, of_tenant, stored
from test_export import a_business_report, batch, lines
from test_retention import DAY, at

pytestmark = pytest.mark.administered

# How long ago a report says that it was, in days.
AGO = [0, 0, 0, 0.3, 0.9, 1, 2, 3, 5, 9, 40, 400, 9000, -0.2, -1, -3]
DAYS = 6


@pytest.fixture
def world(own_server, clock):
    """A tenant that has reported for some days, beside another one; its service was started again."""
    tenant, other = own_server.add_tenant(), own_server.add_tenant()
    chance = random.Random(7)
    for day in range(DAYS):
        for one in (tenant, other):
            times = [at(clock, ago * DAY) for ago in chance.sample(AGO, 12)]
            batch(one, [one.event(timestamp=time, message=f"{day}-{n}") for n, time in enumerate(times)])
            for time in times[:3]:
                report = a_business_report(one, timestamp=time)
                assert one.client.post("/api/v1/telemetry/business", report).status == 202
        clock.advance(DAY)
        if day == 2:
            start_again(tenant, other)
    yield tenant
    tenant.client.close()
    other.client.close()


def start_again(*tenants, meanwhile=None):
    server = tenants[0].server
    for one in tenants:
        one.client.close()
    server.stop()
    if meanwhile:
        change(server, meanwhile)
    server.start()
    for one in tenants:
        one.client = server.client(one.token)


def moments(clock):
    """Around each day of the world, and far from it."""
    around = [at(clock, days * DAY) for days in (13, 9.5, 7, 5.5, 5, 4, 3, 2.1, 2, 1, 0, -1, -9)]
    return [at(clock, 9010 * DAY), at(clock, 450 * DAY), *around]


def of_range(whole, since, until):
    since, until = datetime.fromisoformat(since), datetime.fromisoformat(until)
    return [line for line in whole if since <= datetime.fromisoformat(line["timestamp"]) < until]


def test_a_range_has_what_all_has_of_its_time(world, clock):
    for kind in ("events", "business"):
        ends = moments(clock)
        whole = lines(world, kind, time_range=f"{ends[0]}/{ends[-1]}")
        assert len(whole) == DAYS * (12 if kind == "events" else 3 * 5)
        for since, until in itertools.combinations(ends, 2):
            found = lines(world, kind, time_range=f"{since}/{until}")
            assert found == of_range(whole, since, until), (since, until)


def rows(tenant):
    return stored(tenant.server, f"SELECT lags FROM event_days WHERE {of_tenant(tenant)}")


def test_days_that_have_none_of_the_range_are_not_read(world, clock):
    """Days that say falsely that they have nothing are left out, until it is not known since when they tell."""
    assert len(rows(world)) == DAYS
    whole, recent = lines(world, "events"), f"{at(clock, 30 * DAY)}/{at(clock)}"
    assert 30 < len(lines(world, "events", time_range=recent)) < len(whole)
    assert world.server.run("check").returncode == 0
    start_again(world, meanwhile="UPDATE event_days SET lags = 0")
    assert lines(world, "events", time_range=recent) == []
    found = world.server.run("check")
    assert found.returncode == 1
    assert found.stderr.count("lacks: exports of a time range leave it out") == 2 * DAYS * 12
    start_again(world, meanwhile="UPDATE event_days SET lags = -1")  # as docs/OPERATIONS.md says
    assert lines(world, "events", time_range=recent) == of_range(whole, *recent.split("/"))
    assert world.server.run("check").returncode == 0
