/* throttle_store.c - SQL of failed sign-ins. */
#include "features/users/throttle_store.h"

#include "db/db.h"

/* clang-format off */
static const struct db_query insert_failure = {
    .sql = "INSERT INTO sign_in_failures (about, attempt, failed_at) VALUES ($1, $2, $3)"
           " ON CONFLICT (about, attempt) DO NOTHING", /* after a lost answer it is there */
};
DB_QUERY(delete_old, "DELETE FROM sign_in_failures WHERE failed_at <= $1");
DB_QUERY(select_rank,
    "SELECT COUNT(*), MIN(failed_at) FROM sign_in_failures WHERE about = $1"
    " AND failed_at > $2 AND (failed_at < $3 OR (failed_at = $3 AND attempt <= $4))");
DB_QUERY(delete_failure, "DELETE FROM sign_in_failures WHERE about = $1 AND attempt = $2");
DB_QUERY(delete_about, "DELETE FROM sign_in_failures WHERE about = $1");
/* clang-format on */

int store_failure_add(struct db *db, const struct throttle_row *row, int64_t since,
                      struct error *err)
{
    const struct sha256 *const abouts[] = { &row->who, &row->where };

    if (db_run(db, &delete_old, DB_ARGS(db_int(since)), err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(abouts); i++)
        if (db_run(db, &insert_failure,
                   DB_ARGS(db_blob(digest_str(abouts[i])), db_text(row->attempt), db_int(row->at)),
                   err) != 0)
            return -1;
    return 0;
}

static bool read_rank(void *ctx, const struct db_row *row)
{
    struct throttle_rank *rank = ctx;

    *rank = (struct throttle_rank){ db_get_int(row, 0), db_get_int(row, 1) };
    return true;
}

int store_failure_rank(struct db *db, const struct sha256 *about, const struct throttle_row *row,
                       int64_t since, struct throttle_rank *ret, struct error *err)
{
    return db_exec(
        db, &select_rank,
        DB_ARGS(db_blob(digest_str(about)), db_int(since), db_int(row->at), db_text(row->attempt)),
        read_rank, ret, err);
}

int store_failure_remove(struct db *db, const struct throttle_row *row, struct error *err)
{
    if (db_run(db, &delete_failure, DB_ARGS(db_blob(digest_str(&row->who)), db_text(row->attempt)),
               err) != 0)
        return -1;
    return db_run(db, &delete_failure,
                  DB_ARGS(db_blob(digest_str(&row->where)), db_text(row->attempt)), err);
}

int store_failures_clear(struct db *db, const struct throttle_row *row, struct error *err)
{
    if (db_run(db, &delete_about, DB_ARGS(db_blob(digest_str(&row->who))), err) != 0)
        return -1;
    return db_run(db, &delete_failure,
                  DB_ARGS(db_blob(digest_str(&row->where)), db_text(row->attempt)), err);
}
