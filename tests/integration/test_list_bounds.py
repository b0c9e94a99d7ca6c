"""What a tenant may create of each kind has an end, and the largest list can be read."""

import json

from stored import of_tenant
from test_checksums import alter

SECRETS, VALUES, VALUE_BYTES = 1000, 1000, 4 << 20


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
    own_server.cli("value", "rm", "k1", "--tenant", tenant.slug)
    insert(tenant, f"UPDATE config_values SET value = '{'y' * 4200}' WHERE {of_tenant(tenant)}")
    full = value("k1")
    assert full.returncode != 0 and str(VALUE_BYTES) in full.stderr
    said = own_server.cli("value", "list", "--tenant", tenant.slug, "--json")
    assert len(json.loads(said)["values"]) == VALUES - 1
