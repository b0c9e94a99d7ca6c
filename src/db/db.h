/* db.h - one interface to SQLite and PostgreSQL.
 *
 * A `struct db` is one connection, used by one thread at a time. SQL is a
 * static `struct db_query`: prepared on first use and kept with the
 * connection. Parameters are $1, $2, … in both dialects; each is used at least
 * once. PostgreSQL infers their types: where the statement leaves them open
 * (SELECT $1, $1 + 1), write CAST($1 AS BIGINT).
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct db_row;
struct row_sum;
struct shape;

/* One statement. `postgres` and `sqlite` override `sql` where the dialects differ; `citus`
 * overrides them where tenants are distributed (db_is_distributed()). Must be static: its address
 * is the key of the prepared statement. `row` is the struct that a row fills by column name
 * (shape/rows.h); NULL for queries that are read another way. `sum` is set when each row begins
 * with the columns of a checksum and the checksum (db/row_sum.h): the query fails with ERR_DAMAGED
 * before on_row() sees a row that does not match. `keeps_plan`: PostgreSQL plans it once in a while
 * instead of each time; for statements of the busiest path, whose plan hardly depends on their
 * arguments. */
struct db_query {
    const struct shape *row;
    const struct row_sum *sum;
    const char *sql;
    const char *sqlite, *postgres, *citus;
    bool keeps_plan;
};

/* A statement of one file, in one text for both dialects; DB_ROWS_QUERY also names the shape that a
 * row fills. */
#define DB_QUERY(id, text) static const struct db_query id = { .sql = text }
#define DB_ROWS_QUERY(id, shape, text)                                                             \
    static const struct db_query id = { .row = &(shape), .sql = text }

enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };

/* A parameter. Borrowed bytes: they must live until the call returns. A text is UTF-8 without NUL
 * (ERR_INVALID). A NaN is stored as NULL. */
struct db_value {
    enum db_type type;
    union {
        int64_t integer;
        double real;
        struct str bytes;
    };
};

static inline struct db_value db_null(void)
{
    return (struct db_value){ .type = DB_NULL };
}

static inline struct db_value db_int(int64_t value)
{
    return (struct db_value){ .type = DB_INT, .integer = value };
}

static inline struct db_value db_real(double value)
{
    return (struct db_value){ .type = DB_REAL, .real = value };
}

/* STR_NULL becomes NULL. */
static inline struct db_value db_text(struct str value)
{
    return (struct db_value){ .type = str_is_null(value) ? DB_NULL : DB_TEXT, .bytes = value };
}

static inline struct db_value db_blob(struct str value)
{
    return (struct db_value){ .type = str_is_null(value) ? DB_NULL : DB_BLOB, .bytes = value };
}

/* The arguments of a statement, counted by the compiler. */
struct db_args {
    const struct db_value *values;
    size_t n;
};

#define DB_NO_ARGS ((struct db_args){ NULL, 0 })

/* $1, $2, …; they live until the end of the block. */
#define DB_ARGS(...)                                                                               \
    ((struct db_args){ (const struct db_value[]){ __VA_ARGS__ },                                   \
                       sizeof((const struct db_value[]){ __VA_ARGS__ }) /                          \
                           sizeof(struct db_value) })

/* The same from an array (never a pointer). */
#define DB_ARGS_OF(array) ((struct db_args){ (array), COUNT_OF(array) })

/* Columns of the current row, counted from 0; borrowed until the next row. A NULL reads as 0, 0.0
 * or STR_NULL. */
bool db_is_null(const struct db_row *row, unsigned column);
int64_t db_get_int(const struct db_row *row, unsigned column);
double db_get_real(const struct db_row *row, unsigned column);
struct str db_get_text(const struct db_row *row, unsigned column);
struct str db_get_blob(const struct db_row *row, unsigned column);

/* How many columns the query has, and the name of one: its AS, or the table's. */
unsigned db_columns(const struct db_row *row);
const char *db_column_name(const struct db_row *row, unsigned column);

/* Called for each row. Return false to stop early: that is no error, and what the statement writes
 * is written all the same; PostgreSQL still sends the rest, so LIMIT is cheaper. Must not use the
 * db. */
typedef bool db_row_fn(void *ctx, const struct db_row *row);

/* Keeps the first column of the one row in an int64_t. */
bool db_read_int(void *ctx, const struct db_row *row);

enum db_mode {
    DB_WRITER,      /* the one that writes, migrates and checkpoints */
    DB_READER,      /* read-only; a statement has 5 s, a transaction 10 s, then ERR_BUSY */
    DB_POOLED,      /* as DB_READER, guarded (db/servers.h), and connected when it is first used */
    DB_MAINTENANCE, /* read-only without a time limit: backups and checks, in their own process */
};

/* `url`: "sqlite:PATH" or "postgresql://…" (also "postgres://"). The caller owns *ret. */
int db_open(const char *url, enum db_mode mode, struct db **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void db_close(struct db *db);

/* Connects to PostgreSQL again if the connection was lost. A writer: takes SQLite's write lock now;
 * ERR_BUSY when another keeps it for 5 s. PostgreSQL is told with the first statement, which fails
 * if the transaction cannot begin. A reader: one unchanging view until commit or rollback. */
int db_begin(struct db *db, struct error *err) MUST_CHECK;

/* Durable on return of 0. After ERR_IO it is unknown what is stored: the process must end, and an
 * SQLite writer refuses everything from then on. ERR_UNAVAILABLE: the connection was lost and with
 * it the answer; whether it was stored is unknown, and a retry must be idempotent. After any error:
 * roll back. */
int db_commit(struct db *db, struct error *err) MUST_CHECK;

/* Cannot fail usefully; without a transaction it does nothing. */
void db_rollback(struct db *db);

/* Ends a transaction that only read, and returns its result `r`. */
int db_end_read(struct db *db, int r) MUST_CHECK;

/* Runs one statement; `on_row` may be NULL. Too few `args` are ERR_INTERNAL; more are ignored, so
 * that two statements can share them. Outside a transaction it commits by itself. */
int db_exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
            void *ctx, struct error *err) MUST_CHECK;

/* The same for a statement without rows to read. */
int db_run(struct db *db, const struct db_query *q, struct db_args args,
           struct error *err) MUST_CHECK;

/* The same for a statement whose one row is one number; 0: it has no row. */
int db_exec_int(struct db *db, const struct db_query *q, struct db_args args, int64_t *ret,
                struct error *err) MUST_CHECK;

/* The same for one truth, as a number; false: it has no row. */
int db_exec_bool(struct db *db, const struct db_query *q, struct db_args args, bool *ret,
                 struct error *err) MUST_CHECK;

/* The same as db_run(); *ret is whether it changed a row. */
int db_run_changed(struct db *db, const struct db_query *q, struct db_args args, bool *ret,
                   struct error *err) MUST_CHECK;

/* The same as db_run() for a statement that must change a row: if it changes none, it fails with
 * this code and text. */
int db_run_or(struct db *db, const struct db_query *q, struct db_args args, struct error *err,
              enum err_code code, const char *fmt, ...) PRINTF(6, 7) MUST_CHECK;

/* Fails with ERR_CONFLICT if the one number of the query has reached `max`: there are that many
 * `what`, a plural. */
int db_check_room(struct db *db, const struct db_query *count, struct db_args args, int64_t max,
                  const char *what, struct error *err) MUST_CHECK;

/* The same as db_run(), in a transaction, for a statement whose result is not needed before the
 * next statement or the commit. With PostgreSQL it is sent together with that one, which returns
 * its error. */
int db_run_later(struct db *db, const struct db_query *q, struct db_args args,
                 struct error *err) MUST_CHECK;

/* The same with rows: on_row may be called as late as during the next statement, but not after a
 * rollback. */
int db_exec_later(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                  void *ctx, struct error *err) MUST_CHECK;

/* Waits for the answers to the statements of db_run_later() and db_exec_later(), before the commit
 * does. */
int db_settle(struct db *db, struct error *err) MUST_CHECK;

/* A function of a store that is one statement; its prototype is in the store's header:
 *
 *     DB_RUN_FN(role_remove, (int64_t tenant_id, struct str user_id),
 *         (db_int(tenant_id), db_text(user_id)),
 *         "DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2");
 *
 * is role_remove(db, tenant_id, user_id, err) with these arguments of db_run(). DB_INT_FN is
 * the same of db_exec_int(), with `ret` before `err`; DB_CHANGED_FN of db_run_changed();
 * ROWS_LIST_FN and ROWS_ONE_FN (shape/rows.h) of rows_list() and rows_one(). */
#define DB_RUN_FN(id, params, args, text)                                                          \
    DB_QUERY(id##_query, text);                                                                    \
    int id(struct db *db, DB_ONLY params, struct error *err)                                       \
    {                                                                                              \
        return db_run(db, &id##_query, DB_ARGS args, err);                                         \
    }                                                                                              \
    DB_FN_END(id)
#define DB_INT_FN(id, params, args, text)                                                          \
    DB_QUERY(id##_query, text);                                                                    \
    int id(struct db *db, DB_ONLY params, int64_t *ret, struct error *err)                         \
    {                                                                                              \
        return db_exec_int(db, &id##_query, DB_ARGS args, ret, err);                               \
    }                                                                                              \
    DB_FN_END(id)

#define DB_CHANGED_FN(id, params, args, text)                                                      \
    DB_QUERY(id##_query, text);                                                                    \
    int id(struct db *db, DB_ONLY params, bool *ret, struct error *err)                            \
    {                                                                                              \
        return db_run_changed(db, &id##_query, DB_ARGS args, ret, err);                            \
    }                                                                                              \
    DB_FN_END(id)

/* What is between the parentheses; and what the semicolon after such a function ends. */
#define DB_ONLY(...)  __VA_ARGS__
#define DB_FN_END(id) _Static_assert(sizeof(#id) > 1, "a function has a name")

/* Another number after a connection of this process to the database was lost and made again: what
 * was read before it may not be there, if a standby has become the primary. Of the transaction or
 * statement that began last. */
int64_t db_session(const struct db *db);

/* Rows that the last db_exec() of this connection inserted, updated or deleted. */
int64_t db_changes(const struct db *db);

/* Several statements separated by ';', without parameters: migrations. All or nothing only inside
 * a transaction. */
int db_script(struct db *db, const char *sql, struct error *err) MUST_CHECK;

/* Are tenants spread over several servers by Citus (db/distribution.h)? Then a statement that
 * changes or locks rows names one tenant. Known from the connection's start on. */
bool db_is_distributed(const struct db *db);

/* "sqlite" or "postgres": which of a pair of migrations applies. */
const char *db_dialect(const struct db *db);
