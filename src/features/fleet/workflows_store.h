/* workflows_store.h - the runs of a workflow. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/runs_store.h"
#include "shape/shape.h"

struct db;

struct workflow_run {
    int64_t agent_id;
    struct str run_id;
    struct run_row run;
};

struct workflow_runs {
    struct list runs; /* of struct workflow_run, earliest start first; in the arena */
    bool more;        /* the workflow has further runs */
};

enum { WORKFLOW_RUNS_MAX = 1000 };

/* Its earliest runs: WORKFLOW_RUNS_MAX, or fewer when their texts are long. */
int store_workflow_runs(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                        struct arena *arena, struct workflow_runs *ret,
                        struct error *err) MUST_CHECK;
