/* store.h - agents and workflows as front ends read them, and counts of runs.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "features/agents/schedules/schedules.h"
#include "features/events/runs.h"
#include "shape/shape.h"

struct agent_register;
struct db;

/* Characters of a description that a list shows. */
enum { FLEET_DESCRIPTION_MAX = 1024 };

struct fleet_agent {
    int64_t agent_id; /* 0: no such agent */
    struct str agent_name, registered_version;
    struct str description; /* its beginning */
    bool enabled;
    struct opt_int interval_seconds;
    struct schedule_row schedule;
    int64_t first_seen_at;
    int64_t last_seen_at, registered_at, muted_until; /* TIME_NULL */
};

int fleet_row_of(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                 struct fleet_agent *ret, struct error *err) MUST_CHECK;

/* What an agent's state is derived from. */
struct fleet_sign {
    int64_t agent_id;
    struct str key;        /* the sort key: the name, or its beginning and a digest */
    struct str agent_name; /* valid during the callback, as the key */
    bool enabled;
    struct opt_int interval_seconds;
    struct schedule_row schedule; /* valid during the callback */
    int64_t last_seen_at;         /* TIME_NULL */
};

struct fleet_span {
    struct str after_key; /* STR_NULL: from the first */
    int64_t limit;
};

/* Agents of a tenant, by the bytes of their keys, until `each` returns false. */
int fleet_signs(struct db *db, int64_t tenant_id, const struct fleet_span *span,
                bool (*each)(void *ctx, const struct fleet_sign *sign), void *ctx,
                struct error *err) MUST_CHECK;

/* The agents with these ids, a list of int64_t, that are still there, in its order: a list of
 * struct fleet_agent. */
int fleet_rows_by_id(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                     struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* What an agent declared to read and to give. */
struct fleet_contract {
    int64_t agent_id;
    struct list inputs, outputs; /* of struct io_field */
};

/* Of the agents with these ids, a list of int64_t, that are still there, in any order: a list of
 * struct fleet_contract. */
int fleet_contracts(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                    struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* What the agent declared about itself; agent_name is left empty. */
int fleet_declared(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                   struct agent_register *ret, struct error *err) MUST_CHECK;

/* Runs that started from `since` on and before `until`, the newest `limit` of them. */
struct run_totals_span {
    int64_t tenant_id, since, until, limit;
    int64_t agent_id; /* 0: of all agents */
    int64_t first;    /* when the first period begins: that of `since`, so not after it */
    int64_t width_us; /* of a period */
};

struct run_total {
    int64_t period; /* counted from 0 */
    int64_t event;  /* of enum run_event: what closed the runs; -1: they are open */
    int64_t runs;
};

/* A list of struct run_total. */
int run_totals_all(struct db *db, const struct run_totals_span *span, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

/* A run of one agent. */
struct agent_run_total {
    int64_t period; /* counted from 0 */
    int64_t event;  /* as above */
    struct opt_int duration_ms;
};

/* A list of struct agent_run_total. */
int run_totals_of_agent(struct db *db, const struct run_totals_span *span, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* The most frequent errors of these runs: a list of struct error_total (shapes.h). */
int run_totals_errors(struct db *db, const struct run_totals_span *span, struct arena *arena,
                      struct list *ret, struct error *err) MUST_CHECK;

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
    int64_t latest_at, started_at; /* the starts of its latest and of its first run */
};

struct workflows_found {
    struct list workflows; /* of struct workflow_found, the latest first; in the arena */
    bool more;
    int64_t examined_since; /* TIME_NULL: all runs of the span were examined */
};

int workflows_find(struct db *db, const struct workflow_span *span, struct arena *arena,
                   struct workflows_found *ret, struct error *err) MUST_CHECK;

/* An agent's runs in a workflow. */
struct workflow_agent {
    struct str agent_name;
    int64_t runs, failed, open, first_at;
    int64_t last_at; /* the end of the last; TIME_NULL: none has ended */
    int64_t place;   /* of the workflow among several */
};

/* A list of struct workflow_agent by first_at, of the workflow's newest WORKFLOW_RUNS_MAX runs. */
int workflow_agents_of(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                       struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* The same of each of these, a list of struct workflow_found: as many lists at ret. One statement
 * of PostgreSQL. */
int workflows_agents(struct db *db, int64_t tenant_id, const struct list *workflows,
                     struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* Its earliest runs: WORKFLOW_RUNS_MAX, or fewer when their texts are long. */
int workflow_runs_of(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                     struct arena *arena, struct workflow_runs *ret, struct error *err) MUST_CHECK;
