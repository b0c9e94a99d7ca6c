/* runs.h - reads runs and their events. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct engine;
struct event_log;
struct narrative_query;
struct run_list;
struct run_narrative;
struct runs_query;
struct runs_rebuild;
struct stored_event;
struct tenant_entry;

struct run_key {
    const struct tenant_entry *tenant;
    struct str run_id;
    const struct narrative_query *query; /* of run_read(): which of its events */
};

/* Says that the tenant has no such run. Always -1. */
int run_not_found(const struct run_key *key, struct error *err);

/* A run with its summary, and its events by seq, timestamp, arrival: a page of the query's limit,
 * or of 16 MiB. With a filter a page looks at 10,000 events at the most. In the arena.
 * ERR_NOT_FOUND when the tenant has no such run. */
int run_read(struct event_log *log, struct db *db, const struct run_key *key, struct arena *arena,
             struct run_narrative *ret, struct error *err) MUST_CHECK;

struct run_list_request {
    const struct engine *engine; /* whose features know what runs spent; not used without cost */
    const struct tenant_entry *tenant;
    const struct runs_query *query;
};

/* A page of the tenant's runs, newest start first; in the arena. The cost of a page is bounded:
 * with a filter it examines at most 10,000 runs, and it ends before the run that takes it beyond 16
 * MiB; of the first run it has the steps that fit. So it may be shorter than the limit, and only a
 * null `next` marks the last page. */
int run_list_read(struct db *db, const struct run_list_request *request, struct arena *arena,
                  struct run_list *ret, struct error *err) MUST_CHECK;

/* Was its timestamp more than an hour ahead of our clock on arrival? */
bool run_event_is_skewed(const struct stored_event *event);

/* --- stored runs --- */

struct run_row {
    struct str agent_name; /* that started it */
    struct run_state state;
};

/* The tenant's run with this number; event_count is 0 when there is none. In the arena. */
int store_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
              struct run_row *ret, struct error *err) MUST_CHECK;

/* Rebuilds the states of up to `limit` runs after number `after` from their events, in order of
 * number, and of fewer when these take long; at least of one. Runs with a damaged event are left as
 * they are. In a transaction of the writer. */
int store_runs_rebuild(struct db *db, int64_t tenant_id, int64_t after, int64_t limit,
                       struct runs_rebuild *ret, struct error *err) MUST_CHECK;

struct recent_run {
    struct str run_id, agent_version;
    int status; /* enum run_status */
    int64_t started_at;
    int64_t ended_at; /* TIME_NULL */
    struct opt_int duration_ms;
};

/* Whose, and how many. */
struct recent_runs {
    int64_t tenant_id, agent_id, limit;
};

/* Newest start first: a list of struct recent_run, in the arena. */
int store_recent_runs(struct db *db, const struct recent_runs *of, struct arena *arena,
                      struct list *ret, struct error *err) MUST_CHECK;

/* The same of several agents, each once: a list for each, in `n` lists at ret. One statement of
 * PostgreSQL, where each is a round trip. */
struct recent_runs_of {
    int64_t tenant_id;
    const int64_t *agent_ids;
    size_t n;
    int64_t limit; /* of each */
};

int store_recent_runs_of(struct db *db, const struct recent_runs_of *of, struct arena *arena,
                         struct list *ret, struct error *err) MUST_CHECK;

enum { RUNS_COUNTED_MAX = 10000 };

struct run_count {
    struct str agent_name;
    int status; /* enum run_status */
    int64_t n;
};

struct run_count_list {
    struct list counts; /* of struct run_count, by agent and status; in the arena */
    bool cut;           /* the range has more runs than the newest RUNS_COUNTED_MAX */
};

/* Counts the runs that started in the range. */
int store_run_counts(struct db *db, int64_t tenant_id, const struct time_range *range,
                     struct arena *arena, struct run_count_list *ret, struct error *err) MUST_CHECK;

/* --- what runs can be filtered by, run by run --- */

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

/* --- what runs spent on models ---
 *
 * Usage and prices are known to a feature above this one, which registers a function that sums up
 * what the runs of a list spent. */

/* Of one run. */
struct run_spent {
    struct opt_int tokens; /* of all kinds; none: no usage was reported */
    struct opt_int cost;   /* picodollars, as far as they fit; none: no token has a price */
    struct str cost_text;  /* in dollars; null: none */
};

struct spending_run {
    struct str run_id;
    struct run_spent *spent; /* to be filled; it is zeros */
};

/* The runs to sum up, each once. */
struct run_spending {
    const struct tenant_entry *tenant;
    const struct spending_run *runs;
    size_t n;
    struct arena *arena; /* of the texts */
};

/* Reads in the caller's transaction. */
typedef int run_spending_fn(const struct engine *e, struct db *db, struct run_spending *of,
                            struct error *err);

/* The engine's. Set once, while features are opened; no function: no run spent anything. */
void events_on_spending(const struct engine *e, run_spending_fn *fn);
int events_spending(const struct engine *e, struct db *db, struct run_spending *of,
                    struct error *err) MUST_CHECK;
