"""What a tenant may create of each kind has an end, and the largest list can be read."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from people import platform_admin, tenant_person
from stored import of_tenant, stored
from test_checksums import alter
from waiting import until

SECRETS, VALUES, VALUE_BYTES = 1000, 1000, 4 << 20
CLOSED_ALERTS = 100_000


def insert(tenant, *statements):
    server = tenant.server
    if not server.database:
        server.stop()
    alter(server, *statements)
    if not server.database:
        server.start()


def numbers(n):
    return f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})"


def of(tenant):
    return f"(SELECT tenant_id FROM tenants WHERE {of_tenant(tenant)})"


def test_the_largest_lists_of_secrets_and_values_can_be_read(own_server):
    tenant = own_server.add_tenant()
    tenant.client.close()
    insert(
        tenant,
        f"INSERT INTO secrets (tenant_id, name, shared, version, sealed, created_at, updated_at)"
        f" {numbers(SECRETS - 1)} SELECT {of(tenant)}, 'S' || i, 0, 1, CAST('x' AS %s), 1, 1 FROM n"
        % ("BYTEA" if own_server.database else "BLOB"),
        f"INSERT INTO config_values (tenant_id, scope, agent_name, key, value, updated_at, author)"
        f" {numbers(VALUES - 1)} SELECT {of(tenant)}, 1, '', 'k' || i, 'v', 1, 'me' FROM n",
    )

    def secret(name):
        return own_server.run("secret", "set", name, "--tenant", tenant.slug, stdin="x")

    def value(key, text="x"):
        return own_server.run("value", "set", key, text, "--tenant", tenant.slug)

    assert (secret("LAST").returncode, value("last").returncode) == (0, 0)
    for refused, why in ((secret("MORE"), "which is the limit"), (value("more"), "unset some")):
        assert refused.returncode != 0 and why in refused.stderr
    assert (secret("LAST").returncode, value("last").returncode) == (0, 0)  # replaced
    said = own_server.cli("secret", "list", "--tenant", tenant.slug, "--json")
    assert len(json.loads(said)["secrets"]) == SECRETS
    own_server.cli("value", "delete", "k1", "--tenant", tenant.slug)
    insert(tenant, f"UPDATE config_values SET value = '{'y' * 4200}' WHERE {of_tenant(tenant)}")
    full = value("k1")
    assert full.returncode != 0 and str(VALUE_BYTES) in full.stderr
    said = own_server.cli("value", "list", "--tenant", tenant.slug, "--json")
    assert len(json.loads(said)["values"]) == VALUES - 1


def test_the_list_of_tenants_is_read_in_pages(server):
    made = {server.add_tenant().slug for _ in range(3)}
    listed, path = [], "/api/v1/tenants?limit=2"
    while path:
        page = server.admin.get(path).json()
        assert 1 <= len(page["tenants"]) <= 2
        listed += [tenant["slug"] for tenant in page["tenants"]]
        path = page["next"] and f"/api/v1/tenants?limit=2&cursor={page['next']}"
    assert made <= set(listed) and len(set(listed)) == len(listed)
    whole = server.admin.get("/api/v1/tenants").json()
    assert ([tenant["slug"] for tenant in whole["tenants"]], whole["next"]) == (listed, None)
    long = {"slug": "long", "name": "x" * 257}
    assert server.admin.post("/api/v1/tenants", long).status == 422


def add_alerts(tenant, first, last, is_open=0):
    insert(
        tenant,
        f"INSERT INTO alerts (tenant_id, alert_id, type, agent_id, subject, open, told, since_at,"
        f" opened_at, closed_at, closed_by, detail) {numbers(last - first + 1)}"
        f" SELECT {of(tenant)}, 'alt_' || (1000000 + {first - 1} + i), 'run.failed', 0,"
        f" 's' || ({first - 1} + i), {is_open}, 1, 1, 1, 1, 'event', '{{}}' FROM n",
    )  # fmt: skip


@pytest.mark.administered
def test_the_oldest_closed_alerts_make_room_for_new_ones(own_server, clock):
    tenant = own_server.add_tenant()
    tenant.client.close()
    add_alerts(tenant, 1, 1, is_open=1)
    add_alerts(tenant, 2, 2)
    admin = own_server.admin
    assert admin.post(tenant.path("alerts/alt_1000002/notes"), {"note": "goes too"}).status == 200
    assert admin.get(f"/api/v1/tenants/{tenant.slug}").json()["stored_bytes"] == 108
    add_alerts(tenant, 3, CLOSED_ALERTS + 251)

    def closed():
        clock.advance(11 * 60)
        (row,) = stored(own_server, "SELECT COUNT(*) AS n, MIN(alert_id) AS oldest FROM alerts"
                                    " WHERE open = 0")  # fmt: skip
        return row["n"] == CLOSED_ALERTS and row["oldest"]

    assert until(closed) == "alt_1000252"
    (row,) = stored(own_server, "SELECT alert_id FROM alerts WHERE open = 1")
    assert row["alert_id"] == "alt_1000001"  # older than all of them
    assert stored(own_server, "SELECT * FROM alert_history") == []
    admin = own_server.admin
    assert admin.get(tenant.path("alerts/alt_1000002/history")).status == 404
    until(lambda: admin.get(f"/api/v1/tenants/{tenant.slug}").json()["stored_bytes"] == 0)
    looks = own_server.looks() + 3  # and no more than these

    def has_looked():
        clock.advance(11 * 60)
        return own_server.looks() >= looks

    until(has_looked)
    assert closed() == "alt_1000252"


@pytest.mark.administered
def test_the_people_of_a_workspace_make_600_changes_in_a_minute(own_server, clock):
    """Each is an entry of the audit log, which no quota counts. One that changes nothing counts too."""
    tenant, other = own_server.add_tenant(), own_server.add_tenant()
    people, limit = [tenant_person(tenant, "admin") for _ in range(4)], 600

    def change(person, whose=tenant):
        return person.request("PATCH", whose.path("catalog/none"), {"secret": True})

    answers, began = [], time.monotonic()
    with ThreadPoolExecutor(len(people)) as pool:
        while all(answer.status == 404 for answer in answers[-len(people) :]):
            answers += pool.map(change, people)
    minutes = 1 + (time.monotonic() - began) // 60  # more than one on a busy machine
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) == {404, 429} and limit <= statuses[404] <= limit * minutes
    refused = next(answer for answer in answers if answer.status == 429)
    assert "600 changes in 60 seconds" in refused.json()["detail"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 61
    key = people[0].get(tenant.path("keys")).json()["keys"][0]["key_id"]
    assert people[0].request("DELETE", tenant.path(f"keys/{key}")).status == 200  # still
    assert people[0].get(tenant.path("values")).status == 200
    assert change(tenant_person(other, "admin"), other).status == 404  # nobody else is touched
    assert change(platform_admin(own_server)).status == 404
    clock.advance(61)
    assert change(people[0]).status == 404
    for person in people:
        person.close()


@pytest.mark.administered
def test_what_members_delete_counts_as_a_change_and_admins_can_still_revoke(own_server):
    """Deleting what is not there is an entry of the audit log, too."""
    tenant = own_server.add_tenant()
    members, admin = [tenant_person(tenant, "member") for _ in range(3)], tenant_person(tenant, "admin")

    def delete(person):
        return person.request("DELETE", tenant.path("values/none"))

    def delete_until_refused(person):
        return next(answer for answer in iter(lambda: delete(person), None) if answer.status == 429)

    with ThreadPoolExecutor(len(members)) as pool:
        refused = list(pool.map(delete_until_refused, members))
    assert any("600 changes in 60 seconds" in answer.json()["detail"] for answer in refused)
    assert delete(admin).status != 429
    for person in [*members, admin]:
        person.close()
