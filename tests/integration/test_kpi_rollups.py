"""The totals that summaries are read from keep up with racing reports."""

import json
import threading
import uuid

from kpis import DAY, HOUR, moment
from stored import of_tenant, stored

BUSINESS = "/api/v1/telemetry/business"
T0 = 1735689600000000
RANGE = f"{moment(T0)}/{moment(T0 + 2 * DAY)}"


def report(client, run, at, metrics, agent="a"):
    answer = client.post(BUSINESS, {"agent_name": agent, "run_id": run, "timestamp": moment(at),
                                    "metrics": metrics})  # fmt: skip
    assert answer.status == 202, answer.body


def summary(tenant):
    answer = tenant.client.get(tenant.path(f"business/summary?time_range={RANGE}"))
    assert answer.status == 200, answer.body
    return answer.body


def test_racing_reports_leave_the_totals_of_their_values(tenant):
    """Eight clients at once: new keys, new hours, the same runs, replaced values."""
    kpis = [{"key": f"k{i}", "agg": agg} for i, agg in enumerate(["sum", "max", "last"])]
    tenant.client.post("/api/v1/agents/register", {"agent_name": "a", "business_kpis": kpis})
    runs = [str(uuid.uuid4()) for _ in range(6)]
    failures = []

    def send(n):
        client = tenant.server.client(tenant.token)
        try:
            for i in range(40):
                at = T0 + (i % 5) * HOUR + i * 1000 + n
                values = {f"k{j}": (i * 7 + n) % 50 + j / 10 for j in range(3)}
                report(client, runs[(i + n) % 6] if i % 2 else str(uuid.uuid4()), at, values)
        except AssertionError as failure:
            failures.append(failure)
        finally:
            client.close()

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    rows = stored(tenant.server, f"SELECT key, timestamp, received_at, run_no, real_value"
                                 f" FROM business_values WHERE {of_tenant(tenant)}")  # fmt: skip
    told = {row["key"]: row for row in json.loads(summary(tenant))["kpis"]}
    for key, total in [("k0", sum), ("k1", max), ("k2", None)]:
        mine = [r for r in rows if r["key"] == key]
        last = max(mine, key=lambda r: (r["timestamp"], r["received_at"], r["run_no"]))
        values = [r["real_value"] for r in mine]
        expected = total(values) if total else last["real_value"]
        assert told[key]["reports"] == len(mine)
        assert abs(told[key]["value"] - expected) < 1e-6


def test_a_report_that_moves_to_another_day_leaves_no_totals_behind(tenant):
    """The quota counts values alone: totals that stayed could be stored without end."""
    run, days = str(uuid.uuid4()), 30
    report(tenant.client, str(uuid.uuid4()), T0, {"k0": 5})
    for day in range(days):
        report(tenant.client, run, T0 + day * DAY, {"k0": 1, "k1": day, "k2": "text"})
    totals = stored(tenant.server, "SELECT s.key, r.level, r.start FROM business_rollups r"
                                   " JOIN business_series s ON s.tenant_id = r.tenant_id"
                                   " AND s.series_no = r.series_no"
                                   f" WHERE r.{of_tenant(tenant)} ORDER BY key, level, start")  # fmt: skip
    last = T0 + (days - 1) * DAY
    expected = [("k0", level, start) for level in (0, 1) for start in (T0, last)]
    expected += [(key, level, last) for key in ("k1", "k2") for level in (0, 1)]
    assert [tuple(row.values()) for row in totals] == expected
    assert [row["key"] for row in json.loads(summary(tenant))["kpis"]] == ["k0"]


def test_a_report_of_nothing_takes_no_room_but_says_the_version(tenant):
    """The quota counts values and breakdowns alone."""
    run, other = str(uuid.uuid4()), str(uuid.uuid4())

    def runs():
        columns = "run_id, agent_version, timestamp"
        return stored(tenant.server, f"SELECT {columns} FROM business_runs WHERE {of_tenant(tenant)}")

    def tell(run, at, version, metrics):
        answer = tenant.client.post(BUSINESS, {"agent_name": "a", "run_id": run, "timestamp": moment(at),
                                               "agent_version": version, "metrics": metrics})  # fmt: skip
        assert answer.status == 202, answer.body

    tell(other, T0, "1", {})
    assert runs() == []
    tell(run, T0 + HOUR, "1", {"k": 1})
    tell(run, T0 + 2 * HOUR, "2", {})
    tell(run, T0, "0", {})
    assert runs() == [{"run_id": run, "agent_version": "2", "timestamp": T0 + 2 * HOUR}]
