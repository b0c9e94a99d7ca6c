/* later.c - statements that are sent at once and answered with the next one.
 *
 * A turn to the server and back costs both sides a wake-up, which for a small
 * transaction is as much as the statement itself. libpq's pipeline mode is on
 * while such statements wait, and only then. After a failed one the server runs
 * nothing more until the pipeline ends: so a COMMIT that follows it is not run.
 */
#include <assert.h>

#include "db/postgres/postgres.h"

/* The results of one statement. */
static int take_all(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err)
{
    bool more = true, failed = false;
    PGresult *result;

    pg->changes = 0;
    while (pg->conn != NULL) {
        struct error *why = failed ? NULL : err; /* of several errors the first is the cause */

        if (db_postgres_next(pg, &result, why) != 0)
            return -1;
        if (result == NULL)
            break;
        if (PQresultStatus(result) == PGRES_PIPELINE_ABORTED ||
            db_postgres_take(pg, result, on_row, ctx, &more, why) != 0)
            failed = true;
        else
            pg->base.beginning = false;
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
    unsigned n = pg->n_later + 1;
    int r = 0;

    pg->n_later = 0;
    if (PQpipelineSync(pg->conn) != 1)
        return db_postgres_fail(pg, NULL, err);
    if (db_postgres_flush(pg, err) != 0)
        return -1;
    for (; n > 0 && pg->conn != NULL; n--) {
        pg->warned = false; /* what counts is a warning of the last one, which may be COMMIT */
        if (take_all(pg, n == 1 ? on_row : NULL, ctx, r == 0 ? err : NULL) != 0)
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
    pg->n_later--; /* the last one has no rows either */
    return db_postgres_settle_rows(pg, NULL, NULL, err);
}

int db_postgres_settle_commit(struct postgres *pg, struct error *err)
{
    if (PQsendQueryParams(pg->conn, "COMMIT", 0, NULL, NULL, NULL, NULL, 0) == 0)
        return db_postgres_fail(pg, NULL, err);
    return db_postgres_settle_rows(pg, NULL, NULL, err);
}

int db_postgres_run_later(struct db *db, const struct db_query *q, struct db_args args,
                          struct error *err)
{
    struct postgres *pg = (struct postgres *)db;

    pg->changes = 0;
    if (pg->conn == NULL)
        return db_postgres_fail(pg, NULL, err);
    if (db_postgres_send(pg, q, args, true, err) != 0)
        return -1;
    pg->n_later++;
    return 0;
}

int db_postgres_say_later(struct postgres *pg, const char *sql, struct error *err)
{
    if ((pg->n_later == 0 && PQenterPipelineMode(pg->conn) != 1) ||
        PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0) == 0)
        return db_postgres_fail(pg, NULL, err);
    pg->n_later++;
    return 0;
}
