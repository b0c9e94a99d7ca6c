/* run_timeline_store.h - when the events of a run happened, by category and time. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;

/* What is counted of a run. */
struct run_timeline_span {
    int64_t tenant_id, run_no;
    int64_t from;       /* the timestamp of the run's first event */
    int64_t bin_us;     /* how much time a bin covers */
    int64_t events_max; /* the first ones that arrived */
    int64_t lanes_max;  /* categories, in the order of their first events */
};

/* The events of one category in one bin. The text is valid during the call only. */
struct run_timeline_bin {
    struct str category; /* null: all categories beyond lanes_max */
    int64_t first_at, last_at;
    int64_t events, errors, warnings;
};

/* Calls `each` for every bin that has events: all of a category in a row, in the order of time. */
int store_run_timeline(struct db *db, const struct run_timeline_span *span,
                       void (*each)(void *ctx, const struct run_timeline_bin *bin), void *ctx,
                       struct error *err) MUST_CHECK;
