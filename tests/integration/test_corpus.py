"""The recorded requests of tests/contract/validation-corpus.json get the recorded answers.

The corpus speaks of tenants "c" and "acme" and of the token "tok"; here they are real.
"""

import base64
import json

import pytest
from muster import ROOT

CORPUS = ROOT / "tests/contract/validation-corpus.json"
CASES = json.loads(CORPUS.read_text())["cases"]
INPUT_MAX = 4096  # bytes of JSON; a longer input is not echoed

# Where our own decisions differ from what was recorded: the sentence of the one problem.
DECIDED_OTHERWISE = {
    "datetime-76": ("datetime_type", ["body", "timestamp"]),  # a number, however large
    "json-invalid-64": ("json_invalid", ["body", 64]),  # nesting is bounded
}


def path_of(case):
    return case["path"].split("?")[0]


@pytest.fixture(scope="module")
def tenants(server):
    """The tenants that the corpus names; acme has the run that it asks for."""
    made = {slug: server.add_tenant(slug=slug) for slug in ("c", "acme")}
    event = made["acme"].event(run_id="3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b")
    assert made["acme"].client.post("/api/v1/telemetry", event).status == 202
    yield made
    for tenant in made.values():
        tenant.client.close()


def is_route(server, path):
    client = server.client()
    answer = client.get(path)
    client.close()
    return not (answer.status == 404 and answer.json() == {"detail": "Not Found"})


def test_every_path_of_the_corpus_is_a_route(server):
    assert all(is_route(server, path_of(case)) for case in CASES)
    assert len(CASES) >= 279


def body_of(case):
    if case["body"] is not None:
        return case["body"]
    if case.get("body_base64"):
        return base64.b64decode(case["body_base64"])
    if case.get("body_runs"):
        return "".join(text * count for text, count in case["body_runs"])
    return None


def spelled(detail):
    """As text, in which 1, 1.0 and true differ; without what is too long to be echoed."""
    if isinstance(detail, list):
        detail = [
            {
                name: value
                for name, value in item.items()
                if name != "input" or len(compact(value)) <= INPUT_MAX
            }
            for item in detail
        ]
    return json.dumps(detail)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_recorded_answer_is_given(server, tenants, case):
    tenant = tenants["acme" if "/acme/" in case["path"] else "c"]
    headers = {k: v.replace("tok", tenant.token) for k, v in case["headers"].items()}
    client = server.client()
    answer = client.request(case["method"], case["path"], body_of(case), headers)
    client.close()
    if case["id"] in DECIDED_OTHERWISE:
        (item,) = answer.json()["detail"]
        assert (answer.status, (item["type"], item["loc"])) == (422, DECIDED_OTHERWISE[case["id"]])
        return
    expected = case["expect"]
    assert answer.status == expected["status"], answer.body
    if "detail" in expected:
        assert spelled(answer.json()["detail"]) == spelled(expected["detail"])
    elif expected["status"] == 202:
        said = answer.json()
        assert said.get("status", "accepted") == "accepted"
        assert said.get("rejected", 0) == said.get("duplicates", 0) == 0  # of a batch
    if "headers" in expected:
        assert answer.headers["WWW-Authenticate"] == expected["headers"].get("www-authenticate")
