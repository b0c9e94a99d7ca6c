/* migrate.h - brings a database to the schema this program was built for. */
#pragma once
#include "base/err.h"

struct db;

/* One step, from migrations/NNNN_name.sql (cmake/embed_migrations.cmake). */
struct migration {
    int number; /* 1, 2, … without gaps */
    /* Programs with fewer migrations than this cannot use what it makes. */
    int sqlite_oldest, postgres_oldest;
    const char *name;
    const char *sqlite, *postgres;
};

extern const struct migration migrations[];
extern const size_t n_migrations;

/* Sent by db_notify() before and after the retry of a step that could not get its locks: nodes that
 * receive them begin no transaction in between, for at most MIGRATE_PAUSE_MS. */
#define MIGRATE_BEGINS "migrates"
#define MIGRATE_ENDS   "migrated"
enum { MIGRATE_PAUSE_MS = 900 };

/* Applies what is missing, each step in a transaction of its own under a lock that other processes
 * wait for. Programs that use the database meanwhile are not held up: a step that waits for one of
 * their locks gives up after half a second and is tried again, for a minute, while nodes pause, and
 * an index of a large table is built beside them. With Citus the coordinator does it, also if the
 * connection is a worker's. ERR_SCHEMA when the database is newer than this program, and one of its
 * steps is not for it. */
int store_migrate(struct db *db, struct error *err) MUST_CHECK;

/* Read-only: is this a muster database, of a version that this program knows or can migrate from?
 * ERR_SCHEMA if not. */
int store_schema_check(struct db *db, struct error *err) MUST_CHECK;
