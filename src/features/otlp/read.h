/* read.h - the bodies of OTLP/HTTP requests, in protobuf or JSON, one record at a time.
 *
 * Both encodings have one reader each for spans, log records and metrics. What the
 * encoding itself forbids makes the whole body malformed. A record that is well
 * encoded but cannot be taken has a flaw instead, and only that one is refused.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "features/otlp/records.h"

struct otlp_sink {
    void *ctx;
    struct arena *arena; /* scratch space */

    /* False: stop. One of the three, by what is read. */
    bool (*on_span)(void *ctx, const struct otlp_span *span);
    bool (*on_log)(void *ctx, const struct otlp_log *log);

    /* What is malformed and where, in the arena; untouched when it is not known. NULL: not asked.
     */
    struct str *why;

    /* One or more metrics, of which only the number of data points is read. */
    bool (*on_metrics)(void *ctx, size_t n_points);
};

enum otlp_result {
    OTLP_READ,
    OTLP_STOPPED,   /* by the sink */
    OTLP_MALFORMED, /* no request in this encoding */
};

typedef enum otlp_result otlp_read_fn(struct str body, const struct otlp_sink *sink);

/* application/x-protobuf */
otlp_read_fn otlp_read_spans_wire, otlp_read_logs_wire, otlp_read_metrics_wire;

/* application/json */
otlp_read_fn otlp_read_spans_json, otlp_read_logs_json, otlp_read_metrics_json;

/* Flaws of records. NUL is what no store can hold. */
#define OTLP_FLAW_NUL        "it has a NUL character or a lone surrogate"
#define OTLP_FLAW_TIME       "a time is before 1970 or after 2262"
#define OTLP_FLAW_ATTRIBUTES "it has more than 1000 attributes"
#define OTLP_FLAW_EVENTS     "it has more than 1000 events, or 4000 attributes of events"
#define OTLP_FLAW_NESTED     "a nested value is malformed, deeper than 16 levels, or has NUL"
#define OTLP_FLAW_SIZE       "the request is too large when its values are written out"
#define OTLP_FLAW_LINKS      "it has more than 1000 links"
