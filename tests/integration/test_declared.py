"""What docs/openapi.json forbids the service refuses: enums, patterns, lengths and bounds.

Each value of each request's example is replaced, one at a time, by values that its schema does not
allow, and each query parameter likewise. The answer must be 422 and name that place. Administrative
bodies are strict: a member that is not known is refused as well.
"""

import copy
import json
import re
import uuid
from urllib.parse import quote

import pytest
from muster import ROOT
from people import platform_admin

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
OF_AGENTS = re.compile(r"^/api/v1/(telemetry|agents/|heartbeat|limits)")
OTHER_FORMS = {"/v1/traces", "/v1/logs", "/v1/metrics", "/mcp"}  # whose errors are not 422
LENIENT = {  # agents' own: what they send more is ignored, as the contract says
    "/api/v1/telemetry", "/api/v1/telemetry/batch", "/api/v1/telemetry/business",
    "/api/v1/telemetry/llm", "/api/v1/agents/register",
}  # fmt: skip
LONGEST = 20_000  # longer values than these are not worth sending: the size of a request is bounded


def resolved(schema):
    """The schema itself: what a reference or the choice between it and null stands for."""
    while True:
        choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
        if "$ref" in schema:
            place = DOCUMENT
            for step in schema["$ref"].split("/")[1:]:
                place = place[step]
            schema = place
        elif len(choices) == 1:
            schema = {**schema, **choices[0]}
            del schema["anyOf"]
        else:
            return schema


def forbidden(schema, example=None):
    """Values that the schema does not allow, each with the word that forbids it."""
    if "enum" in schema:
        yield "enum", "no-such-value"
    if "pattern" in schema:
        tried = ("", "!", "\x01", "-", "a b", "A", "x" * 100)
        yield "pattern", next(one for one in tried if not re.search(schema["pattern"], one))
    if schema.get("minLength", 0) > 0:
        yield "minLength", "a" * (schema["minLength"] - 1)
    if schema.get("maxLength", LONGEST) < LONGEST:
        yield "maxLength", "a" * (schema["maxLength"] + 1)
    for word, step in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0)):
        if word in schema and abs(schema[word]) < 2**53:
            yield word, schema[word] + step
    if schema.get("minItems", 0) > 0:
        yield "minItems", []
    if schema.get("maxItems", LONGEST) < LONGEST and example:
        yield "maxItems", example[:1] * (schema["maxItems"] + 1)


def parts(schema, example, at=()):
    """Every part of the example, with its place and schema."""
    schema = resolved(schema)
    yield at, schema, example
    if isinstance(example, dict):
        for name, value in example.items():
            if name in schema.get("properties", {}):
                yield from parts(schema["properties"][name], value, (*at, name))
    elif isinstance(example, list) and example and "items" in schema:
        yield from parts(schema["items"], example[0], (*at, 0))


def replaced(example, at, value):
    body = copy.deepcopy(example)
    node = body
    for step in at[:-1]:
        node = node[step]
    node[at[-1]] = value
    return body


def operations():
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if path not in OTHER_FORMS:
                yield method.upper(), path, operation


def unknown_members():
    for method, path, operation in operations():
        content = resolved(operation.get("requestBody", {})).get("content", {})
        if "application/json" in content and path not in LENIENT:
            example = content["application/json"]["example"]
            yield method, path, ["body", "no_such_member"], "extra", {**example, "no_such_member": 1}


def wrong_bodies():
    for method, path, operation in operations():
        content = resolved(operation.get("requestBody", {})).get("content", {})
        for of in (one for media, one in content.items() if media == "application/json"):
            for at, schema, example in parts(of["schema"], of["example"]):
                for word, value in forbidden(schema, example) if at else ():
                    yield method, path, ["body", *at], word, replaced(of["example"], at, value)


def wrong_parameters():
    for method, path, operation in operations():
        given = [p for p in map(resolved, operation.get("parameters", [])) if p["in"] == "query"]
        needed = {p["name"]: p["example"] for p in given if p["required"]}
        for parameter in given:
            for word, value in forbidden(resolved(parameter["schema"])):
                yield method, path, ["query", parameter["name"]], word, {**needed, parameter["name"]: value}


@pytest.fixture(scope="module")
def callers(server):
    tenant = server.add_tenant()
    return tenant, platform_admin(server)


def send(callers, method, path, body=None, query=None):
    tenant, admin = callers
    client = tenant.client if OF_AGENTS.match(path) else admin
    for name, value in (("{slug}", tenant.slug), ("{email}", "a@example.com")):
        path = path.replace(name, value)
    path = path.replace("{run_id}", str(uuid.uuid4()))
    path = re.sub(r"\{[^}]*\}", "1", path)
    if query:
        path += "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
    return client.request(method, path, body)


def is_named(answer, place):
    """Whether the answer is 422 and has a row for the place; an item may be named by its list."""
    if answer.status != 422:
        return False
    allowed = [place, place[:-1]] if place[-1] == 0 else [place]
    return any(row["loc"] in allowed for row in answer.json()["detail"])


def not_refused(callers, cases, how):
    for method, path, place, word, sent in cases:
        answer = send(callers, method, path, **{how: sent})
        if not is_named(answer, place):
            yield f"{method} {path}: {word} of {place}: {answer.status} {answer.body[:200]}"


def test_every_value_that_the_document_forbids_in_a_body_is_refused_at_its_place(callers):
    cases = list(wrong_bodies())
    assert len(cases) > 100
    found = list(not_refused(callers, cases, "body"))
    assert not found, "\n".join(found)


def test_every_value_that_the_document_forbids_in_a_query_is_refused_at_its_place(callers):
    cases = list(wrong_parameters())
    assert len(cases) > 50
    found = list(not_refused(callers, cases, "query"))
    assert not found, "\n".join(found)


def test_every_administrative_operation_refuses_an_unknown_member(callers):
    cases = list(unknown_members())
    assert len(cases) > 20
    found = list(not_refused(callers, cases, "body"))
    assert not found, "\n".join(found)


def test_a_typo_changes_nothing(callers):
    tenant, admin = callers
    path = f"/api/v1/tenants/{tenant.slug}"
    before = admin.get(path).json()
    answer = admin.request("PATCH", path, {"name": "new", "max_agent": 7})
    (item,) = answer.json()["detail"]
    assert (answer.status, item["loc"], item["input"]) == (422, ["body", "max_agent"], 7)
    assert admin.get(path).json() == before


@pytest.mark.parametrize("more", [{"no_such_member": 1}, {"": None}])
def test_agents_may_send_more_than_is_known(tenant, more):
    assert tenant.client.post("/api/v1/telemetry", {**tenant.event(), **more}).status == 202


def test_a_password_with_a_typo_is_not_echoed(server):
    body = {"email": "a@example.com", "pasword": "a very secret one"}
    client = server.client()
    answer = client.post("/api/v1/auth/login", body)
    client.close()
    assert answer.status == 422
    assert b"very secret" not in answer.body


def members(schema, above=()):
    """Every member of what the schema describes, with its own schema."""
    schema = resolved(schema)
    if id(schema) in above:
        return
    for name, member in schema.get("properties", {}).items():
        yield name, resolved(member)
        yield from members(member, (*above, id(schema)))
    if "items" in schema:
        yield from members(schema["items"], (*above, id(schema)))


def test_no_body_has_an_agent_without_a_name():
    found = 0
    for method, path, operation in operations():
        content = resolved(operation.get("requestBody", {})).get("content", {})
        for name, schema in members(content.get("application/json", {}).get("schema", {})):
            if name == "agent_name":
                assert schema["minLength"] == 1, (method, path)
                found += 1
    assert found > 8
