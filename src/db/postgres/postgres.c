/* postgres.c - the distributed store: a connection that may be lost and made again.
 *
 * A lost connection fails the call with ERR_UNAVAILABLE and every later one
 * of its transaction too; the next transaction begins with another. A commit whose answer never
 * came may or may not have happened, and its error says so.
 */
#include "db/postgres/postgres.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
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

void db_postgres_note(struct postgres *pg, enum met met)
{
    if (pg->guarded)
        servers_note(pg->base.servers, pg->base.place, pg->mode == DB_WRITER, met);
    pg->noted = met != MET_ANSWER;
}

/* Was it closed while nothing was asked? What has come meanwhile is read. */
static bool is_cut_off(const struct postgres *pg)
{
    struct pollfd fd = { .fd = PQsocket(pg->conn), .events = POLLIN };

    while (poll(&fd, 1, 0) > 0)
        if (PQconsumeInput(pg->conn) == 0)
            return true;
    return PQstatus(pg->conn) != CONNECTION_OK;
}

int db_postgres_ready(struct postgres *pg, struct error *err)
{
    if (pg->guarded && !servers_may_begin(pg->base.servers, pg->base.place, pg->mode == DB_WRITER))
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL did not answer a moment ago");
    pg->noted = false;
    if (pg->conn != NULL && (is_cut_off(pg) || db_postgres_check_timeline(pg, NULL) != 0))
        db_postgres_drop(pg);
    if (pg->conn == NULL && db_postgres_connect(pg, err) != 0) {
        db_postgres_note(pg, MET_REFUSAL);
        return -1;
    }
    pg->base.session = servers_session(pg->base.servers);
    return 0;
}

/* Around a statement that may be outside a transaction. */
static int begin_statement(struct postgres *pg, struct error *err)
{
    return pg->inside ? 0 : db_postgres_ready(pg, err);
}

static void note_end(struct postgres *pg, enum met met)
{
    if (!pg->inside && pg->conn != NULL && !pg->noted)
        db_postgres_note(pg, met);
}

static int end_statement(struct postgres *pg, int r)
{
    note_end(pg, MET_ANSWER);
    return r;
}

/* Sets a reader's statement_timeout. It is half of db_set_read_max(): one half for the last
 * statement of a transaction, the other for the statements before it. */
static int set_timeout(struct postgres *pg, struct error *err)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "SET statement_timeout = %lld",
                   pg->base.read_max_us == 0
                       ? (long long)DB_POSTGRES_READ_MAX_MS
                       : (long long)(pg->base.read_max_us / 2 / USEC_PER_MSEC + 1));
    return db_postgres_run(pg, sql, NULL, NULL, err);
}

static void postgres_rollback(struct db *db)
{
    struct postgres *pg = postgres_of(db);

    db_postgres_discard(pg); /* whatever they say */
    if (pg->conn != NULL && PQtransactionStatus(pg->conn) != PQTRANS_IDLE &&
        db_postgres_run(pg, "ROLLBACK", NULL, NULL, NULL) != 0)
        db_postgres_drop(pg);
    if (pg->inside) {
        pg->inside = false;
        note_end(pg, pg->mode == DB_WRITER ? MET_NOTHING : MET_ANSWER);
    }
}

static int begin_reader(struct postgres *pg, struct error *err)
{
    pg->transaction_us = clock_raw_us();
    /* The view is fixed by the first query, not by BEGIN. */
    return db_postgres_run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1", NULL,
                           NULL, err);
}

/* On failure no transaction is left open, even if BEGIN succeeded and the statements after it timed
 * out.
 */
static int postgres_begin(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (pg->inside)
        return err_set(err, ERR_INTERNAL, "a transaction is open");
    if (db_postgres_ready(pg, err) != 0)
        return -1;
    pg->inside = true;
    if ((pg->mode == DB_WRITER ? db_postgres_begin_later(pg, db_postgres_expect_kept_plans(pg), err)
                               : begin_reader(pg, err)) == 0)
        return 0;
    postgres_rollback(db);
    return -1;
}

static int postgres_commit(struct db *db, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    if (!pg->inside)
        return err_set(err, ERR_INTERNAL, "no transaction is open");
    if (pg->conn == NULL)
        return db_postgres_fail(pg, NULL, err);
    /* COMMIT of a failed transaction rolls back and reports success. */
    if (PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
        return err_set(err, ERR_INTERNAL, "the transaction has failed and cannot be committed");
    pg->warned = false;
    if ((pg->n_later > 0 ? db_postgres_settle_commit(pg, err)
                         : db_postgres_run(pg, "COMMIT", NULL, NULL, err)) != 0) {
        if (pg->conn == NULL)
            err_wrap(err, "whether it was stored is unknown");
        return -1;
    }
    ASSERT_ALWAYS(PQtransactionStatus(pg->conn) == PQTRANS_IDLE); /* it did commit */
    pg->inside = false;
    db_postgres_note(pg, MET_ANSWER);
    /* PostgreSQL warns when it gave up waiting for its synchronous standby. */
    if (pg->warned)
        return err_set(err, ERR_UNAVAILABLE,
                       "PostgreSQL committed with a warning: whether it is durable is unknown");
    return 0;
}

static int postgres_exec(struct db *db, const struct db_query *q, struct db_args args,
                         db_row_fn *on_row, void *ctx, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    return begin_statement(pg, err) != 0
               ? -1
               : end_statement(pg, db_postgres_exec(db, q, args, on_row, ctx, err));
}

static int postgres_script(struct db *db, const char *sql, struct error *err)
{
    struct postgres *pg = postgres_of(db);

    return begin_statement(pg, err) != 0 ? -1 : end_statement(pg, db_postgres_script(db, sql, err));
}

int db_settle(struct db *db, struct error *err)
{
    if (db->server == NULL)
        return 0;
    db_begin_use(db);
    return db_end_use(db, db_postgres_settle(db->server, err));
}

static int own_wait_ms(const struct postgres *pg)
{
    return pg->mode == DB_READER || pg->guarded ? DB_POSTGRES_SHORT_WAIT_MS : DB_POSTGRES_WAIT_MS;
}

int db_guard(struct db *db, struct error *err)
{
    struct postgres *pg = db->server;

    if (pg == NULL)
        return 0;
    pg->guarded = true;
    pg->wait_ms = own_wait_ms(pg);
    return pg->mode != DB_WRITER || pg->conn == NULL
               ? 0
               : db_postgres_run(pg, DB_POSTGRES_SET_GUARDED, NULL, NULL, err);
}

int db_set_read_max(struct db *db, int64_t us, struct error *err)
{
    struct postgres *pg = db->server;

    assert(us >= 0 && !atomic_load_explicit(&db->in_use, memory_order_relaxed));
    db->read_max_us = us;
    if (pg == NULL || (begin_statement(pg, err) == 0 && set_timeout(pg, err) == 0))
        return pg == NULL ? 0 : end_statement(pg, 0);
    if (!pg->inside && pg->conn != NULL)
        db_postgres_drop(pg); /* it would keep the former limit */
    return -1;
}

/* --- texts from one process to the others, by NOTIFY and LISTEN --- */

static int notify_with(struct postgres *pg, struct str text, struct error *err)
{
    static const struct db_query notify = { .postgres = "SELECT pg_notify('muster', $1)" };
    const struct db_args args = DB_ARGS(db_text(text));

    if (pg->inside) /* with the next turn */
        return db_postgres_exec_later(&pg->base, &notify, args, NULL, NULL, err);
    return db_postgres_ready(pg, err) != 0
               ? -1
               : db_postgres_exec(&pg->base, &notify, args, NULL, NULL, err);
}

int db_notify(struct db *db, struct str text, struct error *err)
{
    if (db->server == NULL)
        return 0;
    db_begin_use(db);
    return db_end_use(db, notify_with(db->server, text, err));
}

/* Passes on what has come; what this connection sent itself is left out. */
static bool pass_on(struct postgres *pg, db_text_fn *on_text, void *ctx)
{
    PGnotify *text;
    bool any = false;

    while ((text = PQnotifies(pg->conn)) != NULL) {
        any = true;
        if (text->be_pid != PQbackendPID(pg->conn))
            on_text(ctx, str_of(text->extra));
        PQfreemem(text);
    }
    return any;
}

/* Listens in this session, *ret: from now on. */
static int listen_once(struct postgres *pg, bool *ret, struct error *err)
{
    if (db_postgres_ready(pg, err) != 0)
        return -1;
    *ret = pg->listens_in != pg->session;
    if (*ret && db_postgres_run(pg, "LISTEN muster", NULL, NULL, err) != 0)
        return -1;
    pg->listens_in = pg->session;
    return 0;
}

static int listen_for(struct postgres *pg, int ms, db_text_fn *on_text, void *ctx,
                      struct error *err)
{
    struct pollfd fd = { .events = POLLIN };
    bool fresh;
    int n;

    if (listen_once(pg, &fresh, err) != 0)
        return -1;
    if (pass_on(pg, on_text, ctx) || fresh)
        return fresh;
    fd.fd = PQsocket(pg->conn);
    n = poll(&fd, 1, ms);
    if (n == 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 || PQconsumeInput(pg->conn) == 0)
        return db_postgres_fail(pg, NULL, err);
    (void)pass_on(pg, on_text, ctx);
    return 0;
}

int db_listen(struct db *db, int ms, db_text_fn *on_text, void *ctx, struct error *err)
{
    if (db->server == NULL)
        return err_set(err, ERR_INTERNAL, "this database has one process");
    db_begin_use(db);
    return db_end_use(db, listen_for(db->server, ms, on_text, ctx, err));
}

static const struct db_driver driver = {
    .dialect = "postgres",
    .close = postgres_close,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .exec = postgres_exec,
    .exec_later = db_postgres_exec_later,
    .script = postgres_script,
};

int db_postgres_open_at(const struct address *at, enum db_mode mode, struct db **ret,
                        struct error *err)
{
    struct postgres *pg = NEW(struct postgres);

    pg->base.driver = &driver;
    pg->base.server = pg;
    pg->base.servers = servers_of(at->url);
    pg->mode = mode == DB_POOLED ? DB_READER : mode;
    pg->guarded = mode == DB_POOLED;
    pg->wait_ms = own_wait_ms(pg);
    pg->url = mem_strdup(at->url);
    if (at->host != NULL) {
        pg->host = mem_strdup(at->host);
        pg->port = mem_strdup(at->port);
    }
    buf_init(&pg->text, DB_POSTGRES_BYTES_MAX);
    if (mode != DB_POOLED && db_postgres_connect(pg, err) != 0) {
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
