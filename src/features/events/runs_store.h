/* runs_store.h - reads runs and rebuilds their states. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/events/run_state.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct runs_rebuild;

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
