"""OTLP/HTTP: traces as runs, usage and errors of spans, and what is refused, in both encodings."""

import contextlib
import http.client
import json
import threading
import uuid

import pytest
from muster import ROOT
from otlp import Json, Protobuf, chunk, log, span
from waiting import until

TRACES, LOGS = "/v1/traces", "/v1/logs"
SERVICE = {"service.name": "researcher", "service.version": "1.2"}


@pytest.fixture(params=[Protobuf, Json], ids=["protobuf", "json"])
def encoding(request):
    return request.param


def send(client, encoding, spans, resource=None, **more):
    body = encoding.spans(spans, SERVICE if resource is None else resource)
    return client.post(TRACES, body, headers={"Content-Type": encoding.media}, **more)


def send_logs(client, encoding, logs, resource=None):
    body = encoding.logs(logs, SERVICE if resource is None else resource)
    return client.post(LOGS, body, headers={"Content-Type": encoding.media})


def new_trace():
    return uuid.uuid4().hex


def narrative(tenant, trace):
    answer = tenant.client.get(tenant.path(f"runs/{uuid.UUID(trace)}/events"))
    assert answer.status == 200, answer.body
    return answer.json()


def usage(tenant, **query):
    query = {"time_range": "all", "group_by": "model", **query}
    text = "&".join(f"{name}={value}" for name, value in query.items())
    groups = tenant.client.get(tenant.path(f"llm/usage?{text}")).json()["groups"]
    return {group["model"]: group for group in groups}


def tokens(group):
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "calls")
    return tuple(group[name] for name in names)


def stored(answer, encoding):
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == encoding.media
    return encoding.partial(answer)


@pytest.mark.smoke
def test_a_trace_is_a_run_that_its_root_opens_and_closes(tenant, encoding):
    trace = new_trace()
    root = span(trace, 1, end=2.5, attributes={"topic": "tea", "n": 3, "deep": {"a": [1, True, None]}})
    child = span(trace, 2, parent=1, start=0.5, end=1.75, kind=3, name="ask",
                 attributes={"gen_ai.operation.name": "chat", "code.filepath": "a.py", "code.lineno": 7})
    assert stored(send(tenant.client, encoding, [child, root]), encoding) is None
    told = narrative(tenant, trace)
    run, (start, step, end) = told["run"], told["events"]
    assert (run["run_id"], run["agent_name"]) == (str(uuid.UUID(trace)), "researcher")
    assert (run["status"], run["agent_version"], run["duration_ms"]) == ("completed", "1.2", 2500)
    assert [e["event"] for e in (start, step, end)] == ["started", "in_progress", "completed"]
    assert [e["event_id"] for e in (start, step, end)] == [
        f"otlp:{trace}:{1:016x}:start", f"otlp:{trace}:{2:016x}:step", f"otlp:{trace}:{1:016x}:end",
    ]  # fmt: skip
    assert start["timestamp"] == "2025-06-15T15:06:40Z"
    assert end["timestamp"] == "2025-06-15T15:06:42.500000Z"
    assert step["timestamp"] == "2025-06-15T15:06:40.500000Z"
    assert (step["duration_ms"], step["message"], step["category"]) == (1250, "ask", "chat")
    assert step["source"] == "a.py:7"
    assert step["metadata"] == {
        "span_id": f"{2:016x}", "parent_span_id": f"{1:016x}", "span_kind": "client",
        "service.name": "researcher", "scope": "tests",
    }  # fmt: skip
    assert end["output"]["attributes"] == {"topic": "tea", "n": 3, "deep": {"a": [1, True, None]}}
    assert start["output"] == {"resource": SERVICE}


def test_spans_that_are_late_repeated_or_out_of_order_change_nothing(tenant, encoding):
    trace = new_trace()
    spans = [span(trace, 1, end=9)] + [span(trace, n, parent=1, start=n, end=n + 0.5) for n in (2, 3, 4)]
    for part in ([spans[3]], [spans[1], spans[3]], [spans[0]], [spans[2]], spans, spans[::-1]):
        assert stored(send(tenant.client, encoding, part), encoding) is None
    told = narrative(tenant, trace)
    assert [e["message"] for e in told["events"]] == ["span 1", "span 2", "span 3", "span 4", "span 1"]
    assert told["run"]["status"] == "completed"
    assert told["run"]["event_count"] == 5


def test_a_trace_without_its_root_is_open(tenant, encoding):
    trace = new_trace()
    assert stored(send(tenant.client, encoding, [span(trace, 2, parent=1)]), encoding) is None
    assert narrative(tenant, trace)["run"]["status"] == "in_progress"
    pending = new_trace()
    assert stored(send(tenant.client, encoding, [span(pending, 1, end=None)]), encoding) is None
    assert [e["event"] for e in narrative(tenant, pending)["events"]] == ["started"]
    assert stored(send(tenant.client, encoding, [span(pending, 1)]), encoding) is None
    assert narrative(tenant, pending)["run"]["status"] == "completed"


def test_usage_is_stored_once_and_without_cached_tokens(tenant, encoding):
    trace = new_trace()
    spans = [
        span(trace, 1, end=9, attributes={"gen_ai.operation.name": "invoke_agent",
                                          "gen_ai.request.model": "gpt-x", "gen_ai.usage.input_tokens": 9999}),
        span(trace, 2, parent=1, start=1, attributes={
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x", "gen_ai.response.model": "gpt-x-1",
            "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 60, "gen_ai.usage.cache_creation.input_tokens": 15}),
        span(trace, 3, parent=1, start=1, attributes={
            "openinference.span.kind": "LLM", "llm.model_name": "claude-y", "llm.token_count.prompt": 50,
            "llm.token_count.completion": 5, "llm.token_count.prompt_details.cache_read": 40}),
        span(trace, 4, parent=1, start=1, attributes={
            "openinference.span.kind": "LLM", "llm.model_name": "claude-y", "llm.token_count.prompt": 7}),
        span(trace, 5, parent=1, attributes={"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 77}),
    ]  # fmt: skip
    for part in (spans[1:3], spans, spans[::-1]):
        assert stored(send(tenant.client, encoding, part), encoding) is None
    found = usage(tenant, run_id=uuid.UUID(trace))
    assert set(found) == {"gpt-x-1", "claude-y"}
    assert tokens(found["gpt-x-1"]) == (25, 20, 60, 15, 1)
    assert tokens(found["claude-y"]) == (17, 5, 40, 0, 2)  # two calls at the same moment add up
    assert {m: tokens(g) for m, g in usage(tenant).items()} == {m: tokens(g) for m, g in found.items()}
    step = narrative(tenant, trace)["events"][2]
    assert step["metrics"] == {"input_tokens": 25, "output_tokens": 20,
                               "cache_read_tokens": 60, "cache_write_tokens": 15}  # fmt: skip


def test_input_that_is_less_than_the_cached_tokens_does_not_include_them(tenant, encoding):
    counts = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10,
              "gen_ai.usage.cache_read_input_tokens": 60}  # fmt: skip
    assert stored(send(tenant.client, encoding, [span(new_trace(), 1, attributes=counts)]), encoding) is None
    assert tokens(usage(tenant)["m"]) == (10, 0, 60, 0, 1)


@pytest.mark.parametrize("told, expected", [
    ({"status": {"code": 2, "message": "no tea"}}, (None, "no tea")),
    ({"status": {"code": 2}, "attributes": {"error.type": "timeout"}}, ("timeout", None)),
    ({"attributes": {"error.type": "timeout"}}, ("timeout", None)),
    ({"status": {"code": 2}, "events": [{"name": "exception", "timeUnixNano": 5, "attributes": {
        "exception.type": "ValueError", "exception.message": "bad leaf"}}]}, ("ValueError", "bad leaf")),
])  # fmt: skip
def test_status_error_type_and_exceptions_become_the_error(tenant, encoding, told, expected):
    trace = new_trace()
    assert stored(send(tenant.client, encoding, [span(trace, 1, **told), span(trace, 2, parent=1, **told)]),
                  encoding) is None  # fmt: skip
    run, events = narrative(tenant, trace)["run"], narrative(tenant, trace)["events"]
    assert run["status"] == "failed"
    assert (run["error_type"], run["error_message"]) == expected
    assert [(e["level"], e["error_type"]) for e in events] == [("info", None)] + [("error", expected[0])] * 2


def test_long_texts_are_cut_between_characters(tenant, encoding):
    trace = new_trace()
    long = span(trace, 1, name="é" * 9000, status={"code": 2, "message": "m" * 17000}, attributes={
        "gen_ai.operation.name": "x" + "é" * 300, "error.type": "t" * 300, "code.filepath": "f" * 400,
        "code.lineno": 12})  # fmt: skip
    assert stored(send(tenant.client, encoding, [long]), encoding) is None
    end = narrative(tenant, trace)["events"][1]
    assert (end["message"], end["error_message"]) == ("é" * 8192, "m" * 16384)
    assert (end["category"], end["error_type"]) == ("x" + "é" * 127, "t" * 256)
    assert end["source"] == "f" * 230 + ":12"
    assert end["output"]["attributes"]["error.type"] == "t" * 300  # all of it is there


def test_an_exception_that_was_handled_is_no_error(tenant, encoding):
    trace = new_trace()
    event = {"name": "exception", "timeUnixNano": 5, "attributes": {"exception.type": "KeyError"}}
    bare = {"name": "exception", "timeUnixNano": 5, "attributes": {}}
    failed = span(trace, 1, events=[bare], status={"code": 2})
    assert stored(send(tenant.client, encoding, [failed]), encoding) is None
    for told in ({"events": [event]}, {"events": [event], "status": {"code": 1},
                                       "attributes": {"error.type": "x"}}):  # fmt: skip
        trace = new_trace()
        assert stored(send(tenant.client, encoding, [span(trace, 1, **told)]), encoding) is None
        told = narrative(tenant, trace)
        assert (told["run"]["status"], told["run"]["error_type"]) == ("completed", None)
        assert told["events"][1]["output"]["events"][0]["attributes"] == {"exception.type": "KeyError"}


def test_a_span_belongs_to_the_agent_that_it_or_a_span_above_it_names(tenant, encoding):
    trace = new_trace()
    spans = [span(trace, 4, parent=3), span(trace, 3, parent=2), span(trace, 5, parent=1),
             span(trace, 2, parent=1, attributes={"gen_ai.agent.name": "writer"}), span(trace, 1),
             span(trace, 7, parent=8), span(trace, 8, parent=7)]  # fmt: skip
    assert stored(send(tenant.client, encoding, spans), encoding) is None
    names = {e["metadata"]["span_id"][-1]: e["agent_name"] for e in narrative(tenant, trace)["events"]}
    assert names == {"1": "researcher", "2": "writer", "3": "writer", "4": "writer", "5": "researcher",
                     "7": "researcher", "8": "researcher"}  # fmt: skip


def test_an_agent_key_reports_for_its_agent_only(tenant, encoding):
    bound = tenant.agent_client("researcher")
    trace = new_trace()
    assert stored(send(bound, encoding, [span(trace, 1)]), encoding) is None
    other = send(bound, encoding, [span(new_trace(), 1), span(trace, 2, parent=1, attributes={
        "gen_ai.agent.name": "writer"})])  # fmt: skip
    assert other.status == 403
    assert encoding.status(other) == (7, "This key is bound to agent 'researcher'")
    assert send(bound, encoding, [span(trace, 3)], {"service.name": "writer"}).status == 403
    unnamed = new_trace()
    for number, resource in enumerate(({}, {"service.name": "unknown_service:python"}), 1):
        assert stored(send(bound, encoding, [span(unnamed, number)], resource), encoding) is None
    assert {e["agent_name"] for e in narrative(tenant, unnamed)["events"]} == {"researcher"}
    assert narrative(tenant, trace)["run"]["event_count"] == 2
    bound.close()


def test_spans_that_cannot_be_stored_are_counted_and_the_others_stored(tenant, encoding):
    good, trace = span(new_trace(), 1), new_trace()
    for bad, why in (
        (span("00" * 16, 2), "its trace id"),
        (span(trace, 0), "its span id"),
        (span(trace, 2, start=None), "no start time"),
        (span(trace, 2, start=10**10), "before 1970 or after 2262"),
        (span(trace, 2, end=10**10), "before 1970 or after 2262"),
        (span(trace, 2, name="a\0b"), "NUL"),
        (span(trace, 2, attributes={"deep": {"k": ["a\0b"]}}), "nested value"),
        (span(trace, 2, attributes={str(n): n for n in range(1001)}), "more than 1000 attributes"),
        (span(trace, 2, attributes={"gen_ai.agent.name": "é" * 257}), "more than 256 characters"),
        (span(trace, 2, attributes={"gen_ai.request.model": "m" * 257, "gen_ai.usage.input_tokens": 1}),
         "name of its model"),
    ):  # fmt: skip
        rejected, message = stored(send(tenant.client, encoding, [bad, good]), encoding)
        assert rejected == 1 and why in message, message
    assert narrative(tenant, good["traceId"])["run"]["event_count"] == 2
    assert tenant.client.get(tenant.path(f"runs/{uuid.UUID(trace)}/events")).status == 404
    rejected, message = stored(send(tenant.client, encoding, [good], {}), encoding)
    assert rejected == 1 and "service.name" in message


def test_a_value_that_is_nested_too_deeply_costs_its_own_span_only(tenant, encoding):
    good, trace, deep = span(new_trace(), 1), new_trace(), {"k": 1}
    for _ in range(30):
        deep = {"k": deep}
    bad = span(trace, 2, attributes={"deep": deep})
    rejected, message = stored(send(tenant.client, encoding, [bad, good]), encoding)
    assert rejected == 1 and bad["spanId"] in message and "deeper than 16 levels" in message
    assert narrative(tenant, good["traceId"])["run"]["event_count"] == 2


def test_disabled_agents_and_those_beyond_the_cap_are_rejected(server, encoding):
    tenant = server.add_tenant("--max-agents", "1")
    assert stored(send(tenant.client, encoding, [span(new_trace(), 1)]), encoding) is None
    other = span(new_trace(), 1, attributes={"gen_ai.agent.name": "second"})
    rejected, message = stored(send(tenant.client, encoding, [other]), encoding)
    assert rejected == 1 and f"the plan of tenant '{tenant.slug}' allows 1 agents" in message
    disable = server.admin.request("PATCH", tenant.path("agents/researcher"), {"enabled": False})
    assert disable.status == 200, disable.body
    trace = new_trace()
    calls = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10}
    spans = [span(trace, 1), span(trace, 2, parent=1, attributes=calls)]
    rejected, message = stored(send(tenant.client, encoding, spans), encoding)
    assert rejected == 2 and "agent 'researcher' is disabled" in message
    assert usage(tenant) == {}
    tenant.client.close()


def test_what_is_no_otlp_is_400_in_the_encoding_of_the_request(tenant, encoding):
    headers = {"Content-Type": encoding.media}
    bodies = {
        Protobuf: (b"\x0a\x05abc", b"\x08", b"\x0b", chunk(1, chunk(2, chunk(2, chunk(5, b"\xff"))))),
        Json: (b"{", b"[]", b'{"resourceSpans":{}}', b'{"resourceSpans":[1]}',
               b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"x"}]}]}]}'),
    }[encoding]  # fmt: skip
    for body in bodies:
        answer = tenant.client.post(TRACES, body, headers=headers)
        assert (answer.status, answer.headers["Content-Type"]) == (400, encoding.media), body
        assert encoding.status(answer)[0] == 3
    for body in (b"",) if encoding is Protobuf else (b"{}", b'{"resourceSpans":[],"more":1}'):
        assert stored(tenant.client.post(TRACES, body, headers=headers), encoding) is None
    corrupt = tenant.client.post(TRACES, b"no gzip", headers={**headers, "Content-Encoding": "gzip"})
    assert (corrupt.status, encoding.status(corrupt)[0]) == (400, 3)


def test_other_errors_are_in_the_encoding_of_the_request_too(server, tenant, encoding):
    trace = new_trace()
    nobody = send(tenant.client, encoding, [span(trace, 1)], token="mst_ws_unknown")
    assert (nobody.status, encoding.status(nobody)) == (401, (16, "Invalid or expired token"))
    many = send(tenant.client, encoding, [span(trace, n + 1) for n in range(1001)])
    assert (many.status, encoding.status(many)[0]) == (413, 3)
    assert "1000 events" in encoding.status(many)[1]
    large = send(tenant.client, encoding, [span(trace, 1, name="x" * 5_300_000)])
    assert (large.status, encoding.status(large)[0]) == (413, 3)
    text = tenant.client.post(TRACES, b"x", headers={"Content-Type": "text/plain"})
    assert text.status == 415 and "application/x-protobuf" in text.json()["message"]
    slow = server.add_tenant(rate_limit=1)
    assert stored(send(slow.client, encoding, [span(trace, n + 1, parent=99) for n in range(5)]), encoding) is None
    limited = send(slow.client, encoding, [span(trace, 1)])
    assert (limited.status, encoding.status(limited)[0]) == (429, 8)
    assert int(limited.headers["Retry-After"]) >= 1
    slow.client.close()


def test_both_encodings_store_the_same(tenant):
    values = {"text": 'a "quoted" ☕\n', "yes": True, "no": False, "int": -(1 << 63), "real": 1.5,
              "bytes": b"\x00\xff", "none": None, "list": [1, "two", 3.0], "map": {"a": {"b": []}}}  # fmt: skip
    found = []
    for encoding in (Protobuf, Json):
        trace = new_trace()
        link = {"traceId": "ab" * 16, "spanId": "cd" * 8}
        event = {"name": "e", "timeUnixNano": 12345678901234567, "attributes": values}
        one = span(trace, 1, attributes=values, events=[event], links=[link], kind=5)
        assert stored(send(tenant.client, encoding, [one]), encoding) is None
        events = narrative(tenant, trace)["events"]
        found.append([{**e, "run_id": "", "event_id": "", "received_at": ""} for e in events])
    assert found[0] == found[1]
    output = found[0][1]["output"]
    assert output["attributes"] == {**values, "bytes": "AP8="}
    assert output["events"] == [{"name": "e", "time_unix_nano": "12345678901234567",
                                 "attributes": {**values, "bytes": "AP8="}}]  # fmt: skip
    assert output["links"] == [{"trace_id": "ab" * 16, "span_id": "cd" * 8}]


def test_log_records_are_steps_of_their_trace(tenant, encoding):
    trace = new_trace()
    records = [
        log(trace, 2, body="first", severityNumber=13, severityText="WARN", attributes={"k": 1}),
        log(trace, 2, body={"a": [1]}, eventName="tea.made"),
        log(trace, 0, body="third", severityNumber=17, severityText="ERROR",
            attributes={"exception.type": "ValueError", "exception.message": "bad leaf"}),
    ]  # fmt: skip
    for part in (records[:1], records, records):
        assert stored(send_logs(tenant.client, encoding, part), encoding) is None
    told = narrative(tenant, trace)
    first, second, third = told["events"]
    assert told["run"]["agent_name"] == "researcher"
    assert [e["event"] for e in told["events"]] == ["in_progress"] * 3
    assert (first["message"], first["level"], first["output"]) == ("first", "warning", {"attributes": {"k": 1}})
    assert first["metadata"]["parent_span_id"] == f"{2:016x}"
    assert (second["message"], second["category"], second["level"]) == ("tea.made", "tea.made", "info")
    assert second["output"] == {"attributes": {}, "body": {"a": [1]}}
    assert (third["level"], third["error_type"], third["error_message"]) == ("error", "ValueError", "bad leaf")
    assert all(e["event_id"].startswith(f"otlp:{trace}:") for e in told["events"])


def test_log_records_of_no_trace_are_counted(tenant, encoding):
    trace = new_trace()
    answer = send_logs(tenant.client, encoding, [log(""), log(trace, 1)])
    rejected, message = stored(answer, encoding)
    assert rejected == 1 and "no valid trace id" in message
    assert narrative(tenant, trace)["run"]["event_count"] == 1
    bad = tenant.client.post(LOGS, b"\x08", headers={"Content-Type": encoding.media})
    assert (bad.status, encoding.status(bad)[0]) == (400, 3)


def test_the_texts_of_a_request_do_not_multiply(tenant):
    """A large resource, which each root keeps, is stored as long as there is room for it."""
    resource = {**SERVICE, "large": "x" * 4_000_000}
    spans = [span(new_trace(), 1) for _ in range(5)]
    rejected, message = stored(send(tenant.client, Protobuf, spans, resource), Protobuf)
    assert rejected == 3 and "too large" in message


def test_a_run_may_have_spans_and_events(tenant):
    trace = new_trace()
    event = tenant.event(run_id=str(uuid.UUID(trace)), agent_name="researcher")
    assert tenant.client.post("/api/v1/telemetry", event).status == 202
    assert stored(send(tenant.client, Json, [span(trace, 1)]), Json) is None
    assert narrative(tenant, trace)["run"]["event_count"] == 3


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
def test_the_example_of_the_document_is_stored(tenant, path):
    operation = json.loads((ROOT / "docs/openapi.json").read_text())["paths"][path]["post"]
    sent = operation["requestBody"]["content"]["application/json"]["example"]
    answer = tenant.client.post(path, sent)
    assert (answer.status, answer.json()) == (200, {})


def test_what_was_answered_200_is_there_after_a_kill(own_server):
    tenant, sent, acked = own_server.add_tenant(), [], []

    def send_until_the_end():
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                sent.append(new_trace())
                spans = [span(sent[-1], 1), span(sent[-1], 2, parent=1), span(sent[-1], 3, parent=2)]
                assert send(tenant.client, Protobuf, spans).status == 200
                acked.append(sent[-1])

    sender = threading.Thread(target=send_until_the_end)
    sender.start()
    until(lambda: len(acked) >= 20 or not sender.is_alive())
    own_server.kill()
    sender.join()
    assert len(acked) >= 20 and len(sent) - len(acked) == 1
    own_server.start()
    tenant.client = own_server.client(tenant.token)
    for trace in acked:
        found = narrative(tenant, trace)
        assert (found["run"]["status"], len(found["events"])) == ("completed", 4), trace
    again = [span(sent[-1], 1), span(sent[-1], 2, parent=1), span(sent[-1], 3, parent=2)]
    assert send(tenant.client, Protobuf, again).status == 200  # stored or not, once is enough
    assert len(narrative(tenant, sent[-1])["events"]) == 4
    tenant.client.close()
