/* suite.h - a database to run the shared tests over; suite_sqlite.c or suite_postgres.c is linked.
 */
#pragma once
#include "db/db.h"
#include "test.h"

/* Makes an empty database and forgets the one before; the URL lives until the next call. */
const char *suite_new_database(void);

/* Opens the database made last; fails the test when it cannot. */
static inline struct db *suite_open(const char *url, enum db_mode mode)
{
    struct error err = { 0 };
    struct db *db = NULL;

    if (db_open(url, mode, &db, &err) != 0)
        fail_msg("%s", err.text);
    return db;
}

/* Runs `sql`, which must succeed. */
static inline void suite_script(struct db *db, const char *sql)
{
    struct error err = { 0 };

    if (db_script(db, sql, &err) != 0)
        fail_msg("%s", err.text);
}

/* Runs `q`, which must succeed. */
static inline void suite_exec(struct db *db, const struct db_query *q, struct db_args args)
{
    struct error err = { 0 };

    if (db_exec(db, q, args, NULL, NULL, &err) != 0)
        fail_msg("%s", err.text);
}

static inline bool suite_read_int(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_get_int(row, 0);
    return true;
}

/* The first column of the last row; 0 when there is none. */
static inline int64_t suite_int(struct db *db, const struct db_query *q)
{
    struct error err = { 0 };
    int64_t value = 0;

    if (db_exec(db, q, DB_NO_ARGS, suite_read_int, &value, &err) != 0)
        fail_msg("%s", err.text);
    return value;
}
