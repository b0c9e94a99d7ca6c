"""The checker of answers sees a tampered answer and a route that no test reached."""

import copy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from conform import Contract  # noqa: E402

DOCUMENT = {
    "openapi": "3.1.0",
    "paths": {
        "/api/v1/health": {"get": {"responses": {
            "200": {"$ref": "#/components/responses/Health"},
        }}},
        "/api/v1/agents/{agent_name}": {"get": {"responses": {
            "200": {"description": "", "headers": {"ETag": {"required": True}},
                    "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Agent"}}}},
            "304": {"description": "", "headers": {"ETag": {}}},
            "default": {"description": "", "headers": {"ETag": {}}, "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Error"}}}},
        }}},
        "/api/v1/agents/config": {"get": {"responses": {
            "200": {"description": "", "content": {"application/json": {
                "schema": {"type": "object"}}}},
        }}},
        "/api/v1/lines": {"get": {"responses": {
            "200": {"description": "", "content": {"application/x-ndjson": {
                "schema": {"$ref": "#/components/schemas/Agent"}}}},
        }}},
    },
    "components": {
        "responses": {"Health": {"description": "", "content": {"application/json": {
            "schema": {"type": "object", "properties": {"status": {"const": "ok"}},
                       "required": ["status"], "additionalProperties": False}}}}},
        "schemas": {
            "Agent": {"type": "object", "required": ["name"],
                      "properties": {"name": {"$ref": "#/components/schemas/Name"},
                                     "runs": {"type": "integer", "description": "so many"}}},
            "Name": {"type": "string", "maxLength": 5},
            "Error": {"type": "object", "required": ["detail"]},
        },
    },
}  # fmt: skip


def exchange(path="/api/v1/health", text='{"status": "ok"}', **fields):
    headers = {"X-Request-Id": "1", "Content-Type": "application/json", **fields.pop("more", {})}
    headers = [(name, value) for name, value in headers.items() if value is not None]
    return {
        "method": "GET",
        "path": path,
        "status": 200,
        "headers": headers,
        "body": {"text": text},
        **fields,
    }


LINES = {"path": "/api/v1/lines", "more": {"Content-Type": "application/x-ndjson"}}
AGENT = {"path": "/api/v1/agents/abc", "text": '{"name": "abc"}', "more": {"ETag": '"1"'}}


@pytest.fixture
def contract():
    return Contract(copy.deepcopy(DOCUMENT))


GOOD = [
    exchange(),
    exchange(more={"Content-Type": "application/json; charset=utf-8"}),
    exchange(**AGENT),
    exchange(**{**AGENT, "text": ""}, status=304),
    exchange(**{**AGENT, "text": '{"detail": "no"}'}, status=404),
    exchange(method="HEAD", text=""),
    exchange(**LINES, text='{"name": "a"}\n{"name": "b"}\n'),
    exchange("/api/v1/agents/config", "{}"),
    exchange("/api/v1/nowhere", '{"detail": "no"}', status=404),
    exchange(method="POST", text='{"detail": "no"}', status=405, more={"Allow": "GET"}),
    exchange("/portal.css", "body {}", more={"Content-Type": "text/css", "X-Request-Id": None}),
]

BAD = [
    (exchange(**LINES, text='{"name": "a"}\n{"name": "abcdef"}\n'), "name: 'abcdef' is too long"),
    (exchange(**LINES, text='{"name": "a"}\n{"name": '), "the body is no JSON"),
    (exchange(text='{"status": "OK"}'), "status: 'ok' was expected"),
    (exchange(text='{"status": "ok", "more": 1}'), "Additional properties"),
    (exchange(text="{}"), "required property"),
    (exchange(text="ok"), "no JSON"),
    (exchange(status=201), "status 201 is not declared"),
    (exchange(more={"Content-Type": "text/html"}), "Content-Type 'text/html'"),
    (exchange(more={"X-Request-Id": None}), "no X-Request-Id"),
    (exchange(**{**AGENT, "text": '{"name": "abcdef"}'}), "too long"),
    (exchange(**{**AGENT, "more": {}}), "no ETag"),
    (exchange(**AGENT, status=304), "a body where none may be"),
    (exchange(**{**AGENT, "text": "{}"}, status=500), "'detail' is a required property"),
    (exchange("/api/v1/nowhere"), "404 was expected"),
    (exchange("/api/v1/nowhere", "{}", status=404), "'detail' is a required property"),
    (exchange(method="POST", text='{"detail": "no"}', status=405), "405 without Allow"),
    (exchange(method="DELETE"), "405 was expected"),
    (exchange(more={"Retry-After": "1"}), "Retry-After, which is not declared"),
]


@pytest.mark.parametrize("good", GOOD)
def test_what_is_as_declared_passes(contract, good):
    assert contract.problems(good) == []


@pytest.mark.parametrize(("bad", "says"), BAD)
def test_a_tampered_answer_is_named(contract, bad, says):
    assert any(says in problem for problem in contract.problems(bad)), contract.problems(bad)


@pytest.mark.parametrize("runs", ["4.5", "true", "null", '"4"', "[4]"])
def test_a_value_is_judged_although_others_of_its_place_were_good(contract, runs):
    for good in ('{"name": "a", "runs": 4}', '{"name": "b", "runs": 4.0}', '{"name": "c", "runs": 5}'):
        assert contract.problems(exchange(**{**AGENT, "text": good})) == []
    bad = exchange(**{**AGENT, "text": f'{{"name": "abcdef", "runs": {runs}}}'})
    name, count = sorted(contract.problems(bad))
    assert "too long" in name and "runs: " in count


def test_a_literal_path_goes_before_a_template(contract):
    assert contract.operation_of(exchange("/api/v1/agents/config"))[1] == "/api/v1/agents/config"


def test_a_route_that_only_failed_or_was_never_asked_is_named(contract):
    seen = [exchange(), exchange(**{**AGENT, "text": '{"detail": ""}'}, status=404)]
    assert contract.unreached(seen) == [
        ("GET", "/api/v1/agents/config"),
        ("GET", "/api/v1/agents/{agent_name}"),
        ("GET", "/api/v1/lines"),
    ]
    seen += [exchange(**AGENT), exchange("/api/v1/agents/config", "{}"), exchange(**LINES, text="")]
    assert contract.unreached(seen) == []
