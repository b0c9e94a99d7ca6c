/* intake.h - collects the records of one request as events and usage to store.
 *
 * Each record becomes one event, or two for a span that is the root of its
 * trace; a span may carry the usage of a model as well. intake_close() decides
 * whose they are. What cannot be taken is counted, with the first reason.
 *
 * Everything is in the arena. One thread at a time.
 */
#pragma once
#include "base/buf.h"
#include "base/uuid.h"
#include "features/cost/reports.h"
#include "features/events/shapes.h"
#include "features/otlp/known.h"
#include "features/otlp/records.h"
#include "shape/rows.h"

/* Tokens of a span, which count when its event is stored. */
struct intake_usage {
    struct llm_usage usage;
    size_t origin;
};

/* A record that was taken. */
struct intake_origin {
    struct otlp_id trace, span, parent;
    bool is_span, has_parent;
    struct str agent;   /* the one it names; STR_NULL: none */
    struct str service; /* of its resource; STR_NULL: none */
    size_t first_event, n_events;
    bool visited; /* by intake_close() */
    enum call_kind kind;
    unsigned below; /* kinds of calls below it, as bits; with its own among them it repeats one */
};

/* Of the resource of the records being read: found, and written, once for all of them, since one
 * that is large may have many. */
struct intake_resource {
    size_t number; /* 0: none */
    struct known_values known;
    bool written;
    struct str text;
    const char *flaw; /* why it could not be written */
};

struct intake {
    struct arena *arena;
    struct str slug;     /* of the key's tenant */
    struct str bound_to; /* the agent of an agent key; STR_NULL: a workspace key */
    int64_t received_at; /* wall clock */
    size_t records_max;
    size_t bytes_max; /* of the texts that are made */

    size_t n_records; /* seen */
    bool too_many;
    size_t n_refused;
    struct str refusal;  /* of the first one refused; STR_NULL: none */
    size_t bytes;        /* of the texts made so far */
    struct rows origins; /* of struct intake_origin */
    struct rows events;  /* of struct telemetry_event */
    struct rows usages;  /* of struct intake_usage */
    struct buf scratch;
    struct intake_resource resource;
};

/* The members above the gap are set by the caller. */
void intake_open(struct intake *in);

/* Refuses the record being read; `what` is "span" or "log record". */
void intake_refuse(struct intake *in, const char *what, const struct otlp_id *id, const char *flaw);

/* Gives each event its agent: the one its span names, else that of the nearest span above it in
 * this request that names one, else the service; for an agent key with neither, the key's. Refuses
 * records without a valid name, and removes their events. The events of roots come first: exporters
 * send roots last. Of calls of a kind one below the other the innermost keeps its usage. The name
 * of the first agent that is not the one the key is bound to is returned; STR_NULL: all are
 * allowed. Frees the scratch buffer. */
struct str intake_close(struct intake *in);

/* The same for a request that is given up. */
void intake_drop(struct intake *in);

/* The sinks of the readers, with an intake as their context. */
bool intake_on_span(void *ctx, const struct otlp_span *span);
bool intake_on_log(void *ctx, const struct otlp_log *log);
