/* expiry_store.h - deletes rows past their tenant's retention, in small portions.
 *
 * A run is deleted in one transaction. Its events follow, a portion per call,
 * so that no transaction is long; until then the run is listed in gone_runs.
 *
 * Every call is inside a transaction of the writer that began with
 * store_retention_take(). Rows locked by another process are left for a later
 * call. After a crash at any point the next call continues.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/run_cursor.h"
#include "shape/shape.h"

struct db;

/* The runs to delete. */
struct expiry_runs {
    int64_t tenant_id;
    int64_t before;       /* the last event is before this, … */
    int64_t open_before;  /* … and, for open runs, also before this */
    int64_t keep_failed;  /* newest failed runs to keep per agent */
    struct run_cursor at; /* runs up to here were examined, by start; its run_id is borrowed */
    int64_t window;       /* how many runs to examine */
    int64_t now_us;
};

struct gone_run {
    struct str run_id;
    int64_t agent_id;
    bool open;
};

struct expired_runs {
    struct list runs;     /* of struct gone_run; in the arena, as is the next */
    struct run_cursor at; /* runs up to here were examined */
    bool more;            /* further runs to examine */
};

/* Deletes runs, and closes the stuck-run alerts of open ones. store_expire_events() deletes their
 * events. */
int store_expire_runs(struct db *db, const struct expiry_runs *which, struct arena *arena,
                      struct expired_runs *ret, struct error *err) MUST_CHECK;

/* Deletes up to `max` events of deleted runs. Fewer than `max`: none is left. */
int store_expire_events(struct db *db, int64_t tenant_id, int64_t max, int64_t *ret,
                        struct error *err) MUST_CHECK;

/* The reports to delete, and how many per call. */
struct expiry_reports {
    int64_t tenant_id;
    int64_t before; /* their timestamp; of a business run, that of its newest report */
    int64_t max;
};

struct expired_reports {
    int64_t rows;    /* deleted */
    int64_t reports; /* business runs or LLM usages deleted */
};

/* Deletes business reports, oldest first, until `max` rows are reached; the last run may exceed
 * that. No rows: none is left. */
int store_expire_business(struct db *db, const struct expiry_reports *which,
                          struct expired_reports *ret, struct error *err) MUST_CHECK;

/* Deletes LLM reports, oldest first. Fewer than `max`: none is left. */
int store_expire_llm(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
                     struct error *err) MUST_CHECK;

/* For tests of the query plans. */
extern const struct db_query expiry_mark_runs, expiry_delete_runs, expiry_delete_events;
extern const struct db_query expiry_select_business, expiry_delete_llm;
