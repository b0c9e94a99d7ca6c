"""What the operator can do: over the socket in the data directory, and nowhere else."""

import pytest

ROUTES = [
    ("GET", "/api/v1/tenants", None),
    ("POST", "/api/v1/tenants", {"slug": "intruder"}),
    ("GET", "/api/v1/tenants/{slug}/keys", None),
    ("POST", "/api/v1/tenants/{slug}/keys", {}),
    ("DELETE", "/api/v1/tenants/{slug}/keys/key_none", None),
    ("PATCH", "/api/v1/tenants/{slug}", {"max_agents": 5}),
    ("PATCH", "/api/v1/tenants/{slug}/agents/collector", {"enabled": False}),
    ("POST", "/api/v1/tenants/{slug}/runs/rebuild", None),
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


def test_plans_agents_and_runs_are_changed_over_the_socket(server, tenant):
    if server.database:
        return  # the commands do the same: test_batch.py, test_cli.py
    operator = server.operator()
    here = f"/api/v1/tenants/{tenant.slug}"
    changed = operator.request("PATCH", here, {"max_agents": 1, "name": "One"})
    assert changed.status == 200
    assert (changed.json()["max_agents"], changed.json()["name"]) == (1, "One")
    assert tenant.client.get("/api/v1/limits").json()["max_agents"] == 1
    assert operator.request("PATCH", here, {"max_agents": 0}).status == 422
    assert operator.request("PATCH", here, {}).json()["max_agents"] == 1
    assert tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="bü/ro")).status == 202
    off = operator.request("PATCH", f"{here}/agents/b%C3%BC%2Fro", {"enabled": False})
    assert (off.status, off.json()) == (200, {"agent_name": "bü/ro", "enabled": False})
    rejected = tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="bü/ro"))
    assert rejected.json()["status"] == "rejected"
    assert operator.request("PATCH", f"{here}/agents/none", {"enabled": True}).status == 404
    rebuilt = operator.post(f"{here}/runs/rebuild")
    assert rebuilt.status == 200
    assert (rebuilt.json()["runs"], rebuilt.json()["changed"]) == (1, 0)
    assert operator.post(f"{here}/runs/rebuild?after=x").status == 422
    operator.close()


@pytest.mark.parametrize("path", ["/openapi.json", "/api/v1/openapi.json"])
def test_the_document_is_what_the_program_prints(path, server):
    assert server.client().get(path).body.decode().strip() == server.cli("openapi").strip()
