/* feature.c - OTLP/HTTP: spans and log records of OpenTelemetry; metrics, which are not kept. */
#include "engine/feature.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "engine/job.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/stored_bytes.h"
#include "features/agents/report.h"
#include "features/cost/llm_totals.h"
#include "features/cost/reports.h"
#include "features/events/ingest.h"
#include "features/features.h"
#include "features/metrics.h"
#include "features/otlp/intake.h"
#include "features/otlp/wire.h"
#include "shape/table.h"

/* What was not stored, though the rest was. */
struct otlp_part {
    struct str rejected; /* a number: 64-bit integers are strings in protobuf's JSON */
    struct str message;
};

struct otlp_answer {
    struct otlp_part *partial; /* NULL (left out): all of it was stored */
};

/* Every error: google.rpc.Status. */
struct rpc_status {
    int64_t code; /* of google.rpc.Code */
    struct str message;
};

/* clang-format off */
#define PARTIAL(shape, ...) \
    FIELD_AT("partialSuccess", partial, struct otlp_part *, T_SHAPE, .nested = &(shape), __VA_ARGS__)

SHAPE_TABLE(static, traces_part_shape, struct otlp_part, "OtlpTracesPartialSuccess", (.doc = "Spans that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedSpans": "1", "errorMessage": "1 of 12 not stored; the first is span 00f067aa0ba902b7: it has no start time"})),
    STR_AS("rejectedSpans", rejected, .flags = F_REQUIRED, .doc = "Number of spans that were not stored, in digits."),
    STR_AS("errorMessage", message,   .flags = F_REQUIRED, .doc = "Why the first of them was not."));

SHAPE_TABLE(static, logs_part_shape, struct otlp_part, "OtlpLogsPartialSuccess", (.doc = "Log records that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedLogRecords": "1", "errorMessage": "1 of 12 not stored; the first is log record of span 00f067aa0ba902b7: it has a NUL character or a lone surrogate"})),
    STR_AS("rejectedLogRecords", rejected, .flags = F_REQUIRED, .doc = "Number of log records that were not stored, in digits."),
    STR_AS("errorMessage", message,        .flags = F_REQUIRED, .doc = "Why the first of them was not."));

SHAPE_TABLE(static, metrics_part_shape, struct otlp_part, "OtlpMetricsPartialSuccess", (.doc = "Data points that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedDataPoints": "6", "errorMessage": "6 of 6 data points not stored: no metrics are kept here, only spans and log records"})),
    STR_AS("rejectedDataPoints", rejected, .flags = F_REQUIRED, .doc = "Number of data points, in digits: all of them."),
    STR_AS("errorMessage", message,        .flags = F_REQUIRED, .doc = "Why they were not."));

SHAPE_TABLE(static, traces_answer_shape, struct otlp_answer, "OtlpTraces", (.doc = "Answer to an export of spans."),
    PARTIAL(traces_part_shape, .flags = F_OMIT, .doc = "Left out when all spans are stored."));

SHAPE_TABLE(static, logs_answer_shape, struct otlp_answer, "OtlpLogs", (.doc = "Answer to an export of log records."),
    PARTIAL(logs_part_shape, .flags = F_OMIT, .doc = "Left out when all log records are stored."));

SHAPE_TABLE(static, metrics_answer_shape, struct otlp_answer, "OtlpMetrics", (.doc = "Answer to an export of metrics."),
    PARTIAL(metrics_part_shape, .flags = F_OMIT, .doc = "Left out when there are no data points."));

STATIC_SHAPE(rpc_status, "RpcStatus", (.doc = "google.rpc.Status, as OTLP answers errors.",
      .example = EXAMPLE({"code": 16, "message": "Invalid or expired token"})),
    INT(code,    .flags = F_REQUIRED, .doc = "A google.rpc.Code."),
    STR(message, .flags = F_REQUIRED, .doc = "What is wrong and how to fix it."));
/* clang-format on */

/* Values take more bytes as JSON than in protobuf: at most this many times as many are stored. */
enum { GROWTH_MAX = 2 };

/* Is the request's body protobuf? */
static bool is_wire(const struct api_call *call)
{
    struct str type = http_header_get(&call->exchange->request, "content-type");

    return str_eq_nocase(str_trim(str_split(&type, ';')), STR_LIT("application/x-protobuf"));
}

/* Of google.rpc.Code, as its own mapping to HTTP has it. */
static int64_t rpc_code(int status)
{
    switch (status) {
    case 401:
        return 16; /* UNAUTHENTICATED */
    case 403:
        return 7; /* PERMISSION_DENIED */
    case 404:
        return 5; /* NOT_FOUND */
    case 408:
        return 4; /* DEADLINE_EXCEEDED */
    case 429:
    case 507:
        return 8; /* RESOURCE_EXHAUSTED */
    case 500:
        return 13; /* INTERNAL */
    case 503:
        return 14; /* UNAVAILABLE */
    default:
        return 3; /* INVALID_ARGUMENT */
    }
}

static void write_status(const struct call_refusal *refusal, bool wire, struct buf *out)
{
    const struct rpc_status status = { rpc_code(refusal->status), refusal->body.detail };

    if (!wire) {
        shape_write_json(&rpc_status_shape, &status, out);
        return;
    }
    wire_add_number(out, 1, (uint64_t)status.code);
    wire_add_bytes(out, 2, status.message);
}

/* The messages ExportTraceServiceResponse, ExportLogsServiceResponse and
 * ExportMetricsServiceResponse: all have the same fields. */
static void write_answer(const struct otlp_answer *answer, struct buf *out)
{
    const struct otlp_part *partial = answer->partial;
    BUF_SCOPED(part, KIB(64));
    int64_t n;

    if (partial == NULL || !str_to_int(partial->rejected, &n))
        return;
    wire_add_number(&part, 1, (uint64_t)n);
    wire_add_bytes(&part, 2, partial->message);
    wire_add_bytes(out, 1, buf_str(&part));
}

/* The route's `write`: in the encoding of the request. Errors are google.rpc.Status. */
static const char *otlp_write(const struct api_call *call, const struct call_refusal *refusal,
                              struct buf *out)
{
    const bool wire = is_wire(call);

    if (refusal != NULL)
        write_status(refusal, wire, out);
    else if (wire)
        write_answer(call->answer, out);
    else
        shape_write_json(call->route->answer, call->answer, out);
    return wire ? "application/x-protobuf" : "application/json";
}

/* `why` is null when the reader does not know it. */
static int refuse_malformed(struct api_call *call, struct str why, struct error *err)
{
    const char *encoding = is_wire(call) ? "protobuf" : "JSON";

    if (str_is_null(why))
        return call_refuse(call, err, 400, "The body is not an OTLP request in %s", encoding);
    return call_refuse(call, err, 400, "The body is not an OTLP request in %s: %.*s", encoding,
                       STR_ARG(why));
}

/* --- the job of a request, and the usage that waits for its events --- */

/* In memory that lives until the job's done(). Tokens count once, when the event of their span is
 * stored and not when it comes again; nor does a call count twice that two libraries have traced.
 * Whether it is a duplicate is known after all events of the transaction were added, so usage waits
 * in the transaction till then. */
struct delivery {
    struct ingest_request request; /* whose job is the delivery's */
    const struct intake *intake;   /* closed */
};

/* The part of a transaction that belongs to this feature. */
static const char otlp_notes_part[] = "otlp_notes";

static struct job_cost span_cost = JOB_COST(25);

/* What is remembered of a call to a model that was counted: its span, and the span above it. */
enum call_part { CALL_ITSELF, CALL_ABOVE };

struct note {
    const struct llm_usage *usage;
    const enum verdict *verdict; /* of its event */
    struct report_key key;
    uint64_t marks[2];  /* of its own call, by enum call_part */
    uint64_t others[2]; /* of calls with which it is counted already: above it, and below */
    bool counted;
};

struct otlp_notes {
    struct note *items;
    size_t n, capacity;
};

static struct otlp_notes *otlp_notes_of(const struct txn *txn)
{
    return txn_part(txn, otlp_notes_part);
}

static void add_note(struct otlp_notes *notes, const struct note *note)
{
    notes->items = mem_grow(notes->items, notes->n, &notes->capacity, sizeof(*notes->items));
    notes->items[notes->n++] = *note;
}

/* The calls that were counted not long ago, as keyed hashes, each in its place: of two spans of one
 * call, one below the other, the one that comes in a later request does not count. All writers'. */
enum { CALLS_KNOWN = 65536 };
static _Atomic uint64_t calls_known[CALLS_KNOWN];

static bool is_known(uint64_t mark)
{
    return atomic_load_explicit(&calls_known[mark % CALLS_KNOWN], memory_order_relaxed) == mark;
}

static void set_known(const uint64_t marks[2], bool known)
{
    for (size_t i = 0; i < 2; i++)
        if (known || is_known(marks[i]))
            atomic_store_explicit(&calls_known[marks[i] % CALLS_KNOWN], known ? marks[i] : 0,
                                  memory_order_relaxed);
}

static uint64_t mark_of(int64_t tenant_id, const struct intake_origin *o,
                        const struct otlp_id *span, enum call_part part)
{
    struct {
        int64_t tenant_id, part, kind;
        uint8_t trace[OTLP_TRACE_BYTES], span[OTLP_TRACE_BYTES];
    } key = { .tenant_id = tenant_id, .part = part, .kind = o->kind };

    memcpy(key.trace, o->trace.bytes, sizeof(key.trace));
    memcpy(key.span, span->bytes, sizeof(key.span));
    return digest_sip(str_from((const char *)&key, sizeof(key)));
}

static void set_marks(struct note *note, int64_t tenant_id, const struct intake_origin *o)
{
    note->marks[CALL_ITSELF] = mark_of(tenant_id, o, &o->span, CALL_ITSELF);
    note->marks[CALL_ABOVE] = mark_of(tenant_id, o, &o->parent, CALL_ABOVE);
    note->others[0] = mark_of(tenant_id, o, &o->parent, CALL_ITSELF);
    note->others[1] = mark_of(tenant_id, o, &o->span, CALL_ABOVE);
}

static int otlp_notes_prepare(struct txn *txn, struct error *err)
{
    const struct otlp_notes *notes = otlp_notes_of(txn);

    for (size_t i = 0; i < notes->n; i++) {
        struct note *note = &notes->items[i];
        struct report_key key = note->key;

        key.bytes = stored_bytes_of(txn);
        if (*note->verdict != VERDICT_ACCEPTED || is_known(note->others[0]) ||
            is_known(note->others[1]))
            continue;
        if (llm_usage_add(txn->db, &key, note->usage, llm_totals_of(txn), err) != 0)
            return -1;
        note->counted = true;
        set_known(note->marks, true);
    }
    return 0;
}

static void otlp_notes_clear(struct txn *txn)
{
    otlp_notes_of(txn)->n = 0;
}

static void otlp_notes_rolled_back(struct txn *txn)
{
    for (size_t i = 0; i < otlp_notes_of(txn)->n; i++)
        if (otlp_notes_of(txn)->items[i].counted)
            set_known(otlp_notes_of(txn)->items[i].marks, false);
    otlp_notes_clear(txn);
}

static size_t last_event(const struct intake_origin *origin)
{
    assert(origin->n_events > 0);
    return origin->first_event + origin->n_events - 1;
}

/* A record has the verdict of its last event. */
static enum verdict delivery_verdict(const struct delivery *delivery,
                                     const struct intake_origin *origin)
{
    return delivery->request.verdicts[last_event(origin)];
}

static int note_usages(const struct delivery *d, struct txn *txn, struct error *err)
{
    const struct intake_origin *origins = d->intake->origins.items;
    const struct intake_usage *usages = d->intake->usages.items;

    for (size_t i = 0; i < d->intake->usages.n; i++) {
        const enum verdict *verdict = &d->request.verdicts[last_event(&origins[usages[i].origin])];
        const struct applicant agent = { d->request.tenant->id, usages[i].usage.agent_name,
                                         d->request.received_at };
        struct note note = { .usage = &usages[i].usage, .verdict = verdict };
        struct admission admission;

        if (*verdict != VERDICT_ACCEPTED)
            continue;
        if (admit_agent(txn, &agent, &admission, err) != 0)
            return -1;
        note.key = (struct report_key){ .tenant_id = agent.tenant_id,
                                        .agent_id = admission.agent_id,
                                        .received_at = agent.at };
        set_marks(&note, agent.tenant_id, &origins[usages[i].origin]);
        add_note(otlp_notes_of(txn), &note);
    }
    return 0;
}

static struct delivery *delivery_of(struct writer_job *job)
{
    return CONTAINER_OF(job, struct delivery, request.job);
}

static int delivery_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct delivery *d = delivery_of(job);

    if (ingest_add(&d->request, txn, err) != 0)
        return -1;
    return d->request.over_quota ? 0 : note_usages(d, txn, err);
}

static void delivery_committed(struct writer_job *job)
{
    const struct delivery *d = delivery_of(job);
    const struct intake_origin *origins = d->intake->origins.items;
    const struct intake_usage *usages = d->intake->usages.items;

    ingest_count(&d->request);
    for (size_t i = 0; i < d->intake->usages.n; i++)
        if (delivery_verdict(d, &origins[usages[i].origin]) == VERDICT_ACCEPTED)
            metric_add(METRIC_REPORTS_LLM, 1);
}

/* --- the routes --- */

/* A record that was not stored for its agent's sake. */
static void count_rejected(const struct api_call *call, const struct delivery *d,
                           const struct intake_origin *origin, struct intake *in)
{
    const struct tenant_entry *tenant = call->caller->key->tenant;
    enum verdict verdict = origin->n_events == 0 ? VERDICT_ACCEPTED : delivery_verdict(d, origin);
    struct str why;

    if (verdict == VERDICT_ACCEPTED || verdict == VERDICT_DUPLICATE)
        return;
    if (verdict == VERDICT_AGENT_DISABLED)
        why = arena_printf(call->arena, "agent '%.*s' is disabled", STR_ARG(origin->agent));
    else
        why = arena_printf(call->arena,
                           "agent cap reached: the plan of tenant '%.*s' allows %lld agents",
                           STR_ARG(tenant->slug), (long long)atomic_load(&tenant->max_agents));
    intake_refuse(in, origin->is_span ? "span" : "log record of span", &origin->span, why.data);
}

static void reject(struct api_call *call, enum feature_metric counter, size_t n, struct str why)
{
    struct otlp_answer *answer = call->answer;

    metric_add(counter, n);
    answer->partial = ARENA_NEW(call->arena, struct otlp_part);
    answer->partial->rejected = arena_printf(call->arena, "%zu", n);
    answer->partial->message = why;
}

/* Once it is known what was refused. */
static void fill_answer(struct api_call *call, const struct intake *in)
{
    const bool logs = call->route->answer == &logs_answer_shape;

    if (in->n_refused > 0)
        reject(call, logs ? METRIC_OTLP_LOGS : METRIC_OTLP_TRACES, in->n_refused,
               arena_printf(call->arena, "%zu of %zu not stored; the first is %.*s", in->n_refused,
                            in->n_records, STR_ARG(in->refusal)));
}

static int fill_delivered(struct api_call *call, struct error *err)
{
    struct delivery *d = call->own;
    struct intake in = *d->intake;
    const struct intake_origin *origins = in.origins.items;

    if (ingest_has_no_room(&d->request))
        return auth_refuse_quota(call, err);
    for (size_t i = 0; i < in.origins.n; i++)
        count_rejected(call, d, &origins[i], &in);
    fill_answer(call, &in);
    return 0;
}

static int deliver(struct api_call *call, const struct intake *in, struct error *err)
{
    struct delivery *d = ARENA_NEW(call->arena, struct delivery);

    *d = (struct delivery){
        .intake = in,
        .request = { .tenant = call->caller->key->tenant,
                     .events = in->events.items,
                     .n = in->events.n,
                     .bytes = call->exchange->request.body.len + in->bytes,
                     .received_at = in->received_at,
                     .over_quota = over_quota(call),
                     .verdicts = ARENA_ARRAY(call->arena, enum verdict, in->events.n) },
    };
    call->own = d;
    d->request.job = (struct writer_job){ .announce = ingest_announce,
                                          .apply = delivery_apply,
                                          .committed = delivery_committed,
                                          .tenant_id = d->request.tenant->id,
                                          .cost = &span_cost,
                                          .events = d->request.n,
                                          .bytes = d->request.bytes };
    return call_submit(call, &d->request.job, fill_delivered, err);
}

static enum otlp_result read_body(const struct api_call *call, enum otlp_records what,
                                  const struct otlp_sink *sink)
{
    return otlp_read(what, is_wire(call) ? OTLP_PROTOBUF : OTLP_JSON, call->exchange->request.body,
                     sink);
}

static int take_records(struct api_call *call, enum otlp_records what, struct error *err)
{
    const struct key_entry *key = call->caller->key;
    struct intake *in = ARENA_NEW(call->arena, struct intake);
    struct str why = STR_NULL;
    const struct otlp_sink sink = { .ctx = in,
                                    .arena = call->arena,
                                    .on_span = intake_on_span,
                                    .on_log = intake_on_log,
                                    .why = &why };
    enum otlp_result result;
    struct str stranger;

    in->arena = call->arena;
    in->slug = key->tenant->slug;
    in->bound_to = key->kind == TOKEN_AGENT ? key->agent_name : STR_NULL;
    in->received_at = clock_wall_us();
    in->records_max = call->api->limits.batch_max_events;
    in->bytes_max = GROWTH_MAX * call->api->limits.batch_max_bytes;
    intake_open(in);
    result = read_body(call, what, &sink);
    if (result != OTLP_READ) {
        intake_drop(in);
        return result == OTLP_MALFORMED ? refuse_malformed(call, why, err)
                                        : call_refuse_size(call, err, in->records_max, "events");
    }
    stranger = intake_close(in);
    if (!str_is_null(stranger))
        return auth_may_report(call, STR_NULL, stranger, err);
    if (in->events.n > 0)
        return deliver(call, in, err);
    fill_answer(call, in);
    call_reply(call, NULL);
    return 0;
}

static int report_spans(struct api_call *call, struct error *err)
{
    return take_records(call, OTLP_SPANS, err);
}

static int report_logs(struct api_call *call, struct error *err)
{
    return take_records(call, OTLP_LOGS, err);
}

static bool count_metric(void *ctx, size_t n_points)
{
    *(size_t *)ctx += n_points;
    return true;
}

/* Programs that export metrics whether or not anybody wants them are told so, and no error. */
static int report_metrics(struct api_call *call, struct error *err)
{
    struct str why = STR_NULL;
    size_t n = 0;
    const struct otlp_sink sink = {
        .ctx = &n, .arena = call->arena, .on_metric = count_metric, .why = &why
    };

    if (read_body(call, OTLP_METRICS, &sink) != OTLP_READ)
        return refuse_malformed(call, why, err);
    if (n > 0)
        reject(call, METRIC_OTLP_METRICS, n,
               arena_printf(call->arena,
                            "%zu of %zu data points not stored: no metrics are kept here, only "
                            "spans and log records",
                            n, n));
    call_reply(call, NULL);
    return 0;
}

#define RESOURCE                                                                                   \
    "{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"invoice-reader\"}}]}"
#define IDS "\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"spanId\":\"00f067aa0ba902b7\","

/* Examples of requests. */
static const char spans_sample[] =
    "{\"resourceSpans\":[{\"resource\":" RESOURCE ",\"scopeSpans\":[{\"spans\":[{" IDS
    "\"name\":\"read invoices\",\"startTimeUnixNano\":\"1768469400000000000\","
    "\"endTimeUnixNano\":\"1768469472000000000\"}]}]}]}";
static const char logs_sample[] =
    "{\"resourceLogs\":[{\"resource\":" RESOURCE ",\"scopeLogs\":[{\"logRecords\":[{" IDS
    "\"timeUnixNano\":\"1768469400000000000\",\"severityNumber\":9,"
    "\"body\":{\"stringValue\":\"Invoice 17 of 42\"}}]}]}]}";

static const char metrics_sample[] =
    "{\"resourceMetrics\":[{\"resource\":" RESOURCE ",\"scopeMetrics\":[{\"metrics\":[{"
    "\"name\":\"invoices.read\",\"sum\":{\"dataPoints\":[{\"asInt\":\"17\","
    "\"timeUnixNano\":\"1768469400000000000\"}]}}]}]}]}";

static const char *const encodings[] = { "application/json", "application/x-protobuf", NULL };

/* clang-format off */
static const struct route otlp_routes[] = {
    { ROUTE(POST, "/v1/traces", REPORT, 200), .handler = report_spans, .also = ALSO_QUOTA, .takes = encodings, .answer = &traces_answer_shape, .refusal = &rpc_status_shape, .write = otlp_write, .media = encodings, .limit = LIMIT_BATCH, .sample = spans_sample,
      .id = "export_traces", .summary = "Report spans by OTLP",
      .description = "OTLP/HTTP, an `ExportTraceServiceRequest` in protobuf or JSON. A trace is a run, whose `run_id` is the trace id; its root's end closes it, and other spans are steps. 200 means that the spans are durably stored, except for those that `partialSuccess` counts; spans that come again change nothing. Answers and errors are in the encoding of the request." },
    { ROUTE(POST, "/v1/logs", REPORT, 200), .handler = report_logs, .also = ALSO_QUOTA, .takes = encodings, .answer = &logs_answer_shape, .refusal = &rpc_status_shape, .write = otlp_write, .media = encodings, .limit = LIMIT_BATCH, .sample = logs_sample,
      .id = "export_logs", .summary = "Report log records by OTLP",
      .description = "OTLP/HTTP, an `ExportLogsServiceRequest` in protobuf or JSON. Each record is a step of the run that its trace id names. 200 means that the records are durably stored, except for those that `partialSuccess` counts; records that come again change nothing. Answers and errors are in the encoding of the request." },
    { ROUTE(POST, "/v1/metrics", REPORT, 200), .handler = report_metrics, .takes = encodings, .answer = &metrics_answer_shape, .refusal = &rpc_status_shape, .write = otlp_write, .media = encodings, .limit = LIMIT_BATCH, .sample = metrics_sample,
      .id = "export_metrics", .summary = "Export metrics by OTLP, which are not kept",
      .description = "OTLP/HTTP, an `ExportMetricsServiceRequest` in protobuf or JSON. No metrics are kept: 200, and `partialSuccess` counts all data points, so that programs that export metrics with their spans see no error." },
    { 0 },
};
/* clang-format on */

static void otlp_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn_set_part(txn, otlp_notes_part, NEW(struct otlp_notes));
}

static void otlp_txn_close(struct txn *txn)
{
    struct otlp_notes *notes = otlp_notes_of(txn);

    if (notes == NULL)
        return;
    free(notes->items);
    free(notes);
}

const struct feature otlp_feature = {
    .name = "otlp",
    .about = "OpenTelemetry: spans and log records by OTLP/HTTP.",
    .routes = { otlp_routes },
    .txn = { .open = otlp_txn_open,
             .close = otlp_txn_close,
             .prepare = otlp_notes_prepare,
             .committed = otlp_notes_clear,
             .rolled_back = otlp_notes_rolled_back },
};
