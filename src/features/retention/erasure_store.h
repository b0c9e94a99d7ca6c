/* erasure_store.h - deletes all rows of a tenant that is marked as deleted, in small steps.
 *
 * Every call is inside a transaction of the writer. After a crash at any point the next call
 * continues.
 */
#pragma once
#include "base/err.h"

struct db;

/* A tenant that was deleted before this time (wall clock) and still has rows; 0: none. */
int store_erasure_next(struct db *db, int64_t before, int64_t *ret, struct error *err) MUST_CHECK;

/* Around the calls below. In between SQLite overwrites with zeros what is deleted and the pages
 * that become free; otherwise only where that costs nothing. */
int store_erase_begin(struct db *db, struct error *err) MUST_CHECK;
int store_erase_end(struct db *db, struct error *err) MUST_CHECK;

/* Tables with a tenant_id, except events and runs (expiry_store.h) and tenants, in an order that
 * foreign keys allow. A test compares them with the schema. */
extern const size_t erasure_tables_n;

/* Deletes up to `max` rows of a table. Fewer than that: none are left. */
int store_erase_rows(struct db *db, int64_t tenant_id, size_t table, int64_t max, int64_t *ret,
                     struct error *err) MUST_CHECK;

/* Deletes the tenant itself, once nothing else is left. Its number is not used again. */
int store_erase_tenant(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;
