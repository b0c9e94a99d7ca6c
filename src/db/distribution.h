/* distribution.h - where each table is stored when Citus spreads the database over several servers.
 *
 * Every table has one row in a manifest: a table of tenants' rows is split by
 * tenant_id, all of them alike, so that one tenant's rows lie on one server
 * and what concerns one tenant is done there; a reference table is whole on
 * every server. Migrations move new tables by it.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct db;

struct table_place {
    const char *table;
    const char *move;  /* SQL that distributes it */
    const char *clear; /* SQL that frees what its local copy took */
};

/* In the order in which they can be moved: what others refer to comes first. */
extern const struct table_place table_places[];
extern const size_t n_table_places;

/* How many tables of the manifest are distributed. Only with Citus. */
int distribution_count(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Refuses a database in which only some of the tables are distributed: their statements would fail.
 * ERR_SCHEMA. */
int distribution_check(struct db *db, struct error *err) MUST_CHECK;

/* Before a script that changes distributed tables, or distribution_run(): settings for the rest of
 * the connection. */
int distribution_prepare(struct db *db, struct error *err) MUST_CHECK;

/* Distributes what is not distributed yet, with its rows, and counts in *ret. Each table in a
 * transaction of its own unless one is open: after an error it can be called again. */
int distribution_run(struct db *db, size_t *ret, struct error *err) MUST_CHECK;

/* Frees what local copies of distributed tables take on the coordinator: those of this run and of
 * one that ended before it. A table without such a copy is not locked. */
int distribution_clear(struct db *db, struct error *err) MUST_CHECK;
