/* alert_runs_store.h - the runs that alerts are about: an agent's last ones, which decide whether
 * it is failing, and those that are open for too long.
 *
 * Stuck runs are scanned once, by start, when they are old enough; a mark says how far. A run that
 * may take longer is put on a list for later.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

struct finished_run {
    struct str run_id;
    struct str error_type; /* STR_NULL */
    bool failed;
    int64_t ended_at;
    int64_t duration_ms;
};

/* Whose runs: of one agent, or of all (agent_id 0). */
struct finished_runs {
    int64_t tenant_id, agent_id, limit;
    bool deep; /* look at as many runs as are worth it: the answer is all that is known */
};

/* The last runs that have ended, newest start first: a list of struct finished_run. Looks at twice
 * as many runs and a few, so that runs that never end cost little; *ret_more: it looked at that
 * many, and runs that started before them may have ended too. */
int alert_runs_store_finished(struct db *db, const struct finished_runs *of, struct arena *arena,
                              struct list *ret, bool *ret_more, struct error *err) MUST_CHECK;

/* An open agent.failing alert, whether its agent still takes reports, and whether its tenant wants
 * alerts on failed runs. */
struct failing_row {
    int64_t tenant_id, agent_id;
    struct str alert_id, detail;
    bool enabled; /* and not deleted */
    bool deleted;
    bool wanted;
};

/* Of agents after this one, by tenant and agent: a list of struct failing_row. */
int alert_runs_store_failing(struct db *db, const struct failing_row *after, int64_t limit,
                             struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* The open alert of this agent; alert_id is STR_NULL if none is open. */
int alert_runs_store_failing_of(struct db *db, int64_t tenant_id, int64_t agent_id,
                                struct arena *arena, struct failing_row *ret,
                                struct error *err) MUST_CHECK;

/* Until the end of the transaction others wait here, and then count the runs that failed in it. */
int alert_runs_store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id,
                                  struct error *err) MUST_CHECK;

/* A position in the runs of a tenant, ordered by start and then by id. */
struct stuck_cursor {
    int64_t start_at;
    struct str run_id;
};

struct stuck_tenant {
    int64_t tenant_id;
    struct stuck_cursor mark; /* start_at TIME_NULL: no mark yet */
};

struct stuck_run {
    int64_t tenant_id, run_no, agent_id;
    struct str run_id, agent_name;
    int64_t start_at;
    bool open;
    bool expected; /* its agent is enabled, and not deleted */
    bool wanted;   /* its tenant has alerts on stuck runs enabled */
};

/* At most `limit` tenants by number, those after this one: a list of struct stuck_tenant. */
int alert_runs_store_stuck_tenants(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                                   struct list *ret, struct error *err) MUST_CHECK;

/* Stores how far runs have been scanned; a mark never moves back. */
int alert_runs_store_stuck_mark(struct db *db, const struct stuck_tenant *tenant,
                                struct error *err) MUST_CHECK;

/* Runs after a cursor. */
struct stuck_span {
    struct stuck_cursor after;
    int64_t until; /* a start, inclusive */
    int64_t limit;
};

/* Open runs without an alert, oldest first: a list of struct stuck_run. */
int alert_runs_store_stuck_runs(struct db *db, int64_t tenant_id, const struct stuck_span *span,
                                struct arena *arena, struct list *ret,
                                struct error *err) MUST_CHECK;

/* One run as it is now; run_no is 0 when there is no such run. */
int alert_runs_store_stuck_run(struct db *db, int64_t tenant_id, int64_t run_no,
                               struct arena *arena, struct stuck_run *ret,
                               struct error *err) MUST_CHECK;

/* Adds a run to the list for later, and removes it. */
int alert_runs_store_stuck_later(struct db *db, const struct stuck_run *run, int64_t due_at,
                                 struct error *err) MUST_CHECK;
int alert_runs_store_stuck_forget(struct db *db, const struct stuck_run *run,
                                  struct error *err) MUST_CHECK;

/* Due runs of the list for later: a list of struct stuck_run. */
int alert_runs_store_stuck_due(struct db *db, int64_t until, int64_t limit, struct arena *arena,
                               struct list *ret, struct error *err) MUST_CHECK;

/* Runs whose open run.stuck alert should be closed: a list of struct stuck_run. */
int alert_runs_store_stuck_over(struct db *db, int64_t limit, struct arena *arena, struct list *ret,
                                struct error *err) MUST_CHECK;

/* How many alerts of the type run.stuck are open for the run's agent. */
int alert_runs_store_stuck_count(struct db *db, const struct stuck_run *run, int64_t *ret,
                                 struct error *err) MUST_CHECK;

/* The id of the run's open alert, or STR_NULL. */
int alert_runs_store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                                 struct str *ret, struct error *err) MUST_CHECK;
