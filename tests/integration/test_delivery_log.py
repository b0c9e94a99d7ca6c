"""What is kept of a webhook's deliveries: the newest, and a webhook with thousands is removed in steps.

Rows are put in past the service: it would take hours to make as many.
"""

import json
import re

import pytest
from stored import change, of_tenant, stored
from waiting import until

KEPT, STEP = 1000, 500
DAY_US = 86_400_000_000


def add_webhook(server, tenant, name):
    url = f"https://hooks.invalid/{name}"
    return json.loads(server.cli("webhook", "add", url, "--tenant", tenant.slug, "--json"))["webhook_id"]


def numbers(server, n):
    if server.database:
        return f"SELECT i FROM generate_series(1, {n}) AS g(i)"
    return f"WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {n}) SELECT i FROM g"


def put_deliveries(server, tenant, webhook_id, n, waiting=0):
    """n messages, and the delivery of each; the first of them wait for an attempt tomorrow."""
    where = f"(SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}')"
    now = stored(server, f"SELECT created_at FROM webhooks WHERE webhook_id = '{webhook_id}'")
    now = int(now[0]["created_at"])
    padded = "lpad(CAST(i AS TEXT), 9, '0')" if server.database else "printf('%09d', i)"
    change(server, "INSERT INTO messages (tenant_id, message_id, type, created_at, data, pending)"
                   f" SELECT {where}, 'msg_{webhook_id}' || {padded}, 'run.failed', {now}, '{{}}', 0"
                   f" FROM ({numbers(server, n)}) q")  # fmt: skip
    change(server, "INSERT INTO deliveries (tenant_id, delivery_id, webhook_id, message_id, created_at,"
                   f" state, attempts, next_at, last_at) SELECT {where}, 'dlv_0' || {padded},"
                   f" '{webhook_id}', 'msg_{webhook_id}' || {padded}, {now},"
                   f" CASE WHEN i <= {waiting} THEN 0 ELSE 1 END, 1,"
                   f" CASE WHEN i <= {waiting} THEN {now + DAY_US} ELSE NULL END, {now}"
                   f" FROM ({numbers(server, n)}) q")  # fmt: skip


def rows(server, tenant, table):
    return stored(server, f"SELECT COUNT(*) AS n FROM {table} WHERE {of_tenant(tenant)}")[0]["n"]


def commits(server):
    text = server.metrics().decode()
    return int(re.search(r"^muster_commit_seconds_count (\d+)", text, re.M)[1])


@pytest.mark.administered
def test_a_webhook_with_many_deliveries_is_removed_in_steps(own_server):
    n, tenant = 20_000, own_server.add_tenant()
    removed, kept = (add_webhook(own_server, tenant, name) for name in ("removed", "kept"))
    own_server.stop()
    put_deliveries(own_server, tenant, removed, n, waiting=700)
    own_server.start()
    before, path = commits(own_server), tenant.path("webhooks")
    answer = own_server.admin.request("DELETE", f"{path}/{removed}")
    assert answer.status == 200, answer.body
    assert commits(own_server) - before >= n / STEP
    assert [hook["webhook_id"] for hook in answer.json()["webhooks"]] == [kept]
    assert (rows(own_server, tenant, "deliveries"), rows(own_server, tenant, "messages")) == (0, 0)
    told = own_server.admin.get(tenant.path("audit?action=webhook.remove")).json()["entries"]
    assert len(told) == 1
    assert removed in told[0]["target"]
    assert own_server.admin.request("DELETE", f"{path}/{removed}").status == 404


@pytest.mark.administered
def test_the_newest_deliveries_of_a_webhook_are_kept_and_those_that_wait(own_server, clock):
    n, waiting, tenant = 2_500, 5, own_server.add_tenant()
    many, few = (add_webhook(own_server, tenant, name) for name in ("many", "few"))
    own_server.stop()
    put_deliveries(own_server, tenant, many, n, waiting)
    own_server.start()
    clock.advance(61)
    until(lambda: rows(own_server, tenant, "deliveries") == KEPT + waiting)
    assert rows(own_server, tenant, "messages") == KEPT + waiting
    ids = stored(own_server, "SELECT delivery_id FROM deliveries WHERE next_at IS NULL"
                             f" AND {of_tenant(tenant)} ORDER BY delivery_id")  # fmt: skip
    newest = [f"dlv_0{i:09}" for i in range(n - KEPT + 1, n + 1)]
    assert [row["delivery_id"] for row in ids] == newest
    hooks = own_server.admin.get(tenant.path("webhooks")).json()["webhooks"]
    assert {hook["webhook_id"]: hook["waiting"] for hook in hooks} == {many: waiting, few: 0}
