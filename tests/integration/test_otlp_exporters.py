"""Exporters of programs that nobody here wrote are not turned away: metrics, and two recordings."""

import gzip
import json
import uuid
from pathlib import Path

import pytest
from conftest import running
from exposition import read, value
from otlp import METRIC_FIELDS, Json, Protobuf, span, wire_body

METRICS = "/v1/metrics"
RECORDINGS = Path(__file__).parent / "otlp_recordings"
TOKEN = "a-token-for-scrapers"


@pytest.fixture(params=[Protobuf, Json], ids=["protobuf", "json"])
def encoding(request):
    return request.param


def metrics(*lists):
    """A request with as many points of each kind of metric as the list says."""
    made = [
        {"name": f"m{i}", kind: {"dataPoints": [{"timeUnixNano": "5", "asDouble": 1.5}] * n}}
        for i, counts in enumerate(lists)
        for kind, n in zip(METRIC_FIELDS, counts)
    ]
    group = {"scope": {"name": "tests"}, "metrics": made}
    return {"resourceMetrics": [{"resource": {"attributes": []}, "scopeMetrics": [group]}]}


def send(client, encoding, body, **headers):
    return client.post(METRICS, body, headers={"Content-Type": encoding.media, **headers})


def rejected(answer, encoding):
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == encoding.media
    return encoding.partial(answer)


def test_metrics_are_answered_200_and_their_points_counted(tenant, encoding):
    body = encoding.body(metrics((1, 2, 3, 4, 5), (0, 7, 0, 0, 0)))
    n, why = rejected(send(tenant.client, encoding, body), encoding)
    assert n == 22 and "\n" not in why and "no metrics" in why
    packed = send(tenant.client, encoding, gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert rejected(packed, encoding) == (n, why)
    for empty in ({"resourceMetrics": []}, metrics((0, 0, 0, 0, 0))):
        assert rejected(send(tenant.client, encoding, encoding.body(empty)), encoding) is None
    many = encoding.body(metrics((20_000, 0, 0, 0, 0)))  # no bound on records: none is stored
    assert rejected(send(tenant.client, encoding, many), encoding)[0] == 20_000
    bound = tenant.agent_client("researcher")
    assert rejected(send(bound, encoding, body), encoding) == (n, why)
    bound.close()
    assert tenant.client.get(tenant.path("agents")).json()["agents"] == []


def test_metrics_that_are_malformed_are_refused(tenant, encoding):
    bad = {Protobuf: (b"\x0a\x05abc", wire_body(metrics((1,)))[:-1]),
           Json: (b"{", b"[]", b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":[]}]}]}]}')}  # fmt: skip
    for body in bad[encoding]:
        answer = send(tenant.client, encoding, body)
        assert (answer.status, encoding.status(answer)[0]) == (400, 3), body


def recording(name):
    return json.loads((RECORDINGS / f"{name}.json").read_text())


def replay(tenant, told):
    """What was rejected, by path, of the requests as they were sent."""
    found = {}
    for request in told["requests"]:
        encoding = Protobuf if request["sent_as"] == Protobuf.media else Json
        answer = tenant.client.post(request["path"], encoding.body(request["body"]),
                                    headers={"Content-Type": encoding.media})  # fmt: skip
        n, _ = rejected(answer, encoding) or (0, "")
        found[request["path"]] = found.get(request["path"], 0) + n
    return found


def narratives(tenant, traces):
    return [tenant.client.get(tenant.path(f"runs/{uuid.UUID(t)}/events")).json() for t in traces]


def test_what_claude_code_sends_is_answered_200_and_counted(store, tmp_path):
    with running(store, tmp_path, environment={"MUSTER_METRICS_TOKEN": TOKEN}) as server:
        tenant = server.add_tenant()
        assert replay(tenant, recording("claude-code")) == {"/v1/metrics": 12, "/v1/logs": 6}
        seen = read(server.client(TOKEN).get("/metrics").body.decode())
        for signal, n in (("metrics", 12), ("logs", 6), ("traces", 0)):
            assert value(seen, "muster_otlp_rejected_total", signal=signal) == n
        assert value(seen, "muster_requests_total", route=METRICS, status="200") == 2
        tenant.client.close()


def test_the_spans_of_gemini_cli_are_what_it_did(tenant):
    told = recording("gemini-cli")
    assert replay(tenant, told) == {"/v1/metrics": 44, "/v1/logs": 10, "/v1/traces": 0}
    spans = [
        each
        for request in told["requests"]
        for resource in request["body"].get("resourceSpans", [])
        for scope in resource["scopeSpans"]
        for each in scope["spans"]
    ]
    found = narratives(tenant, {each["traceId"] for each in spans})
    assert {each["run"]["status"] for each in found} == {told["expected"]["status"]}
    assert {each["run"]["agent_name"] for each in found} == {"gemini-cli"}
    ends = [e for each in found for e in each["events"] if e["event_id"].endswith((":end", ":step"))]
    calls = [e for e in ends if e["message"] == "llm_call"]
    assert len(ends) == len(spans) and len(calls) == told["expected"]["calls"]
    asked = {e["output"]["attributes"]["gen_ai.request.model"] for e in calls}
    assert asked == {told["expected"]["model"]}


def runs_of(tenant, agent):
    listed = tenant.client.get(tenant.path(f"dashboard/runs?agent_name={agent}"))
    return {} if listed.status == 404 else {r["run_id"]: r for r in listed.json()["runs"]}


def test_a_trace_over_two_processes_is_a_run_of_its_roots_agent(tenant):
    """The callee ends and exports first, whichever way the caller's spans then come."""

    def export(agent, *spans):
        answer = tenant.client.post("/v1/traces", Json.spans(list(spans), {"service.name": agent}),
                                    headers={"Content-Type": Json.media})  # fmt: skip
        assert rejected(answer, Json) is None

    counts = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}
    traces = [uuid.uuid4().hex for _ in range(3)]
    for i, trace in enumerate(traces):
        export("callee", span(trace, 3, parent=2, attributes=counts))
        (run,) = narratives(tenant, [trace])
        assert run["run"]["agent_name"] == "callee"  # till more is known
        root = span(trace, 1, end=9, status={"code": 2})
        below = span(trace, 2, parent=1)
        for part in ([below, root], [[below], [root]], [[span(trace, 1, end=None)], [root], [below]])[i]:
            export("caller", *(part if isinstance(part, list) else [part]))
        for _ in range(2):  # what comes again or late changes nothing
            export("callee", span(trace, 3, parent=2, attributes=counts), span(trace, 4, parent=2))
            (run,) = narratives(tenant, [trace])
            assert run["run"]["agent_name"] == "caller"
        assert {e["agent_name"] for e in run["events"]} == {"caller", "callee"}
    runs = {str(uuid.UUID(trace)) for trace in traces}
    assert set(runs_of(tenant, "caller")) == runs and runs_of(tenant, "callee") == {}
    for agent, failed in (("caller", 3), ("callee", 0)):
        totals = tenant.client.get(tenant.path(f"dashboard/totals?time_range=2025-06-15T00:00:00Z/2025-06-16T00:00:00Z&agent_name={agent}"))
        assert totals.status == 200, totals.body
        assert sum(each["failed"] for each in totals.json()["periods"]) == failed
    told = tenant.client.get(tenant.path("llm/usage?time_range=all&group_by=agent")).json()
    assert [(g["agent_name"], g["calls"]) for g in told["groups"]] == [("callee", 3)]  # who reported it


def test_a_run_belongs_to_the_agent_that_opened_it_first(tenant):
    def report(*events):
        answer = tenant.client.post("/api/v1/telemetry/batch", {"events": [
            tenant.event(run_id=run, event=what, agent_name=who) for who, what in events]})  # fmt: skip
        assert answer.status == 202, answer.body

    for batches in (
        [[("helper", "in_progress"), ("owner", "started"), ("late", "started")]],
        [[("helper", "in_progress")], [("owner", "started"), ("late", "started")], [("late", "completed")]],
        [[("helper", "completed"), ("helper", "in_progress")], [("owner", "started")], [("late", "started")]],
        [[("owner", "started")], [("late", "started"), ("helper", "completed")]],
    ):
        run = str(uuid.uuid4())
        for events in batches:
            report(*events)
        answer = tenant.client.get(tenant.path(f"runs/{run}/events")).json()
        assert answer["run"]["agent_name"] == "owner", batches
        assert run in runs_of(tenant, "owner")
