/* db.h - one interface to SQLite and PostgreSQL.
 *
 * A `struct db` is one connection, used by one thread at a time. SQL is a
 * static `struct db_query`: prepared on first use and kept with the
 * connection. Parameters are $1, $2, … in both dialects; each is used at least
 * once. PostgreSQL infers their types: where the statement does not show them
 * (SELECT $1, $1 + 1), write CAST($1 AS BIGINT).
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct db_row;

/* One statement. `postgres` and `sqlite` override `sql` where the dialects differ. Must be static:
 * its address is the key of the prepared statement. */
struct db_query {
    const char *sql;
    const char *sqlite, *postgres;
    unsigned n_args;
};

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

/* Columns of the current row, counted from 0; borrowed until the next row. A NULL reads as 0, 0.0
 * or STR_NULL. */
bool db_is_null(const struct db_row *row, unsigned column);
int64_t db_get_int(const struct db_row *row, unsigned column);
double db_get_real(const struct db_row *row, unsigned column);
struct str db_get_text(const struct db_row *row, unsigned column);
struct str db_get_blob(const struct db_row *row, unsigned column);

/* Called for each row. Return false to stop early: that is no error, and what the statement writes
 * is written all the same; PostgreSQL still sends the rest, so LIMIT is cheaper. Must not use the
 * db. */
typedef bool db_row_fn(void *ctx, const struct db_row *row);

enum db_mode {
    DB_WRITER,      /* the one that writes, migrates and checkpoints */
    DB_READER,      /* read-only, and no statement takes longer than a few seconds */
    DB_MAINTENANCE, /* read-only without a time limit: backups and checks, in their own process */
};

/* `url`: "sqlite:PATH" or "postgresql://…" (also "postgres://"). The caller owns *ret. */
int db_open(const char *url, enum db_mode mode, struct db **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void db_close(struct db *db);

/* A writer: takes SQLite's write lock now; ERR_BUSY when another keeps it for 5 s. A reader: one
 * unchanging view until commit or rollback. */
int db_begin(struct db *db, struct error *err) MUST_CHECK;

/* Durable on return of 0. After ERR_IO it is unknown what is stored: the process must end, and an
 * SQLite writer refuses everything from then on. ERR_UNAVAILABLE: the connection was lost and with
 * it the answer; whether it was stored is unknown, and a retry must be idempotent. After any error:
 * roll back. */
int db_commit(struct db *db, struct error *err) MUST_CHECK;

/* Cannot fail usefully; without a transaction it does nothing. */
void db_rollback(struct db *db);

/* Runs one statement; `on_row` may be NULL. `args` has q->n_args values. Not inside a transaction:
 * commits by itself. */
int db_exec(struct db *db, const struct db_query *q, const struct db_value *args, db_row_fn *on_row,
            void *ctx, struct error *err) MUST_CHECK;

/* Rows that the last db_exec() of this connection inserted, updated or deleted. */
int64_t db_changes(const struct db *db);

/* Several statements separated by ';', without parameters: migrations. All or nothing only inside
 * a transaction. */
int db_script(struct db *db, const char *sql, struct error *err) MUST_CHECK;

/* Is the connection good for another try? Reconnects (PostgreSQL) when it was lost. Never call it
 * inside a transaction. */
int db_ping(struct db *db, struct error *err) MUST_CHECK;

/* Moves the log into the database file and empties it, synced; nothing to do on PostgreSQL. */
int db_checkpoint(struct db *db, struct error *err) MUST_CHECK;

/* `go_on` is called periodically while a statement of a DB_MAINTENANCE connection runs; false ends
 * it with ERR_BUSY. Not with PostgreSQL. */
void db_watch(struct db *db, bool (*go_on)(void *ctx), void *ctx);

/* From now on a statement of this reader ends with ERR_BUSY once clock_mono_us() has passed
 * `until_us`, checked between rows and periodically without rows. So it does after 32 KiB of text
 * and blobs, because the caller needs time for them too. on_row may have seen some rows by then.
 * Locks are not waited for. 0: no deadline. Returns false, and changes nothing, where a deadline
 * cannot be kept: with PostgreSQL, and on connections that are not readers. */
bool db_set_deadline(struct db *db, int64_t until_us);

/* For code that knows that it would miss the deadline, or would wait for something else. */
bool db_has_deadline(const struct db *db);

/* "sqlite" or "postgres": which of a pair of migrations applies. */
const char *db_dialect(const struct db *db);
