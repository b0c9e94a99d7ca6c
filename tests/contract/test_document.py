"""What docs/openapi.json promises to people and to generators of clients.

The document is generated; these are its properties as a whole, held without a server.
"""

import json
import re
import sys
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conform import Contract  # noqa: E402

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs/openapi.json").read_text())
CONTRACT = Contract(DOCUMENT)
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def nodes(value, at="#"):
    """Every object of the document, with its place."""
    if isinstance(value, dict):
        yield at, value
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if isinstance(member, (dict, list)) and name not in ("example", "examples", "default"):
            yield from nodes(member, f"{at}/{str(name).replace('/', '~1')}")


def resolved(node):
    while "$ref" in node:
        at = DOCUMENT
        for step in node["$ref"].split("/")[1:]:
            at = at[step]
        node = at
    return node


def pascal(*names):
    return "".join(part[:1].upper() + part[1:] for name in names for part in name.split("_"))


def is_sentence(text):
    return len(text) > 3 and text == text.strip() and text.endswith((".", "…"))


def test_every_integer_says_that_it_has_64_bits_and_every_number_that_it_is_a_double():
    wanted = {"integer": "int64", "number": "double"}
    typed = [(at, n) for at, n in nodes(DOCUMENT) if str(n.get("type")) in wanted]
    assert len(typed) > 100
    assert not [at for at, node in typed if node.get("format") != wanted[node["type"]]]


def test_no_bound_is_beyond_what_a_double_holds():
    bounds = {"minimum", "maximum"}
    assert not [at for at, n in nodes(DOCUMENT) if any(abs(n[b]) > 2**53 for b in bounds & n.keys())]


def test_every_operation_says_who_may_call_it():
    open_paths = {path for _, path, operation in OPERATIONS if operation["security"] == []}
    assert {"/api/v1/health", "/livez", "/openapi.json", "/api/v1/auth/login"} <= open_paths
    assert "/api/v1/telemetry" not in open_paths
    schemes = DOCUMENT["components"]["securitySchemes"]
    for method, path, operation in OPERATIONS:
        assert all(name in schemes for one in operation["security"] for name in one), (method, path)


def test_servers_and_tags_are_declared_and_described():
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]
    tags = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    assert len(tags) == len(DOCUMENT["tags"])
    assert all(is_sentence(text) for text in tags.values())
    assert {tag for _, _, operation in OPERATIONS for tag in operation["tags"]} == set(tags)


def test_everything_is_described():
    for method, path, operation in OPERATIONS:
        assert is_sentence(operation["description"]), (method, path)
        for parameter in operation.get("parameters", []):
            assert is_sentence(parameter.get("description", "")), (method, path, parameter["name"])
    for name, schema in SCHEMAS.items():
        assert is_sentence(schema.get("description", "")), name
        for member, of in schema["properties"].items():
            assert is_sentence(of.get("description", "")), f"{name}.{member} needs a .doc"
    for kind in ("headers", "responses"):
        for name, part in DOCUMENT["components"][kind].items():
            assert is_sentence(part["description"]), name


def test_no_two_types_of_a_generated_client_have_one_name():
    """Generators name a type within a schema after both: the enum `state` of Agent is AgentState."""
    made = {name.lower(): name for name in SCHEMAS}
    assert len(made) == len(SCHEMAS)
    for name, schema in SCHEMAS.items():
        for member, of in schema["properties"].items():
            if {"$ref", "type"} & of.keys() and not {"enum", "items"} & of.keys():
                continue
            inner = pascal(name, member)
            assert inner.lower() not in made, f"{inner} is {name}.{member} and another type"
            made[inner.lower()] = inner
    for _, _, operation in OPERATIONS:
        for kind in ("Params", "Response", "RequestBody", "JsonRequestBody", "JsonBody"):
            outer = pascal(operation["operationId"], kind).lower()
            assert outer not in made, outer
            made[outer] = outer


def test_no_list_or_object_has_the_name_of_its_type():
    """openapi-python-client has one variable for both, which does not pass mypy."""
    for name, schema in SCHEMAS.items():
        own = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        of = schema["properties"].get(own, {"type": "string"})
        assert of.get("type") in ("string", "integer"), f"{name}.{own}"


def test_operation_ids_are_words_and_differ():
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len({one.replace("_", "") for one in ids}) == len(ids)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", one) for one in ids)


def headers_of(answer):
    return set(resolved(answer).get("headers", {}))


def test_headers_are_declared_where_they_are_sent():
    rate = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
    for method, path, operation in OPERATIONS:
        for status, answer in operation["responses"].items():
            at, headers = (method, path, status), headers_of(answer)
            assert "X-Request-Id" in headers, at
            if operation["security"] and status not in ("401", "503"):
                assert rate <= headers, at
            if status == "429":
                assert "Retry-After" in headers, at
            if status == "503" and "$ref" in answer:
                assert "Retry-After" in headers, at
            if status == "304":
                success = next(a for s, a in operation["responses"].items() if s[0] == "2")
                assert "ETag" in headers & headers_of(success), at


def test_headers_that_few_answers_have_are_declared_there():
    def having(name):
        return {
            operation["operationId"]
            for _, _, operation in OPERATIONS
            for status, answer in operation["responses"].items()
            if status[0] == "2" and name in headers_of(answer)
        }

    assert having("Set-Cookie") == {
        "set_up", "sign_in", "sign_out", "end_own_session", "begin_oidc_sign_in", "complete_oidc_sign_in",
    }  # fmt: skip
    assert having("Content-Disposition") == {"export_events", "export_kpis", "export_llm_usage"}
    assert having("X-Config-Missing") == {"pull_config"}


def contents():
    """Every body and answer with its place."""
    for method, path, operation in OPERATIONS:
        holders = {"body": operation.get("requestBody", {}), **operation["responses"]}
        for name, holder in holders.items():
            for media, content in resolved(holder).get("content", {}).items():
                yield (method, path, name, media), media, content


def test_every_body_and_answer_has_an_example_that_its_schema_accepts():
    """test_examples.c holds the same examples against the code that checks requests."""
    found = list(contents())
    assert len(found) > 1000
    for at, media, content in found:
        assert content["example"] not in ("", None), at
        if "json" in media:
            problems = CONTRACT.json_problems(content["schema"], json.dumps(content["example"]).encode())
            assert not list(problems), at


def test_every_parameter_that_is_required_has_an_example():
    for method, path, operation in OPERATIONS:
        for parameter in operation.get("parameters", []):
            if parameter["required"]:
                assert "example" in parameter, (method, path, parameter["name"])


def overlap(one, other):
    """Can a path match both templates?"""
    left, right = one.split("/"), other.split("/")
    return len(left) == len(right) and all(
        a == b or a.startswith("{") or b.startswith("{") for a, b in zip(left, right)
    )


def test_no_name_that_people_choose_stands_where_another_path_has_a_word():
    """A price's id is a number, so that no price is called "import"."""
    pairs = [pair for pair in combinations(DOCUMENT["paths"], 2) if overlap(*pair)]
    assert pairs == [("/api/v1/platform/prices/import", "/api/v1/platform/prices/{price_id}")]


def test_a_default_is_a_value_that_its_own_schema_accepts():
    for name, schema in SCHEMAS.items():
        for member, of in schema["properties"].items():
            if "default" in of:
                assert not list(CONTRACT.schema_problems(of, of["default"])), (name, member)
