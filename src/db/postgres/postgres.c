/* postgres.c - the distributed store: a connection that may be lost and made again.
 *
 * A lost connection fails the call with ERR_UNAVAILABLE and every later one
 * too, until db_ping() has made another: no call reconnects by itself, since
 * its transaction would be lost. A commit whose answer never came may or may
 * not have happened, and its error says so.
 */
#include "db/postgres/postgres.h"

#include <assert.h>
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

static int postgres_begin(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (expect_state(pg, false, err) != 0)
        return -1;
    if (pg->mode == DB_WRITER)
        return db_postgres_run(pg, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", NULL, NULL,
                               err);
    pg->transaction_us = clock_raw_us();
    /* The view is fixed by the first query, not by BEGIN. */
    return db_postgres_run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1", NULL,
                           NULL, err);
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
    if (db_postgres_run(pg, "COMMIT", NULL, NULL, err) != 0) {
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

static void postgres_rollback(struct db *db)
{
    struct postgres *pg = postgres_of(db);

    if (pg->conn != NULL && PQtransactionStatus(pg->conn) != PQTRANS_IDLE &&
        db_postgres_run(pg, "ROLLBACK", NULL, NULL, NULL) != 0)
        db_postgres_drop(pg);
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
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .exec = db_postgres_exec,
    .changes = postgres_changes,
    .script = db_postgres_script,
    .ping = postgres_ping,
    .checkpoint = postgres_checkpoint,
    .notify = db_postgres_notify,
    .hear = db_postgres_hear,
    .set_patience = postgres_set_patience,
};

int db_postgres_open(const char *url, enum db_mode mode, struct db **ret, struct error *err)
{
    struct postgres *pg;

    if (db_postgres_check_url(url, err) != 0)
        return -1;
    pg = NEW(struct postgres);
    pg->base.driver = &driver;
    pg->mode = mode;
    pg->wait_ms = mode == DB_READER ? DB_POSTGRES_READER_WAIT_MS : DB_POSTGRES_WAIT_MS;
    pg->url = mem_strdup(url);
    buf_init(&pg->text, DB_POSTGRES_BYTES_MAX);
    if (db_postgres_connect(pg, err) != 0) {
        postgres_close(&pg->base);
        return -1;
    }
    *ret = &pg->base;
    return 0;
}
