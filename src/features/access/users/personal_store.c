/* personal_store.c - SQL of personal access tokens. */
#include "features/access/users/personal_store.h"

#include <assert.h>

#include "db/db.h"
#include "features/access/users/personal_shapes.h"
#include "shape/rows.h"

/* clang-format off */
DB_QUERY(insert_token,
    "INSERT INTO personal_tokens (token_id, digest, user_id, name, role, created_at, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(delete_token, "DELETE FROM personal_tokens WHERE user_id = $1 AND token_id = $2");
DB_QUERY(delete_before, "DELETE FROM personal_tokens WHERE user_id = $1 AND expires_at < $2");
DB_QUERY(count_tokens, "SELECT COUNT(*) FROM personal_tokens WHERE user_id = $1");
DB_ROWS_QUERY(select_of_user, personal_token_shape,
    "SELECT token_id, name, role, created_at, expires_at FROM personal_tokens"
    " WHERE user_id = $1 ORDER BY created_at, token_id");
DB_QUERY(select_all,
    "SELECT token_id, digest, user_id, role, created_at, expires_at FROM personal_tokens");
DB_QUERY(select_rows_of,
    "SELECT token_id, digest, user_id, role, created_at, expires_at FROM personal_tokens"
    " WHERE user_id = $1");
/* clang-format on */

int store_personal_add(struct db *db, const struct personal_row *row, struct error *err)
{
    const struct str digest = str_from((const char *)row->digest.bytes, SHA256_BYTES);
    const struct db_args args =
        DB_ARGS(db_text(row->token_id), db_blob(digest), db_text(row->user_id), db_text(row->name),
                db_int(row->role), db_int(row->created_at), db_int(row->expires_at));

    assert(row->expires_at > row->created_at);
    return db_run(db, &insert_token, args, err);
}

int store_personal_remove(struct db *db, struct str user_id, struct str token_id, struct error *err)
{
    if (db_run(db, &delete_token, DB_ARGS(db_text(user_id), db_text(token_id)), err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no token '%.*s'", STR_ARG(token_id));
    return 0;
}

int store_personal_end(struct db *db, struct str user_id, int64_t before, struct error *err)
{
    return db_run(db, &delete_before, DB_ARGS(db_text(user_id), db_int(before)), err);
}

int store_personal_count(struct db *db, struct str user_id, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &count_tokens, DB_ARGS(db_text(user_id)), ret, err);
}

int store_personal_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err)
{
    return rows_list(db, &select_of_user, DB_ARGS(db_text(user_id)), arena, ret, err);
}

static bool add_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct personal_row *token = rows_add(rows);
    struct str digest = db_get_blob(row, 1);

    token->token_id = rows_text(rows->arena, row, 0);
    if (digest.len == SHA256_BYTES)
        memcpy(token->digest.bytes, digest.data, SHA256_BYTES);
    token->user_id = rows_text(rows->arena, row, 2);
    token->role = (int)db_get_int(row, 3);
    token->created_at = db_get_int(row, 4);
    token->expires_at = db_get_int(row, 5);
    return true;
}

int store_personal_all(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct personal_row) };

    if (db_exec(db, &select_all, DB_NO_ARGS, add_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_personal_rows_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                           struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct personal_row) };

    if (db_exec(db, &select_rows_of, DB_ARGS(db_text(user_id)), add_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}
