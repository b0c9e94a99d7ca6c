/* records.h - spans and log records as OTLP has them, whatever encoding they came in.
 *
 * A reader (read.h) fills one record at a time and hands it to a sink; the
 * memory of its lists is used again for the next one. Texts are borrowed from
 * the body. Nested values stay as they were sent until they are written.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct yyjson_val;

/* The largest record that is taken. The inner attributes are those of all its events. */
enum {
    OTLP_ATTRIBUTES_MAX = 1000,
    OTLP_INNER_MAX = 4000,
    OTLP_EVENTS_MAX = 1000,
    OTLP_LINKS_MAX = 1000,
    OTLP_DEPTH_MAX = 16, /* of nested values: what also fits in a JSON body */
};

enum { OTLP_TRACE_BYTES = 16, OTLP_SPAN_BYTES = 8 };

enum otlp_kind {
    OTLP_NONE,
    OTLP_TEXT,
    OTLP_BOOL,
    OTLP_INT,
    OTLP_REAL,
    OTLP_WIRE, /* nested, or bytes: the message AnyValue */
    OTLP_TREE, /* the same in JSON */
};

struct otlp_value {
    enum otlp_kind kind;
    union {
        struct str text; /* OTLP_TEXT, OTLP_WIRE */
        int64_t integer; /* OTLP_INT, OTLP_BOOL */
        double real;
        struct yyjson_val *tree;
    };
};

struct otlp_attribute {
    struct str key;
    struct otlp_value value;
};

/* Grows in the arena, up to `max`. */
struct otlp_attributes {
    struct otlp_attribute *items;
    size_t n, capacity;
    size_t max;
};

/* Where a record comes from; for all that follow until the next one. */
struct otlp_resource {
    struct otlp_attributes attributes;
    size_t number; /* in its request, from 1 */
};

/* Something that happened within a span. */
struct otlp_event {
    uint64_t time_ns;
    struct str name;
    size_t first, n; /* its attributes among the span's inner ones */
};

struct otlp_id {
    uint8_t bytes[OTLP_TRACE_BYTES]; /* of a span: the first OTLP_SPAN_BYTES, and zeroes */
    bool valid;                      /* has the right length and is not all zeroes */
};

struct otlp_link {
    struct otlp_id trace, span;
};

enum otlp_status { OTLP_STATUS_UNSET, OTLP_STATUS_OK, OTLP_STATUS_ERROR };

struct otlp_span {
    const struct otlp_resource *resource;
    struct str scope; /* name of the library that made it */
    struct otlp_id trace, span, parent;
    bool has_parent; /* else it is the root of its trace */
    struct str name;
    uint64_t kind; /* 1 internal, 2 server, 3 client, 4 producer, 5 consumer */
    uint64_t start_ns, end_ns;
    uint64_t status; /* enum otlp_status, or a number that is not known here */
    struct str status_message;
    struct otlp_attributes attributes, inner;
    struct otlp_event *events;
    struct otlp_link *links;
    size_t n_events, n_links;
    const char *flaw; /* why it cannot be taken; NULL: it can */
};

struct otlp_log {
    const struct otlp_resource *resource;
    struct str scope; /* name of the logger */
    struct otlp_id trace, span;
    uint64_t time_ns, observed_ns; /* 0: unknown */
    uint64_t severity;             /* 1 to 24; 0: unknown */
    struct str severity_text, event_name;
    struct otlp_value body;
    struct otlp_attributes attributes;
    const char *flaw;
};

/* False, and nothing is added, when it is full. */
bool otlp_attributes_add(struct otlp_attributes *list, struct arena *arena,
                         const struct otlp_attribute *attribute);

/* `text` has binary bytes of an id. */
struct otlp_id otlp_id_of(struct str bytes, size_t len);

/* Lower-case hexadecimal digits; `ret` has room for two per byte. */
struct str otlp_hex(const struct otlp_id *id, size_t len, char *ret);

/* The value as JSON. False: a nested one is malformed, too deep, or has a NUL character. */
bool otlp_value_write(const struct otlp_value *value, struct buf *out);

/* An object of the attributes; a key that is there twice is written twice. */
bool otlp_attributes_write(const struct otlp_attribute *items, size_t n, struct buf *out);

/* Of the encodings, for otlp_value_write(). */
bool otlp_wire_write(struct str any_value, struct buf *out);
bool otlp_tree_write(struct yyjson_val *any_value, struct buf *out);

/* Bytes as base64 in JSON quotes, as OTLP's own JSON has them. */
void otlp_add_base64(struct buf *out, struct str bytes);
