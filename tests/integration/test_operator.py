"""What the operator can do: over the socket in the data directory, and nowhere else."""

import pytest

ROUTES = [
    ("GET", "/api/v1/tenants", None),
    ("POST", "/api/v1/tenants", {"slug": "intruder"}),
    ("GET", "/api/v1/tenants/{slug}/keys", None),
    ("POST", "/api/v1/tenants/{slug}/keys", {}),
    ("DELETE", "/api/v1/tenants/{slug}/keys/key_none", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_a_workspace_key_is_not_the_operator(method, path, body, tenant):
    path = path.format(slug=tenant.slug)
    assert tenant.client.request(method, path, body).status == 403
    assert tenant.server.client().request(method, path, body).status == 401


def test_tenants_and_keys_are_made_listed_and_revoked_over_the_socket(server):
    if server.database:  # no socket: the commands speak to PostgreSQL themselves
        assert not (server.data / "muster.sock").exists()
        return
    operator = server.operator()
    assert operator.post("/api/v1/tenants", {"slug": "over-the-socket"}).status == 201
    slugs = [row["slug"] for row in operator.get("/api/v1/tenants").json()["tenants"]]
    assert "over-the-socket" in slugs
    keys = "/api/v1/tenants/over-the-socket/keys"
    made = operator.post(keys, {"label": "first"}).json()
    agent = server.client(made["token"])
    assert agent.get("/api/v1/limits").json()["batch_max_events"] == 1000
    listed = operator.get(keys)
    assert [row["label"] for row in listed.json()["keys"]] == ["first"]
    assert made["token"] not in listed.body.decode()
    assert operator.request("DELETE", f"{keys}/{made['key_id']}").status == 200
    assert agent.get("/api/v1/limits").status == 401


@pytest.mark.parametrize("path", ["/openapi.json", "/api/v1/openapi.json"])
def test_the_document_is_what_the_program_prints(path, server):
    assert server.client().get(path).body.decode().strip() == server.cli("openapi").strip()
