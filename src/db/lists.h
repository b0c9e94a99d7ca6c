/* lists.h - many values as one parameter of a statement, and many rows as one statement. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "db/db.h"

/* For unnest($2::bigint[]) in PostgreSQL and json_each($2) in SQLite; in the arena. */
struct db_value db_id_list(const struct db *db, const int64_t *ids, size_t n, struct arena *arena);

/* The same of texts, for unnest($2::text[]) and json_each($2). */
struct db_value db_text_list(const struct db *db, const struct str *texts, size_t n,
                             struct arena *arena);

/* Is a statement that takes arrays of many tenants' rows the right one for this database? Others
 * have statements without arrays, or tenants that are distributed. */
bool pg_arrays_suit(const struct db *db);

struct pg_array {
    struct buf text;
    size_t n;
};

/* One array for each of `n_columns`. Those after the first end with their last value that is not
 * NULL: unnest() of several arrays fills the shorter ones with NULL, and most columns of most rows
 * are NULL. */
struct pg_arrays {
    struct pg_array *columns;
    size_t n_columns, n_rows;
};

struct pg_arrays pg_arrays_of(size_t n_columns, struct arena *arena);

/* NULL-safe for half-built ones. */
void pg_arrays_done(struct pg_arrays *a);

/* Arrays that end with the block, which must be before the arena does. */
#define PG_ARRAYS_SCOPED(name, n_columns, arena)                                                   \
    struct pg_arrays name SCOPED(pg_arrays_done) = pg_arrays_of(n_columns, arena)

/* One value for each column. */
void pg_arrays_add(struct pg_arrays *a, const struct db_value *values);

/* Closes the arrays and gives them as `n_columns` parameters, borrowed until pg_arrays_done(). */
void pg_arrays_args(struct pg_arrays *a, struct db_value *ret);

/* Rows of parameters for one statement; the first column is the row's tenant. */
struct pg_rows {
    const struct db_query *one; /* takes a row */
    /* Takes each column as an array, all rows at once; where tenants are distributed, the rows of a
     * tenant, and $1 is the tenant. */
    const struct db_query *all;
    bool undistributed; /* `all` has no such form: there `one` is used */
    size_t n, n_columns;
    void (*fill)(void *ctx, size_t i, struct db_value *ret); /* valid until the next call */
    db_row_fn *on_row; /* NULL: the statement returns nothing */
    void *ctx;         /* of both */
    size_t *at;        /* NULL, or set to the index of a statement's first row, for on_row */
};

/* All rows at once in PostgreSQL, where each statement is a turn over the network; one after the
 * other in SQLite. */
int pg_exec_rows(struct db *db, const struct pg_rows *rows, struct arena *arena,
                 struct error *err) MUST_CHECK;
