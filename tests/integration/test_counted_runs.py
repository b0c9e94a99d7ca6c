"""Numbers of more runs than are counted: they say since when, and the list since then has exactly
as many."""

import urllib.parse
from datetime import datetime, timedelta, timezone

from stored import change, of_tenant

T0 = datetime(2025, 1, 2, tzinfo=timezone.utc)
BASE_US = int(T0.timestamp()) * 1_000_000
MANY, FEW = 100_052, 500
OF_AGENT, OF_AGENT_TOTALS, OF_VALUES, OF_ALL = 1_000, 20_000, 10_000, 100_000  # counted at most

RUNS = """INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at, last_at,
        closing_at, closing_seq, closing_event, error_type, closing_message, step_seq, step_message,
        version_seq, agent_version)
    {numbers} SELECT a.tenant_id, {run_id},
        a.agent_id, 1, {start}, {start}, {start}, CASE WHEN i % 7 = 0 THEN NULL ELSE {start} END,
        0, CASE WHEN i % 3 = 0 THEN 2 ELSE 1 END, CASE WHEN i % 9 = 0 THEN 'Timeout' END, '', 0, '',
        0, 'v' || (i % 2) FROM {n}, agents a WHERE a.{tenant} AND a.agent_name = '{agent}'"""


def start_of(i):
    """Two runs of a time, so that some of the runs of a time are beyond what is counted."""
    return T0 + timedelta(seconds=i // 2)


def is_failed(i):
    return i % 3 == 0 and i % 7 != 0


def numbers(server, first, last):
    """As i: what stands before SELECT, and what after FROM. Citus has no recursion."""
    run_id = "'3f2b8c1e-9a4d-4e6f-8b7a-' || SUBSTR(CAST(100000000000 + i AS TEXT), 1, 12)"
    if server.database:
        return {"numbers": "", "n": f"generate_series({first}, {last}) n (i)", "run_id": f"CAST({run_id} AS UUID)"}
    recursion = f"SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}"
    return {"numbers": f"WITH RECURSIVE n (i) AS ({recursion})", "n": "n", "run_id": run_id}


def fill(server):
    tenant = server.add_tenant()
    for agent_name in ("many", "few"):
        answer = tenant.client.post("/api/v1/agents/register", {"agent_name": agent_name})
        assert answer.status in (200, 201), answer.body
    tenant.client.close()
    server.stop()
    start = f"({BASE_US} + CAST(i / 2 AS BIGINT) * 1000000)"
    for agent, first, last in (("few", 1, FEW), ("many", FEW + 1, FEW + MANY)):
        of = {"agent": agent, "tenant": of_tenant(tenant), "start": start}
        change(server, RUNS.format(**numbers(server, first, last), **of))
    server.start()
    tenant.client = server.client(tenant.token)
    return tenant


def ask(tenant, what, **query):
    answer = tenant.client.get(tenant.path(f"{what}?") + urllib.parse.urlencode(query))
    assert answer.status == 200, answer.body
    return answer.json()


def facets(tenant, **query):
    answer = ask(tenant, "dashboard/facets", **query)
    for name in ("status", "agent_name", "error_type", "agent_version"):
        answer[name] = {one["value"]: one["runs"] for one in answer[name]}
    return answer


def newest(n):
    """The newest n runs, without those that started when the next one did."""
    last = FEW + MANY
    return [i for i in range(last - n, last + 1) if start_of(i) > start_of(last - n)]


def test_a_number_that_is_not_of_all_runs_says_since_when(own_server):
    tenant = fill(own_server)
    counted = newest(OF_ALL)
    assert len(counted) == OF_ALL - 1, "the last is one of two of a time"
    answer = facets(tenant)
    assert answer["runs"] == sum(answer["status"].values()) == len(counted)
    assert facets(tenant, since=answer["counted_since"])["runs"] == len(counted)
    failed = [i for i in counted if is_failed(i)]
    assert answer["status"]["failed"] == len(failed)
    assert facets(tenant, status="failed", error_type="Timeout", agent_version="v1")["runs"] == len(
        [i for i in failed if i % 9 == 0 and i % 2 == 1]
    )
    assert facets(tenant, untyped="true")["runs"] == len([i for i in failed if i % 9 != 0])
    check_values(tenant)
    check_totals(tenant)
    check_agent(tenant)


def check_values(tenant):
    """Of the values of filters, fewer are counted; since then, the list has as many."""
    answer = facets(tenant)
    counted = newest(OF_VALUES)
    assert answer["agent_name"] == {"many": len(counted)}
    assert datetime.fromisoformat(answer["examined_since"]) == start_of(counted[0])
    since = {"since": answer["examined_since"]}
    for name, value in (("error_type", "Timeout"), ("agent_version", "v0"), ("agent_name", "many")):
        exact = facets(tenant, **since, **{name: value})
        assert (exact["runs"], exact["examined_since"]) == (answer[name][value], None), name
    assert facets(tenant, **since, untyped="true")["runs"] == answer["untyped"] > 0
    few = facets(tenant, agent_name="few")
    assert (few["runs"], few["examined_since"], few["agent_name"]["many"]) == (FEW, None, len(counted))
    assert facets(tenant, since=few["others_since"], agent_name="many")["runs"] == len(counted)
    assert datetime.fromisoformat(answer["newest_at"]) == start_of(counted[-1])
    unheard = facets(tenant, agent_name="unheard-of")
    assert (unheard["runs"], unheard["status"]) == (0, {})


def check_totals(tenant):
    end = start_of(FEW + MANY) + timedelta(seconds=1)
    span = f"{T0.isoformat()}/{end.isoformat()}"
    for agent, n in ((None, OF_ALL), ("many", OF_AGENT_TOTALS)):
        of = {"agent_name": agent} if agent else {}
        totals = ask(tenant, "dashboard/totals", time_range=span, **of)
        runs = {s: sum(one[s] for one in totals["periods"]) for s in ("completed", "failed", "in_progress")}
        counted = newest(n)
        assert totals["truncated"] and sum(runs.values()) == len(counted)
        since = facets(tenant, since=totals["counted_since"], **of)
        assert since["runs"] == len(counted) and since["status"] == runs
        (timeouts,) = [one["runs"] for one in totals["errors"] if one["error_type"] == "Timeout"]
        assert facets(tenant, since=totals["counted_since"], error_type="Timeout", **of)["runs"] == timeouts
    few = ask(tenant, "dashboard/totals", time_range=span, agent_name="few")
    assert (few["truncated"], few["counted_since"]) == (False, None)


def check_agent(tenant):
    agent = ask(tenant, "agents/many")
    counts, counted = agent["counts"], newest(OF_AGENT)
    assert counts["runs"] == len(counted)
    since = {"since": counts["counted_since"], "agent_name": "many"}
    assert facets(tenant, **since)["runs"] == counts["runs"]
    assert facets(tenant, **since, status="failed")["runs"] == counts["failed"]
    assert datetime.fromisoformat(counts["newest_at"]) == start_of(counted[-1])
    for version in agent["versions"]:
        exact = facets(tenant, **since, agent_version=version["agent_version"])
        assert exact["runs"] == version["runs"] > 0
    counts = ask(tenant, "agents/few")["counts"]
    assert (counts["runs"], counts["counted_since"]) == (FEW, None)
