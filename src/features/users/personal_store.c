/* personal_store.c - SQL of personal access tokens. */
#include "features/users/personal_store.h"

#include <assert.h>

#include "db/db.h"
#include "features/users/personal_shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
DB_QUERY(insert_token,
    "INSERT INTO personal_tokens (token_id, digest, user_id, name, role, created_at, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(delete_token, "DELETE FROM personal_tokens WHERE user_id = $1 AND token_id = $2");
DB_RUN_FN(store_personal_end, (struct str user_id, int64_t before),
    (db_text(user_id), db_int(before)),
    "DELETE FROM personal_tokens WHERE user_id = $1 AND expires_at < $2");
DB_INT_FN(store_personal_count, (struct str user_id), (db_text(user_id)),
    "SELECT COUNT(*) FROM personal_tokens WHERE user_id = $1");
DB_ROWS_QUERY(select_of_user, personal_token_shape,
    "SELECT token_id, name, role, created_at, expires_at FROM personal_tokens"
    " WHERE user_id = $1 ORDER BY created_at, token_id");
/* clang-format on */

int store_personal_add(struct db *db, const struct personal_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(
        db_text(row->token_id), db_blob(digest_str(&row->digest)), db_text(row->user_id),
        db_text(row->name), db_int(row->role), db_int(row->created_at), db_int(row->expires_at));

    assert(row->expires_at > row->created_at);
    return db_run(db, &insert_token, args, err);
}

int store_personal_remove(struct db *db, struct str user_id, struct str token_id, struct error *err)
{
    return db_run_or(db, &delete_token, DB_ARGS(db_text(user_id), db_text(token_id)), err,
                     ERR_NOT_FOUND, "There is no token '%.*s'", STR_ARG(token_id));
}

int store_personal_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err)
{
    return rows_list(db, &select_of_user, DB_ARGS(db_text(user_id)), arena, ret, err);
}
