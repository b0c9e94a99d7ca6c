/* expiry_store.h - deleting what is older than its tenant wants it to be, a little at a time.
 *
 * A run goes as a whole: from one transaction to the next it is not there any
 * more. Its events follow, some with each call, so that no transaction is
 * long; until then they stand under a run that is in gone_runs.
 *
 * Every call is inside a transaction of the writer that began with
 * store_retention_take(). What somebody else holds at that moment is left for
 * the next time. A crash at any point leaves what the next call goes on with.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/run_cursor.h"
#include "shape/shape.h"

struct db;

/* Which runs go. */
struct expiry_runs {
    int64_t tenant_id;
    int64_t before;       /* those whose last event is before this, … */
    int64_t open_before;  /* … and, of those that are open, before this */
    int64_t keep_failed;  /* newest failed runs of each agent that stay */
    struct run_cursor at; /* looked through up to here, by start; its run_id is borrowed */
    int64_t window;       /* how many to look at */
    int64_t now_us;
};

struct gone_run {
    struct str run_id;
    int64_t agent_id;
    bool open;
};

struct expired_runs {
    struct list runs;     /* of struct gone_run; in the arena, as is the next */
    struct run_cursor at; /* looked through up to here */
    bool more;            /* there are others to look at */
};

/* Deletes runs, and closes the alerts of open ones that were stuck. Their events are to follow. */
int store_expire_runs(struct db *db, const struct expiry_runs *which, struct arena *arena,
                      struct expired_runs *ret, struct error *err) MUST_CHECK;

/* Deletes up to `max` events of runs that are gone. Fewer than that: there are no more. */
int store_expire_events(struct db *db, int64_t tenant_id, int64_t max, int64_t *ret,
                        struct error *err) MUST_CHECK;

/* Which reports go, and how many at once. */
struct expiry_reports {
    int64_t tenant_id;
    int64_t before; /* their timestamp; of a business run, that of its newest report */
    int64_t max;
};

struct expired_reports {
    int64_t rows;    /* that went */
    int64_t reports; /* how many runs or usages they were */
};

/* Deletes what was reported of business runs, oldest first: up to `max` rows, or as many again of
 * the last run. No rows: there are no more. */
int store_expire_business(struct db *db, const struct expiry_reports *which,
                          struct expired_reports *ret, struct error *err) MUST_CHECK;

/* Deletes LLM reports, oldest first. Fewer than `max`: there are no more. */
int store_expire_llm(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
                     struct error *err) MUST_CHECK;

/* For tests, which ask the database how it goes about it. */
extern const struct db_query expiry_mark_runs, expiry_delete_runs, expiry_delete_events;
extern const struct db_query expiry_select_business, expiry_delete_llm;
