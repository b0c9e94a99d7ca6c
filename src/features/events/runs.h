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
struct runs_rebuild;
struct stored_event;
struct tenant_entry;

/* Says that the tenant has no such run. Always -1. */
int run_not_found(const struct tenant_entry *tenant, struct str run_id, struct error *err);

/* Was its timestamp more than an hour ahead of our clock on arrival? */
bool run_event_is_skewed(const struct stored_event *event);

/* --- stored runs --- */

struct run_row {
    struct str agent_name; /* that started it */
    struct run_state state;
};

/* The tenant's run with this number; event_count is 0 when there is none. In the arena. */
int runs_get(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
             struct run_row *ret, struct error *err) MUST_CHECK;

/* Rebuilds the states of up to `limit` runs after number `after` from their events, in order of
 * number, and of fewer when these take long; at least of one. Runs with a damaged event are left as
 * they are. In a transaction of the writer. */
int runs_rebuild_page(struct db *db, int64_t tenant_id, int64_t after, int64_t limit,
                      struct runs_rebuild *ret, struct error *err) MUST_CHECK;

struct recent_run {
    struct str run_id, agent_version;
    int status; /* enum run_status */
    int64_t started_at;
    int64_t ended_at; /* TIME_NULL */
    struct opt_int duration_ms;
};

struct recent_runs {
    int64_t tenant_id;
    const int64_t *agent_ids; /* each once */
    size_t n;
    int64_t limit; /* of each */
};

/* Newest start first: a list of struct recent_run for each agent, in `n` lists at ret. One
 * statement of PostgreSQL, where each is a round trip. */
int runs_recent(struct db *db, const struct recent_runs *of, struct arena *arena, struct list *ret,
                struct error *err) MUST_CHECK;

/* The newest `limit` runs that started from `since` on and before `until`. */
struct runs_span {
    int64_t tenant_id, agent_id; /* of any agent: 0 */
    int64_t since, until, limit;
};

/* Raises `since` so that the span has at most `limit` runs, as the facets of the list of
 * runs do (run_list_cut() in run_list.h). */
int runs_cut(struct db *db, struct runs_span *span, bool *ret_cut, struct error *err) MUST_CHECK;

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
int runs_count(struct db *db, int64_t tenant_id, const struct time_range *range,
               struct arena *arena, struct run_count_list *ret, struct error *err) MUST_CHECK;

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
