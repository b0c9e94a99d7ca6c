/* run_facets_store.h - what runs can be filtered by, run by run. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "features/events/shapes.h"

/* The newest `limit` runs that started from `since` on and before `until`. */
struct run_facets_span {
    int64_t tenant_id, since, until, limit;
    int64_t agent_id;           /* only of this agent; 0: of any */
    struct str workflow_run_id; /* only of this workflow, whatever the agent; null: of any */
    struct str pattern;         /* LIKE, of a name, an error or a message; null: any */
};

/* Its strings are valid during the callback; null ones are not known. */
struct run_facets_row {
    int64_t start_at;
    bool has_part; /* matches the pattern */
    int status;    /* enum run_status */
    struct str agent_name, agent_version, error_type, workflow_run_id;
};

/* Calls back with each run of the span, in no order. */
int store_run_facets(struct db *db, const struct run_facets_span *span,
                     void (*each)(void *ctx, const struct run_facets_row *row), void *ctx,
                     struct error *err) MUST_CHECK;

/* Cuts the span to as many of its newest runs as its limit, if it has more. Those that started when
 * one beyond the limit did are left out, too, so that a list of the runs since then has exactly the
 * counted ones; unless all of them did. */
int store_run_facets_bound(struct db *db, struct run_facets_span *span, bool *ret_cut,
                           struct error *err) MUST_CHECK;

struct run_statuses_filter {
    struct str agent_version, error_type; /* null: any; an empty type: failed without one */
    int64_t agent_id;                     /* 0: any; for the runs of a workflow */
};

/* How many of the span's runs that the filter leaves have each status. Searches no texts. */
int store_run_statuses(struct db *db, const struct run_facets_span *span,
                       const struct run_statuses_filter *filter, int64_t ret[N_RUN_STATUSES],
                       struct error *err) MUST_CHECK;
