/* spans.c - spans and log records as events of the run that their trace is.
 *
 * The root's start opens the run and its end closes it; any other span, and a log record, is one
 * step, at the time when it began. Ids are made of the span's own, so a span that comes again, or
 * late, or before its parent changes nothing or fits in. Records have no id of their own: that of
 * the event is made of a digest of what the record says, so the same record again changes nothing.
 */
#include "features/otlp/intake.h"

#include <assert.h>

#include "base/digest.h"

/* Order of the events of a run with the same time: the start, the steps, the end. */
enum { SEQ_START, SEQ_STEP, SEQ_END };

enum { NAME_BYTES_MAX = 256, MESSAGE_BYTES_MAX = 16384 };

/* --- texts --- */

/* Counts a record; false: beyond the maximum. */
static bool count_record(struct intake *in)
{
    in->too_many = in->n_records == in->records_max;
    in->n_records += !in->too_many;
    return !in->too_many;
}

static struct intake_resource *resource_of(struct intake *in, const struct otlp_resource *resource)
{
    const struct otlp_attributes *attributes = &resource->attributes;

    if (in->resource.number != resource->number) {
        in->resource = (struct intake_resource){ .number = resource->number };
        known_find(attributes->items, attributes->n, &in->resource.known);
    }
    return &in->resource;
}

/* The scratch buffer, empty, which takes as much as there is room left for. */
static struct buf *begin_text(struct intake *in)
{
    buf_clear(&in->scratch);
    in->scratch.max = in->bytes_max - in->bytes;
    return &in->scratch;
}

/* A text that was kept is stored once more; false: there is no room left for it. */
static bool repeat_text(struct intake *in, struct str text)
{
    const bool fits = text.len <= in->bytes_max - in->bytes;

    in->bytes += fits ? text.len : 0;
    return fits;
}

/* Copies what was written; STR_NULL: it did not fit. */
static struct str keep_text(struct intake *in)
{
    struct str text = buf_str(&in->scratch);

    if (in->scratch.overflown || !repeat_text(in, text))
        return STR_NULL;
    return arena_copy(in->arena, text);
}

static struct str event_id_of(struct intake *in, const struct intake_origin *origin,
                              const char *part)
{
    char trace[2 * OTLP_TRACE_BYTES], span[2 * OTLP_SPAN_BYTES];
    struct str t = otlp_hex(&origin->trace, OTLP_TRACE_BYTES, trace);
    struct str s = otlp_hex(&origin->span, OTLP_SPAN_BYTES, span), rest = str_of(part);
    const struct str pieces[] = { STR_LIT("otlp:"), t, STR_LIT(":"), s, STR_LIT(":"), rest };
    char *text = arena_alloc(in->arena, 64 + rest.len), *at = text;

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        memcpy(at, pieces[i].data, pieces[i].len);
        at += pieces[i].len;
    }
    return str_from(text, (size_t)(at - text));
}

/* The trace's id as a UUID. */
static struct str run_id_of(struct intake *in, const struct otlp_id *trace)
{
    char hex[2 * OTLP_TRACE_BYTES], *text = arena_alloc(in->arena, UUID_TEXT_LEN);
    bool valid = uuid_parse(otlp_hex(trace, OTLP_TRACE_BYTES, hex), text);

    assert(valid);
    (void)valid;
    return str_from(text, UUID_TEXT_LEN);
}

/* At most `max` bytes, cut between two characters; STR_NULL stays so. */
static struct str cut_text(struct str text, size_t max)
{
    return str_is_null(text) ? text : utf8_cut(text, max);
}

/* FILE:LINE, or an empty text. */
static struct str source_of(struct intake *in, const struct known_values *known)
{
    struct str file = known_text(known, KNOWN_FILE);
    int64_t line = known_count(known, KNOWN_LINE);

    if (str_is_null(file))
        return STR_LIT("");
    file = utf8_cut(file, 230);
    if (line < 0)
        return file;
    return arena_printf(in->arena, "%.*s:%lld", STR_ARG(file), (long long)line);
}

/* A member of an object that was begun by '{'; nothing for a null or empty value. */
static void add_member(struct buf *out, const char *name, struct str value)
{
    if (value.len == 0 || out->len == 0) /* not even the brace fitted */
        return;
    buf_add_c(out, out->data[out->len - 1] == '{' ? "\"" : ",\"");
    buf_add_c(out, name);
    buf_add_c(out, "\":");
    buf_add_json(out, value);
}

/* Refuses a record with a flaw. True: the next one, please. */
static bool done_with(struct intake *in, const char *what, const struct otlp_id *id,
                      const char *flaw)
{
    if (flaw != NULL)
        intake_refuse(in, what, id, flaw);
    return true;
}

/* Begins the object that keeps everything a record carries. */
static struct buf *begin_output(struct intake *in, const struct otlp_attributes *attributes)
{
    struct buf *out = begin_text(in);

    buf_add_c(out, "{\"attributes\":");
    return otlp_attributes_write(attributes->items, attributes->n, out) ? out : NULL;
}

static const char *end_output(struct intake *in, struct buf *out, struct str *ret)
{
    buf_add_char(out, '}');
    *ret = keep_text(in);
    return str_is_null(*ret) ? OTLP_FLAW_SIZE : NULL;
}

/* --- spans --- */

/* A span, and what is known of it. */
struct subject {
    const struct otlp_span *span;
    struct known_values known;
    const struct known_values *resource;
    struct intake_origin *origin;
    bool failed;
    struct str error_type, error_message; /* null */
};

static int64_t to_us(uint64_t ns)
{
    return (int64_t)(ns / 1000);
}

static const char *flaw_of(const struct otlp_span *span)
{
    if (span->flaw != NULL)
        return span->flaw;
    if (!span->trace.valid)
        return "its trace id must be 16 bytes (32 hex digits), not all zero";
    if (!span->span.valid)
        return "its span id must be 8 bytes (16 hex digits), not all zero";
    if (span->has_parent && !span->parent.valid)
        return "its parent's span id must be 8 bytes (16 hex digits), not all zero";
    if (span->start_ns == 0)
        return "it has no start time";
    if (span->start_ns > INT64_MAX || span->end_ns > INT64_MAX)
        return OTLP_FLAW_TIME;
    return NULL;
}

/* The attributes of a span's event; NULL: it has none. */
static const struct otlp_attribute *attributes_of(const struct otlp_span *span,
                                                  const struct otlp_event *event)
{
    return event->n == 0 ? NULL : span->inner.items + event->first;
}

/* An error is what the status says; without one, an error type says it. Its words are those of the
 * status, else of the last exception. */
static void find_error(struct subject *s)
{
    const struct otlp_span *span = s->span;
    struct known_values exception = { .values = { NULL } };

    s->error_type = known_text(&s->known, KNOWN_ERROR_TYPE);
    s->failed = span->status == OTLP_STATUS_ERROR ||
                (span->status != OTLP_STATUS_OK && !str_is_null(s->error_type));
    if (!s->failed) {
        s->error_type = STR_NULL;
        return;
    }
    for (size_t i = 0; i < span->n_events; i++)
        if (str_eq_c(span->events[i].name, "exception"))
            known_find(attributes_of(span, &span->events[i]), span->events[i].n, &exception);
    if (str_is_null(s->error_type))
        s->error_type = known_text(&exception, KNOWN_EXCEPTION_TYPE);
    s->error_message = span->status_message.len > 0
                           ? span->status_message
                           : known_text(&exception, KNOWN_EXCEPTION_MESSAGE);
    s->error_type = cut_text(s->error_type, NAME_BYTES_MAX);
    s->error_message = cut_text(s->error_message, MESSAGE_BYTES_MAX);
}

static const char *kind_name(uint64_t kind)
{
    static const char *const names[] = {
        "", "internal", "server", "client", "producer", "consumer"
    };

    return kind < COUNT_OF(names) ? names[kind] : "";
}

static void write_metadata(const struct subject *s, struct buf *out)
{
    const struct otlp_span *span = s->span;
    char hex[2 * OTLP_SPAN_BYTES];

    buf_add_char(out, '{');
    add_member(out, "span_id", otlp_hex(&span->span, OTLP_SPAN_BYTES, hex));
    if (span->has_parent)
        add_member(out, "parent_span_id", otlp_hex(&span->parent, OTLP_SPAN_BYTES, hex));
    add_member(out, "span_kind", str_of(kind_name(span->kind)));
    add_member(out, "service.name", cut_text(s->origin->service, NAME_BYTES_MAX));
    add_member(out, "scope", cut_text(span->scope, NAME_BYTES_MAX));
    buf_add_char(out, '}');
}

static bool write_events(const struct otlp_span *span, struct buf *out)
{
    for (size_t i = 0; i < span->n_events; i++) {
        const struct otlp_event *event = &span->events[i];

        buf_add_c(out, i == 0 ? ",\"events\":[{\"name\":" : ",{\"name\":");
        buf_add_json(out, event->name);
        buf_add_c(out, ",\"time_unix_nano\":");
        buf_printf(out, "\"%llu\"", (unsigned long long)event->time_ns);
        buf_add_c(out, ",\"attributes\":");
        if (!otlp_attributes_write(attributes_of(span, event), event->n, out))
            return false;
        buf_add_char(out, '}');
    }
    if (span->n_events > 0)
        buf_add_char(out, ']');
    return true;
}

static void write_links(const struct otlp_span *span, struct buf *out)
{
    char hex[2 * OTLP_TRACE_BYTES];

    for (size_t i = 0; i < span->n_links; i++) {
        const struct otlp_link *link = &span->links[i];

        buf_add_c(out, i == 0 ? ",\"links\":[{\"trace_id\":" : ",{\"trace_id\":");
        buf_add_json(out, otlp_hex(&link->trace, OTLP_TRACE_BYTES, hex));
        buf_add_c(out, ",\"span_id\":");
        buf_add_json(out, otlp_hex(&link->span, OTLP_SPAN_BYTES, hex));
        buf_add_char(out, '}');
    }
    if (span->n_links > 0)
        buf_add_char(out, ']');
}

/* Everything the span carries. */
static const char *write_output(struct intake *in, const struct otlp_span *span, struct str *ret)
{
    struct buf *out = begin_output(in, &span->attributes);

    if (out == NULL || !write_events(span, out))
        return OTLP_FLAW_NESTED;
    write_links(span, out);
    return end_output(in, out, ret);
}

/* As an object of one member. */
static const char *write_resource(struct intake *in, const struct otlp_resource *resource,
                                  struct str *ret)
{
    const struct otlp_attributes *attributes = &resource->attributes;
    struct buf *out = begin_text(in);

    buf_add_c(out, "{\"resource\":");
    if (!otlp_attributes_write(attributes->items, attributes->n, out))
        return OTLP_FLAW_NESTED;
    return end_output(in, out, ret);
}

/* Everything the resource carries, which the start of a run keeps. */
static const char *repeat_resource(struct intake *in, const struct otlp_resource *resource,
                                   struct str *ret)
{
    struct intake_resource *r = resource_of(in, resource);

    if (!r->written)
        r->flaw = write_resource(in, resource, &r->text);
    else if (r->flaw == NULL && !repeat_text(in, r->text))
        return OTLP_FLAW_SIZE;
    r->written = true;
    *ret = r->text;
    return r->flaw;
}

static struct str category_of(const struct known_values *known)
{
    struct str operation = known_text(known, KNOWN_OPERATION);
    struct str category = str_is_null(operation) ? known_text(known, KNOWN_SPAN_KIND) : operation;

    return str_is_null(category) ? STR_LIT("") : cut_text(category, NAME_BYTES_MAX);
}

static struct str version_of(const struct subject *s)
{
    const struct str versions[] = { known_text(&s->known, KNOWN_AGENT_VERSION),
                                    known_text(s->resource, KNOWN_AGENT_VERSION),
                                    known_text(s->resource, KNOWN_SERVICE_VERSION) };

    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (!str_is_null(versions[i]))
            return cut_text(versions[i], NAME_BYTES_MAX);
    return STR_LIT("");
}

/* What all events of the span have in common. */
static const char *fill_common(struct intake *in, const struct subject *s,
                               struct telemetry_event *ret)
{
    *ret = (struct telemetry_event){ .agent_version = version_of(s),
                                     .client_id = in->slug,
                                     .run_id = run_id_of(in, &s->span->trace),
                                     .message = cut_text(s->span->name, MESSAGE_BYTES_MAX),
                                     .level = STR_LIT("info"),
                                     .category = category_of(&s->known),
                                     .source = source_of(in, &s->known),
                                     .metrics = STR_LIT("{}"),
                                     .links = STR_LIT("[]") };
    write_metadata(s, begin_text(in));
    ret->metadata = keep_text(in);
    return str_is_null(ret->metadata) ? OTLP_FLAW_SIZE : NULL;
}

static struct telemetry_event *add_event(struct intake *in, struct intake_origin *origin,
                                         const struct telemetry_event *common)
{
    struct telemetry_event *event = rows_add(&in->events);

    *event = *common;
    origin->n_events++;
    return event;
}

/* The opening of the run; of another span only while it has not ended. */
static const char *add_start(struct intake *in, const struct subject *s,
                             const struct telemetry_event *common)
{
    bool is_root = !s->span->has_parent;
    struct telemetry_event *event;
    struct str output = STR_NULL;
    const char *flaw = is_root ? repeat_resource(in, s->span->resource, &output) : NULL;

    if (flaw != NULL)
        return flaw;
    event = add_event(in, s->origin, common);
    event->event_id = event_id_of(in, s->origin, "start");
    event->event = is_root ? EVENT_STARTED : EVENT_IN_PROGRESS;
    event->timestamp = to_us(s->span->start_ns);
    event->seq = is_root ? SEQ_START : SEQ_STEP;
    event->output = output;
    return NULL;
}

/* The close of the run, or a step. */
static const char *add_end(struct intake *in, const struct subject *s,
                           const struct telemetry_event *common, const struct tokens *tokens)
{
    const struct otlp_span *span = s->span;
    bool is_root = !span->has_parent;
    uint64_t end_ns = span->end_ns < span->start_ns ? span->start_ns : span->end_ns;
    struct telemetry_event *event;
    struct str output, metrics;
    const char *flaw = write_output(in, span, &output);

    if (flaw != NULL)
        return flaw;
    tokens_write(tokens, begin_text(in));
    metrics = keep_text(in);
    if (str_is_null(metrics))
        return OTLP_FLAW_SIZE;
    event = add_event(in, s->origin, common);
    event->event_id = event_id_of(in, s->origin, is_root ? "end" : "step");
    event->event = !is_root ? EVENT_IN_PROGRESS : s->failed ? EVENT_FAILED : EVENT_COMPLETED;
    event->timestamp = to_us(is_root ? end_ns : span->start_ns);
    event->duration_ms = (struct opt_int){ true, (int64_t)((end_ns - span->start_ns) / 1000000) };
    event->error_type = s->error_type;
    event->error_message = s->error_message;
    event->level = s->failed ? STR_LIT("error") : STR_LIT("info");
    event->seq = is_root ? SEQ_END : SEQ_STEP;
    event->output = output;
    event->metrics = metrics;
    return NULL;
}

static int64_t or_zero(int64_t count)
{
    return count < 0 ? 0 : count;
}

static const char *add_usage(struct intake *in, const struct subject *s,
                             const struct telemetry_event *common, const struct tokens *tokens)
{
    struct str model = known_text(&s->known, KNOWN_MODEL);
    struct intake_usage *usage;

    if (!tokens->counts)
        return NULL;
    if (model.len > NAME_BYTES_MAX)
        return "the name of its model has more than 256 bytes";
    usage = rows_add(&in->usages);
    usage->origin = in->origins.n - 1;
    usage->usage = (struct llm_usage){ .agent_version = common->agent_version,
                                       .client_id = in->slug,
                                       .run_id = common->run_id,
                                       .timestamp = to_us(s->span->start_ns),
                                       .model = str_is_null(model) ? STR_LIT("unknown") : model,
                                       .input_tokens = or_zero(tokens->input),
                                       .output_tokens = or_zero(tokens->output),
                                       .cache_read_tokens = or_zero(tokens->cache_read),
                                       .cache_write_tokens = or_zero(tokens->cache_write),
                                       .calls = 1,
                                       .input_includes_cache = { true, false } };
    return NULL;
}

static const char *add_parts(struct intake *in, const struct subject *s)
{
    const struct otlp_span *span = s->span;
    const struct tokens tokens = tokens_of(&s->known);
    struct telemetry_event common;
    const char *flaw = fill_common(in, s, &common);

    s->origin->kind = tokens.kind;
    if (flaw == NULL && (!span->has_parent || span->end_ns == 0))
        flaw = add_start(in, s, &common);
    if (flaw == NULL && span->end_ns != 0)
        flaw = add_end(in, s, &common, &tokens);
    if (flaw == NULL && span->end_ns != 0)
        flaw = add_usage(in, s, &common, &tokens);
    return flaw;
}

static const char *take_span(struct intake *in, const struct otlp_span *span)
{
    const char *flaw = flaw_of(span);
    struct subject s = { .span = span };

    if (flaw != NULL)
        return flaw;
    known_find(span->attributes.items, span->attributes.n, &s.known);
    s.resource = &resource_of(in, span->resource)->known;
    find_error(&s);
    s.origin = rows_add(&in->origins);
    *s.origin = (struct intake_origin){ .trace = span->trace,
                                        .span = span->span,
                                        .parent = span->parent,
                                        .is_span = true,
                                        .has_parent = span->has_parent,
                                        .agent = known_text(&s.known, KNOWN_AGENT),
                                        .service = known_text(s.resource, KNOWN_SERVICE),
                                        .first_event = in->events.n };
    if (str_is_null(s.origin->agent))
        s.origin->agent = known_text(s.resource, KNOWN_AGENT);
    flaw = add_parts(in, &s);
    if (flaw != NULL) {
        in->events.n = s.origin->first_event;
        in->origins.n--;
    }
    return flaw;
}

bool intake_on_span(void *ctx, const struct otlp_span *span)
{
    struct intake *in = ctx;

    return count_record(in) && done_with(in, "span", &span->span, take_span(in, span));
}

/* --- log records --- */

static const char *flaw_of_log(const struct otlp_log *log)
{
    if (log->flaw != NULL)
        return log->flaw;
    if (log->time_ns > INT64_MAX || log->observed_ns > INT64_MAX)
        return OTLP_FLAW_TIME;
    if (!log->trace.valid)
        return "it has no valid trace id, so it belongs to no run";
    return NULL;
}

/* Severities are in fours: trace, debug, info, warning, error, fatal. */
static struct str level_of(const struct otlp_log *log)
{
    if (log->severity == 0 || log->severity > 24)
        return STR_LIT("info"); /* unspecified */
    if (log->severity <= 8)
        return STR_LIT("debug");
    if (log->severity <= 12)
        return STR_LIT("info");
    return log->severity <= 16 ? STR_LIT("warning") : STR_LIT("error");
}

static void write_log_metadata(const struct otlp_log *log, struct str service, struct buf *out)
{
    char hex[2 * OTLP_SPAN_BYTES];

    buf_add_char(out, '{');
    if (log->span.valid)
        add_member(out, "parent_span_id", otlp_hex(&log->span, OTLP_SPAN_BYTES, hex));
    add_member(out, "severity", cut_text(log->severity_text, NAME_BYTES_MAX));
    add_member(out, "service.name", cut_text(service, NAME_BYTES_MAX));
    add_member(out, "scope", cut_text(log->scope, NAME_BYTES_MAX));
    buf_add_char(out, '}');
}

/* Everything the record carries; a body that is text is the message of the event. */
static const char *write_log_output(struct intake *in, const struct otlp_log *log, struct str *ret)
{
    struct buf *out = begin_output(in, &log->attributes);

    if (out == NULL)
        return OTLP_FLAW_NESTED;
    if (log->body.kind != OTLP_NONE && log->body.kind != OTLP_TEXT) {
        buf_add_c(out, ",\"body\":");
        if (!otlp_value_write(&log->body, out))
            return OTLP_FLAW_NESTED;
    }
    return end_output(in, out, ret);
}

/* "log-" and the digest of everything that tells this record from another one of its span. */
static struct str part_of(struct intake *in, const struct otlp_log *log, struct str output)
{
    struct buf *out = begin_text(in);
    char digits[2 * MARK_BYTES];
    struct otlp_id id = { .valid = true };
    struct mark mark;

    out->max = in->bytes_max; /* it is not kept, and is the same however much room is left */
    buf_printf(out, "%llu %llu %llu ", (unsigned long long)log->time_ns,
               (unsigned long long)(log->time_ns == 0 ? log->observed_ns : 0),
               (unsigned long long)log->severity);
    buf_add_json(out, log->event_name);
    buf_add_json(out, cut_text(log->scope, NAME_BYTES_MAX));
    buf_add_json(out, log->severity_text);
    buf_add(out, output);
    if (log->body.kind == OTLP_TEXT)
        buf_add(out, log->body.text);
    mark = digest_mark(buf_str(out));
    memcpy(id.bytes, mark.bytes, MARK_BYTES);
    return arena_printf(in->arena, "log-%.*s", (int)sizeof(digits),
                        otlp_hex(&id, MARK_BYTES, digits).data);
}

static struct str message_of(const struct otlp_log *log)
{
    struct str text = log->body.kind == OTLP_TEXT ? log->body.text : log->event_name;

    return cut_text(text, MESSAGE_BYTES_MAX);
}

static int64_t time_of(const struct intake *in, const struct otlp_log *log)
{
    uint64_t ns = log->time_ns != 0 ? log->time_ns : log->observed_ns;

    return ns != 0 ? (int64_t)(ns / 1000) : in->received_at;
}

static const char *fill_event(struct intake *in, const struct otlp_log *log,
                              const struct intake_origin *origin, const struct known_values *known,
                              struct telemetry_event *ret)
{
    const struct known_values *resource = &resource_of(in, log->resource)->known;
    const struct str version = known_text(resource, KNOWN_SERVICE_VERSION);
    const char *flaw;

    *ret = (struct telemetry_event){
        .agent_version = str_is_null(version) ? STR_LIT("") : cut_text(version, NAME_BYTES_MAX),
        .client_id = in->slug,
        .run_id = run_id_of(in, &log->trace),
        .event = EVENT_IN_PROGRESS,
        .timestamp = time_of(in, log),
        .error_type = cut_text(known_text(known, KNOWN_EXCEPTION_TYPE), NAME_BYTES_MAX),
        .error_message = cut_text(known_text(known, KNOWN_EXCEPTION_MESSAGE), MESSAGE_BYTES_MAX),
        .message = message_of(log),
        .level = level_of(log),
        .category = cut_text(log->event_name, NAME_BYTES_MAX),
        .source = source_of(in, known),
        .seq = SEQ_STEP,
        .metrics = STR_LIT("{}"),
        .links = STR_LIT("[]"),
    };
    flaw = write_log_output(in, log, &ret->output);
    if (flaw != NULL)
        return flaw;
    ret->event_id = event_id_of(in, origin, part_of(in, log, ret->output).data);
    write_log_metadata(log, origin->service, begin_text(in));
    ret->metadata = keep_text(in);
    return str_is_null(ret->metadata) ? OTLP_FLAW_SIZE : NULL;
}

static const char *take_log(struct intake *in, const struct otlp_log *log)
{
    const char *flaw = flaw_of_log(log);
    const struct known_values *resource;
    struct known_values known;
    struct telemetry_event event;
    struct intake_origin origin;

    if (flaw != NULL)
        return flaw;
    known_find(log->attributes.items, log->attributes.n, &known);
    resource = &resource_of(in, log->resource)->known;
    origin = (struct intake_origin){ .trace = log->trace,
                                     .span = log->span,
                                     .agent = known_text(&known, KNOWN_AGENT),
                                     .service = known_text(resource, KNOWN_SERVICE),
                                     .first_event = in->events.n,
                                     .n_events = 1 };
    if (str_is_null(origin.agent))
        origin.agent = known_text(resource, KNOWN_AGENT);
    flaw = fill_event(in, log, &origin, &known, &event);
    if (flaw != NULL)
        return flaw;
    *(struct intake_origin *)rows_add(&in->origins) = origin;
    *(struct telemetry_event *)rows_add(&in->events) = event;
    return NULL;
}

bool intake_on_log(void *ctx, const struct otlp_log *log)
{
    struct intake *in = ctx;

    return count_record(in) && done_with(in, "log record of span", &log->span, take_log(in, log));
}
