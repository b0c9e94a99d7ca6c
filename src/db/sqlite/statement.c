/* statement.c - statements of SQLite: prepared once, bound without a copy, stepped row by row; and
 * its result codes as ours. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/sqlite/sqlite.h"

/* A full disk under a write is SQLITE_FULL already; where SQLite needs a new file or a longer index
 * of the log it is one of these. Elsewhere its errno may be that of an older error. */
static bool is_no_space(const struct sqlite *s, int code)
{
    static const int codes[] = { SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMMAP,
                                 SQLITE_CANTOPEN };
    int why = sqlite3_system_errno(s->handle);

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == code)
            return why == ENOSPC || why == EDQUOT;
    return false;
}

static enum err_code classify(const struct sqlite *s, int code)
{
    static const struct {
        int primary;
        enum err_code code;
    } map[] = {
        { SQLITE_FULL, ERR_FULL },      { SQLITE_CONSTRAINT, ERR_CONSTRAINT },
        { SQLITE_BUSY, ERR_BUSY },      { SQLITE_LOCKED, ERR_BUSY },
        { SQLITE_PROTOCOL, ERR_BUSY },  { SQLITE_IOERR, ERR_IO },
        { SQLITE_CORRUPT, ERR_IO },     { SQLITE_NOTADB, ERR_IO },
        { SQLITE_CANTOPEN, ERR_IO },    { SQLITE_TOOBIG, ERR_INVALID },
        { SQLITE_INTERRUPT, ERR_BUSY }, { SQLITE_NOMEM, ERR_BUSY },
    };

    if (is_no_space(s, code))
        return ERR_FULL;
    /* A reader that writes is our bug; a writer that may not was locked out by a chmod or mount. */
    if ((code & 0xff) == SQLITE_READONLY && s->mode == DB_WRITER)
        return ERR_UNAVAILABLE;
    for (size_t i = 0; i < COUNT_OF(map); i++)
        if (map[i].primary == (code & 0xff))
            return map[i].code;
    return ERR_INTERNAL;
}

int db_sqlite_refuse(struct error *err)
{
    return err_set(err, ERR_IO,
                   "refused after an earlier input/output error: it is unknown what is stored");
}

int db_sqlite_fail(struct sqlite *s, int code, struct error *err)
{
    enum err_code ours = classify(s, code);

    if (ours == ERR_IO && s->mode == DB_WRITER)
        s->broken = true;
    return err_set(err, ours, "SQLite: %s (%d)",
                   ours == ERR_FULL ? sqlite3_errstr(SQLITE_FULL) : sqlite3_errmsg(s->handle),
                   code);
}

/* SQLite numbers $1, $2, … by first appearance, so each has its index looked up once. */
struct statement {
    const struct db_query *query;
    sqlite3_stmt *stmt;
    unsigned n_params;
    uint64_t nulls; /* bit i: parameter i is NULL since it was last bound */
    int index[];
};

struct sqlite_row {
    struct db_row base;
    sqlite3_stmt *stmt;
    size_t *given; /* of its connection */
};

enum { DEADLINE_BYTES = 32 * 1024 }; /* 0.2 ms of printing, with JSON escapes */

/* The statement that the row is of, which has this column. */
static sqlite3_stmt *stmt_of(const struct db_row *row, unsigned column)
{
    assert((int)column < sqlite3_column_count(((const struct sqlite_row *)row)->stmt));
    (void)column; /* in release */
    return ((const struct sqlite_row *)row)->stmt;
}

static bool row_is_null(const struct db_row *row, unsigned column)
{
    return sqlite3_column_type(stmt_of(row, column), (int)column) == SQLITE_NULL;
}

static int64_t row_get_int(const struct db_row *row, unsigned column)
{
    return sqlite3_column_int64(stmt_of(row, column), (int)column);
}

static double row_get_real(const struct db_row *row, unsigned column)
{
    return sqlite3_column_double(stmt_of(row, column), (int)column);
}

static struct str bytes_of(const struct db_row *row, unsigned column, enum db_type type)
{
    sqlite3_stmt *stmt = stmt_of(row, column);
    const void *data;

    if (row_is_null(row, column))
        return STR_NULL;
    /* The length is that of the last form requested, so it comes second. */
    data = type == DB_BLOB ? sqlite3_column_blob(stmt, (int)column)
                           : sqlite3_column_text(stmt, (int)column);
    if (data == NULL) /* an empty blob */
        return STR_LIT("");
    return str_from(data, (size_t)sqlite3_column_bytes(stmt, (int)column));
}

static struct str row_get_bytes(const struct db_row *row, unsigned column, enum db_type type)
{
    const struct str bytes = bytes_of(row, column, type);

    *((const struct sqlite_row *)row)->given += bytes.len;
    return bytes;
}

static struct str row_peek_text(const struct db_row *row, unsigned column)
{
    return bytes_of(row, column, DB_TEXT);
}

static unsigned row_columns(const struct db_row *row)
{
    return (unsigned)sqlite3_column_count(stmt_of(row, 0));
}

static const char *row_column_name(const struct db_row *row, unsigned column)
{
    return sqlite3_column_name(stmt_of(row, column), (int)column);
}

static const struct db_row_methods row_methods = {
    .is_null = row_is_null,
    .get_int = row_get_int,
    .get_real = row_get_real,
    .get_bytes = row_get_bytes,
    .peek_text = row_peek_text,
    .columns = row_columns,
    .column_name = row_column_name,
};

static void statement_free(struct statement *st)
{
    sqlite3_finalize(st->stmt);
    free(st);
}

void db_sqlite_forget_statements(struct sqlite *s)
{
    struct statement *st;
    size_t at = 0;

    while ((st = map_next(&s->statements, &at)) != NULL)
        statement_free(st);
    map_done(&s->statements);
}

/* Finds where each $n is bound. PostgreSQL refuses a gap in the numbers, so we do too. */
static int find_indexes(struct statement *st, const char *sql, struct error *err)
{
    char name[16];

    for (unsigned i = 0; i < st->n_params; i++) {
        (void)sqlite3_snprintf(sizeof(name), name, "$%u", i + 1);
        st->index[i] = sqlite3_bind_parameter_index(st->stmt, name);
        if (st->index[i] == 0)
            return err_set(err, ERR_INTERNAL, "the query does not use %s: %s", name, sql);
    }
    return 0;
}

static int prepare(struct sqlite *s, const struct db_query *q, struct statement **ret,
                   struct error *err)
{
    const char *sql = q->sqlite != NULL ? q->sqlite : q->sql;
    struct statement *st;
    const char *tail = "";
    sqlite3_stmt *stmt;
    unsigned n_params;
    int code = sqlite3_prepare_v3(s->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &tail);

    if (code != SQLITE_OK)
        return db_sqlite_fail(s, code, err);
    n_params = (unsigned)sqlite3_bind_parameter_count(stmt);
    st = mem_new(sizeof(*st) + n_params * sizeof(st->index[0]));
    st->query = q;
    st->stmt = stmt;
    st->n_params = n_params;
    if (stmt == NULL || tail[strspn(tail, "; \t\n")] != '\0') {
        err_set(err, ERR_INTERNAL, "a query must be exactly one statement: %s", sql);
        goto fail;
    }
    if (find_indexes(st, sql, err) != 0)
        goto fail;
    (void)map_put(&s->statements, db_query_key(&st->query), st);
    *ret = st;
    return 0;
fail:
    statement_free(st);
    return -1;
}

/* Bytes are not copied: they live until exec returns, and are bound again before the next step. */
static int bind_one(sqlite3_stmt *stmt, int index, const struct db_value *value)
{
    struct str bytes;

    switch (value->type) {
    case DB_INT:
        return sqlite3_bind_int64(stmt, index, value->integer);
    case DB_REAL:
        return sqlite3_bind_double(stmt, index, value->real);
    case DB_TEXT:
        bytes = value->bytes;
        return sqlite3_bind_text64(stmt, index, bytes.data, bytes.len, SQLITE_STATIC, SQLITE_UTF8);
    case DB_BLOB:
        bytes = value->bytes;
        return sqlite3_bind_blob64(stmt, index, bytes.data, bytes.len, SQLITE_STATIC);
    case DB_NULL:
        break;
    }
    return sqlite3_bind_null(stmt, index);
}

static int bind_all(struct sqlite *s, struct statement *st, struct db_args args, struct error *err)
{
    if (UNLIKELY(args.n < st->n_params))
        return db_fail_args(args, st->n_params, err);
    for (unsigned i = 0; i < st->n_params; i++) {
        const struct db_value *value = &args.values[i];
        const uint64_t bit = i < 64 ? UINT64_C(1) << i : 0;
        int code;

        if (value->type == DB_NULL && (st->nulls & bit) != 0)
            continue; /* SQLite keeps what is bound */
        st->nulls &= ~bit;
        if (value->type == DB_TEXT && value->bytes.len != 0 &&
            memchr(value->bytes.data, '\0', value->bytes.len) != NULL)
            return err_set(err, ERR_INVALID, "text contains a NUL character");
        code = bind_one(st->stmt, st->index[i], value);
        if (UNLIKELY(code != SQLITE_OK))
            return db_sqlite_fail(s, code, err);
        if (value->type == DB_NULL)
            st->nulls |= bit;
    }
    return 0;
}

/* Steps to the end, or until on_row has enough or the deadline has passed. A writing statement has
 * done all its work before its first row, so stopping early loses nothing. */
static int run(struct sqlite *s, sqlite3_stmt *stmt, db_row_fn *on_row, void *ctx)
{
    const struct sqlite_row row = { { &row_methods }, stmt, &s->given };
    bool more, too_late = false;
    int code;

    assert(!sqlite3_stmt_busy(stmt)); /* reset after its last use */
    do {
        code = sqlite3_step(stmt);
        if (code != SQLITE_ROW)
            break;
        more = on_row == NULL || on_row(ctx, &row.base);
        if (s->until_us != 0)
            too_late = s->given > DEADLINE_BYTES || (more && db_sqlite_is_late(s, clock_raw_us()));
    } while (more && !too_late);
    code = sqlite3_reset(stmt); /* SQLITE_OK after a statement that was left early */
    return too_late ? SQLITE_INTERRUPT : code;
}

static int fail_late(struct error *err)
{
    return err_set(err, ERR_BUSY, "the read did not finish before its deadline");
}

int db_sqlite_exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                   void *ctx, struct error *err)
{
    struct sqlite *s = (struct sqlite *)db;
    struct statement *st = map_get(&s->statements, db_query_key(&q));
    int64_t before = sqlite3_total_changes64(s->handle);
    int code;

    s->base.changes = 0;
    if (UNLIKELY(s->broken))
        return db_sqlite_refuse(err);
    if (UNLIKELY(s->stuck) && !db_sqlite_unstick(s))
        return err_set(err, ERR_BUSY, "out of memory: the last transaction could not be ended");
    if (s->mode == DB_READER && sqlite3_get_autocommit(s->handle) &&
        !db_sqlite_may_start_reading(s))
        return fail_late(err);
    if (s->mode == DB_READER)
        s->began_us = clock_raw_us(); /* before it is prepared, which may read the schema */
    if (s->mode == DB_READER && UNLIKELY(db_sqlite_is_over_time(s, s->began_us)))
        return fail_late(err);
    if (UNLIKELY(st == NULL) && prepare(s, q, &st, err) != 0)
        return -1;
    assert(st != NULL);
    if (bind_all(s, st, args, err) != 0)
        return -1;
    code = run(s, st->stmt, on_row, ctx);
    if (UNLIKELY(code != SQLITE_OK))
        return code == SQLITE_INTERRUPT && s->until_us != 0 ? fail_late(err)
                                                            : db_sqlite_fail(s, code, err);
    /* sqlite3_changes64() alone would repeat the last one's after a SELECT. */
    if (sqlite3_total_changes64(s->handle) != before)
        s->base.changes = sqlite3_changes64(s->handle);
    /* With a syncer (log_fd >= 0) the next db_begin() does this: clients wait for the sync first.
     */
    return s->log_grew && s->log_fd < 0 ? db_sqlite_after_commit(s, err) : 0;
}
