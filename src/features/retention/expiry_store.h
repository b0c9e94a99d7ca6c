/* expiry_store.h - deletes data that is older than its tenant's retention, in small steps.
 *
 * A run is deleted as a whole, in one transaction. Its events follow, some
 * with each call, so that no transaction is long; until then they belong to a
 * run that is in gone_runs.
 *
 * Every call is inside a transaction of the writer that began with
 * retention_take(). Rows that another transaction has locked are left
 * for the next call. After a crash at any point the next call continues.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/shapes.h"
#include "shape/shape.h"

struct db;

/* How many rows a statement deletes at once: takes a few milliseconds. */
int64_t expiry_portion(const struct db *db);

/* How many runs a call of expire_runs() should scan. */
int64_t expiry_window(const struct db *db);

/* Which runs to delete. */
struct expiry_runs {
    int64_t tenant_id;
    int64_t before;       /* runs whose last event is before this, … */
    int64_t open_before;  /* … and, of open runs, before this */
    int64_t keep_failed;  /* newest failed runs per agent to keep */
    struct run_cursor at; /* scanned up to here, by start; its run_id is borrowed */
    int64_t window;       /* how many to scan */
    int64_t now_us;
};

struct gone_run {
    struct str run_id;
    int64_t agent_id;
    bool open;
};

struct expired_runs {
    struct list runs;     /* of struct gone_run; in the arena, as is the next */
    struct run_cursor at; /* scanned up to here */
    bool more;            /* there are others to scan */
};

/* Deletes runs and closes the alerts of those that were stuck. expire_events() deletes their
 * events. */
int expire_runs(struct db *db, const struct expiry_runs *which, struct arena *arena,
                struct expired_runs *ret, struct error *err) MUST_CHECK;

/* The same for up to `max` runs whatever their age; the runs (struct gone_run) are in the arena. */
int expire_any_runs(struct db *db, int64_t tenant_id, int64_t max, struct arena *arena,
                    struct list *ret, struct error *err) MUST_CHECK;

/* Which reports to delete, and how many at once. */
struct expiry_reports {
    int64_t tenant_id;
    int64_t before; /* their timestamp; of a business run, that of its newest report */
    int64_t max;
};

struct expired_reports {
    int64_t rows;    /* deleted */
    int64_t reports; /* runs, usages or events they belonged to */
    int64_t bytes;   /* that they counted for their tenant (access/stored_bytes.h) */
};

/* Deletes up to `max` events of deleted runs. Fewer than that: none are left. */
int expire_events(struct db *db, int64_t tenant_id, int64_t max, struct expired_reports *ret,
                  struct error *err) MUST_CHECK;

/* Deletes reports of business runs, oldest first: about `max` rows. No rows: none are left. */
int expire_business(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
                    struct error *err) MUST_CHECK;

/* Deletes LLM reports, oldest first. Fewer than `max`: none are left. */
int expire_llm(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
               struct error *err) MUST_CHECK;

/* Deletes all rows of a tenant that is marked as deleted. */

/* A tenant that was deleted before this time (wall clock) and still has rows; 0: none. */
int erasure_next(struct db *db, int64_t before, int64_t *ret, struct error *err) MUST_CHECK;

/* Around the calls below. In between SQLite overwrites with zeros what is deleted and the pages
 * that become free; otherwise only where that costs nothing. */
int erasure_begin(struct db *db, struct error *err) MUST_CHECK;
int erasure_end(struct db *db, struct error *err) MUST_CHECK;

enum erasure_turn {
    ERASURE_OURS,  /* until the transaction ends: nothing else deletes for the tenant meanwhile */
    ERASURE_TAKEN, /* by another transaction: not now */
    ERASURE_ENDED, /* there is no such tenant any longer */
    ERASURE_LIVES, /* the tenant is not deleted: a database that has lost changes */
};

/* Takes the lock that retention takes, too: of two transactions that delete the same rows, each
 * would find some rows gone and conclude that it had deleted the last ones. ERR_INTERNAL if the
 * tenant is not deleted. */
int erasure_take(struct db *db, int64_t tenant_id, enum erasure_turn *ret,
                 struct error *err) MUST_CHECK;

/* Deletes the row by which it was taken. */
int erasure_limits(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* Tables with a tenant_id, in an order that foreign keys allow, except tenants and retention, which
 * go last, and in SQLite events and runs (expiry_store.h). A test compares them with the schema. */
extern const size_t erasure_tables_n;

/* Deletes up to `max` rows of a table. Fewer than that: none are left. */
int erasure_rows(struct db *db, int64_t tenant_id, size_t table, int64_t max, int64_t *ret,
                 struct error *err) MUST_CHECK;

/* Deletes the tenant itself, once nothing else is left. Its number is not used again. */
int erasure_tenant(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* For tests, which check their query plans. */
extern const struct db_query expiry_mark_runs, expiry_delete_runs, expiry_delete_events;
extern const struct db_query expiry_select_business, expiry_delete_llm;
extern const struct db_query expiry_delete_values, expiry_delete_breakdowns;
extern const struct db_query expiry_count_rows, expiry_delete_business_runs;
