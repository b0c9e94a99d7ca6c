"""A node with many keys answers before it has loaded all of them, as if it had."""

import pytest
from stored import change, stored
from test_alerts import until
from test_checks import well_formed_token

pytestmark = pytest.mark.administered

FLEET = 60_000  # keys: several portions


def add_fleet(server, tenant):
    """Keys of a tenant that no request has; they come before those of later tenants."""
    tenant_id = stored(server, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")[0]["tenant_id"]
    if server.database:
        numbers = f"SELECT n FROM generate_series(1, {FLEET}) n"
        digest = "decode(md5('a' || n) || md5('b' || n), 'hex')"
    else:
        numbers = (f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {FLEET})"
                   " SELECT n FROM c")  # fmt: skip
        digest = "randomblob(32)"
    change(server, "INSERT INTO keys (tenant_id, key_id, digest, agent_name, label, created_at, line)"
                   f" SELECT {tenant_id}, 'key_' || n, {digest}, 'bot-' || n, '', 1, 'key_' || n"
                   f" FROM ({numbers}) AS numbers")  # fmt: skip


def status_of(server, token, tenant):
    client = server.client(token)
    try:
        return client.post("/api/v1/telemetry", tenant.event(agent_name="collector")).status
    finally:
        client.close()


def test_each_key_is_known_while_a_fleet_is_still_loaded(own_server):
    fleet = own_server.add_tenant()
    tenant = own_server.add_tenant("--max-agents", "5")
    agent, other, ended = (tenant.add_key(name) for name in ("collector", "stranger", "collector"))
    key_id = stored(own_server, "SELECT key_id FROM keys WHERE agent_name = 'collector'"
                                " ORDER BY created_at DESC LIMIT 1")[0]["key_id"]  # fmt: skip
    own_server.cli("key", "delete", "--tenant", tenant.slug, key_id)
    unknown = well_formed_token()
    own_server.stop()
    add_fleet(own_server, fleet)
    own_server.start()
    before = own_server.log()
    answers = {name: status_of(own_server, token, tenant) for name, token in
               {"workspace": tenant.token, "agent": agent, "stranger": other, "ended": ended,
                "unknown": unknown}.items()}  # fmt: skip
    assert answers == {"workspace": 202, "agent": 202, "stranger": 403, "ended": 401, "unknown": 401}
    assert "all keys are loaded" not in before
    until(lambda: "all keys are loaded" in own_server.log())
    assert status_of(own_server, tenant.token, tenant) == 202
    assert status_of(own_server, unknown, tenant) == 401
    fleet.client.close()
    tenant.client.close()
