/* backup_store.h - copies a database, checks its integrity, and counts a tenant's bytes again. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* SQLite only: copies a consistent snapshot into `path`, a file that is empty or does not exist.
 * Not synced. */
int backup_copy(struct db *db, const char *path, struct error *err) MUST_CHECK;

enum { STORE_PROBLEMS_MAX = 10000 };

/* The problems found, one sentence each (struct str), in the arena; empty when the database is
 * intact. One more sentence says so when there may be more than STORE_PROBLEMS_MAX. In PostgreSQL,
 * which checks its own pages, only the schema is checked. */
int backup_check(struct db *db, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* The same for rows that do not match their checksums, and events that an export of their time
 * would leave out, each named by its sentence. In a database in which backup_check() found nothing.
 */
int backup_check_sums(struct db *db, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;

/* By how much what the writers counted (access/stored_bytes.h) is less than what the rows take. In
 * one view of the database, outside a transaction. */
int recount_tenant(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;
