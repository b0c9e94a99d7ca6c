/* read_json.c - OTLP in JSON.
 *
 * The mapping is protobuf's, but for what OTLP changes: ids are hexadecimal and
 * enumerations are numbers. 64-bit integers may be numbers or strings. Members
 * that are not known are ignored, and null counts as left out.
 */
#include "features/otlp/json_fault.h"
#include "features/otlp/json_scalars.h"
#include "features/otlp/read.h"
#include "shape/json.h"

struct reader {
    const struct otlp_sink *sink;
    const char *scopes, *records; /* names of the two inner lists */
    enum otlp_result (*read_record)(struct reader *r, yyjson_val *object);
    struct otlp_resource resource;
    struct str scope;
    const char *origin_flaw;
    struct otlp_span span; /* keeps its lists from one to the next */
    struct otlp_log log;
    size_t events_capacity, links_capacity;
    bool malformed;       /* some member has a type that it cannot have */
    yyjson_val *wrong;    /* the first of them */
    const char *expected; /* its type, in words */
    bool plain;           /* no text has NUL */
};

static void set_malformed(struct reader *r, yyjson_val *value, const char *expected)
{
    if (!r->malformed) {
        r->wrong = value;
        r->expected = expected;
    }
    r->malformed = true;
}

/* NULL: not there. */
static yyjson_val *member(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);

    return yyjson_is_null(value) ? NULL : value;
}

static struct str take_text(struct reader *r, yyjson_val *value, const char **flaw)
{
    struct str text;

    if (value == NULL)
        return STR_LIT("");
    if (!yyjson_is_str(value)) {
        set_malformed(r, value, "a string");
        return STR_LIT("");
    }
    text = json_str(value);
    if (!r->plain && text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
        *flaw = OTLP_FLAW_NUL;
    return text;
}

static uint64_t take_number(struct reader *r, yyjson_val *value)
{
    uint64_t number = 0;

    if (value != NULL && !otlp_json_integer(value, &number))
        set_malformed(r, value, "a 64-bit integer, as a number or as digits in a string");
    return number;
}

static double take_real(struct reader *r, yyjson_val *value)
{
    double real = 0;

    if (!otlp_json_real(value, &real))
        set_malformed(r, value, "a number, or \"NaN\", \"Infinity\" or \"-Infinity\"");
    return real;
}

/* An id is null, empty, or hexadecimal digits of which each pair is a byte. */
static struct otlp_id take_id(struct reader *r, yyjson_val *value, size_t len)
{
    const char *flaw = NULL;
    struct str text = take_text(r, value, &flaw);
    char bytes[OTLP_TRACE_BYTES];

    if (text.len != 2 * len)
        return (struct otlp_id){ .valid = false };
    for (size_t i = 0; i < len; i++) {
        int high = str_hex_digit(text.data[2 * i]), low = str_hex_digit(text.data[2 * i + 1]);

        if (high < 0 || low < 0)
            return (struct otlp_id){ .valid = false };
        bytes[i] = (char)(high << 4 | low);
    }
    return otlp_id_of(str_from(bytes, len), len);
}

static yyjson_val *take_list(struct reader *r, yyjson_val *object, const char *name)
{
    yyjson_val *list = member(object, name);

    if (list != NULL && !yyjson_is_arr(list)) {
        set_malformed(r, list, "an array");
        return NULL;
    }
    return list;
}

static yyjson_val *take_object(struct reader *r, yyjson_val *value)
{
    if (value != NULL && !yyjson_is_obj(value)) {
        set_malformed(r, value, "an object");
        return NULL;
    }
    return value;
}

static struct otlp_value text_value(struct str text)
{
    return (struct otlp_value){ .kind = OTLP_TEXT, .text = text };
}

/* Bytes stay in base64. */
static struct otlp_value take_bytes(struct reader *r, yyjson_val *value, const char **flaw)
{
    struct str text = take_text(r, value, flaw);

    if (!otlp_is_base64(text))
        set_malformed(r, value, "bytes in base64");
    return text_value(text);
}

static struct otlp_value take_bool(struct reader *r, yyjson_val *value)
{
    if (!yyjson_is_bool(value))
        set_malformed(r, value, "true or false");
    return (struct otlp_value){ .kind = OTLP_BOOL, .integer = yyjson_is_true(value) };
}

/* A value of one of the types; of several the first of this list counts. */
static struct otlp_value take_value(struct reader *r, yyjson_val *object, const char **flaw)
{
    yyjson_val *text = member(object, "stringValue"), *integer = member(object, "intValue");
    yyjson_val *boolean = member(object, "boolValue"), *real = member(object, "doubleValue");
    yyjson_val *bytes = member(object, "bytesValue");

    if (take_object(r, object) == NULL)
        return (struct otlp_value){ .kind = OTLP_NONE };
    if (text != NULL)
        return text_value(take_text(r, text, flaw));
    if (integer != NULL)
        return (struct otlp_value){ .kind = OTLP_INT, .integer = (int64_t)take_number(r, integer) };
    if (boolean != NULL)
        return take_bool(r, boolean);
    if (real != NULL)
        return (struct otlp_value){ .kind = OTLP_REAL, .real = take_real(r, real) };
    if (member(object, "arrayValue") != NULL || member(object, "kvlistValue") != NULL)
        return (struct otlp_value){ .kind = OTLP_TREE, .tree = object };
    if (bytes != NULL)
        return take_bytes(r, bytes, flaw);
    return (struct otlp_value){ .kind = OTLP_NONE };
}

static void add_attributes(struct reader *r, struct otlp_attributes *list, yyjson_val *object,
                           const char **flaw)
{
    yyjson_val *item, *items = take_list(r, object, "attributes");
    size_t i, n;

    yyjson_arr_foreach(items, i, n, item)
    {
        struct otlp_attribute attribute;

        if (take_object(r, item) == NULL)
            return;
        attribute.key = take_text(r, member(item, "key"), flaw);
        attribute.value = take_value(r, member(item, "value"), flaw);
        if (!otlp_attributes_add(list, r->sink->arena, &attribute)) {
            *flaw = list->max == OTLP_INNER_MAX ? OTLP_FLAW_EVENTS : OTLP_FLAW_ATTRIBUTES;
            return;
        }
    }
}

static void add_events(struct reader *r, yyjson_val *list)
{
    struct otlp_span *span = &r->span;
    yyjson_val *item;
    size_t i, n;

    if (yyjson_arr_size(list) > OTLP_EVENTS_MAX) {
        span->flaw = OTLP_FLAW_EVENTS;
        return;
    }
    if (yyjson_arr_size(list) > r->events_capacity) {
        r->events_capacity = yyjson_arr_size(list);
        span->events = ARENA_ARRAY(r->sink->arena, struct otlp_event, r->events_capacity);
    }
    yyjson_arr_foreach(list, i, n, item)
    {
        struct otlp_event *event = &span->events[span->n_events++];

        (void)take_object(r, item);
        event->first = span->inner.n;
        event->time_ns = take_number(r, member(item, "timeUnixNano"));
        event->name = take_text(r, member(item, "name"), &span->flaw);
        add_attributes(r, &span->inner, item, &span->flaw);
        event->n = span->inner.n - event->first;
    }
}

static void add_links(struct reader *r, yyjson_val *list)
{
    struct otlp_span *span = &r->span;
    yyjson_val *item;
    size_t i, n;

    if (yyjson_arr_size(list) > OTLP_LINKS_MAX) {
        span->flaw = OTLP_FLAW_LINKS;
        return;
    }
    if (yyjson_arr_size(list) > r->links_capacity) {
        r->links_capacity = yyjson_arr_size(list);
        span->links = ARENA_ARRAY(r->sink->arena, struct otlp_link, r->links_capacity);
    }
    yyjson_arr_foreach(list, i, n, item)
    {
        struct otlp_link *link = &span->links[span->n_links++];

        (void)take_object(r, item);
        link->trace = take_id(r, member(item, "traceId"), OTLP_TRACE_BYTES);
        link->span = take_id(r, member(item, "spanId"), OTLP_SPAN_BYTES);
    }
}

/* A parent of zeroes is what some exporters write for none. */
static bool is_no_id(yyjson_val *value)
{
    struct str text = yyjson_is_str(value) ? json_str(value) : STR_LIT("");

    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != '0')
            return false;
    return value == NULL || text.len == 0 || text.len == (size_t)2 * OTLP_SPAN_BYTES;
}

static enum otlp_result finish(const struct reader *r, bool taken)
{
    if (r->malformed)
        return OTLP_MALFORMED;
    return taken ? OTLP_READ : OTLP_STOPPED;
}

static enum otlp_result read_span(struct reader *r, yyjson_val *object)
{
    struct otlp_span *span = &r->span;
    yyjson_val *status = take_object(r, member(object, "status"));
    const char *flaw = r->origin_flaw;

    span->attributes.n = span->inner.n = 0;
    *span = (struct otlp_span){
        .resource = &r->resource,
        .scope = r->scope,
        .trace = take_id(r, member(object, "traceId"), OTLP_TRACE_BYTES),
        .span = take_id(r, member(object, "spanId"), OTLP_SPAN_BYTES),
        .parent = take_id(r, member(object, "parentSpanId"), OTLP_SPAN_BYTES),
        .has_parent = !is_no_id(member(object, "parentSpanId")),
        .name = take_text(r, member(object, "name"), &flaw),
        .kind = take_number(r, member(object, "kind")),
        .start_ns = take_number(r, member(object, "startTimeUnixNano")),
        .end_ns = take_number(r, member(object, "endTimeUnixNano")),
        .status = take_number(r, member(status, "code")),
        .status_message = take_text(r, member(status, "message"), &flaw),
        .attributes = span->attributes,
        .inner = span->inner,
        .events = span->events,
        .links = span->links,
    };
    span->flaw = flaw;
    add_attributes(r, &span->attributes, object, &span->flaw);
    add_events(r, take_list(r, object, "events"));
    add_links(r, take_list(r, object, "links"));
    return finish(r, r->malformed || r->sink->on_span(r->sink->ctx, span));
}

static enum otlp_result read_log(struct reader *r, yyjson_val *object)
{
    struct otlp_log *log = &r->log;
    const char *flaw = r->origin_flaw;

    log->attributes.n = 0;
    *log = (struct otlp_log){
        .resource = &r->resource,
        .scope = r->scope,
        .trace = take_id(r, member(object, "traceId"), OTLP_TRACE_BYTES),
        .span = take_id(r, member(object, "spanId"), OTLP_SPAN_BYTES),
        .time_ns = take_number(r, member(object, "timeUnixNano")),
        .observed_ns = take_number(r, member(object, "observedTimeUnixNano")),
        .severity = take_number(r, member(object, "severityNumber")),
        .severity_text = take_text(r, member(object, "severityText"), &flaw),
        .event_name = take_text(r, member(object, "eventName"), &flaw),
        .body = take_value(r, member(object, "body"), &flaw),
        .attributes = log->attributes,
    };
    log->flaw = flaw;
    add_attributes(r, &log->attributes, object, &log->flaw);
    return finish(r, r->malformed || r->sink->on_log(r->sink->ctx, log));
}

static enum otlp_result read_metric(struct reader *r, yyjson_val *object)
{
    static const char *const kinds[] = { "gauge", "sum", "histogram", "exponentialHistogram",
                                         "summary" };
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        n += yyjson_arr_size(take_list(r, take_object(r, member(object, kinds[i])), "dataPoints"));
    return finish(r, r->malformed || r->sink->on_metrics(r->sink->ctx, n));
}

/* The objects of a list, each in turn. */
static enum otlp_result read_each(struct reader *r, yyjson_val *object, const char *name,
                                  enum otlp_result (*read)(struct reader *r, yyjson_val *object))
{
    yyjson_val *item, *list = take_list(r, object, name);
    enum otlp_result result = OTLP_READ;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        if (take_object(r, item) == NULL)
            break;
        result = read(r, item);
        if (result != OTLP_READ)
            return result;
    }
    return r->malformed ? OTLP_MALFORMED : result;
}

static enum otlp_result read_scope(struct reader *r, yyjson_val *object)
{
    const char *resource_flaw = r->origin_flaw;
    yyjson_val *scope = take_object(r, member(object, "scope"));
    enum otlp_result result;

    r->scope = take_text(r, member(scope, "name"), &r->origin_flaw);
    result = read_each(r, object, r->records, r->read_record);
    r->origin_flaw = resource_flaw;
    return result;
}

static enum otlp_result read_resource(struct reader *r, yyjson_val *object)
{
    yyjson_val *resource = take_object(r, member(object, "resource"));

    r->resource.attributes.n = 0;
    r->resource.number++;
    r->origin_flaw = NULL;
    add_attributes(r, &r->resource.attributes, resource, &r->origin_flaw);
    return read_each(r, object, r->scopes, read_scope);
}

/* Says why the body cannot be read. */
static enum otlp_result refuse(const struct otlp_sink *sink, struct str why)
{
    if (sink->why != NULL)
        *sink->why = why;
    return OTLP_MALFORMED;
}

static bool parse(const struct otlp_sink *sink, struct str body, struct json_doc *ret)
{
    struct json_fault fault;
    struct str flat;

    if (json_read(body, sink->arena, ret, &fault) == 0)
        return true;
    flat = otlp_json_flatten(body, sink->arena);
    if (!str_is_null(flat) && json_read(flat, sink->arena, ret, &fault) == 0)
        return true;
    (void)refuse(sink, arena_printf(sink->arena, "%s at character %zu", fault.error, fault.at));
    return false;
}

static enum otlp_result read_body(struct str body, const char *resources, struct reader *r)
{
    const struct otlp_sink *sink = r->sink;
    enum otlp_result result;
    struct json_doc doc;

    if (!parse(sink, body, &doc))
        return OTLP_MALFORMED;
    r->plain = doc.plain;
    r->resource.attributes.max = OTLP_ATTRIBUTES_MAX;
    r->span.attributes.max = r->log.attributes.max = OTLP_ATTRIBUTES_MAX;
    r->span.inner.max = OTLP_INNER_MAX;
    result = take_object(r, doc.root) == NULL ? OTLP_MALFORMED
                                              : read_each(r, doc.root, resources, read_resource);
    if (result == OTLP_MALFORMED) {
        struct str at = otlp_json_path(doc.root, r->wrong, sink->arena);

        (void)refuse(sink,
                     arena_printf(sink->arena, "%.*s should be %s", STR_ARG(at), r->expected));
    }
    return result;
}

enum otlp_result otlp_read_spans_json(struct str body, const struct otlp_sink *sink)
{
    struct reader r = {
        .sink = sink, .scopes = "scopeSpans", .records = "spans", .read_record = read_span
    };

    return read_body(body, "resourceSpans", &r);
}

enum otlp_result otlp_read_logs_json(struct str body, const struct otlp_sink *sink)
{
    struct reader r = {
        .sink = sink, .scopes = "scopeLogs", .records = "logRecords", .read_record = read_log
    };

    return read_body(body, "resourceLogs", &r);
}

enum otlp_result otlp_read_metrics_json(struct str body, const struct otlp_sink *sink)
{
    struct reader r = {
        .sink = sink, .scopes = "scopeMetrics", .records = "metrics", .read_record = read_metric
    };

    return read_body(body, "resourceMetrics", &r);
}

static bool write_value(struct reader *r, yyjson_val *object, unsigned depth, struct buf *out);

/* arrayValue as an array, or kvlistValue as an object. */
static bool write_list(struct reader *r, yyjson_val *list, bool is_map, unsigned depth,
                       struct buf *out)
{
    yyjson_val *item, *items = take_list(r, take_object(r, list), "values");
    const char *flaw = NULL;
    size_t i, n;

    buf_add_char(out, is_map ? '{' : '[');
    yyjson_arr_foreach(items, i, n, item)
    {
        if (i > 0)
            buf_add_char(out, ',');
        if (is_map && take_object(r, item) == NULL)
            return false;
        if (is_map) {
            buf_add_json(out, take_text(r, member(item, "key"), &flaw));
            buf_add_char(out, ':');
        }
        if (flaw != NULL || !write_value(r, is_map ? member(item, "value") : item, depth + 1, out))
            return false;
    }
    buf_add_char(out, is_map ? '}' : ']');
    return !r->malformed;
}

static bool write_value(struct reader *r, yyjson_val *object, unsigned depth, struct buf *out)
{
    const char *flaw = NULL;
    const struct otlp_value value = take_value(r, object, &flaw);
    yyjson_val *array;

    if (r->malformed || flaw != NULL || depth > OTLP_DEPTH_MAX)
        return false;
    if (value.kind != OTLP_TREE)
        return otlp_value_write(&value, out);
    array = member(object, "arrayValue");
    return write_list(r, array != NULL ? array : member(object, "kvlistValue"), array == NULL,
                      depth, out);
}

bool otlp_tree_write(struct yyjson_val *any_value, struct buf *out)
{
    struct reader r = { .malformed = false };

    return write_value(&r, any_value, 1, out);
}
