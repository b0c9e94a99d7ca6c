"""Administrative bodies are strict: a member that is not known is refused, and changes nothing."""

import json

import pytest
from muster import ROOT
from people import platform_admin, tenant_person

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
AGENTS = {  # agents' own: what they send more is ignored, as the contract says; and JSON-RPC
    "/api/v1/telemetry", "/api/v1/telemetry/batch", "/api/v1/telemetry/business",
    "/api/v1/telemetry/llm", "/api/v1/agents/register", "/v1/traces", "/v1/logs", "/mcp",
}  # fmt: skip
EXTRA = {"type": "extra_forbidden", "loc": ["body", "no_such_member"],
         "msg": "Extra inputs are not permitted"}  # fmt: skip


def operations():
    return [
        (method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "requestBody" in operation and path not in AGENTS
    ]


def filled(path, tenant):
    for name, value in (("{slug}", tenant.slug), ("{email}", "a@example.com")):
        path = path.replace(name, value)
    while "{" in path:
        path = path[: path.index("{")] + "1" + path[path.index("}") + 1 :]
    return path


def test_every_administrative_operation_refuses_an_unknown_member(server, tenant):
    admin, found = platform_admin(server), operations()
    assert len(found) > 20
    for method, path in found:
        answer = admin.request(method, filled(path, tenant), {"no_such_member": 1})
        assert answer.status == 422, (method, path, answer.status, answer.body)
        items = [{k: item[k] for k in EXTRA} for item in answer.json()["detail"]]
        assert EXTRA in items, (method, path, items)


def test_a_typo_changes_nothing(server, tenant):
    admin = platform_admin(server)
    path = f"/api/v1/tenants/{tenant.slug}"
    before = admin.get(path).json()
    answer = admin.request("PATCH", path, {"name": "new", "max_agent": 7})
    assert answer.status == 422
    (item,) = answer.json()["detail"]
    assert (item["loc"], item["input"]) == (["body", "max_agent"], 7)
    assert admin.get(path).json() == before
    rules = {"thresholds": [{"no_such_member": 1}]}
    answer = tenant_person(tenant, "admin").request("PUT", tenant.path("rules"), rules)
    assert answer.status == 422


def test_a_password_with_a_typo_is_not_echoed(server):
    body = {"email": "a@example.com", "pasword": "a very secret one"}
    client = server.client()
    answer = client.post("/api/v1/auth/login", body)
    client.close()
    assert answer.status == 422
    assert b"very secret" not in answer.body


@pytest.mark.parametrize("more", [{"no_such_member": 1}, {"": None}])
def test_agents_may_send_more_than_is_known(tenant, more):
    assert tenant.client.post("/api/v1/telemetry", {**tenant.event(), **more}).status == 202
