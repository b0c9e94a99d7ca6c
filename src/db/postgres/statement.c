/* statement.c - statements of PostgreSQL: prepared by name, parameters sent as text.
 *
 * The server infers each parameter's type from the statement, never from the
 * first value that happens to be sent: a NULL has none. Numbers and texts go
 * in text form, which every type can read; blobs go raw, in binary form, which
 * for bytea and text is the bytes themselves.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "db/postgres/postgres.h"

enum {
    NUMBER_MAX = 32,
    TEXT_BYTES_KEPT = 1 << 20,
    /* A plan that is kept is made again after a second, and after this number of uses; the first
     * ones sooner, since tables grow fastest when they are new. */
    PLAN_USES_MAX = 256,
    PLAN_AGE_MAX_US = USEC_PER_SEC,
};

/* A parameter as libpq expects it, with room for a number. */
struct statement {
    const struct db_query *query;
    unsigned session; /* of the connection that knows it */
    char name[16];
    unsigned n_params;
    unsigned uses, uses_max; /* of a plan that is kept */
    int64_t planned_us;      /* raw clock */
    const char **values;
    int *lengths, *formats;
    char (*numbers)[NUMBER_MAX];
};

static void statement_free(struct statement *st)
{
    free((void *)st->values);
    free(st->lengths);
    free(st->formats);
    free(st->numbers);
    free(st);
}

void db_postgres_forget_statements(struct postgres *pg)
{
    struct statement *st;
    size_t at = 0;

    while ((st = map_next(&pg->statements, &at)) != NULL)
        statement_free(st);
    map_done(&pg->statements);
}

static const char *sql_of(const struct postgres *pg, const struct db_query *q)
{
    if (pg->base.distributed && q->citus != NULL)
        return q->citus;
    return q->postgres != NULL ? q->postgres : q->sql;
}

/* The greatest n of $n: only the server could count them otherwise, in one more round trip. */
static unsigned count_params(const char *sql)
{
    unsigned n = 0;

    for (const char *at = strchr(sql, '$'); at != NULL; at = strchr(at + 1, '$')) {
        unsigned number = (unsigned)strtoul(at + 1, NULL, 10);

        if (number > n)
            n = number;
    }
    return n;
}

static struct statement *statement_new(unsigned n_params)
{
    struct statement *st = NEW(struct statement);
    size_t room = n_params == 0 ? 1 : n_params;

    st->n_params = n_params;
    st->values = (const char **)mem_new(room * sizeof(*st->values));
    st->lengths = mem_new(room * sizeof(*st->lengths));
    st->formats = mem_new(room * sizeof(*st->formats));
    st->numbers = mem_new(room * sizeof(*st->numbers));
    return st;
}

static int prepare(struct postgres *pg, const struct db_query *q, struct statement *st,
                   struct error *err)
{
    if (db_postgres_settle(pg, err) != 0)
        return -1;
    (void)snprintf(st->name, sizeof(st->name), "m%u", ++pg->n_names);
    if (PQsendPrepare(pg->conn, st->name, sql_of(pg, q), 0, NULL) == 0)
        return db_postgres_fail(pg, NULL, err);
    if (db_postgres_finish(pg, NULL, NULL, err) != 0)
        return -1;
    st->session = pg->session;
    return 0;
}

/* Never on Citus, which needs the arguments to route a statement. */
bool db_postgres_expect_kept_plans(struct postgres *pg)
{
    pg->keeps_plans = pg->n_keeping > 0 && pg->n_other == 0 && !pg->base.distributed;
    pg->n_keeping = pg->n_other = 0;
    return pg->keeps_plans;
}

/* Counts the statement and, unless it has keeps_plan, makes sure that the transaction uses custom
 * plans. */
static int choose_plan(struct postgres *pg, const struct db_query *q, struct error *err)
{
    if (q->keeps_plan) {
        pg->n_keeping++;
        return 0;
    }
    pg->n_other++;
    if (pg->keeps_plans && db_postgres_settle(pg, err) != 0)
        return -1;
    if (!pg->keeps_plans || PQtransactionStatus(pg->conn) != PQTRANS_INTRANS)
        return 0;
    pg->keeps_plans = false;
    return db_postgres_run(pg, "SET LOCAL plan_cache_mode = force_custom_plan", NULL, NULL, err);
}

/* A plan is made by the first use of a statement that was just prepared. */
static int renew_plan(struct postgres *pg, struct statement *st, struct error *err)
{
    const int64_t now_us = clock_raw_us();
    char sql[32];

    if (st->session != pg->session ||
        (++st->uses <= st->uses_max && now_us - st->planned_us < PLAN_AGE_MAX_US))
        return 0;
    st->uses = 0;
    st->planned_us = now_us;
    st->uses_max = st->uses_max * 2 < PLAN_USES_MAX ? st->uses_max * 2 + 1 : PLAN_USES_MAX;
    st->session = 0;
    (void)snprintf(sql, sizeof(sql), "DEALLOCATE %s", st->name);
    return db_postgres_run(pg, sql, NULL, NULL, err);
}

/* Prepared on this connection: for the first time, or again after it was lost. */
static int find(struct postgres *pg, const struct db_query *q, struct statement **ret,
                struct error *err)
{
    struct statement *st = map_get(&pg->statements, db_query_key(&q));

    if (st == NULL) {
        st = statement_new(count_params(sql_of(pg, q)));
        st->query = q;
        (void)map_put(&pg->statements, db_query_key(&st->query), st);
    }
    *ret = st;
    if (q->keeps_plan && pg->keeps_plans && renew_plan(pg, st, err) != 0)
        return -1;
    return st->session == pg->session ? 0 : prepare(pg, q, st, err);
}

/* Room for all texts at once: growing later would move the earlier ones. */
static int reserve_texts(struct postgres *pg, struct db_args args, struct error *err)
{
    size_t total = 1;

    for (size_t i = 0; i < args.n; i++)
        if (args.values[i].type == DB_TEXT)
            total += args.values[i].bytes.len + 1;
    buf_clear(&pg->text);
    if (buf_reserve(&pg->text, total) == NULL)
        return err_set(err, ERR_INVALID, "the texts of one statement are longer than %d bytes",
                       DB_POSTGRES_BYTES_MAX);
    return 0;
}

static int encode_text(struct postgres *pg, struct str text, const char **ret, struct error *err)
{
    char *copy = pg->text.data + pg->text.len;

    ASSERT_ALWAYS(pg->text.len + text.len < pg->text.capacity);     /* reserve_texts() made room */
    if (text.len != 0 && memchr(text.data, '\0', text.len) != NULL) /* would be cut there */
        return err_set(err, ERR_INVALID, "text contains a NUL character");
    if (text.len != 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    buf_added(&pg->text, text.len + 1);
    *ret = copy;
    return 0;
}

static int encode(struct postgres *pg, struct statement *st, unsigned i,
                  const struct db_value *value, struct error *err)
{
    st->values[i] = NULL;
    st->lengths[i] = 0;
    st->formats[i] = 0;
    switch (value->type) {
    case DB_INT:
        (void)snprintf(st->numbers[i], NUMBER_MAX, "%lld", (long long)value->integer);
        st->values[i] = st->numbers[i];
        return 0;
    case DB_REAL:
        /* SQLite has no NaN and stores NULL; so do we. */
        if (isnan(value->real))
            return 0;
        (void)snprintf(st->numbers[i], NUMBER_MAX, "%.17g", value->real);
        st->values[i] = st->numbers[i];
        return 0;
    case DB_TEXT:
        return encode_text(pg, value->bytes, &st->values[i], err);
    case DB_BLOB:
        if (value->bytes.len > DB_POSTGRES_BYTES_MAX)
            return err_set(err, ERR_INVALID, "a blob is longer than %d bytes",
                           DB_POSTGRES_BYTES_MAX);
        st->values[i] = value->bytes.data;
        st->lengths[i] = (int)value->bytes.len;
        st->formats[i] = 1;
        return 0;
    case DB_NULL:
        break;
    }
    return 0;
}

int db_postgres_send(struct postgres *pg, const struct db_query *q, struct db_args args, bool later,
                     struct error *err)
{
    struct statement *st;
    int sent;

    if (choose_plan(pg, q, err) != 0 || find(pg, q, &st, err) != 0)
        return -1;
    if (args.n < st->n_params)
        return db_fail_args(args, st->n_params, err);
    args.n = st->n_params;
    if (reserve_texts(pg, args, err) != 0)
        return -1;
    for (unsigned i = 0; i < st->n_params; i++)
        if (encode(pg, st, i, &args.values[i], err) != 0)
            return -1;
    if (later && pg->n_later == 0 && PQenterPipelineMode(pg->conn) != 1)
        return db_postgres_fail(pg, NULL, err);
    sent = PQsendQueryPrepared(pg->conn, st->name, (int)st->n_params, st->values, st->lengths,
                               st->formats, 0);
    if (pg->text.capacity > TEXT_BYTES_KEPT) { /* libpq has copied them */
        buf_done(&pg->text);
        buf_init(&pg->text, DB_POSTGRES_BYTES_MAX);
    }
    return sent == 0 ? db_postgres_fail(pg, NULL, err) : 0;
}

int db_postgres_exec(struct db *db, const struct db_query *q, struct db_args args,
                     db_row_fn *on_row, void *ctx, struct error *err)
{
    struct postgres *pg = (struct postgres *)db;

    db->changes = 0;
    if (pg->conn == NULL)
        return db_postgres_fail(pg, NULL, err);
    if (pg->mode == DB_READER && PQtransactionStatus(pg->conn) == PQTRANS_INTRANS &&
        clock_raw_us() - pg->transaction_us >
            (db->read_max_us != 0 ? db->read_max_us / 2 : DB_POSTGRES_TRANSACTION_MAX_US))
        return err_set(err, ERR_BUSY, "the read did not finish before its deadline");
    if (db_postgres_send(pg, q, args, false, err) != 0)
        return -1;
    if (pg->n_later > 0)
        return db_postgres_settle_rows(pg, on_row, ctx, err);
    if (on_row != NULL) /* rows come one by one, so that a large result is never in memory */
        (void)PQsetSingleRowMode(pg->conn);
    return db_postgres_finish(pg, on_row, ctx, err);
}

/* --- rows: columns arrive as text and are converted to the requested type --- */

/* From the server's pg_type; they never change. */
enum { OID_BOOL = 16, OID_BYTEA = 17 };

struct postgres_row {
    struct db_row base;
    const PGresult *result;
    int number;
    struct arena *decoded; /* blobs of this row */
};

static const struct postgres_row *row_of(const struct db_row *row)
{
    assert(((const struct postgres_row *)row)->number <
           PQntuples(((const struct postgres_row *)row)->result));
    return (const struct postgres_row *)row;
}

static bool row_is_null(const struct db_row *row, unsigned column)
{
    const struct postgres_row *r = row_of(row);

    assert((int)column < PQnfields(r->result));
    return PQgetisnull(r->result, r->number, (int)column) != 0;
}

/* Ends in NUL. */
static const char *value_of(const struct db_row *row, unsigned column)
{
    const struct postgres_row *r = row_of(row);

    assert((int)column < PQnfields(r->result));
    return PQgetvalue(r->result, r->number, (int)column);
}

static bool is_true(const struct db_row *row, unsigned column)
{
    return PQftype(row_of(row)->result, (int)column) == OID_BOOL && value_of(row, column)[0] == 't';
}

static double row_get_real(const struct db_row *row, unsigned column)
{
    if (row_is_null(row, column))
        return 0.0;
    return is_true(row, column) ? 1.0 : strtod(value_of(row, column), NULL);
}

static int64_t row_get_int(const struct db_row *row, unsigned column)
{
    int64_t value;
    double real;

    if (row_is_null(row, column))
        return 0;
    if (str_to_int(str_of(value_of(row, column)), &value))
        return value;
    /* A fraction is cut off and a number out of range is the nearest one, as in SQLite. */
    real = row_get_real(row, column);
    if (real >= 0x1p63)
        return INT64_MAX;
    if (real < -0x1p63)
        return INT64_MIN;
    return isnan(real) ? 0 : (int64_t)real;
}

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* `hex` is "\x…", as the server writes it. */
static struct str decode(struct arena *memory, struct str hex)
{
    size_t n = hex.len < 2 ? 0 : (hex.len - 2) / 2;
    char *bytes = arena_alloc(memory, n + 1);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(hex_digit(hex.data[2 + 2 * i]) << 4 | hex_digit(hex.data[3 + 2 * i]));
    return str_from(bytes, n);
}

static struct str row_get_bytes(const struct db_row *row, unsigned column, enum db_type type)
{
    const struct postgres_row *r = row_of(row);
    struct str bytes;

    (void)type; /* the column knows better */
    if (row_is_null(row, column))
        return STR_NULL;
    bytes = str_from(value_of(row, column), (size_t)PQgetlength(r->result, r->number, (int)column));
    return PQftype(r->result, (int)column) == OID_BYTEA ? decode(r->decoded, bytes) : bytes;
}

static struct str row_peek_text(const struct db_row *row, unsigned column)
{
    return row_get_bytes(row, column, DB_TEXT);
}

static unsigned row_columns(const struct db_row *row)
{
    return (unsigned)PQnfields(row_of(row)->result);
}

static const char *row_column_name(const struct db_row *row, unsigned column)
{
    return PQfname(row_of(row)->result, (int)column);
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

bool db_postgres_rows(const PGresult *result, db_row_fn *on_row, void *ctx)
{
    ARENA_SCOPED(decoded);
    bool more = true;

    for (int i = 0; more && i < PQntuples(result); i++) {
        const struct postgres_row row = { { &row_methods }, result, i, &decoded };

        more = on_row(ctx, &row.base);
        arena_reset(&decoded);
    }
    return more;
}
