"""Plans of PostgreSQL: every statement of the program, on a large skewed database, analysed or not.

The statements are prepared and planned while the database is empty, as by a service that was just
installed; then the data comes. A plan must not be one for empty tables, and what a small
tenant asks must not cost more for the rows of a large one.
"""

import itertools
import json
import re
import subprocess

import pytest
import skewed
from muster import Postgres
from postgres import is_distributed, run_sql
from queries import Query, queries

ROWS_MAX = 100  # of large tables, that a statement of a tenant with five rows in each may look at
REMOVED_MAX = 30_000  # rows that a join compares and throws away: it was quadratic

# Statements that read the rows of all tenants because that is their purpose; when they run.
ACROSS_TENANTS = {
    "features/agents/agents_store.c:select_low_counts": "`muster check`",
    "features/agents/agents_store.c:set_all_counts": "`muster cluster enable`",
    "features/access/keys.c:live_keys_query": "when the database may have lost changes",
    "features/access/keys.c:select_portion": "at the start, bounded by its LIMIT",
    "features/access/keys.c:keys_rotated_query": "at the start, of the last ten minutes",
    "features/users/links/links.c:count_all_asked": "links of a day, of all users",
    "features/users/links/links.c:prune_links": "what is old, found by its time",
    "features/users/links/links.c:prune_roles": "as above",
    "features/access/retention_store.c:retention_next_query": "a sweep looks for its next tenant",
    "features/access/stored_bytes.c:select_sums": "tenants with a quota, and all at the start",
    "features/users/users.c:select_roles": "the list of all users",
    "features/access/sessions.c:select_roles": "when people change",
    "features/events/event_days.c:select_all_events": "`muster check`",
    "features/events/event_days.c:select_all_rows": "`muster check`",
    "features/vault/data_keys_store.c:count_sealed": "`muster vault reset`, and a start without the key",
    "features/agents/directives/store.c:all[0]": "when directives change",
    "features/agents/directives/store.c:all[1]": "when directives change",
    "features/agents/signs_store.c:put_sightings": "of up to 10,000 agents of all tenants",
    "features/agents/schedules/store.c:select_all_windows": "the watch over all agents, every 15 s",
    "features/alerts/store.c:alert_store_silent_near_query": "the watch over all agents, every 15 s",
    "features/alerts/store.c:alert_store_stuck_due_query": "what is due, of all tenants",
    "features/oidc/person.c:count_groups": "at most a few thousand groups of the whole service",
    "features/oidc/person.c:delete_group": "as above",
    "features/oidc/person.c:select_groups": "as above",
    "features/vault/data_keys_store.c:any_retired": "a rotation of data keys, of all tenants",
    "features/vault/data_keys_store.c:data_keys_retired_query": "as above",
    "features/vault/data_keys_store.c:data_keys_superseded_query": "as above",
    "features/vault/data_keys_store.c:data_keys_after_query": "as above, page by page",
    "features/vault/data_keys_store.c:select_all": "a rotation of the master key",
    "features/webhooks/store.c:forget_deliveries_query": "a sweep; bounded by its LIMIT",
    "features/webhooks/store.c:forget_messages_query": "a sweep; bounded by its LIMIT",
    "features/webhooks/store.c:delivery_store_release_query": "what waits, after a clock step",
    "features/webhooks/store.c:select_due_of_all": "at the start: all webhooks",
}

# Statements that need more than a row of the data set has: they are planned, but not run.
NOT_RUN = {
    "db/migrate.c:insert_version",
    "features/access/tenants_store.c:insert_tenant",
    "features/kpis/rollups.c:put_states",
    "features/retention/expiry_store.c:mark_any_runs",
}
# Those whose run Citus does not explain: INSERT … SELECT by way of the coordinator, and a result of type void.
NOT_RUN_ON_CITUS = {
    "features/access/rate_share.c:add_counts",
    "features/agents/config/store.c:enter",
}

LOOKED_AT = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")

RUNS = "features/events/event_log_postgres.c"

COMPARED = re.compile(r'"?(\w+)"?(?: COLLATE "C")?\s*(?:=|<>|<=|>=|<|>)\s*(?:ANY\s*\()?\$(\d+)')
TUPLE = re.compile(r"\(([\w., ]+)\)\s*(?:=|<=|>=|<|>)\s*\(([$\w, ]+)\)")
INSERTED = re.compile(r"INSERT INTO \w+ \(([^)]*)\) VALUES \(((?:[^()]|\([^)]*\))*)\)")
UNNESTED = re.compile(r"unnest\(([^)]*)\)(?: WITH ORDINALITY)? AS \w+\(([^)]*)\)")
STORED_ROW, NEW_ROW = "3", "900000"  # of each tenant
LIMIT = re.compile(r"(?:LIMIT|OFFSET) \$(\d+)")
PARAMETER = re.compile(r"\$(\d+)")
SHORT = {"t": "tenant_id", "tenant": "tenant_id", "r": "run_id", "a": "agent_id", "no": "run_no",
         "e": "event_id", "agent": "agent_id"}  # fmt: skip


class Session:
    """One session of psql with the settings that the service gives its own."""

    def __init__(self, url, plan_cache_mode, folder):
        self.script = folder / f"{plan_cache_mode}.sql"
        self.numbers, self.name = itertools.count(), plan_cache_mode
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.ask(f"SET plan_cache_mode = {plan_cache_mode}", "SET statement_timeout = '120s'", "SET jit = off")
        if is_distributed():
            self.one("SET citus.explain_all_tasks = on")

    def ask(self, *sql):
        """What psql says to each of these; they go as one file, since a turn each takes longer."""
        self.script = self.script.with_name(f"{next(self.numbers)}-{self.name}.sql")  # psql may read the last
        self.script.write_text("".join(f"{one};\n\\echo @@end\n" for one in sql), encoding="utf-8")
        self.process.stdin.write(f"\\i {self.script}\n")
        self.process.stdin.flush()
        answers = []
        for _ in sql:
            lines = []
            while (line := self.process.stdout.readline()) != "@@end\n":
                assert line, "psql has ended"
                lines.append(line)
            answers.append("".join(lines).strip())
        return answers

    def one(self, sql):
        return self.ask(sql)[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()


def columns_of(text):
    """Which column each parameter is compared with or stored in."""
    found = {}
    for columns, values in INSERTED.findall(text) + TUPLE.findall(text):
        parts = re.split(r",\s*(?![^()]*\))", values)
        for column, part in zip(columns.split(","), parts):
            if re.fullmatch(r"\$\d+", part.strip()):
                found.setdefault(int(part.strip()[1:]), column.strip().split(".")[-1].strip('"'))
    for arrays, columns in UNNESTED.findall(text):
        for array, column in zip(arrays.split(","), columns.split(",")):
            number = re.match(r"\s*\$(\d+)", array)
            if number:
                found.setdefault(int(number.group(1)), SHORT.get(column.strip(), column.strip()))
    for column, number in COMPARED.findall(text):
        found.setdefault(int(number), column)
    for number in LIMIT.findall(text):
        found[int(number)] = "limit"
    return found


def values(text, kinds, tenant, row=STORED_ROW):
    """SQL of each argument for a tenant, as its row with this number has it."""
    columns, found = columns_of(text), []
    for number, kind in enumerate(kinds, 1):
        column = columns.get(number, "tenant_id" if number == 1 and kind == "bigint" else "other")
        element = kind.removesuffix("[]")
        sql = "50" if column == "limit" else skewed.value(column, element, str(tenant), row)
        if element in ("json", "jsonb"):
            sql = "'[]'"
        if kind.endswith("[]"):
            sql = f"ARRAY[{sql}]::{kind}"
        found.append(sql)
    return found


def arguments(text, kinds, tenant, row=STORED_ROW):
    found = values(text, kinds, tenant, row)
    return f"({', '.join(found)})" if found else ""


def with_values(text, kinds, tenant, row):
    """The statement with them in it. So Citus' servers plan it, each time: EXPLAIN ANALYZE of EXECUTE would
    show what they do without knowing any."""
    found = [f"CAST({sql} AS {kind})" for sql, kind in zip(values(text, kinds, tenant, row), kinds, strict=True)]
    return PARAMETER.sub(lambda number: found[int(number.group(1)) - 1], text)


def nodes(plan):
    """Those of its own and, on Citus, of what its servers run."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)
    distributed = plan.get("Distributed Query", {})
    for subplan in distributed.get("Subplans", ()):
        yield from nodes(subplan["PlannedStmt"][0]["Plan"])
    for task in distributed.get("Job", {}).get("Tasks", ()):
        for remote in task.get("Remote Plan", ()):
            yield from nodes(remote[0]["Plan"])


def rows_seen(plan, large):
    """How many rows of large tables a plan that was run looked at, those that it threw away too."""
    seen = 0
    for node in nodes(plan["Plan"]):
        if node.get("Relation Name") in large and node["Node Type"].endswith("Scan"):
            rows = sum(node.get(name, 0) for name in LOOKED_AT)
            seen += rows * node.get("Actual Loops", 1)
    return seen


def trouble(plan, tenant, large):
    """What is wrong with a plan that was run; None if nothing is."""
    for node in nodes(plan["Plan"]):
        relation = node.get("Relation Name")
        if node["Node Type"] == "Seq Scan" and relation in large and tenant == skewed.SMALL:
            return f"scans all of {relation}"
        if node.get("Rows Removed by Join Filter", 0) * node.get("Actual Loops", 1) > REMOVED_MAX:
            return "compares each row with each"
    if tenant == skewed.SMALL and rows_seen(plan, large) > ROWS_MAX:
        return f"looks at {rows_seen(plan, large):.0f} rows of a tenant with five"
    return None


def fill(session):
    """The tables that are large then. Of one that Citus has in parts, it is that of the large tenant."""
    large = skewed.fill(session.one)
    if not is_distributed():
        return large
    shards = session.one(
        "SELECT table_name || ' ' || shard_name FROM citus_shards WHERE citus_table_type = 'reference' OR"
        f" shardid = get_shard_id_for_distribution_column(table_name, {skewed.LARGE})"
    )
    return {shard for table, shard in map(str.split, shards.splitlines()) if table in large}


def text_of(query):
    return query.citus if is_distributed() else query.text


def prepare(session, times, wanted=lambda query: True):
    """The names of the statements with their arguments' types; each is planned some times."""
    listed = [q for q in queries() if wanted(q) and not q.text.startswith("CREATE")]
    known = {f"q{number}": query for number, query in enumerate(listed)}
    said = session.ask(*(f"PREPARE {name} AS {text_of(query)}" for name, query in known.items()))
    for query, why in zip(known.values(), said, strict=True):
        assert why == "", f"{query.place}: {why}"
    rows = session.one("SELECT name, parameter_types::text[]::text FROM pg_prepared_statements")
    kinds = {}
    for row in rows.splitlines():
        name, listed = row.split("|")
        kinds[name] = [kind.strip('"') for kind in listed.strip("{}").split(",") if kind]
    known = {name: (query, kinds[name]) for name, query in known.items()}
    planned = [
        f"EXPLAIN EXECUTE {name}{arguments(text_of(query), listed, skewed.SMALL)}"
        for name, (query, listed) in known.items()
    ]
    for query, plan in zip(known.values(), session.ask(*planned), strict=True):
        assert "ERROR" not in plan, f"{query[0].place}: {plan}"
    session.ask(*(planned * (times - 1)))
    return known


def plans(session, known, tenant, how, row=STORED_ROW):
    """By name, of one run of each, which is taken back; none for a write that fails."""
    begin, asked = skewed.UNCHECKED if row == NEW_ROW else "BEGIN", []  # which forgets kept plans
    for name, (query, kinds) in known.items():
        given = (text_of(query), kinds, tenant, row)
        run = f"EXECUTE {name}{arguments(*given)}"
        if is_distributed():
            run = with_values(*given)
        asked += [begin, f"EXPLAIN ({how}) {run}", "ROLLBACK"]
    answers = session.ask(*asked)[1::3]
    return {
        name: json.loads(said)[0]
        for name, said in zip(known, answers, strict=True)
        if said.startswith("[")
    }


def run_plans(session, known, tenant):
    """The same of what was run: what is there already is added as another row."""
    how = "ANALYZE, TIMING OFF, FORMAT JSON"
    seen = plans(session, known, tenant, how)
    failed = {name: what for name, what in known.items() if name not in seen}
    seen |= plans(session, failed, tenant, how, NEW_ROW)
    may = NOT_RUN | NOT_RUN_ON_CITUS if is_distributed() else NOT_RUN
    assert {known[name][0].place for name in known if name not in seen} <= may
    return seen


def troubles(session, known, large):
    found = {}
    for tenant in (skewed.LARGE, skewed.SMALL):
        seen = plans(session, known, tenant, "FORMAT JSON")
        assert seen.keys() == known.keys()
        seen |= run_plans(session, known, tenant)
        for name, plan in seen.items():
            place = known[name][0].place
            what = trouble(plan, tenant, large)
            if what and place not in ACROSS_TENANTS:
                found.setdefault(place, what)
    return found


# A statement that reads all rows for those of one tenant.
ALL_RUNS = "SELECT COUNT(*) FROM runs WHERE tenant_id + 0 = $1"
SCAN = {"scan": (Query(f"{RUNS}:select_runs", ALL_RUNS, ALL_RUNS, False), ["bigint"])}


def keep_statistics(url):
    """Otherwise PostgreSQL analyzes a table when it likes, and kept plans are then made again."""
    tables = run_sql(url, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace ="
                     " current_schema()::regnamespace")  # fmt: skip
    run_sql(url, *(f"ALTER TABLE {table} SET (autovacuum_enabled = off)" for (table,) in tables))


@pytest.fixture(name="database")
def migrated_database(store):
    if store != "postgres":
        pytest.skip("SQLite plans without statistics")
    postgres = Postgres()
    url = postgres.create_migrated()
    keep_statistics(url)
    yield url
    postgres.drop(url)


def test_no_plan_depends_on_statistics_or_on_other_tenants(database, tmp_path):
    ours = Session(database, "force_custom_plan", tmp_path)
    control = Session(database, "auto", tmp_path)
    try:
        known, controlled = prepare(ours, 1), prepare(control, 6, lambda q: RUNS in q.place)
        large = fill(ours)
        seen = troubles(control, controlled, large)
        if is_distributed():  # its servers keep no plans
            seen = troubles(control, SCAN, large)
        assert f"{RUNS}:select_runs" in seen, "a bad plan would not be seen"
        assert troubles(ours, known, large) == {}
        ours.one("ANALYZE")
        assert troubles(ours, known, large) == {}
    finally:
        ours.close()
        control.close()


def test_a_plan_that_is_kept_suits_every_tenant(database, tmp_path):
    """It is made again at least each second, so for tables as they are, but for any arguments."""
    if is_distributed():
        pytest.skip("no plan is kept on Citus, as test_statements.py sees: reports would fail there")
    ours = Session(database, "force_generic_plan", tmp_path)
    try:
        large = fill(ours)
        known = prepare(ours, 1, lambda q: q.keeps)
        assert f"{RUNS}:select_runs" in {query.place for query, _ in known.values()}
        assert troubles(ours, known, large) == {}
        ours.one("ANALYZE")
        assert troubles(ours, known, large) == {}
    finally:
        ours.close()
