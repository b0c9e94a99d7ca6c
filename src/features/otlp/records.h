/* records.h - reads spans and log records as OTLP has them, in protobuf or JSON.
 *
 * The reader fills one record at a time and hands it to a sink; the memory of
 * its lists is used again for the next one. Texts are borrowed from the body.
 * Nested values stay as they were sent until they are written.
 *
 * What the encoding itself forbids makes the whole body malformed. A record that
 * is well encoded but cannot be taken has a flaw instead, and only that one is
 * refused.
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
    OTLP_BYTES, /* in protobuf; those in JSON are text, in base64 */
    OTLP_ARRAY,
    OTLP_MAP,
};

/* A nested message as it was sent. */
struct otlp_node {
    struct str wire;
    struct yyjson_val *json; /* NULL: it is in protobuf */
};

struct otlp_value {
    enum otlp_kind kind;
    union {
        struct str text; /* OTLP_TEXT, OTLP_BYTES */
        int64_t integer; /* OTLP_INT, OTLP_BOOL */
        double real;
        struct otlp_node node; /* OTLP_ARRAY, OTLP_MAP */
    };
};

struct otlp_attribute {
    struct str key;
    struct otlp_value value;
};

struct otlp_attributes {
    struct otlp_attribute *items;
    size_t n, capacity;
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
    bool given;                      /* is not empty, nor zeroes of the right length, as some
                                      * exporters write for none */
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

/* Flaws of records. NUL is what no store can hold. */
#define OTLP_FLAW_NUL        "it has a NUL character or a lone surrogate"
#define OTLP_FLAW_TIME       "a time is before 1970 or after 2262"
#define OTLP_FLAW_ATTRIBUTES "it has more than 1000 attributes"
#define OTLP_FLAW_EVENTS     "it has more than 1000 events, or 4000 attributes of events"
#define OTLP_FLAW_NESTED     "a nested value is malformed, deeper than 16 levels, or has NUL"
#define OTLP_FLAW_SIZE       "the request is too large when its values are written out"
#define OTLP_FLAW_LINKS      "it has more than 1000 links"

struct otlp_sink {
    void *ctx;
    struct arena *arena; /* scratch space */

    /* False: stop. One of the three, by what is read. */
    bool (*on_span)(void *ctx, const struct otlp_span *span);
    bool (*on_log)(void *ctx, const struct otlp_log *log);
    bool (*on_metric)(void *ctx, size_t n_points); /* only the number of its data points is read */

    /* What is malformed and where, in the arena; untouched when it is not known. NULL: not asked.
     */
    struct str *why;
};

enum otlp_records { OTLP_SPANS, OTLP_LOGS, OTLP_METRICS };
enum otlp_encoding { OTLP_PROTOBUF, OTLP_JSON };

enum otlp_result {
    OTLP_READ,
    OTLP_STOPPED,   /* by the sink */
    OTLP_MALFORMED, /* no request in this encoding */
};

enum otlp_result otlp_read(enum otlp_records what, enum otlp_encoding encoding, struct str body,
                           const struct otlp_sink *sink);

/* `text` has binary bytes of an id. */
struct otlp_id otlp_id_of(struct str bytes, size_t len);

/* Lower-case hexadecimal digits; `ret` has room for two per byte. */
struct str otlp_hex(const struct otlp_id *id, size_t len, char *ret);

/* The value as JSON. False: a nested one is malformed, too deep, or has a NUL character. */
bool otlp_value_write(const struct otlp_value *value, struct buf *out);

/* An object of the attributes; a key that is there twice is written twice. */
bool otlp_attributes_write(const struct otlp_attribute *items, size_t n, struct buf *out);

/* For otlp_value_write(): an array or a map. */
bool otlp_nested_write(const struct otlp_value *value, struct buf *out);
