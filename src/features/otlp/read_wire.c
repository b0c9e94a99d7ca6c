/* read_wire.c - OTLP in protobuf.
 *
 * The numbers are those of the fields in opentelemetry/proto. Fields may come in
 * any order, so a message whose parts need another part, such as the spans of a
 * resource, is read twice.
 */
#include "features/otlp/read.h"
#include "features/otlp/wire.h"
#include "shape/utf8.h"

struct reader {
    const struct otlp_sink *sink;
    enum otlp_result (*read_record)(struct reader *r, struct str message);
    struct otlp_resource resource;
    struct str scope;
    const char *origin_flaw; /* of the resource or the scope */
    struct otlp_span span;   /* keeps its lists from one to the next */
    struct otlp_log log;
    size_t events_capacity, links_capacity;
    bool malformed;
};

/* Text of a message, which must be UTF-8. */
static struct str take_text(struct reader *r, struct str bytes, const char **flaw)
{
    if (utf8_valid_len(bytes) != bytes.len)
        r->malformed = true;
    if (bytes.len > 0 && memchr(bytes.data, '\0', bytes.len) != NULL)
        *flaw = OTLP_FLAW_NUL;
    return bytes;
}

/* The message AnyValue. Of several members the last one counts. */
static struct otlp_value take_value(struct reader *r, struct str message, const char **flaw)
{
    struct otlp_value value = { .kind = OTLP_NONE };
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        switch (f.tag) {
        case WIRE_BYTES(1):
            value = (struct otlp_value){ .kind = OTLP_TEXT, .text = take_text(r, f.bytes, flaw) };
            break;
        case WIRE_VARINT(2):
            value = (struct otlp_value){ .kind = OTLP_BOOL, .integer = f.number != 0 };
            break;
        case WIRE_VARINT(3):
            value = (struct otlp_value){ .kind = OTLP_INT, .integer = (int64_t)f.number };
            break;
        case WIRE_FIXED64(4):
            value = (struct otlp_value){ .kind = OTLP_REAL, .real = wire_real(f.number) };
            break;
        case WIRE_BYTES(5):
        case WIRE_BYTES(6):
        case WIRE_BYTES(7):
            value = (struct otlp_value){ .kind = OTLP_WIRE, .text = message };
            break;
        default:
            break;
        }
    }
    r->malformed |= w.malformed;
    return value;
}

/* The message KeyValue. */
static struct otlp_attribute take_attribute(struct reader *r, struct str message, const char **flaw)
{
    struct otlp_attribute attribute = { .key = STR_LIT("") };
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (f.tag == WIRE_BYTES(1))
            attribute.key = take_text(r, f.bytes, flaw);
        else if (f.tag == WIRE_BYTES(2))
            attribute.value = take_value(r, f.bytes, flaw);
    }
    r->malformed |= w.malformed;
    return attribute;
}

static void add_attribute(struct reader *r, struct otlp_attributes *list, struct str message,
                          const char **flaw)
{
    const struct otlp_attribute attribute = take_attribute(r, message, flaw);

    if (!otlp_attributes_add(list, r->sink->arena, &attribute))
        *flaw = list->max == OTLP_INNER_MAX ? OTLP_FLAW_EVENTS : OTLP_FLAW_ATTRIBUTES;
}

static void add_event(struct reader *r, struct str message)
{
    struct otlp_span *span = &r->span;
    struct otlp_event event = { .name = STR_LIT(""), .first = span->inner.n };
    struct wire w = wire_of(message);
    struct wire_field f;

    if (span->n_events == OTLP_EVENTS_MAX) {
        span->flaw = OTLP_FLAW_EVENTS;
        return;
    }
    while (wire_next(&w, &f)) {
        if (f.tag == WIRE_FIXED64(1))
            event.time_ns = f.number;
        else if (f.tag == WIRE_BYTES(2))
            event.name = take_text(r, f.bytes, &span->flaw);
        else if (f.tag == WIRE_BYTES(3))
            add_attribute(r, &span->inner, f.bytes, &span->flaw);
    }
    r->malformed |= w.malformed;
    event.n = span->inner.n - event.first;
    if (span->n_events == r->events_capacity) {
        size_t capacity = r->events_capacity == 0 ? 8 : r->events_capacity * 2;

        span->events = arena_resize(r->sink->arena, span->events,
                                    r->events_capacity * sizeof(event), capacity * sizeof(event));
        r->events_capacity = capacity;
    }
    span->events[span->n_events++] = event;
}

static void add_link(struct reader *r, struct str message)
{
    struct otlp_span *span = &r->span;
    struct otlp_link link = { 0 };
    struct wire w = wire_of(message);
    struct wire_field f;

    if (span->n_links == OTLP_LINKS_MAX) {
        span->flaw = OTLP_FLAW_LINKS;
        return;
    }
    while (wire_next(&w, &f)) {
        if (f.tag == WIRE_BYTES(1))
            link.trace = otlp_id_of(f.bytes, OTLP_TRACE_BYTES);
        else if (f.tag == WIRE_BYTES(2))
            link.span = otlp_id_of(f.bytes, OTLP_SPAN_BYTES);
    }
    r->malformed |= w.malformed;
    if (span->n_links == r->links_capacity) {
        size_t capacity = r->links_capacity == 0 ? 8 : r->links_capacity * 2;

        span->links = arena_resize(r->sink->arena, span->links, r->links_capacity * sizeof(link),
                                   capacity * sizeof(link));
        r->links_capacity = capacity;
    }
    span->links[span->n_links++] = link;
}

/* The message Status. */
static void take_status(struct reader *r, struct str message)
{
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (f.tag == WIRE_BYTES(2))
            r->span.status_message = take_text(r, f.bytes, &r->span.flaw);
        else if (f.tag == WIRE_VARINT(3))
            r->span.status = f.number;
    }
    r->malformed |= w.malformed;
}

static void take_span_field(struct reader *r, const struct wire_field *f)
{
    struct otlp_span *span = &r->span;

    switch (f->tag) {
    case WIRE_BYTES(1):
        span->trace = otlp_id_of(f->bytes, OTLP_TRACE_BYTES);
        break;
    case WIRE_BYTES(2):
        span->span = otlp_id_of(f->bytes, OTLP_SPAN_BYTES);
        break;
    case WIRE_BYTES(4):
        span->parent = otlp_id_of(f->bytes, OTLP_SPAN_BYTES);
        /* a parent of zeroes is what some exporters write for none */
        span->has_parent =
            span->parent.valid || (f->bytes.len > 0 && f->bytes.len != OTLP_SPAN_BYTES);
        break;
    case WIRE_BYTES(5):
        span->name = take_text(r, f->bytes, &span->flaw);
        break;
    case WIRE_VARINT(6):
        span->kind = f->number;
        break;
    case WIRE_FIXED64(7):
        span->start_ns = f->number;
        break;
    case WIRE_FIXED64(8):
        span->end_ns = f->number;
        break;
    case WIRE_BYTES(9):
        add_attribute(r, &span->attributes, f->bytes, &span->flaw);
        break;
    case WIRE_BYTES(11):
        add_event(r, f->bytes);
        break;
    case WIRE_BYTES(13):
        add_link(r, f->bytes);
        break;
    case WIRE_BYTES(15):
        take_status(r, f->bytes);
        break;
    default:
        break;
    }
}

/* Hands a record to the sink. */
static enum otlp_result finish(const struct reader *r, bool taken)
{
    if (r->malformed)
        return OTLP_MALFORMED;
    return taken ? OTLP_READ : OTLP_STOPPED;
}

static enum otlp_result read_span(struct reader *r, struct str message)
{
    struct wire w = wire_of(message);
    struct otlp_span *span = &r->span;
    struct wire_field f;

    span->attributes.n = span->inner.n = span->n_events = span->n_links = 0;
    *span = (struct otlp_span){ .resource = &r->resource,
                                .scope = r->scope,
                                .name = STR_LIT(""),
                                .status_message = STR_LIT(""),
                                .attributes = span->attributes,
                                .inner = span->inner,
                                .events = span->events,
                                .links = span->links,
                                .flaw = r->origin_flaw };
    while (wire_next(&w, &f))
        take_span_field(r, &f);
    r->malformed |= w.malformed;
    return finish(r, r->malformed || r->sink->on_span(r->sink->ctx, span));
}

static void take_log_field(struct reader *r, const struct wire_field *f)
{
    struct otlp_log *log = &r->log;

    switch (f->tag) {
    case WIRE_FIXED64(1):
        log->time_ns = f->number;
        break;
    case WIRE_VARINT(2):
        log->severity = f->number;
        break;
    case WIRE_BYTES(3):
        log->severity_text = take_text(r, f->bytes, &log->flaw);
        break;
    case WIRE_BYTES(5):
        log->body = take_value(r, f->bytes, &log->flaw);
        break;
    case WIRE_BYTES(6):
        add_attribute(r, &log->attributes, f->bytes, &log->flaw);
        break;
    case WIRE_BYTES(9):
        log->trace = otlp_id_of(f->bytes, OTLP_TRACE_BYTES);
        break;
    case WIRE_BYTES(10):
        log->span = otlp_id_of(f->bytes, OTLP_SPAN_BYTES);
        break;
    case WIRE_FIXED64(11):
        log->observed_ns = f->number;
        break;
    case WIRE_BYTES(12):
        log->event_name = take_text(r, f->bytes, &log->flaw);
        break;
    default:
        break;
    }
}

static enum otlp_result read_log(struct reader *r, struct str message)
{
    struct wire w = wire_of(message);
    struct otlp_log *log = &r->log;
    struct wire_field f;

    log->attributes.n = 0;
    *log = (struct otlp_log){ .resource = &r->resource,
                              .scope = r->scope,
                              .severity_text = STR_LIT(""),
                              .event_name = STR_LIT(""),
                              .attributes = log->attributes,
                              .flaw = r->origin_flaw };
    while (wire_next(&w, &f))
        take_log_field(r, &f);
    r->malformed |= w.malformed;
    return finish(r, r->malformed || r->sink->on_log(r->sink->ctx, log));
}

/* The message InstrumentationScope: its name. */
static void take_scope(struct reader *r, struct str message)
{
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(1))
            r->scope = take_text(r, f.bytes, &r->origin_flaw);
    r->malformed |= w.malformed;
}

static void take_resource(struct reader *r, struct str message)
{
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(1))
            add_attribute(r, &r->resource.attributes, f.bytes, &r->origin_flaw);
    r->malformed |= w.malformed;
}

/* Field 1 of a group, which says what its field 2 belongs to. */
static void take_head(struct reader *r, struct str group,
                      void (*take)(struct reader *r, struct str message))
{
    struct wire w = wire_of(group);
    struct wire_field f;

    while (wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(1))
            take(r, f.bytes);
    r->malformed |= w.malformed;
}

/* Field 2 of a group, each in turn. */
static enum otlp_result read_each(struct reader *r, struct str group,
                                  enum otlp_result (*read)(struct reader *r, struct str message))
{
    enum otlp_result result = r->malformed ? OTLP_MALFORMED : OTLP_READ;
    struct wire w = wire_of(group);
    struct wire_field f;

    while (result == OTLP_READ && wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(2))
            result = read(r, f.bytes);
    return result;
}

/* The messages ScopeSpans and ScopeLogs. */
static enum otlp_result read_scope(struct reader *r, struct str message)
{
    const char *resource_flaw = r->origin_flaw;
    enum otlp_result result;

    r->scope = STR_LIT("");
    take_head(r, message, take_scope);
    result = read_each(r, message, r->read_record);
    r->origin_flaw = resource_flaw;
    return result;
}

/* The messages ResourceSpans and ResourceLogs. */
static enum otlp_result read_resource(struct reader *r, struct str message)
{
    r->resource.attributes.n = 0;
    r->resource.number++;
    r->origin_flaw = NULL;
    take_head(r, message, take_resource);
    return read_each(r, message, read_scope);
}

static enum otlp_result read_body(struct str body, struct reader *r)
{
    enum otlp_result result = OTLP_READ;
    struct wire w = wire_of(body);
    struct wire_field f;

    r->resource.attributes.max = OTLP_ATTRIBUTES_MAX;
    r->span.attributes.max = r->log.attributes.max = OTLP_ATTRIBUTES_MAX;
    r->span.inner.max = OTLP_INNER_MAX;
    while (result == OTLP_READ && wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(1))
            result = read_resource(r, f.bytes);
    return w.malformed ? OTLP_MALFORMED : result;
}

enum otlp_result otlp_read_spans_wire(struct str body, const struct otlp_sink *sink)
{
    struct reader r = { .sink = sink, .read_record = read_span };

    return read_body(body, &r);
}

enum otlp_result otlp_read_logs_wire(struct str body, const struct otlp_sink *sink)
{
    struct reader r = { .sink = sink, .read_record = read_log };

    return read_body(body, &r);
}

static bool write_value(struct str any_value, unsigned depth, struct buf *out);

/* An entry of the message KeyValueList. */
static bool write_pair(struct str message, unsigned depth, struct buf *out)
{
    struct str key = STR_LIT(""), value = STR_LIT("");
    struct reader r = { .malformed = false };
    struct wire w = wire_of(message);
    const char *flaw = NULL;
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (f.tag == WIRE_BYTES(1))
            key = take_text(&r, f.bytes, &flaw);
        else if (f.tag == WIRE_BYTES(2))
            value = f.bytes;
    }
    if (w.malformed || r.malformed || flaw != NULL)
        return false;
    buf_add_json(out, key);
    buf_add_char(out, ':');
    return write_value(value, depth, out);
}

/* The message ArrayValue as an array, or KeyValueList as an object: field 1 of both. */
static bool write_list(struct str message, bool is_map, unsigned depth, struct buf *out)
{
    struct wire w = wire_of(message);
    struct wire_field f;
    bool more = false;

    buf_add_char(out, is_map ? '{' : '[');
    while (wire_next(&w, &f)) {
        if (f.tag != WIRE_BYTES(1))
            continue;
        if (more)
            buf_add_char(out, ',');
        more = true;
        if (!(is_map ? write_pair : write_value)(f.bytes, depth + 1, out))
            return false;
    }
    buf_add_char(out, is_map ? '}' : ']');
    return !w.malformed;
}

/* Nested values, and bytes. */
static bool write_nested(struct str any_value, unsigned depth, struct buf *out)
{
    struct wire w = wire_of(any_value);
    struct wire_field f, last = { .tag = 0 };

    while (wire_next(&w, &f))
        if (f.tag == WIRE_BYTES(5) || f.tag == WIRE_BYTES(6) || f.tag == WIRE_BYTES(7))
            last = f;
    if (last.tag == WIRE_BYTES(7)) {
        otlp_add_base64(out, last.bytes);
        return true;
    }
    return write_list(last.bytes, last.tag == WIRE_BYTES(6), depth, out);
}

static bool write_value(struct str any_value, unsigned depth, struct buf *out)
{
    struct reader r = { .malformed = false };
    const char *flaw = NULL;
    const struct otlp_value value = take_value(&r, any_value, &flaw);

    if (r.malformed || flaw != NULL || depth > OTLP_DEPTH_MAX)
        return false;
    if (value.kind == OTLP_WIRE)
        return write_nested(any_value, depth, out);
    return otlp_value_write(&value, out);
}

bool otlp_wire_write(struct str any_value, struct buf *out)
{
    return write_value(any_value, 1, out);
}
