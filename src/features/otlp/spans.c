/* spans.c - a span as events of the run that its trace is.
 *
 * The root's start opens the run and its end closes it; any other span is one
 * step, at the time when it began. Ids are made of the span's own, so a span
 * that comes again, or late, or before its parent changes nothing or fits in.
 */
#include "features/otlp/intake.h"

/* Order of the events of a run with the same time: the start, the steps, the end. */
enum { SEQ_START, SEQ_STEP, SEQ_END };

enum { NAME_BYTES_MAX = 256, MESSAGE_BYTES_MAX = 16384 };

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
    s->error_type = intake_cut(s->error_type, NAME_BYTES_MAX);
    s->error_message = intake_cut(s->error_message, MESSAGE_BYTES_MAX);
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
    intake_add_member(out, "span_id", otlp_hex(&span->span, OTLP_SPAN_BYTES, hex));
    if (span->has_parent)
        intake_add_member(out, "parent_span_id", otlp_hex(&span->parent, OTLP_SPAN_BYTES, hex));
    intake_add_member(out, "span_kind", str_of(kind_name(span->kind)));
    intake_add_member(out, "service.name", intake_cut(s->origin->service, NAME_BYTES_MAX));
    intake_add_member(out, "scope", intake_cut(span->scope, NAME_BYTES_MAX));
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
    struct buf *out = intake_write(in);

    buf_add_c(out, "{\"attributes\":");
    if (!otlp_attributes_write(span->attributes.items, span->attributes.n, out) ||
        !write_events(span, out))
        return OTLP_FLAW_NESTED;
    write_links(span, out);
    buf_add_char(out, '}');
    *ret = intake_keep(in);
    return str_is_null(*ret) ? OTLP_FLAW_SIZE : NULL;
}

/* As an object of one member. */
static const char *write_resource(struct intake *in, const struct otlp_resource *resource,
                                  struct str *ret)
{
    const struct otlp_attributes *attributes = &resource->attributes;
    struct buf *out = intake_write(in);

    buf_add_c(out, "{\"resource\":");
    if (!otlp_attributes_write(attributes->items, attributes->n, out))
        return OTLP_FLAW_NESTED;
    buf_add_char(out, '}');
    *ret = intake_keep(in);
    return str_is_null(*ret) ? OTLP_FLAW_SIZE : NULL;
}

/* Everything the resource carries, which the start of a run keeps. */
static const char *repeat_resource(struct intake *in, const struct otlp_resource *resource,
                                   struct str *ret)
{
    struct intake_resource *r = intake_resource(in, resource);

    if (!r->written)
        r->flaw = write_resource(in, resource, &r->text);
    else if (r->flaw == NULL && !intake_repeat(in, r->text))
        return OTLP_FLAW_SIZE;
    r->written = true;
    *ret = r->text;
    return r->flaw;
}

static struct str category_of(const struct known_values *known)
{
    struct str operation = known_text(known, KNOWN_OPERATION);
    struct str category = str_is_null(operation) ? known_text(known, KNOWN_SPAN_KIND) : operation;

    return str_is_null(category) ? STR_LIT("") : intake_cut(category, NAME_BYTES_MAX);
}

static struct str version_of(const struct subject *s)
{
    const struct str versions[] = { known_text(&s->known, KNOWN_AGENT_VERSION),
                                    known_text(s->resource, KNOWN_AGENT_VERSION),
                                    known_text(s->resource, KNOWN_SERVICE_VERSION) };

    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (!str_is_null(versions[i]))
            return intake_cut(versions[i], NAME_BYTES_MAX);
    return STR_LIT("");
}

/* What all events of the span have in common. */
static const char *fill_common(struct intake *in, const struct subject *s,
                               struct telemetry_event *ret)
{
    *ret = (struct telemetry_event){ .agent_version = version_of(s),
                                     .client_id = in->slug,
                                     .run_id = intake_run_id(in, &s->span->trace),
                                     .message = intake_cut(s->span->name, MESSAGE_BYTES_MAX),
                                     .level = STR_LIT("info"),
                                     .category = category_of(&s->known),
                                     .source = intake_source(in, &s->known),
                                     .metrics = STR_LIT("{}"),
                                     .links = STR_LIT("[]") };
    write_metadata(s, intake_write(in));
    ret->metadata = intake_keep(in);
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
    event->event_id = intake_event_id(in, s->origin, "start");
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
    tokens_write(tokens, intake_write(in));
    metrics = intake_keep(in);
    if (str_is_null(metrics))
        return OTLP_FLAW_SIZE;
    event = add_event(in, s->origin, common);
    event->event_id = intake_event_id(in, s->origin, is_root ? "end" : "step");
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
    s.resource = &intake_resource(in, span->resource)->known;
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
    const char *flaw;

    if (!intake_count(in))
        return false;
    flaw = take_span(in, span);
    if (flaw != NULL)
        intake_refuse(in, "span", &span->span, flaw);
    return true;
}
