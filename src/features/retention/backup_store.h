/* backup_store.h - copies of a database, and whether it is sound. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* SQLite only: one unchanging view of it all as a new database in `path`, a file that is empty or
 * not there. Not synced. */
int store_copy(struct db *db, const char *path, struct error *err) MUST_CHECK;

enum { STORE_PROBLEMS_MAX = 100 };

/* What is wrong with the database, a sentence each (struct str), in the arena; none when it is
 * sound. PostgreSQL looks after its own pages: there only the schema is looked at. */
int store_check(struct db *db, struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;
