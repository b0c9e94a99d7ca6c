// The OpenTelemetry SDK for JavaScript exports spans and log records, in JSON and in protobuf.
// Arguments: URL, token, workspace. The exporter of JSON is the only real one that the tests have.
import assert from "node:assert/strict";
import { DiagLogLevel, ROOT_CONTEXT, SpanStatusCode, diag, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const [url, token, slug] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const complaints = [];
const complain = (...words) => complaints.push(words.join(" "));
diag.setLogger({ error: complain, warn: complain, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

const CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 7,
    "gen_ai.usage.cache_read.input_tokens": 64,
    list: ["a", "b"],
    real: 1.5,
};

async function read(path) {
    const answer = await fetch(`${url}/api/v1/tenants/${slug}/${path}`, { headers });
    assert.equal(answer.status, 200, path);
    return answer.json();
}

/** A run with one failed call and one log record; its narrative. */
async function traced(name, exporter) {
    const resource = resourceFromAttributes({ "service.name": name });
    const tracing = new NodeTracerProvider({
        resource,
        spanProcessors: [new BatchSpanProcessor(exporter)],
    });
    const logs = new OTLPLogExporter({ url: `${url}/v1/logs`, headers });
    const logging = new LoggerProvider({
        resource,
        processors: [new BatchLogRecordProcessor({ exporter: logs })],
    });
    const tracer = tracing.getTracer("tests");
    const root = tracer.startSpan("nightly invoices");
    const within = trace.setSpan(ROOT_CONTEXT, root);
    const call = tracer.startSpan("chat gpt-4o", { attributes: CALL }, within);
    call.recordException(new RangeError("too far"));
    call.setStatus({ code: SpanStatusCode.ERROR, message: "no answer" });
    call.end();
    logging.getLogger("mail").emit({ body: { read: [3] }, severityNumber: 13, context: within });
    root.end();
    await tracing.shutdown();
    await logging.shutdown();
    const id = root.spanContext().traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    return read(`runs/${id}/events`);
}

const traces = { url: `${url}/v1/traces`, headers };
const exporters = {
    "js-json": new JsonExporter({ ...traces, compression: "gzip" }),
    "js-protobuf": new ProtobufExporter(traces),
};
for (const [name, exporter] of Object.entries(exporters)) {
    const { run, events } = await traced(name, exporter);
    assert.deepEqual([run.agent_name, run.status, run.event_count], [name, "completed", 4]);
    const call = events.find((event) => event.category === "chat");
    assert.deepEqual([call.level, call.error_type], ["error", "RangeError"]);
    assert.deepEqual([call.error_message, call.output.attributes.list], ["no answer", ["a", "b"]]);
    assert.equal(call.metadata.parent_span_id, events[0].metadata.span_id);
    const record = events.find((event) => event.level === "warning");
    assert.deepEqual(record.output.body, { read: [3] });
}
const { groups } = await read("llm/usage?group_by=agent");
const counts = groups.map((group) => [group.input_tokens, group.output_tokens, group.cache_read_tokens]);
assert.deepEqual(counts, [[36, 7, 64], [36, 7, 64]]);
assert.deepEqual(complaints, []);
console.log("ok");
