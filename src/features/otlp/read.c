/* read.c - OTLP in protobuf and JSON, by one table of fields.
 *
 * The numbers are those of opentelemetry/proto, the names those of its mapping to JSON, in which
 * ids are hexadecimal and enumerations are numbers. 64-bit integers may be numbers or strings
 * there, and null counts as left out. Fields that are not in the table are skipped. They may come
 * in any order, so a message whose fields need others of it, such as the spans of a resource, is
 * walked twice.
 */
#include <math.h>
#include <stddef.h>

#include "base/buf.h"
#include "features/otlp/records.h"
#include "features/otlp/wire.h"
#include "shape/json.h"
#include "shape/rows.h"

struct reader {
    const struct otlp_sink *sink;
    enum otlp_result result;
    bool plain;           /* no text has NUL */
    yyjson_val *wrong;    /* what is malformed in JSON */
    const char *expected; /* what it should be, in words */
    const char *flaw;     /* of the record, or of the scope or resource being read */

    /* The table's fields go into these. */
    struct otlp_resource resource;
    struct str scope;
    struct otlp_span span; /* keeps its lists from one to the next */
    struct otlp_log log;
    size_t n_points;
    struct otlp_event event;
    struct otlp_link link;
    struct otlp_attribute attribute;
    struct otlp_value value;
    struct rows events, links;       /* of the span */
    char id_bytes[OTLP_TRACE_BYTES]; /* of an id in JSON */

    struct buf *out; /* for nested values that are written */
    unsigned depth;
};

enum type {
    TEXT,      /* struct str */
    TRACE_ID,  /* struct otlp_id */
    SPAN_ID,   /* struct otlp_id */
    NUMBER,    /* uint64_t: a varint in protobuf */
    TIME,      /* uint64_t: eight bytes there */
    BOOL,      /* int64_t */
    REAL,      /* double */
    BYTES,     /* of r->value */
    NESTED,    /* of r->value: a message that is read when it is written */
    VALUE,     /* struct otlp_value: the message AnyValue */
    ATTRIBUTE, /* added to a struct otlp_attributes: the message KeyValue */
    MESSAGE,   /* its own table says where its fields go */
    COUNT,     /* size_t: how many there are */
};

struct otlp_message;

struct otlp_field {
    uint64_t tag;    /* in protobuf; 0 ends a table */
    struct str name; /* in JSON */
    enum type type;
    size_t at;                          /* in struct reader */
    bool many;                          /* an array in JSON */
    bool inner;                         /* walked after the message's other fields */
    enum otlp_kind kind;                /* of r->value, which this is a member of */
    const struct otlp_message *message; /* of MESSAGE */
};

struct otlp_message {
    const struct otlp_field *fields; /* up to a row of zeroes */
    bool (*begin)(struct reader *r); /* false: it is skipped */
    void (*end)(struct reader *r);
    bool owns_flaws; /* a flaw inside of it ends with it */
};

/* A message in one encoding or the other, or any other value in JSON. */
struct item {
    struct otlp_node node;
    struct str text; /* bytes of an id, too */
    uint64_t number;
    double real;
};

static void read_message(struct reader *r, const struct otlp_message *m,
                         const struct otlp_node *node);

static void set_malformed(struct reader *r, yyjson_val *value, const char *expected)
{
    r->result = OTLP_MALFORMED;
    r->wrong = value;
    r->expected = expected;
}

static bool begin_attribute(struct reader *r)
{
    r->attribute = (struct otlp_attribute){ .key = STR_LIT("") };
    return true;
}

static bool begin_value(struct reader *r)
{
    r->value = (struct otlp_value){ .kind = OTLP_NONE };
    return true;
}

static bool begin_event(struct reader *r)
{
    if (r->events.n == OTLP_EVENTS_MAX)
        r->flaw = OTLP_FLAW_EVENTS;
    r->event = (struct otlp_event){ .name = STR_LIT(""), .first = r->span.inner.n };
    return r->events.n < OTLP_EVENTS_MAX;
}

static void end_event(struct reader *r)
{
    r->event.n = r->span.inner.n - r->event.first;
    *(struct otlp_event *)rows_add(&r->events) = r->event;
}

static bool begin_link(struct reader *r)
{
    if (r->links.n == OTLP_LINKS_MAX)
        r->flaw = OTLP_FLAW_LINKS;
    r->link = (struct otlp_link){ 0 };
    return r->links.n < OTLP_LINKS_MAX;
}

static void end_link(struct reader *r)
{
    *(struct otlp_link *)rows_add(&r->links) = r->link;
}

static void set_taken(struct reader *r, bool taken)
{
    if (!taken)
        r->result = OTLP_STOPPED;
}

static bool begin_span(struct reader *r)
{
    struct otlp_span *span = &r->span;

    span->attributes.n = span->inner.n = r->events.n = r->links.n = 0;
    *span = (struct otlp_span){ .resource = &r->resource,
                                .scope = r->scope,
                                .name = STR_LIT(""),
                                .status_message = STR_LIT(""),
                                .attributes = span->attributes,
                                .inner = span->inner };
    return true;
}

static void end_span(struct reader *r)
{
    struct otlp_span *span = &r->span;

    span->has_parent = span->parent.given;
    span->events = r->events.items;
    span->n_events = r->events.n;
    span->links = r->links.items;
    span->n_links = r->links.n;
    span->flaw = r->flaw;
    set_taken(r, r->sink->on_span(r->sink->ctx, span));
}

static bool begin_log(struct reader *r)
{
    r->log.attributes.n = 0;
    r->log = (struct otlp_log){ .resource = &r->resource,
                                .scope = r->scope,
                                .severity_text = STR_LIT(""),
                                .event_name = STR_LIT(""),
                                .attributes = r->log.attributes };
    return true;
}

static void end_log(struct reader *r)
{
    r->log.flaw = r->flaw;
    set_taken(r, r->sink->on_log(r->sink->ctx, &r->log));
}

static bool begin_metric(struct reader *r)
{
    r->n_points = 0;
    return true;
}

static void end_metric(struct reader *r)
{
    set_taken(r, r->sink->on_metric(r->sink->ctx, r->n_points));
}

static bool begin_resource(struct reader *r)
{
    r->resource.attributes.n = 0;
    r->resource.number++;
    return true;
}

static bool begin_scope(struct reader *r)
{
    r->scope = STR_LIT("");
    return true;
}

/* clang-format off */
#define TAG(n, what) \
    ((what) == NUMBER || (what) == BOOL ? WIRE_VARINT(n) \
     : (what) == TIME || (what) == REAL ? WIRE_FIXED64(n) \
                                        : WIRE_BYTES(n))
#define FIELD(n, text, what, member, ...) \
    { .tag = TAG(n, what), .name = STR_INIT(text), .type = (what), .at = offsetof(struct reader, member), __VA_ARGS__ }
#define INNER(n, text, table, ...) \
    { .tag = WIRE_BYTES(n), .name = STR_INIT(text), .type = MESSAGE, .message = &(table), __VA_ARGS__ }
#define FIELDS(...) .fields = (const struct otlp_field[]){ __VA_ARGS__, { .tag = 0 } }

#define ANY_VALUE FIELDS( \
    FIELD(1, "stringValue", TEXT,   value.text,    .kind = OTLP_TEXT), \
    FIELD(2, "boolValue",   BOOL,   value.integer, .kind = OTLP_BOOL), \
    FIELD(3, "intValue",    NUMBER, value.integer, .kind = OTLP_INT), \
    FIELD(4, "doubleValue", REAL,   value.real,    .kind = OTLP_REAL), \
    FIELD(5, "arrayValue",  NESTED, value.node,    .kind = OTLP_ARRAY), \
    FIELD(6, "kvlistValue", NESTED, value.node,    .kind = OTLP_MAP), \
    FIELD(7, "bytesValue",  BYTES,  value.text,    .kind = OTLP_BYTES))
#define KEY_VALUE FIELDS( \
    FIELD(1, "key",   TEXT,  attribute.key), \
    FIELD(2, "value", VALUE, attribute.value))

static const struct otlp_message any_value = { ANY_VALUE, .begin = begin_value };
static const struct otlp_message key_value = { KEY_VALUE, .begin = begin_attribute };

static const struct otlp_message event = { FIELDS(
    FIELD(1, "timeUnixNano", TIME,      event.time_ns),
    FIELD(2, "name",         TEXT,      event.name),
    FIELD(3, "attributes",   ATTRIBUTE, span.inner, .many = true)), .begin = begin_event, .end = end_event };
static const struct otlp_message link = { FIELDS(
    FIELD(1, "traceId", TRACE_ID, link.trace),
    FIELD(2, "spanId",  SPAN_ID,  link.span)), .begin = begin_link, .end = end_link };
static const struct otlp_message status = { FIELDS(
    FIELD(2, "message", TEXT,   span.status_message),
    FIELD(3, "code",    NUMBER, span.status)) };
static const struct otlp_message span = { FIELDS(
    FIELD(1, "traceId",            TRACE_ID,  span.trace),
    FIELD(2, "spanId",             SPAN_ID,   span.span),
    FIELD(4, "parentSpanId",       SPAN_ID,   span.parent),
    FIELD(5, "name",               TEXT,      span.name),
    FIELD(6, "kind",               NUMBER,    span.kind),
    FIELD(7, "startTimeUnixNano",  TIME,      span.start_ns),
    FIELD(8, "endTimeUnixNano",    TIME,      span.end_ns),
    FIELD(9, "attributes",         ATTRIBUTE, span.attributes, .many = true),
    INNER(11, "events", event, .many = true),
    INNER(13, "links", link, .many = true),
    INNER(15, "status", status)), .begin = begin_span, .end = end_span, .owns_flaws = true };
static const struct otlp_message log_record = { FIELDS(
    FIELD(1, "timeUnixNano",          TIME,      log.time_ns),
    FIELD(2, "severityNumber",        NUMBER,    log.severity),
    FIELD(3, "severityText",          TEXT,      log.severity_text),
    FIELD(5, "body",                  VALUE,     log.body),
    FIELD(6, "attributes",            ATTRIBUTE, log.attributes, .many = true),
    FIELD(9, "traceId",               TRACE_ID,  log.trace),
    FIELD(10, "spanId",               SPAN_ID,   log.span),
    FIELD(11, "observedTimeUnixNano", TIME,      log.observed_ns),
    FIELD(12, "eventName",            TEXT,      log.event_name)), .begin = begin_log, .end = end_log, .owns_flaws = true };
static const struct otlp_message points = { FIELDS(
    FIELD(1, "dataPoints", COUNT, n_points, .many = true)) };
static const struct otlp_message metric = { FIELDS(
    INNER(5, "gauge", points),
    INNER(7, "sum", points),
    INNER(9, "histogram", points),
    INNER(10, "exponentialHistogram", points),
    INNER(11, "summary", points)), .begin = begin_metric, .end = end_metric, .owns_flaws = true };

static const struct otlp_message resource = { FIELDS(
    FIELD(1, "attributes", ATTRIBUTE, resource.attributes, .many = true)) };
static const struct otlp_message scope = { FIELDS(
    FIELD(1, "name", TEXT, scope)) };
#define OF_SCOPE(name, record) { FIELDS( \
    INNER(1, "scope", scope), \
    INNER(2, name, record, .many = true, .inner = true)), .begin = begin_scope, .owns_flaws = true }
#define OF_RESOURCE(name, table) { FIELDS( \
    INNER(1, "resource", resource), \
    INNER(2, name, table, .many = true, .inner = true)), .begin = begin_resource, .owns_flaws = true }
static const struct otlp_message scope_spans = OF_SCOPE("spans", span);
static const struct otlp_message scope_logs = OF_SCOPE("logRecords", log_record);
static const struct otlp_message scope_metrics = OF_SCOPE("metrics", metric);
static const struct otlp_message resource_spans = OF_RESOURCE("scopeSpans", scope_spans);
static const struct otlp_message resource_logs = OF_RESOURCE("scopeLogs", scope_logs);
static const struct otlp_message resource_metrics = OF_RESOURCE("scopeMetrics", scope_metrics);

static const struct otlp_message requests[] = {
    [OTLP_SPANS] =   { FIELDS(INNER(1, "resourceSpans", resource_spans, .many = true)) },
    [OTLP_LOGS] =    { FIELDS(INNER(1, "resourceLogs", resource_logs, .many = true)) },
    [OTLP_METRICS] = { FIELDS(INNER(1, "resourceMetrics", resource_metrics, .many = true)) },
};
/* clang-format on */

static void add_attribute(struct reader *r, struct otlp_attributes *list)
{
    const bool of_event = list == &r->span.inner;

    if (list->n == (of_event ? OTLP_INNER_MAX : OTLP_ATTRIBUTES_MAX)) {
        r->flaw = of_event ? OTLP_FLAW_EVENTS : OTLP_FLAW_ATTRIBUTES;
        return;
    }
    if (list->n == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;

        list->items =
            arena_resize(r->sink->arena, list->items, list->capacity * sizeof(*list->items),
                         capacity * sizeof(*list->items));
        list->capacity = capacity;
    }
    list->items[list->n++] = r->attribute;
}

/* Puts a field that was read into its place. */
static void take(struct reader *r, const struct otlp_field *field, const struct item *item)
{
    void *at = (char *)r + field->at;

    if (field->kind != OTLP_NONE)
        r->value.kind = field->kind;
    switch (field->type) {
    case TEXT:
        if (!r->plain && item->text.len > 0 &&
            memchr(item->text.data, '\0', item->text.len) != NULL)
            r->flaw = OTLP_FLAW_NUL;
        *(struct str *)at = item->text;
        break;
    case BYTES: /* in JSON they stay in base64 */
        r->value.kind = item->node.json == NULL ? OTLP_BYTES : OTLP_TEXT;
        *(struct str *)at = item->text;
        break;
    case TRACE_ID:
        *(struct otlp_id *)at = otlp_id_of(item->text, OTLP_TRACE_BYTES);
        break;
    case SPAN_ID:
        *(struct otlp_id *)at = otlp_id_of(item->text, OTLP_SPAN_BYTES);
        break;
    case NUMBER:
    case TIME:
    case BOOL:
        *(uint64_t *)at = item->number;
        break;
    case REAL:
        *(double *)at = item->real;
        break;
    case NESTED:
        *(struct otlp_node *)at = item->node;
        break;
    case VALUE:
        read_message(r, &any_value, &item->node);
        *(struct otlp_value *)at = r->value;
        break;
    case ATTRIBUTE:
        read_message(r, &key_value, &item->node);
        add_attribute(r, at);
        break;
    case MESSAGE:
        read_message(r, field->message, &item->node);
        break;
    case COUNT:
        ++*(size_t *)at;
        break;
    }
}

static const struct otlp_field *by_tag(const struct otlp_message *m, uint64_t tag)
{
    for (const struct otlp_field *field = m->fields; field->tag != 0; field++)
        if (field->tag == tag)
            return field;
    return NULL;
}

static bool walk_wire(struct reader *r, const struct otlp_message *m, struct str message,
                      bool inner)
{
    struct wire w = wire_of(message);
    struct wire_field f;
    bool left = false;

    while (r->result == OTLP_READ && wire_next(&w, &f)) {
        const struct otlp_field *field = by_tag(m, f.tag);

        left |= field != NULL && field->inner != inner;
        if (field == NULL || field->inner != inner)
            continue;
        if (field->type == TEXT && utf8_valid_len(f.bytes) != f.bytes.len)
            set_malformed(r, NULL, NULL);
        else
            take(r, field,
                 &(struct item){ .node = { .wire = f.bytes },
                                 .text = f.bytes,
                                 .number = f.number,
                                 .real = wire_real(f.number) });
    }
    if (w.malformed)
        set_malformed(r, NULL, NULL);
    return left;
}

/* --- JSON --- */

static bool digits_to_number(struct str text, bool negative, uint64_t *ret)
{
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX, n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text.data[i] - '0';

        if (digit > 9 || n > (limit - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *ret = negative ? 0 - n : n;
    return true;
}

/* A 64-bit integer, signed or not, as its bits: a number or digits in a string. A whole number may
 * be written with a fraction. False: it is anything else. */
static bool json_integer(yyjson_val *value, uint64_t *ret)
{
    if (yyjson_is_int(value)) {
        *ret = yyjson_get_uint(value);
        return true;
    }
    if (yyjson_is_real(value)) {
        double real = yyjson_get_real(value);

        *ret = (uint64_t)(int64_t)(fabs(real) < 9007199254740992.0 ? real : 0);
        return floor(real) == real && fabs(real) < 9007199254740992.0;
    }
    if (yyjson_is_str(value)) {
        struct str text = json_str(value);
        bool negative = text.len > 0 && text.data[0] == '-';

        return digits_to_number(str_from(text.data + negative, text.len - negative), negative, ret);
    }
    return false;
}

/* Also "NaN" and the infinities. */
static bool json_real(yyjson_val *value, double *ret)
{
    static const struct {
        const char *name;
        double value;
    } names[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

    if (yyjson_is_num(value)) {
        *ret = yyjson_get_num(value);
        return true;
    }
    for (size_t i = 0; yyjson_is_str(value) && i < COUNT_OF(names); i++)
        if (str_eq_c(json_str(value), names[i].name)) {
            *ret = names[i].value;
            return true;
        }
    return false;
}

/* Also in the alphabet for URLs, and without padding. */
static bool is_base64(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/' || c == '-' || c == '_' || (c == '=' && i + 2 >= text.len)))
            return false;
    }
    return true;
}

static const struct otlp_field *by_name(const struct otlp_message *m, struct str name)
{
    for (const struct otlp_field *field = m->fields; field->tag != 0; field++)
        if (str_eq(field->name, name))
            return field;
    return NULL;
}

/* The bytes of hexadecimal digits; of other texts one byte, which is no id. */
static struct str take_id(struct reader *r, struct str text)
{
    if (text.len == 0)
        return text;
    if (text.len % 2 != 0 || text.len > 2 * sizeof(r->id_bytes))
        return STR_LIT("?");
    for (size_t i = 0; i < text.len; i += 2) {
        int high = str_hex_digit(text.data[i]), low = str_hex_digit(text.data[i + 1]);

        if (high < 0 || low < 0)
            return STR_LIT("?");
        r->id_bytes[i / 2] = (char)(high << 4 | low);
    }
    return str_from(r->id_bytes, text.len / 2);
}

/* A member, or an element of a member that is an array. */
static void take_json(struct reader *r, const struct otlp_field *field, yyjson_val *value)
{
    struct item item = { .node = { .json = value } };
    const char *expected = NULL;

    switch (field->type) {
    case TEXT:
    case BYTES:
    case TRACE_ID:
    case SPAN_ID:
        if (!yyjson_is_str(value)) {
            expected = "a string";
            break;
        }
        item.text = json_str(value);
        if (field->type == BYTES && !is_base64(item.text))
            expected = "bytes in base64";
        else if (field->type == TRACE_ID || field->type == SPAN_ID)
            item.text = take_id(r, item.text);
        break;
    case NUMBER:
    case TIME:
        if (!json_integer(value, &item.number))
            expected = "a 64-bit integer, as a number or as digits in a string";
        break;
    case BOOL:
        item.number = yyjson_is_true(value);
        if (!yyjson_is_bool(value))
            expected = "true or false";
        break;
    case REAL:
        if (!json_real(value, &item.real))
            expected = "a number, or \"NaN\", \"Infinity\" or \"-Infinity\"";
        break;
    default: /* messages, which are checked when they are read */
        break;
    }
    if (expected != NULL)
        set_malformed(r, value, expected);
    else
        take(r, field, &item);
}

static bool walk_json(struct reader *r, const struct otlp_message *m, yyjson_val *object,
                      bool inner)
{
    yyjson_val *key, *value, *element;
    size_t i, j, n, n_elements;
    bool left = false;

    if (!yyjson_is_obj(object))
        set_malformed(r, object, "an object");
    yyjson_obj_foreach(object, i, n, key, value)
    {
        const struct otlp_field *field = by_name(m, json_str(key));

        left |= field != NULL && field->inner != inner;
        if (field == NULL || field->inner != inner || yyjson_is_null(value))
            continue;
        if (!field->many)
            take_json(r, field, value);
        else if (!yyjson_is_arr(value))
            set_malformed(r, value, "an array");
        yyjson_arr_foreach(field->many ? value : NULL, j, n_elements, element)
        {
            if (r->result == OTLP_READ)
                take_json(r, field, element);
        }
        if (r->result != OTLP_READ)
            break;
    }
    return left;
}

/* Reads the fields that are inner ones, or that are not; true: it has others too. */
static bool walk(struct reader *r, const struct otlp_message *m, const struct otlp_node *node,
                 bool inner)
{
    return node->json != NULL ? walk_json(r, m, node->json, inner)
                              : walk_wire(r, m, node->wire, inner);
}

static void read_message(struct reader *r, const struct otlp_message *m,
                         const struct otlp_node *node)
{
    const char *flaw = r->flaw;

    if (m->begin != NULL && !m->begin(r))
        return;
    if (walk(r, m, node, false) && r->result == OTLP_READ)
        (void)walk(r, m, node, true);
    if (r->result == OTLP_READ && m->end != NULL)
        m->end(r);
    if (m->owns_flaws)
        r->flaw = flaw;
}

/* The index after the string that begins at `at`. */
static size_t skip_string(struct str text, size_t at)
{
    for (at++; at < text.len && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.len ? at + 1 : text.len;
}

/* A copy of the text in which every value beyond JSON_DEPTH_MAX levels is an empty string, so that
 * one attribute that is nested too deeply costs its own record and not the request: no nested value
 * of OTLP is a string, so it is refused as malformed. STR_NULL: nothing is that deep. */
static struct str json_flatten(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.len + 2);
    size_t depth = 0, n = 0;
    bool cut = false;

    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        size_t end = c == '"' ? skip_string(text, at) : at + 1;
        bool opens = c == '{' || c == '[', closes = (c == '}' || c == ']') && depth > 0;

        if (opens && ++depth == JSON_DEPTH_MAX + 1) {
            copy[n++] = '"'; /* the value has at least two bytes, so the copy is not longer */
            copy[n++] = '"';
            cut = true;
        }
        if (depth <= JSON_DEPTH_MAX) {
            memcpy(copy + n, text.data + at, end - at);
            n += end - at;
        }
        depth -= closes;
        at = end;
    }
    return cut ? str_from(copy, n) : STR_NULL;
}

/* The member or element of a container that holds the value, which may be that itself. Children of
 * a container lie behind it in memory, in order. */
static yyjson_val *child_with(yyjson_val *container, const yyjson_val *value, struct buf *path)
{
    yyjson_val *child, *key;
    size_t i, n;

    if (yyjson_is_arr(container)) {
        yyjson_arr_foreach(container, i, n, child)
        {
            if (value < unsafe_yyjson_get_next(child)) {
                buf_printf(path, "[%zu]", i);
                return child;
            }
        }
        return NULL;
    }
    yyjson_obj_foreach(container, i, n, key, child)
    {
        if (value < unsafe_yyjson_get_next(child)) {
            buf_add_c(path, path->len > 0 ? "." : "");
            buf_add(path, json_str(key));
            return child;
        }
    }
    return NULL;
}

/* The path from the root to a value in it: "resourceSpans[0].scopeSpans[1].spans"; of the root,
 * "the body". */
static struct str json_path(yyjson_val *root, const yyjson_val *value, struct arena *arena)
{
    yyjson_val *at = root;
    BUF_SCOPED(out, KIB(4));

    while (at != NULL && at != value)
        at = child_with(at, value, &out);
    return out.len == 0 ? STR_LIT("the body") : arena_copy(arena, buf_str(&out));
}

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
    flat = json_flatten(body, sink->arena);
    if (!str_is_null(flat) && json_read(flat, sink->arena, ret, &fault) == 0)
        return true;
    (void)refuse(sink, arena_printf(sink->arena, "%s at character %zu", fault.error, fault.at));
    return false;
}

enum otlp_result otlp_read(enum otlp_records what, enum otlp_encoding encoding, struct str body,
                           const struct otlp_sink *sink)
{
    struct reader r = { .sink = sink,
                        .events = { .arena = sink->arena, .size = sizeof(struct otlp_event) },
                        .links = { .arena = sink->arena, .size = sizeof(struct otlp_link) } };
    struct otlp_node node = { .wire = body };
    struct json_doc doc = { .root = NULL };
    struct str at;

    if (encoding == OTLP_JSON) {
        if (!parse(sink, body, &doc))
            return OTLP_MALFORMED;
        r.plain = doc.plain;
        node.json = doc.root;
    }
    read_message(&r, &requests[what], &node);
    if (r.wrong == NULL)
        return r.result;
    at = json_path(doc.root, r.wrong, sink->arena);
    return refuse(sink, arena_printf(sink->arena, "%.*s should be %s", STR_ARG(at), r.expected));
}

static void write_value(struct reader *r, const struct otlp_value *value);

/* Between two elements. */
static void write_comma(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '[' && out->data[out->len - 1] != '{')
        buf_add_char(out, ',');
}

static void write_element(struct reader *r)
{
    const struct otlp_value value = r->value;

    write_comma(r->out);
    write_value(r, &value);
}

static void write_pair(struct reader *r)
{
    const struct otlp_attribute pair = r->attribute;

    write_comma(r->out);
    buf_add_json(r->out, pair.key);
    buf_add_char(r->out, ':');
    write_value(r, &pair.value);
}

/* The messages ArrayValue and KeyValueList, as they are written. */
/* clang-format off */
static const struct otlp_message element = { ANY_VALUE, .begin = begin_value, .end = write_element };
static const struct otlp_message pair = { KEY_VALUE, .begin = begin_attribute, .end = write_pair };
static const struct otlp_message elements = { FIELDS(INNER(1, "values", element, .many = true)) };
static const struct otlp_message pairs = { FIELDS(INNER(1, "values", pair, .many = true)) };
/* clang-format on */

static void write_value(struct reader *r, const struct otlp_value *value)
{
    const bool is_map = value->kind == OTLP_MAP;

    if (r->depth == OTLP_DEPTH_MAX)
        set_malformed(r, NULL, NULL);
    if (r->result != OTLP_READ)
        return;
    if (!is_map && value->kind != OTLP_ARRAY) {
        (void)otlp_value_write(value, r->out);
        return;
    }
    r->depth++;
    buf_add_char(r->out, is_map ? '{' : '[');
    read_message(r, is_map ? &pairs : &elements, &value->node);
    buf_add_char(r->out, is_map ? '}' : ']');
    r->depth--;
}

bool otlp_nested_write(const struct otlp_value *value, struct buf *out)
{
    struct reader r = { .out = out };

    write_value(&r, value);
    return r.result == OTLP_READ && r.flaw == NULL;
}
