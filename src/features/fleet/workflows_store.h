/* workflows_store.h - the runs of a workflow. */
#pragma once
#include "base/err.h"
#include "features/events/runs_store.h"
#include "shape/shape.h"

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

/* The newest runs that started from `since` on and before `until`; `limit` workflows of them. */
struct workflow_span {
    int64_t tenant_id, since, until, limit;
};

struct workflow_found {
    struct str workflow_run_id;
    int64_t latest_at; /* the start of its latest run */
};

struct workflows_found {
    struct list workflows; /* of struct workflow_found, the latest first; in the arena */
    bool more;
    int64_t examined_since; /* TIME_NULL: all runs of the span were examined */
};

int store_workflows(struct db *db, const struct workflow_span *span, struct arena *arena,
                    struct workflows_found *ret, struct error *err) MUST_CHECK;

/* An agent's runs in a workflow. */
struct workflow_agent {
    struct str agent_name;
    int64_t runs, failed, open, first_at;
    int64_t last_at; /* the end of the last; TIME_NULL: none has ended */
    int64_t place;   /* of the workflow among several */
};

/* A list of struct workflow_agent by first_at, of the workflow's newest WORKFLOW_RUNS_MAX runs. */
int store_workflow_agents(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                          struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* The same of each of these, a list of struct workflow_found: as many lists at ret. One statement
 * of PostgreSQL. */
int store_workflows_agents(struct db *db, int64_t tenant_id, const struct list *workflows,
                           struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* When the first run of each of these workflows started, a list of struct str; TIME_NULL of one
 * without runs. */
int store_workflows_starts(struct db *db, int64_t tenant_id, const struct list *ids,
                           struct arena *arena, int64_t *ret, struct error *err) MUST_CHECK;

/* Its earliest runs: WORKFLOW_RUNS_MAX, or fewer when their texts are long. */
int store_workflow_runs(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                        struct arena *arena, struct workflow_runs *ret,
                        struct error *err) MUST_CHECK;
