"""What is kept of a webhook's deliveries: the newest; those of a removed webhook go in steps.

Rows are put in past the service: it would take hours to make as many.
"""

import json
import re
from contextlib import closing

import pytest
from postgres import Session, add_trigger, drop_trigger, lock_waits
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
    assert [hook["webhook_id"] for hook in answer.json()["webhooks"]] == [kept]
    assert own_server.admin.request("DELETE", f"{path}/{removed}").status == 404
    until(lambda: rows(own_server, tenant, "webhooks") == 1)
    assert (rows(own_server, tenant, "deliveries"), rows(own_server, tenant, "messages")) == (0, 0)
    assert commits(own_server) - before >= n / STEP


def refuse_to_delete(server, delivery_id):
    """Deleting this delivery fails from now on."""
    when = f"BEFORE DELETE ON deliveries FOR EACH ROW WHEN (OLD.delivery_id = '{delivery_id}')"
    if server.database:
        add_trigger(server.database, "refuse", when, "RAISE EXCEPTION 'refused by the test'")
    else:
        change(server, f"CREATE TRIGGER refuse {when} BEGIN SELECT RAISE(ABORT, 'refused by the test'); END")


def let_delete(server):
    if server.database:
        drop_trigger(server.database, "refuse", "deliveries")
    else:
        change(server, "DROP TRIGGER refuse")


@pytest.mark.administered
def test_a_removal_is_decided_and_entered_at_once_whatever_becomes_of_the_deliveries(own_server):
    n, tenant = 2 * STEP + 1, own_server.add_tenant()
    webhook_id, path = add_webhook(own_server, tenant, "removed"), tenant.path("webhooks")
    own_server.stop()
    put_deliveries(own_server, tenant, webhook_id, n, waiting=STEP + 5)
    refuse_to_delete(own_server, f"dlv_0{STEP + 3:09}")  # in the second step
    own_server.start()
    answer = own_server.admin.request("DELETE", f"{path}/{webhook_id}")
    assert (answer.status, answer.json()) == (200, {"webhooks": []})
    until(lambda: "old deliveries could not be deleted, and will be later: " in own_server.log())
    assert "deliveries are paused" not in own_server.log()
    assert rows(own_server, tenant, "deliveries") == n - STEP
    assert own_server.admin.get(path).json() == {"webhooks": []}
    for method, rest, body in (
        ("DELETE", "", None), ("PATCH", "", {"enabled": True}), ("GET", "/deliveries", None),
        ("POST", "/test", None), ("POST", f"/deliveries/dlv_0{n:09}/retry", None),
    ):  # fmt: skip
        assert own_server.admin.request(method, f"{path}/{webhook_id}{rest}", body).status == 404
    told = own_server.admin.get(tenant.path("audit?action=webhook.remove")).json()["entries"]
    assert len(told) == 1
    assert webhook_id in told[0]["target"]
    own_server.stop()
    let_delete(own_server)
    own_server.start()
    add_webhook(own_server, tenant, "another")
    another = own_server.admin.get(path).json()["webhooks"][0]["webhook_id"]
    assert own_server.admin.request("DELETE", f"{path}/{another}").status == 200
    until(lambda: rows(own_server, tenant, "webhooks") == 0)
    assert (rows(own_server, tenant, "deliveries"), rows(own_server, tenant, "messages")) == (0, 0)


@pytest.mark.administered
def test_a_webhook_whose_deliveries_cannot_go_keeps_those_of_no_other(own_server, clock):
    stuck, other = own_server.add_tenant(), own_server.add_tenant()
    hooks = {tenant.slug: add_webhook(own_server, tenant, "hook") for tenant in (stuck, other)}
    own_server.stop()
    for tenant in (stuck, other):
        put_deliveries(own_server, tenant, hooks[tenant.slug], KEPT + 10)
    refuse_to_delete(own_server, f"dlv_0{1:09}")
    change(own_server, "UPDATE deliveries SET delivery_id = 'dlv_00'"
                       f" WHERE delivery_id = 'dlv_0{1:09}' AND {of_tenant(other)}")  # fmt: skip
    own_server.start()
    clock.advance(61)
    until(lambda: rows(own_server, other, "deliveries") == KEPT)
    assert rows(own_server, stuck, "deliveries") == KEPT + 10
    assert own_server.log().count("old deliveries could not be deleted, and will be later: ") == 1
    assert "deliveries are paused" not in own_server.log()


@pytest.mark.administered
@pytest.mark.parametrize("why", ["number", "age"])
def test_a_delivery_that_is_retried_while_it_should_go_is_kept(own_server, clock, store, why):
    if store != "postgres":
        pytest.skip("SQLite has one node, whose writer does one change after the other")
    n, tenant = KEPT + 10, own_server.add_tenant()
    webhook_id = add_webhook(own_server, tenant, "hook")
    own_server.stop()
    put_deliveries(own_server, tenant, webhook_id, n)
    if why == "age":
        change(own_server, f"UPDATE deliveries SET created_at = 1 WHERE {of_tenant(tenant)}")
    own_server.start()
    retried = f"delivery_id = 'dlv_0{1:09}' AND {of_tenant(tenant)}"
    tomorrow = f"created_at + {10_000 * DAY_US}"
    with closing(Session(own_server.database)) as other:
        other.run("BEGIN")
        other.run(f"UPDATE deliveries SET state = 0, next_at = {tomorrow} WHERE {retried}")
        clock.advance(3601 if why == "age" else 61)
        until(lambda: lock_waits(own_server.database, "DELETE FROM %deliveries%"))
        other.run("COMMIT")

    def are_gone():  # asked again, since the service may have waited for the lock for too long
        clock.advance(61)
        finished = f"SELECT COUNT(*) AS n FROM deliveries WHERE next_at IS NULL AND {of_tenant(tenant)}"
        return stored(own_server, finished)[0]["n"] == (0 if why == "age" else KEPT)

    until(are_gone)
    assert stored(own_server, f"SELECT state FROM deliveries WHERE {retried}") == [{"state": 0}]
    assert stored(own_server, f"SELECT message_id FROM messages WHERE {of_tenant(tenant)}"
                              f" AND message_id = 'msg_{webhook_id}{1:09}'") != []  # fmt: skip


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
