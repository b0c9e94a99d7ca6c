/* later.c - statements that are sent at once and answered with the next one.
 *
 * A turn to the server and back costs both sides a wake-up, which for a small transaction is as
 * much as the statement itself. libpq's pipeline mode is on while such statements wait, and only
 * then. After a failed statement the server skips all others until the pipeline ends, so a COMMIT
 * after it does not run.
 */
#include <assert.h>

#include "db/postgres/postgres.h"

/* The commands of each transaction, prepared so that the server need not parse them every time. */
enum command { BEGIN_WRITER, KEEP_PLANS, COMMIT };

static const struct {
    const char *name, *sql;
} commands[] = {
    [BEGIN_WRITER] = { "begin_writer", DB_POSTGRES_BEGIN_WRITER },
    [KEEP_PLANS] = { "keep_plans", DB_POSTGRES_KEEP_PLANS },
    [COMMIT] = { "commit", "COMMIT" },
};

/* The results of one statement. */
static int take_all(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err)
{
    bool more = true, failed = false;
    PGresult *result;

    pg->base.changes = 0;
    while (pg->conn != NULL) {
        struct error *why = failed ? NULL : err; /* of several errors the first is the cause */

        if (db_postgres_next(pg, &result, why) != 0)
            return -1;
        if (result == NULL)
            break;
        if (PQresultStatus(result) == PGRES_PIPELINE_ABORTED ||
            db_postgres_take(pg, result, on_row, ctx, &more, why) != 0)
            failed = true;
        PQclear(result);
    }
    return failed || pg->conn == NULL ? -1 : 0;
}

static int end_pipeline(struct postgres *pg, struct error *err)
{
    PGresult *result = NULL;
    ExecStatusType status;

    if (db_postgres_next(pg, &result, err) != 0)
        return -1;
    status = PQresultStatus(result);
    PQclear(result);
    if (status == PGRES_PIPELINE_SYNC && PQexitPipelineMode(pg->conn) == 1)
        return 0;
    return db_postgres_fail(pg, NULL, err); /* libpq and we do not agree on what was sent */
}

int db_postgres_settle_rows(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err)
{
    const unsigned n = pg->n_later + 1;
    db_row_fn *rows_fn = pg->rows_fn;
    int r = 0;

    pg->n_later = 0;
    pg->rows_fn = NULL;
    if (PQpipelineSync(pg->conn) != 1)
        return db_postgres_fail(pg, NULL, err);
    if (db_postgres_flush(pg, err) != 0)
        return -1;
    for (unsigned i = 0; i < n && pg->conn != NULL; i++) {
        const bool last = i == n - 1, has_rows = rows_fn != NULL && i == pg->rows_at;

        pg->warned = false; /* what counts is a warning of the last one, which may be COMMIT */
        if (take_all(pg,
                     has_rows ? rows_fn
                     : last   ? on_row
                              : NULL,
                     has_rows ? pg->rows_ctx : ctx, r == 0 ? err : NULL) != 0)
            r = -1;
    }
    if (pg->conn == NULL)
        return -1;
    return end_pipeline(pg, r == 0 ? err : NULL) != 0 ? -1 : r;
}

int db_postgres_settle(struct postgres *pg, struct error *err)
{
    if (pg->n_later == 0)
        return 0;
    pg->n_later--; /* the last statement's rows have no callback */
    return db_postgres_settle_rows(pg, NULL, NULL, err);
}

void db_postgres_discard(struct postgres *pg)
{
    pg->rows_fn = NULL;
    (void)db_postgres_settle(pg, NULL);
}

static bool say(struct postgres *pg, enum command command)
{
    if (pg->says_in == pg->session)
        return PQsendQueryPrepared(pg->conn, commands[command].name, 0, NULL, NULL, NULL, 0) == 1;
    return PQsendQueryParams(pg->conn, commands[command].sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

int db_postgres_settle_commit(struct postgres *pg, struct error *err)
{
    if (!say(pg, COMMIT))
        return db_postgres_fail(pg, NULL, err);
    return db_postgres_settle_rows(pg, NULL, NULL, err);
}

static int prepare_commands(struct postgres *pg, struct error *err)
{
    if (pg->says_in == pg->session)
        return 0;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (PQsendPrepare(pg->conn, commands[i].name, commands[i].sql, 0, NULL) == 0)
            return db_postgres_fail(pg, NULL, err);
        if (db_postgres_finish(pg, NULL, NULL, err) != 0)
            return -1;
    }
    pg->says_in = pg->session;
    return 0;
}

int db_postgres_begin_later(struct postgres *pg, bool keeps_plans, struct error *err)
{
    assert(pg->n_later == 0);
    if (prepare_commands(pg, err) != 0)
        return -1;
    if (PQenterPipelineMode(pg->conn) != 1 || !say(pg, BEGIN_WRITER) ||
        (keeps_plans && !say(pg, KEEP_PLANS)))
        return db_postgres_fail(pg, NULL, err);
    pg->n_later = keeps_plans ? 2 : 1;
    return 0;
}

int db_postgres_exec_later(struct db *db, const struct db_query *q, struct db_args args,
                           db_row_fn *on_row, void *ctx, struct error *err)
{
    struct postgres *pg = (struct postgres *)db;

    pg->base.changes = 0;
    if (pg->conn == NULL)
        return db_postgres_fail(pg, NULL, err);
    if (on_row != NULL && pg->rows_fn != NULL && db_postgres_settle(pg, err) != 0)
        return -1;
    if (db_postgres_send(pg, q, args, true, err) != 0)
        return -1;
    if (on_row != NULL) {
        pg->rows_fn = on_row;
        pg->rows_ctx = ctx;
        pg->rows_at = pg->n_later;
    }
    pg->n_later++;
    return 0;
}
