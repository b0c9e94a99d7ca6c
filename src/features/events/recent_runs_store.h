/* recent_runs_store.h - the last runs of an agent, in short. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

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
