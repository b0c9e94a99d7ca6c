/* failing_store.h - what decides whether an agent is failing: its last runs.
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
int store_finished_runs(struct db *db, const struct finished_runs *of, struct arena *arena,
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
int store_failing(struct db *db, const struct failing_row *after, int64_t limit,
                  struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* The open alert of this agent; alert_id is STR_NULL if none is open. */
int store_failing_of(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                     struct failing_row *ret, struct error *err) MUST_CHECK;

/* Until the end of the transaction others wait here, and then count the runs that failed in it. */
int store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id,
                       struct error *err) MUST_CHECK;
