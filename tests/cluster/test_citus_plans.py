"""Citus' plans of every statement of the program: what concerns one tenant goes to one shard."""

import re

import pytest
import skewed
from muster import Postgres
from queries import queries
from test_citus import url_of_worker
from test_plans import ACROSS_TENANTS, Session, arguments


# Statements that go to several shards, besides those that read all tenants for their purpose.
SEVERAL = {
    "features/access/rate_share.c:add_counts": "pulled to the one shard of its table",
    "features/access/tenants_store.c:select_tenants": "when tenants change",
    "features/agents/config/store.c:enter": "a registration; its rows go to one",
    "features/alerts/store.c:alert_store_failing_query": "the watch over all failing agents",
    "features/alerts/store.c:budget_alerts": "the watch over all hard budgets",
    "features/alerts/store.c:alert_store_to_remind_query": "the watch over all open alerts",
    "features/alerts/store.c:count_open": "a metric",
    "features/alerts/store.c:alert_store_unnotified_query": "the watch over all alerts",
    "features/alerts/store.c:alert_store_stuck_over_query": "the watch over all runs",
    "features/alerts/store.c:alert_store_stuck_tenants_query": "as above",
    "features/audit/store.c:select_next": "the check of all tenants' logs, one after another",
    "features/audit/store.c:select_unsigned": "at the start",
    "features/vault/data_keys_store.c:data_keys_after_query": "a rotation of data keys, of all tenants",
    "features/vault/data_keys_store.c:select_all": "at the start",
    "features/webhooks/store.c:delivery_store_messages_next_tenant_query": "what waits, of all tenants",
    "features/webhooks/store.c:select_due": "as above",
    "features/webhooks/store.c:delivery_store_webhooks_after_query": "old deliveries, of all tenants",
}

# Statements of tables that every server has whole, or that Citus runs where it is asked.
TASKS = re.compile(r"Task Count: (\d+)")
PULLED = "pull to coordinator"


def shards(plan):
    """How many tasks a plan has; 0: none, since it reads no distributed table."""
    if PULLED in plan or "Distributed Subplan" in plan:
        return 2
    return max((int(n) for n in TASKS.findall(plan)), default=0)


@pytest.mark.parametrize("server", ["coordinator", "worker"])
def test_a_statement_of_one_tenant_goes_to_one_shard(tmp_path, server):
    """As nodes ask it of any server."""
    postgres = Postgres()
    url = postgres.create_migrated()
    asked_at = url if server == "coordinator" else url_of_worker(url, 0)
    session = Session(asked_at, "force_custom_plan", tmp_path)
    try:
        listed = [q for q in queries() if not q.citus.startswith("CREATE")]
        said = session.ask(*(f"PREPARE q{i} AS {query.citus}" for i, query in enumerate(listed)))
        failed = {q.place: why for q, why in zip(listed, said, strict=True) if why}
        assert not failed
        rows = session.one("SELECT name, parameter_types::text[]::text FROM pg_prepared_statements")
        kinds = {}
        for row in rows.splitlines():
            name, of_name = row.split("|")
            kinds[name] = [kind.strip('"') for kind in of_name.strip("{}").split(",") if kind]
        asked = [
            f"EXPLAIN EXECUTE q{i}{arguments(query.citus, kinds[f'q{i}'], skewed.SMALL)}"
            for i, query in enumerate(listed)
        ]
        plans = {q.place: plan for q, plan in zip(listed, session.ask(*asked), strict=True)}
        broken = [f"{place}: {plan}" for place, plan in plans.items() if "ERROR" in plan]
        assert broken == [], "\n".join(broken)
        found = {place for place, plan in plans.items() if shards(plan) > 1}
        wrong = sorted(found - ACROSS_TENANTS.keys() - SEVERAL.keys())
        assert wrong == [], "these go to several shards"
        assert found >= SEVERAL.keys(), "one of the list goes to one shard"
    finally:
        session.close()
        postgres.drop(url)
