/* erasure_store.h - deletes all rows of a tenant that is marked as deleted, in small steps.
 *
 * Every call is inside a transaction of the writer. After a crash at any point the next call
 * continues.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;

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

/* Takes the lock that retention takes, too. Two that delete the same rows would each find the
 * other's gone, and take that for the last ones. ERR_INTERNAL if the tenant is not deleted. */
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
