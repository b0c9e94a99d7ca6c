/* driver.c - picks the driver by the URL and passes every call on to it. */
#include "db/driver.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "db/embedded.h"
#include "db/row_sum.h"

int db_open(const char *url, enum db_mode mode, struct db **ret, struct error *err)
{
    static const struct {
        struct str scheme;
        bool keeps_scheme; /* the driver wants the URL whole */
        int (*open)(const char *url, enum db_mode mode, struct db **ret, struct error *err);
    } schemes[] = {
        { STR_INIT("sqlite:"), false, db_sqlite_open },
        { STR_INIT("postgresql://"), true, db_postgres_open },
        { STR_INIT("postgres://"), true, db_postgres_open },
    };

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (str_starts(str_of(url), schemes[i].scheme))
            return schemes[i].open(schemes[i].keeps_scheme ? url : url + schemes[i].scheme.len,
                                   mode, ret, err);
    /* The URL is not quoted: it may hold a password. */
    return err_set(
        err, ERR_INVALID,
        "database: a URL begins with sqlite: or postgresql://, and this one does not; leave it "
        "out for SQLite in the data directory");
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    db_begin_use(db);
    db->driver->close(db);
}

int db_begin(struct db *db, struct error *err)
{
    db_begin_use(db);
    db->contended = false;
    return db_end_use(db, db->driver->begin(db, err));
}

int db_commit(struct db *db, struct error *err)
{
    db_begin_use(db);
    return db_end_use(db, db->driver->commit(db, err));
}

bool db_may_defer_sync(const struct db *db)
{
    return db->driver->sync != NULL;
}

int db_sync(struct db *db, struct error *err)
{
    return db->driver->sync(db, err);
}

void db_rollback(struct db *db)
{
    db_begin_use(db);
    db->driver->rollback(db);
    (void)db_end_use(db, 0);
}

int db_end_read(struct db *db, int r)
{
    db_rollback(db);
    return r;
}

void db_set_skip_damaged(struct db *db)
{
    db->skip_damaged = true;
}

bool db_skips_damaged(struct db *db)
{
    db->n_skipped += db->skip_damaged;
    return db->skip_damaged;
}

int64_t db_skipped(const struct db *db)
{
    return db->n_skipped;
}

/* Context of an on_row wrapper that verifies the checksum of each row. */
struct verified {
    struct db *db;
    const struct row_sum *sum;
    db_row_fn *on_row;
    void *ctx;
    bool damaged;
};

static bool verify_row(void *ctx, const struct db_row *row)
{
    struct verified *v = ctx;

    if (row_sum_check(v->sum, row, 0))
        return v->on_row(v->ctx, row);
    v->damaged = !db_skips_damaged(v->db);
    return !v->damaged;
}

static int exec_verified(struct db *db, const struct db_query *q, struct db_args args,
                         struct verified *v, struct error *err)
{
    if (db->driver->exec(db, q, args, verify_row, v, err) != 0)
        return -1;
    return v->damaged
               ? err_set(err, ERR_DAMAGED, "a row of %s does not match its checksum", v->sum->table)
               : 0;
}

int db_exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
            void *ctx, struct error *err)
{
    assert(args.n == 0 || args.values != NULL);
    db_begin_use(db);
    if (q->sum != NULL && on_row != NULL) {
        struct verified v = { db, q->sum, on_row, ctx, false };

        return db_end_use(db, exec_verified(db, q, args, &v, err));
    }
    return db_end_use(db, db->driver->exec(db, q, args, on_row, ctx, err));
}

int db_run(struct db *db, const struct db_query *q, struct db_args args, struct error *err)
{
    return db_exec(db, q, args, NULL, NULL, err);
}

int db_run_later(struct db *db, const struct db_query *q, struct db_args args, struct error *err)
{
    return db_exec_later(db, q, args, NULL, NULL, err);
}

int db_exec_later(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                  void *ctx, struct error *err)
{
    assert(q->sum == NULL); /* the verifying wrapper is on the stack, and would be gone by then */
    if (db->driver->exec_later == NULL)
        return db_exec(db, q, args, on_row, ctx, err);
    db_begin_use(db);
    return db_end_use(db, db->driver->exec_later(db, q, args, on_row, ctx, err));
}

int db_fail_args(struct db_args args, unsigned n_params, struct error *err)
{
    return err_set(err, ERR_INTERNAL, "the query has %u parameters but %zu arguments", n_params,
                   args.n);
}

int64_t db_session(const struct db *db)
{
    return db->session;
}

int64_t db_changes(const struct db *db)
{
    return db->changes;
}

int db_script(struct db *db, const char *sql, struct error *err)
{
    db_begin_use(db);
    return db_end_use(db, db->driver->script(db, sql, err));
}

bool db_is_distributed(const struct db *db)
{
    return db->distributed;
}

const char *db_dialect(const struct db *db)
{
    return db->driver->dialect;
}

bool db_is_null(const struct db_row *row, unsigned column)
{
    return row->methods->is_null(row, column);
}

int64_t db_get_int(const struct db_row *row, unsigned column)
{
    return row->methods->get_int(row, column);
}

double db_get_real(const struct db_row *row, unsigned column)
{
    return row->methods->get_real(row, column);
}

struct str db_get_text(const struct db_row *row, unsigned column)
{
    return row->methods->get_bytes(row, column, DB_TEXT);
}

struct str db_peek_text(const struct db_row *row, unsigned column)
{
    return row->methods->peek_text(row, column);
}

struct str db_get_blob(const struct db_row *row, unsigned column)
{
    return row->methods->get_bytes(row, column, DB_BLOB);
}

unsigned db_columns(const struct db_row *row)
{
    return row->methods->columns(row);
}

const char *db_column_name(const struct db_row *row, unsigned column)
{
    assert(column < db_columns(row));
    return row->methods->column_name(row, column);
}

bool db_read_int(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_get_int(row, 0);
    return false;
}

int db_exec_int(struct db *db, const struct db_query *q, struct db_args args, int64_t *ret,
                struct error *err)
{
    *ret = 0;
    return db_exec(db, q, args, db_read_int, ret, err);
}

int db_exec_bool(struct db *db, const struct db_query *q, struct db_args args, bool *ret,
                 struct error *err)
{
    int64_t truth;

    if (db_exec_int(db, q, args, &truth, err) != 0)
        return -1;
    *ret = truth != 0;
    return 0;
}

int db_run_or(struct db *db, const struct db_query *q, struct db_args args, struct error *err,
              enum err_code code, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list values;

    if (db_run(db, q, args, err) != 0)
        return -1;
    if (db_changes(db) > 0)
        return 0;
    va_start(values, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, values);
    va_end(values);
    return err_set(err, code, "%s", text);
}

int db_check_room(struct db *db, const struct db_query *count, struct db_args args, int64_t max,
                  const char *what, struct error *err)
{
    int64_t n;

    if (db_exec_int(db, count, args, &n, err) != 0)
        return -1;
    return n < max ? 0
                   : err_set(err, ERR_CONFLICT, "There are %lld %s already, which is the limit",
                             (long long)n, what);
}

int db_run_changed(struct db *db, const struct db_query *q, struct db_args args, bool *ret,
                   struct error *err)
{
    if (db_run(db, q, args, err) != 0)
        return -1;
    *ret = db_changes(db) > 0;
    return 0;
}

/* clang-format off */
static const struct db_query select_size = {
    .sqlite = "SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s",
    .postgres = "SELECT pg_database_size(current_database())",
};
/* clang-format on */

int db_size(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &select_size, DB_NO_ARGS, ret, err);
}

int64_t db_log_bytes(const char *url)
{
    static const struct str scheme = STR_INIT("sqlite:");
    struct stat file;
    char path[4096];

    if (!str_starts(str_of(url), scheme))
        return 0;
    (void)snprintf(path, sizeof(path), "%s-wal", url + scheme.len);
    return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}
