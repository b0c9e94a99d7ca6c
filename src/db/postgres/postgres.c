/* postgres.c - the distributed store: a connection that may be lost and made again.
 *
 * A lost connection fails the call with ERR_UNAVAILABLE and every later one
 * too, until db_ping() has made another: no call reconnects by itself, since
 * its transaction would be lost. A commit whose answer never came may or may
 * not have happened, and its error says so.
 */
#include "db/postgres/postgres.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

static struct postgres *postgres_of(struct db *db)
{
    return (struct postgres *)db;
}

static void postgres_close(struct db *db)
{
    struct postgres *pg = postgres_of(db);

    db_postgres_drop(pg);
    db_postgres_forget_statements(pg);
    buf_done(&pg->text);
    free(pg->url);
    free(pg->host);
    free(pg->port);
    free(pg);
}

/* The server only warns about BEGIN inside a transaction, and COMMIT outside. */
static int expect_state(struct postgres *pg, bool inside, struct error *err)
{
    if (pg->conn == NULL)
        return db_postgres_fail(pg, NULL, err);
    if ((PQtransactionStatus(pg->conn) != PQTRANS_IDLE) == inside)
        return 0;
    return err_set(err, ERR_INTERNAL, inside ? "no transaction is open" : "a transaction is open");
}

/* Of a reader's statements. When it was set, half of the time is for the last statement of a
 * transaction, the other for those before it. */
static int set_timeout(struct postgres *pg, struct error *err)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "SET statement_timeout = %lld",
                   pg->read_max_us == 0 ? (long long)DB_POSTGRES_READ_MAX_MS
                                        : (long long)(pg->read_max_us / USEC_PER_MSEC + 1));
    return db_postgres_run(pg, sql, NULL, NULL, err);
}

/* With less time than a statement may take: the server has to give up first, or a statement would
 * go on there after its connection was dropped. The view is fixed by the first query, not by BEGIN.
 */
static int begin_hurried(struct postgres *pg, int left_ms, struct error *err)
{
    char sql[160];

    (void)snprintf(sql, sizeof(sql),
                   "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                   "SET LOCAL statement_timeout = %d; SELECT 1",
                   left_ms - left_ms / 10 + 1);
    return db_postgres_run(pg, sql, NULL, NULL, err);
}

static void postgres_rollback(struct db *db)
{
    struct postgres *pg = postgres_of(db);

    db_postgres_discard(pg); /* whatever they say */
    if (pg->conn != NULL && PQtransactionStatus(pg->conn) != PQTRANS_IDLE &&
        db_postgres_run(pg, "ROLLBACK", NULL, NULL, NULL) != 0)
        db_postgres_drop(pg);
}

static int begin_writer(struct postgres *pg, struct error *err)
{
    const char *sql = db_postgres_expect_kept_plans(pg) ? DB_POSTGRES_BEGIN_WRITER
                          ";" DB_POSTGRES_KEEP_PLANS
                                                        : DB_POSTGRES_BEGIN_WRITER;

    return db_postgres_run(pg, sql, NULL, NULL, err);
}

static int begin_reader(struct postgres *pg, struct error *err)
{
    const int left_ms = db_postgres_wait_ms(pg);

    pg->transaction_us = clock_raw_us();
    if (pg->until_us != 0 && left_ms <= DB_POSTGRES_READ_MAX_MS && pg->read_max_us == 0)
        return begin_hurried(pg, left_ms, err);
    /* The view is fixed by the first query, not by BEGIN. */
    return db_postgres_run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1", NULL,
                           NULL, err);
}

/* After a failure no transaction is open: BEGIN may have worked and what follows it not, in time.
 */
static int postgres_begin(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (expect_state(pg, false, err) != 0 || db_postgres_check_origin(pg, err) != 0)
        return -1;
    if ((pg->mode == DB_WRITER ? begin_writer(pg, err) : begin_reader(pg, err)) == 0)
        return 0;
    postgres_rollback(db);
    return -1;
}

static int postgres_begin_later(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    assert(pg->mode == DB_WRITER);
    if (expect_state(pg, false, err) != 0 || db_postgres_check_origin(pg, err) != 0)
        return -1;
    return db_postgres_begin_later(pg, db_postgres_expect_kept_plans(pg), err);
}

static int postgres_commit(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (expect_state(pg, true, err) != 0)
        return -1;
    /* COMMIT of a failed transaction rolls back and reports success. */
    if (PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
        return err_set(err, ERR_INTERNAL, "the transaction has failed and cannot be committed");
    pg->warned = false;
    /* From now on, what is not answered may have been done; nothing else is done again. */
    pg->base.beginning = pg->base.beginning && pg->n_later == pg->n_begin;
    if ((pg->n_later > 0 ? db_postgres_settle_commit(pg, err)
                         : db_postgres_run(pg, "COMMIT", NULL, NULL, err)) != 0) {
        if (pg->conn == NULL)
            err_wrap(err, "whether it was stored is unknown");
        return -1;
    }
    ASSERT_ALWAYS(PQtransactionStatus(pg->conn) == PQTRANS_IDLE); /* it did commit */
    /* So says a server that gave up waiting for its synchronous standby. */
    if (pg->warned)
        return err_set(err, ERR_UNAVAILABLE,
                       "PostgreSQL committed with a warning: whether it is durable is unknown");
    return 0;
}

static int postgres_exec(struct db *db, const struct db_query *q, struct db_args args,
                         db_row_fn *on_row, void *ctx, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (pg->conn != NULL && PQtransactionStatus(pg->conn) == PQTRANS_IDLE &&
        db_postgres_check_origin(pg, err) != 0)
        return -1;
    return db_postgres_exec(db, q, args, on_row, ctx, err);
}

static int postgres_settle(struct db *db, struct error *err)
{
    return db_postgres_settle(postgres_of(db), err);
}

static int64_t postgres_changes(const struct db *db)
{
    return ((const struct postgres *)db)->changes;
}

static int postgres_ping(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (pg->conn != NULL && expect_state(pg, false, err) != 0)
        return -1;
    if (pg->conn != NULL && db_postgres_run(pg, "SELECT 1", NULL, NULL, NULL) == 0)
        return 0;
    return db_postgres_connect(pg, err);
}

static void postgres_set_patience(struct db *db, int64_t until_us)
{
    postgres_of(db)->until_us = until_us;
}

static int own_wait_ms(const struct postgres *pg)
{
    return pg->mode == DB_READER ? DB_POSTGRES_READER_WAIT_MS : DB_POSTGRES_WAIT_MS;
}

static int postgres_set_read_max(struct db *db, int64_t us, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    pg->read_max_us = us / 2;
    if (pg->conn == NULL) /* a new one has the usual limits */
        return db_postgres_fail(pg, NULL, err);
    return set_timeout(pg, err);
}

static int postgres_checkpoint(struct db *db, struct error *err)
{
    (void)db;
    (void)err;
    return 0; /* the server does that */
}

static const struct db_driver driver = {
    .dialect = "postgres",
    .close = postgres_close,
    .begin = postgres_begin,
    .begin_later = postgres_begin_later,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .exec = postgres_exec,
    .exec_later = db_postgres_exec_later,
    .settle = postgres_settle,
    .changes = postgres_changes,
    .script = db_postgres_script,
    .ping = postgres_ping,
    .checkpoint = postgres_checkpoint,
    .open_coordinator = db_postgres_open_coordinator,
    .notify = db_postgres_notify,
    .hear = db_postgres_hear,
    .socket = db_postgres_socket,
    .set_patience = postgres_set_patience,
    .set_read_max = postgres_set_read_max,
};

int db_postgres_open_at(const struct address *at, enum db_mode mode, struct db **ret,
                        struct error *err)
{
    struct postgres *pg = NEW(struct postgres);

    pg->base.driver = &driver;
    pg->mode = mode == DB_SPARE ? DB_READER : mode;
    pg->wait_ms = own_wait_ms(pg);
    pg->url = mem_strdup(at->url);
    if (at->host != NULL) {
        pg->host = mem_strdup(at->host);
        pg->port = mem_strdup(at->port);
    }
    buf_init(&pg->text, DB_POSTGRES_BYTES_MAX);
    if (mode != DB_SPARE && db_postgres_connect(pg, err) != 0) {
        postgres_close(&pg->base);
        return -1;
    }
    *ret = &pg->base;
    return 0;
}

int db_postgres_open(const char *url, enum db_mode mode, struct db **ret, struct error *err)
{
    if (db_postgres_check_url(url, err) != 0)
        return -1;
    return db_postgres_open_at(&(struct address){ .url = url }, mode, ret, err);
}
