/* stuck_store.h - runs that are open for too long.
 *
 * Runs are scanned once, by start, when they are old enough; a mark says how far. A run that may
 * take longer is put on a list for later.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* A position in the runs of a tenant, ordered by start and then by id. */
struct stuck_cursor {
    int64_t start_at;
    struct str run_id;
};

/* Sorts after every run id. */
#define STUCK_LAST_ID STR_LIT("z")

struct stuck_tenant {
    int64_t tenant_id;
    struct stuck_cursor mark; /* start_at TIME_NULL: no mark yet */
};

struct stuck_run {
    int64_t tenant_id, run_no, agent_id;
    struct str run_id, agent_name;
    int64_t start_at;
    int64_t muted_until; /* of its agent; TIME_NULL */
    bool open;
    bool expected; /* its agent is enabled, and not deleted */
    bool wanted;   /* its tenant has alerts on stuck runs enabled */
};

/* At most `limit` tenants by number, those after this one: a list of struct stuck_tenant. */
int store_stuck_tenants(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* Stores how far runs have been scanned; a mark never moves back. */
int store_stuck_mark(struct db *db, const struct stuck_tenant *tenant,
                     struct error *err) MUST_CHECK;

/* Runs after a cursor. */
struct stuck_span {
    struct stuck_cursor after;
    int64_t until; /* a start, inclusive */
    int64_t limit;
};

/* Open runs without an alert, oldest first: a list of struct stuck_run. */
int store_stuck_runs(struct db *db, int64_t tenant_id, const struct stuck_span *span,
                     struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* One run as it is now; run_no is 0 when there is no such run. */
int store_stuck_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                    struct stuck_run *ret, struct error *err) MUST_CHECK;

/* Adds a run to the list for later, and removes it. */
int store_stuck_later(struct db *db, const struct stuck_run *run, int64_t due_at,
                      struct error *err) MUST_CHECK;
int store_stuck_forget(struct db *db, const struct stuck_run *run, struct error *err) MUST_CHECK;

/* Due runs of the list for later: a list of struct stuck_run. */
int store_stuck_due(struct db *db, int64_t until, int64_t limit, struct arena *arena,
                    struct list *ret, struct error *err) MUST_CHECK;

/* Runs whose open run.stuck alert should be closed: a list of struct stuck_run. */
int store_stuck_over(struct db *db, int64_t limit, struct arena *arena, struct list *ret,
                     struct error *err) MUST_CHECK;

/* How many alerts of the type run.stuck are open for the run's agent. */
int store_stuck_count(struct db *db, const struct stuck_run *run, int64_t *ret,
                      struct error *err) MUST_CHECK;

/* The id of the run's open alert, or STR_NULL. */
int store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                      struct str *ret, struct error *err) MUST_CHECK;
