/* runs_store.h - reads runs and rebuilds their states. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/events/run_state.h"

struct db;

struct run_row {
    struct str agent_name; /* of its first event */
    struct run_state state;
};

/* The tenant's run with this number; event_count is 0 when there is none. In the arena. */
int store_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
              struct run_row *ret, struct error *err) MUST_CHECK;

struct runs_rebuilt {
    int64_t runs, changed; /* checked, and different from their events */
    int64_t damaged;       /* with a damaged event: left as they are */
    int64_t last_run_no;   /* 0: none is left */
};

/* Rebuilds the states of up to `limit` runs after number `after` from their events, in order of
 * number, and of fewer when these take long; at least of one. In a transaction of the writer. */
int store_runs_rebuild(struct db *db, int64_t tenant_id, int64_t after, int64_t limit,
                       struct runs_rebuilt *ret, struct error *err) MUST_CHECK;
