"""The work that an OTLP request makes is bounded by the bytes of its body, whatever is in it."""

import gzip
import uuid

import pytest
from otlp import Json, Protobuf, log, span

MOST = 4_800_000  # bytes of the one text that a body is made of
RECORDS = 1000
LEAST_S, MIB_S = 0.1, 0.3  # of a processor: for any request, and for each MiB of its body
SERVICE = {"service.name": "researcher"}


def trace():
    return uuid.uuid4().hex


def roots(n=RECORDS, **more):
    return [span(trace(), i + 1, end=None, **more) for i in range(n)]


def branch(n=RECORDS, **root):
    """One trace: a root and what is below it."""
    whole = trace()
    return [span(whole, 1, **root), *(span(whole, i + 2, parent=i + 1) for i in range(n - 1))]


def logs(n=RECORDS):
    whole = trace()
    return [log(whole, body=f"line {i}") for i in range(n)]


def large(filler, size=MOST):
    return filler * (size // len(filler))


def traces(encoding, spans, resource=None, scope="tests"):
    return "/v1/traces", encoding.spans(spans, {**SERVICE, **(resource or {})}, scope)


def records(encoding, resource=None, scope="tests"):
    return "/v1/logs", encoding.logs(logs(), {**SERVICE, **(resource or {})}, scope)


def event(name, **attributes):
    return {"timeUnixNano": 1, "name": name, "attributes": attributes}


NO_LINK = {"traceId": "", "spanId": ""}
EMPTY = {f"k{i:020}": "" for i in range(999)}
BODIES = {
    "resource-letters": lambda e: traces(e, roots(), {"x": large("x")}),
    "resource-quotes": lambda e: traces(e, roots(), {"x": large('"', MOST // 2)}),
    "resource-controls": lambda e: traces(e, roots(), {"x": large("\x01", MOST // 6)}),
    "resource-nested": lambda e: traces(e, roots(), {"x": [large("x")]}),
    "resource-of-many": lambda e: traces(e, roots(), EMPTY),
    "service-name": lambda e: traces(e, roots(), {"service.name": large("x")}),
    "agent-name": lambda e: traces(e, branch(attributes={"gen_ai.agent.name": large("x")})),
    "scope": lambda e: traces(e, roots(), scope=large("x")),
    "events": lambda e: traces(e, roots(100, events=[event("")] * 500)),
    "exceptions": lambda e: traces(e, roots(100, status={"code": 2}, events=[event("exception", x=1)] * 300)),
    "links": lambda e: traces(e, roots(100, links=[NO_LINK] * 500)),
    "attributes": lambda e: traces(e, roots(50, attributes=EMPTY)),
    "logs-resource": lambda e: records(e, {"x": large('"', MOST // 2)}),
    "logs-resource-of-many": lambda e: records(e, EMPTY),
    "logs-service-name": lambda e: records(e, {"service.name": large("x")}),
    "logs-scope-letters": lambda e: records(e, scope=large("x")),
    "logs-scope-quotes": lambda e: records(e, scope=large('"', MOST // 2)),
}


def post(tenant, encoding, path, body):
    headers = {"Content-Type": encoding.media, "Content-Encoding": "gzip"}
    answer = tenant.client.post(path, gzip.compress(body, 1), headers=headers)
    assert answer.status == 200, answer.body
    return answer


@pytest.mark.parametrize("encoding", [Protobuf, Json], ids=["protobuf", "json"])
@pytest.mark.parametrize("name", BODIES)
def test_the_work_of_a_body_is_bounded_by_its_bytes(tenant, encoding, name):
    """In seconds of a processor, so that a busy machine changes nothing. What does not fit is refused."""
    post(tenant, encoding, *traces(encoding, roots(1)))  # what a first request costs
    path, body = BODIES[name](encoding)
    before = tenant.server.processor_s()
    post(tenant, encoding, path, body)
    used = tenant.server.processor_s() - before
    assert used < LEAST_S + MIB_S * len(body) / 2**20, (used, len(body))
