/* run_list.h - pages of runs, newest start first. */
#pragma once
#include "base/err.h"
#include "db/db.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "shape/shape.h"

/* As in run_order_names. */
enum run_order {
    ORDER_STARTED,
    ORDER_DURATION,
    ORDER_RECORDS,
    ORDER_EVENTS,
    ORDER_STATUS,
    ORDER_AGENT,
    ORDER_VERSION,
    ORDER_ERROR,
    ORDER_TOKENS, /* the last two are sorted in run_routes.c */
    ORDER_COST,
};

/* The runs of a page. */
struct run_filter {
    int64_t tenant_id;
    struct run_cursor after;        /* exclusive: the end of the previous page */
    int64_t since;                  /* inclusive, of the start; INT64_MIN: no lower bound */
    int64_t until;                  /* exclusive; INT64_MAX: no upper bound */
    int64_t agent_id;               /* 0: any */
    int status;                     /* enum run_status; -1: any */
    struct str workflow_run_id;     /* null: any */
    struct str version, error_type; /* null: any; an empty type: failed without one */
    struct str part;                /* of a name, an error or a message; null: any */
    int order; /* enum run_order; any but ORDER_STARTED descending sorts scan_max runs */
    bool ascending;
    int64_t limit;
    size_t bytes;     /* of JSON, about; the first run is read whatever its size */
    int64_t scan_max; /* maximum of runs examined per page with a filter that no index covers */
};

struct run_found {
    int64_t run_no;
    struct str run_id;
    struct run_row run;
    size_t bytes; /* of its JSON, about */
    struct run_spent spent;
};

struct run_page {
    struct list runs; /* of struct run_found, in the arena */
    bool more;        /* there may be more runs after `end` */
    struct run_cursor end;
    bool cut; /* runs that started before `floor` were not examined */
    int64_t floor;
};

/* The filter of a query whose agent is not resolved yet. */
struct run_filter run_filter_of(int64_t tenant_id, const struct runs_query *query);

/* A page may have fewer runs than `limit`, even none, and still not be the last: scan_max bounds
 * its cost. Call it inside a transaction, for a consistent snapshot. */
int run_list_find(struct db *db, const struct run_filter *filter, struct arena *arena,
                  struct run_page *ret, struct error *err) MUST_CHECK;

/* A run that matches, without its texts. */
struct run_candidate {
    int64_t run_no;
    struct str run_id;
    int64_t start_at;
    struct run_spent spent;
    struct opt_int key; /* for sorting, set by the caller */
};

struct run_candidates {
    int64_t tenant_id;
    size_t bytes; /* of JSON, about, that a page of them may have */
    struct run_candidate *runs;
    size_t n;
    bool cut; /* runs that started before `floor` were not examined */
    int64_t floor;
};

/* The newest scan_max runs of the range, those that match; the order and the limit are ignored. */
int run_list_candidates(struct db *db, const struct run_filter *filter, struct arena *arena,
                        struct run_candidates *ret, struct error *err) MUST_CHECK;

/* The first `limit` of them in full, or fewer if they are too large. */
int run_list_load(struct db *db, const struct run_candidates *from, int64_t limit,
                  struct arena *arena, struct run_page *ret, struct error *err) MUST_CHECK;

/* Raises `since` so that the range has no more than the newest `limit` runs of the filter's agent
 * or workflow, if it has more. Also leaves out runs with the same start as the first one beyond the
 * limit, so that a list of the runs from `since` on has exactly the counted ones; unless all of
 * them have that start.
 */
int run_list_cut(struct db *db, struct run_filter *filter, bool *ret_cut,
                 struct error *err) MUST_CHECK;

/* What run_list_scan() reads. */
enum run_scan {
    RUNS_VALUES,   /* of `limit` runs, matching the search text or not: start, whether it matches,
                      status, agent's name, version, error type, workflow */
    RUNS_STATUSES, /* the number of runs of each status; no text is searched */
};

/* Statuses are as run_status_of() takes them. */
int run_list_scan(struct db *db, const struct run_filter *filter, enum run_scan what,
                  db_row_fn *on_row, void *ctx, struct error *err) MUST_CHECK;

/* A LIKE pattern, with '!' as its escape, that matches texts with this part; in the arena. */
struct str run_list_pattern(struct str part, struct arena *arena);

/* For tests of the query plans. */
extern const struct db_query run_list_page, run_list_agent_page, run_list_workflow_page;
extern const struct db_query run_list_floor, run_list_agent_floor, run_list_workflow_floor;
