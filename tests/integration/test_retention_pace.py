"""What deleting costs, hundreds of rows for each statement, so that retention keeps up with what comes in; and
that its room is used again.

How much of each second it may take is tests/unit/features/retention/test_sweep_pace.c.
"""

import uuid

import pytest
from postgres import run_sql, servers_of
from relay import counted_server
from stored import of_tenant, stored
from test_alerts import DAY, until
from test_retention import MINUTE, at, business, fill, keep, rows, swept

pytestmark = pytest.mark.administered

EVENTS, RUNS, REPORTS = 6000, 600, 250  # of business runs, of three values each, and of LLM usage
ROWS_PER_STATEMENT = 100  # at least, with all that belongs to it: steps that find nothing, too
# What belongs to the deletion of each kind, by what is in the text of its statements.
STATEMENTS = {
    "events": ("DELETE FROM events", "DELETE FROM runs", "gone_runs", "DELETE FROM stuck_later"),
    "business": ("DELETE FROM business_", "FROM business_runs WHERE tenant_id = $1 AND timestamp <"),
    "llm": ("DELETE FROM llm_usage",),
}


@pytest.fixture(name="counted")
def counted_tenant(store, tmp_path, clock):
    if store != "postgres":
        pytest.skip("a statement of SQLite is no round trip")
    with counted_server(tmp_path, environment=clock.environment) as (server, relay):
        tenant = server.add_tenant()
        tenant.relay = relay
        yield tenant
        tenant.client.close()


def statements(tenant):
    """How many have been run for each kind."""
    return {kind: tenant.relay.runs_of(*parts) for kind, parts in STATEMENTS.items()}


def report(tenant, clock):
    fill(tenant, clock, EVENTS, 10 * DAY)
    for number in range(REPORTS):
        business(tenant, at(clock, 10 * DAY + number), {"leads": number, "stock": 7, "note": "some text"},
                 breakdowns=[{"metric": "leads", "by": "country", "slices": {"es": 1}}] * (number % 2))  # fmt: skip
        body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": "m", "input_tokens": 5,
                "timestamp": at(clock, 10 * DAY)}  # fmt: skip
        assert tenant.client.post("/api/v1/telemetry/llm", body).status == 202


def test_each_statement_deletes_many_rows(counted, clock):
    report(counted, clock)
    values, breakdowns = 3 * REPORTS, REPORTS // 2
    tables = ("runs", "events", "gone_runs", "business_runs", "business_values", "business_breakdowns", "llm_usage")
    assert rows(counted, *tables) == [RUNS, EVENTS, 0, REPORTS, values, breakdowns, REPORTS]
    keep(counted, events_days=2, business_days=2, llm_days=2)
    before = statements(counted)
    clock.advance(MINUTE)
    until(lambda: swept(counted.server) == (RUNS, EVENTS, REPORTS, REPORTS))
    after = statements(counted)
    assert rows(counted, *tables) == [0] * len(tables)
    deleted = {"events": EVENTS + RUNS, "business": REPORTS + values + breakdowns, "llm": REPORTS}
    spent = {kind: after[kind] - before[kind] for kind in deleted}
    assert min(spent.values()) > 0, f"statements have other texts now: {spent}"
    assert all(n <= deleted[kind] / ROWS_PER_STATEMENT for kind, n in spent.items()), spent
    (counts,) = stored(counted.server, f"SELECT SUM(bytes) AS n FROM tenant_bytes WHERE {of_tenant(counted)}")
    assert counts["n"] == 0, "as many bytes were counted when they were stored as when they were deleted"


def bytes_of_events(server):
    """What the store takes for events, with indexes and what is free in them; on Citus, over all servers."""
    if not server.database:
        return stored(server, "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size")[0]["n"]
    sql = ("SELECT SUM(pg_total_relation_size(oid)) FROM pg_class"
           " WHERE relkind = 'r' AND relname ~ '^(events|runs)(_[0-9]+)?$'")  # fmt: skip
    return sum(int(run_sql(url, sql)[0][0] or 0) for url in servers_of(server.database))


def test_new_events_take_the_room_of_deleted_ones(own_server, clock):
    """A day of events arrives and the day before goes, five times: the store is not larger for it."""
    tenant = own_server.add_tenant()
    keep(tenant, events_days=1)
    sizes = []
    for day in range(5):
        fill(tenant, clock, 3000, 0.1 + day / 1000)  # another time, other ids
        sizes.append(bytes_of_events(own_server))
        clock.advance(2 * DAY)
        until(lambda: rows(tenant, "runs", "events", "gone_runs") == [0, 0, 0])
        if own_server.database:  # as autovacuum does in its own time; twice, since room is free for later ones
            run_sql(own_server.database, "VACUUM events")
            run_sql(own_server.database, "VACUUM events", "VACUUM runs")
    tenant.client.close()
    assert sizes[-1] <= 1.3 * sizes[0], sizes
