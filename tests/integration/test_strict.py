"""Administrative bodies are strict: a member that is not known is refused, and changes nothing."""

import json

import pytest
from muster import ROOT
from people import platform_admin, tenant_person

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
AGENTS = {  # agents' own: what they send more is ignored, as the contract says; and JSON-RPC
    "/api/v1/telemetry", "/api/v1/telemetry/batch", "/api/v1/telemetry/business",
    "/api/v1/telemetry/llm", "/api/v1/agents/register", "/v1/traces", "/v1/logs", "/v1/metrics", "/mcp",
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


RUN = {"run_id": "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b", "timestamp": "2025-01-02T03:04:05Z"}
RULES = {"kpis": {"key": "k", "below": 1}, "budgets": {"amount": "1", "per": "day"},
         "failure_rates": {"percent": 5}, "durations": {"seconds": 5}}  # fmt: skip


def bodies_with_a_name(tenant, name):
    """(method, path, body, where): one for each body that has an agent's name."""
    event, report = {**tenant.event(), "agent_name": name}, {**RUN, "agent_name": name}
    once = {"from": "2030-01-01T00:00:00Z", "until": "2030-01-02T00:00:00Z"}
    return [
        ("POST", "/api/v1/telemetry", event, []),
        ("POST", "/api/v1/telemetry/batch", {"events": [event]}, ["events", 0]),
        ("POST", "/api/v1/telemetry/business", {**report, "metrics": {"k": 1}}, []),
        ("POST", "/api/v1/telemetry/llm", {**report, "model": "m"}, []),
        ("POST", "/api/v1/agents/register", {"agent_name": name}, []),
        ("POST", tenant.path("keys"), {"agent_name": name}, []),
        ("POST", tenant.path("maintenance"), {"agent_name": name, **once}, []),
        *(("PUT", tenant.path("rules"), {kind: [{"agent_name": name, **rule}]}, [kind, 0])
          for kind, rule in RULES.items()),
    ]  # fmt: skip


def test_no_body_has_an_agent_without_a_name(tenant):
    admin = tenant_person(tenant, "admin")
    for method, path, body, where in bodies_with_a_name(tenant, ""):
        client = admin if path.startswith(tenant.path("")) else tenant.client
        answer = client.request(method, path, body)
        assert answer.status == 422, (path, answer.status, answer.body)
        (item,) = answer.json()["detail"]
        assert item == {
            "type": "string_too_short", "loc": ["body", *where, "agent_name"], "input": "",
            "msg": "String should have at least 1 character", "ctx": {"min_length": 1},
        }  # fmt: skip
    assert admin.get(tenant.path("agents")).json()["agents"] == []
    for method, path, body, _ in bodies_with_a_name(tenant, "a"):
        client = admin if path.startswith(tenant.path("")) else tenant.client
        assert client.request(method, path, body).status < 300, path


def test_every_body_with_an_agents_name_is_tried(tenant):
    schemas = DOCUMENT["components"]["schemas"]
    sent = {path.replace(tenant.slug, "{slug}") for _, path, _, _ in bodies_with_a_name(tenant, "")}
    found = set()
    for method, path in [(m, p) for p, ms in DOCUMENT["paths"].items() for m in ms]:
        text = json.dumps(DOCUMENT["paths"][path][method].get("requestBody", {}))
        names = [name for name in schemas if f'schemas/{name}"' in text]
        for name in names:  # grows
            text = json.dumps(schemas[name])
            names += [n for n in schemas if f'schemas/{n}"' in text and n not in names]
        if any("agent_name" in schemas[name].get("properties", {}) for name in names):
            found.add(path)
    assert found == sent
