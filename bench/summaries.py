"""The measure of summaries: is a month with a million business values as fast as one with ten
thousand? The values are put in past the service; its next start makes their totals."""

import http.client
import json
import shutil
import sqlite3
import subprocess
import time
from contextlib import ExitStack, closing

from common import Row, alternate
from servers import Muster, Postgres, scratch

AGENTS, DAYS, FEW = 20, 30, 10_000
SLOWER = 3  # times at most
REQUESTS = 300
KPIS = [("orders", "sum"), ("revenue", "sum"), ("stock", "last"), ("latency", "avg"),
        ("peak", "max")]  # fmt: skip
PATH = "/api/v1/tenants/bench/business/summary?time_range=30d"

SERIES = {
    "sqlite": "WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < {last})",
    "postgres": "WITH g(i) AS (SELECT generate_series(CAST(0 AS BIGINT), {last}))",
}
# Runs evenly over the days until now, the agents in turn; each reports all KPIs.
FILL = """
INSERT INTO business_runs (tenant_id, agent_id, run_id, timestamp, agent_version)
{series} SELECT a.tenant_id, a.agent_id, 'run-' || g.i, {since} + g.i * {step}, ''
FROM g JOIN (SELECT tenant_id, agent_id, ROW_NUMBER() OVER (ORDER BY agent_id) - 1 AS place
             FROM agents) a ON a.place = g.i % {agents} ORDER BY g.i;
INSERT INTO business_values (tenant_id, run_no, key, agent_id, timestamp, received_at,
                             integer_value, real_value)
SELECT r.tenant_id, r.run_no, k.key, r.agent_id, r.timestamp, r.timestamp,
       CASE WHEN k.key <> 'revenue' THEN r.run_no % 1000 END,
       CASE WHEN k.key = 'revenue' THEN (r.run_no % 100000) / 100.0 END
FROM business_runs r CROSS JOIN (SELECT key FROM kpis GROUP BY key) k;
DELETE FROM business_rollups;
UPDATE change_numbers SET number = 0 WHERE topic = 'rollups';
"""


def fill(server, database, n):
    runs = n // len(KPIS)
    length = DAYS * 86_400_000_000
    series = SERIES["postgres" if database else "sqlite"].format(last=runs - 1)
    sql = FILL.format(series=series, agents=AGENTS, step=length // runs,
                      since=int(time.time() * 1e6) - length)  # fmt: skip
    if database:
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", database.url], input=sql + "ANALYZE;",
                       text=True, check=True)  # fmt: skip
        return
    with closing(sqlite3.connect(server.data / "muster.db")) as connection:
        connection.executescript("BEGIN;" + sql + "COMMIT;")


def register(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for i in range(AGENTS):
        body = {"agent_name": f"agent-{i}",
                "business_kpis": [{"key": key, "agg": agg} for key, agg in KPIS]}  # fmt: skip
        connection.request("POST", "/api/v1/agents/register", json.dumps(body),
                           {"Authorization": f"Bearer {server.token}"})  # fmt: skip
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {answer.read()}")
        answer.read()
    connection.close()


class Told:
    """A server with `n` business values, which all count in the summary."""

    def __init__(self, stack, n, with_postgres):
        database = stack.enter_context(Postgres()) if with_postgres else None
        data = scratch()
        stack.callback(shutil.rmtree, data, ignore_errors=True)
        self.server = Muster(data, database.url if database else None)
        with self.server:
            register(self.server)
        fill(self.server, database, n)
        stack.enter_context(self.server)
        self.check(n)

    def check(self, n):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {self.server.token}"})
        rows = json.loads(connection.getresponse().read())["kpis"]
        connection.close()
        reports = sum(row["reports"] for row in rows)
        if len(rows) != AGENTS * len(KPIS) or not 0.9 * n <= reports <= n:
            raise RuntimeError(f"{len(rows)} KPIs of {reports} values are not what was put in")

    def ms(self, what):
        done = self.server.get([PATH], count=REQUESTS)
        if done["refused"]:
            raise RuntimeError(f"not every read was answered: {done}")
        return done[what] / 1000


def summaries(plan):
    for store in ("SQLite", "PostgreSQL"):
        with ExitStack() as stack:
            few = Told(stack, FEW, store == "PostgreSQL")
            many = Told(stack, plan.business, store == "PostgreSQL")
            for what in ("p50_us", "p99_us"):
                mine, other, rounds = alternate(plan, lambda _, w=what: many.ms(w),
                                                lambda _, w=what: few.ms(w))  # fmt: skip
                yield Row(f"{store}: {what[:3]} of a summary of 30 days, {plan.business:,} values"
                          f" against {FEW:,}", mine, "ms", f"<= {SLOWER}",
                          mine <= SLOWER * other, other, mine / other, rounds)  # fmt: skip
