"""The real OpenTelemetry SDK exports to the service; runs in `make sdk-test`.

The exporter of protobuf is the registry's. For JSON there is none in Python, so the SDK's own spans
are written in OTLP's JSON by protobuf's library.
"""

import base64
import logging
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

trace = pytest.importorskip("opentelemetry.trace")
from google.protobuf import json_format  # noqa: E402
from openinference.semconv.trace import OpenInferenceSpanKindValues, SpanAttributes  # noqa: E402
from opentelemetry._logs import SeverityNumber  # noqa: E402
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # noqa: E402
from opentelemetry.exporter.otlp.proto.http import Compression  # noqa: E402
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter  # noqa: E402
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: E402
from opentelemetry.sdk._logs import LoggerProvider  # noqa: E402
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import (  # noqa: E402
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

ROOT = Path(__file__).resolve().parents[3]
RESOURCE = Resource.create({"service.name": "researcher", "service.version": "1.2"})
ID_FIELDS = re.compile("^(traceId|spanId|parentSpanId)$")


def hexadecimal(node):
    """OTLP's JSON has ids as hexadecimal digits where protobuf's has base64."""
    if isinstance(node, list):
        return [hexadecimal(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        name: base64.b64decode(value).hex() if ID_FIELDS.match(name) else hexadecimal(value)
        for name, value in node.items()
    }


class JsonExporter(SpanExporter):
    def __init__(self, workspace):
        self.workspace = workspace

    def export(self, spans):
        body = json_format.MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        client = self.workspace.server.client(self.workspace.tenant.token)
        answer = client.post("/v1/traces", hexadecimal(body))
        client.close()
        return SpanExportResult.SUCCESS if answer.json() == {} else SpanExportResult.FAILURE


def protobuf(workspace):
    settings = workspace.settings
    return OTLPSpanExporter(
        endpoint=settings["url"] + "/v1/traces",
        headers={"Authorization": f"Bearer {settings['token']}"},
        compression=Compression.Gzip,
    )


class Watched(SpanExporter):
    """An exporter, and what it said of each export."""

    def __init__(self, exporter):
        self.exporter, self.results = exporter, []

    def export(self, spans):
        self.results.append(self.exporter.export(spans))
        return self.results[-1]


@pytest.fixture(params=[protobuf, JsonExporter], ids=["protobuf", "json"])
def tracing(request, workspace):
    exporter = Watched(request.param(workspace))
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    yield provider
    provider.shutdown()
    assert exporter.results and set(exporter.results) == {SpanExportResult.SUCCESS}


def run_of(span):
    return str(uuid.UUID(int=span.get_span_context().trace_id))


def test_spans_of_the_sdk_are_a_run_with_steps_and_tokens(workspace, tracing):
    tracer = tracing.get_tracer("tests", "1")
    with tracer.start_as_current_span("nightly invoices") as root:
        with tracer.start_as_current_span("invoke", attributes={
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "writer",
            "gen_ai.usage.input_tokens": 100,
        }), tracer.start_as_current_span("chat gpt-4o", kind=trace.SpanKind.CLIENT, attributes={
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o",
            "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 7,
            "gen_ai.usage.cache_read.input_tokens": 64, "gen_ai.response.finish_reasons": ["stop"],
        }) as call:  # fmt: skip
            call.add_event("first token", {"after_ms": 12.5})
    assert tracing.force_flush()
    events = workspace.events(run_of(root))
    (run,) = workspace.runs()
    assert (run["agent_name"], run["status"], run["message"]) == (
        "researcher", "completed", "nightly invoices",
    )  # fmt: skip
    assert [(e["event"], e["agent_name"]) for e in events] == [
        ("started", "researcher"), ("in_progress", "writer"), ("in_progress", "writer"),
        ("completed", "researcher"),
    ]  # fmt: skip
    chat = events[2]
    assert chat["metadata"]["parent_span_id"] == events[1]["metadata"]["span_id"]
    assert chat["output"]["attributes"]["gen_ai.response.finish_reasons"] == ["stop"]
    assert chat["output"]["events"][0]["attributes"] == {"after_ms": 12.5}
    usage = workspace.usage()
    counts = ("input_tokens", "output_tokens", "cache_read_tokens", "calls")
    found = {model: tuple(row[c] for c in counts) for model, row in usage.items()}
    assert found == {"gpt-4o": (36, 7, 64, 1)}


def test_the_names_of_openinference_are_tokens_too(workspace, tracing):
    kinds, names = OpenInferenceSpanKindValues, SpanAttributes
    tracer = tracing.get_tracer("openinference")
    with tracer.start_as_current_span("agent", attributes={
        names.OPENINFERENCE_SPAN_KIND: kinds.AGENT.value, names.LLM_TOKEN_COUNT_PROMPT: 50,
    }), tracer.start_as_current_span("ask", attributes={
        names.OPENINFERENCE_SPAN_KIND: kinds.LLM.value, names.LLM_MODEL_NAME: "claude-y",
        names.LLM_TOKEN_COUNT_PROMPT: 50, names.LLM_TOKEN_COUNT_COMPLETION: 5,
        names.LLM_TOKEN_COUNT_PROMPT_DETAILS_CACHE_READ: 30,
        names.LLM_TOKEN_COUNT_PROMPT_DETAILS_CACHE_WRITE: 10,
    }):  # fmt: skip
        pass
    assert tracing.force_flush()
    usage = workspace.usage()
    counts = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "calls")
    assert {m: tuple(row[c] for c in counts) for m, row in usage.items()} == {
        "claude-y": (10, 5, 30, 10, 1)
    }
    (run,) = workspace.runs()
    assert [e["category"] for e in workspace.events(run["run_id"])] == ["AGENT", "LLM", "AGENT"]


def test_an_exception_of_the_sdk_fails_the_run(workspace, tracing):
    tracer = tracing.get_tracer("tests")
    with pytest.raises(ValueError), tracer.start_as_current_span("broken"):
        raise ValueError("bad leaf")
    assert tracing.force_flush()
    (run,) = workspace.runs()
    assert (run["status"], run["error_type"]) == ("failed", "ValueError")
    assert run["error_message"] == "ValueError: bad leaf"


def test_log_records_of_the_sdk_are_steps_of_the_run(workspace, tracing):
    settings = workspace.settings
    exporter = OTLPLogExporter(
        endpoint=settings["url"] + "/v1/logs",
        headers={"Authorization": f"Bearer {settings['token']}"},
    )
    provider = LoggerProvider(resource=RESOURCE)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = provider.get_logger("agent.mail")
    with tracing.get_tracer("tests").start_as_current_span("mail") as root:
        logger.emit(severity_number=SeverityNumber.WARN, body="read 3 mails", attributes={"n": 3})
    provider.shutdown()
    assert tracing.force_flush()
    start, step, end = workspace.events(run_of(root))
    assert (step["message"], step["level"], step["metadata"]["scope"]) == (
        "read 3 mails", "warning", "agent.mail",
    )  # fmt: skip
    assert step["metadata"]["parent_span_id"] == end["metadata"]["span_id"]
    assert start["metadata"]["span_id"] == end["metadata"]["span_id"]


def test_the_guide_traces_a_run_as_it_stands(workspace):
    """With the variables of the environment that docs/AGENTS.md sets, and its code."""
    guide = (ROOT / "docs/AGENTS.md").read_text().split("## OpenTelemetry")[1]
    exports, code, _ = re.findall(r"^```(?:sh|python)\n(.*?)^```", guide, re.M | re.S)
    script = exports.replace("http://127.0.0.1:8080", workspace.settings["url"])
    script += 'exec "$0" -c "$1"'
    done = subprocess.run(
        ["sh", "-ec", script, sys.executable, code], env=workspace.environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = workspace.runs()
    assert (run["agent_name"], run["status"]) == ("invoice-bot", "completed")
    assert run["message"] == "nightly invoices"


def test_a_wrong_key_is_an_error_that_the_exporter_does_not_retry(workspace, caplog):
    exporter = OTLPSpanExporter(
        endpoint=workspace.settings["url"] + "/v1/traces", headers={"Authorization": "Bearer wrong"}
    )
    provider = TracerProvider(resource=RESOURCE)
    span = provider.get_tracer("tests").start_span("one")
    span.end()
    with caplog.at_level(logging.ERROR):
        assert exporter.export([span]) == SpanExportResult.FAILURE
    assert "401" in caplog.text
