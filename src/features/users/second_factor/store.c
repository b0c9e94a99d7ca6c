/* store.c - SQL of second factors and recovery codes. */
#include "features/users/second_factor/store.h"

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE(factor_row,
    STR(user_id), STR(sealed), BOOL(active), INT(used_step), TIME(created_at), TIME(confirmed_at));

DB_ROWS_QUERY(select_factor, factor_row,
    "SELECT user_id, sealed, active, used_step, created_at, confirmed_at FROM user_factors"
    " WHERE user_id = $1");
DB_QUERY(begin_factor,
    "INSERT INTO user_factors (user_id, sealed, active, used_step, created_at, confirmed_at)"
    " VALUES ($1, $2, 0, 0, $3, NULL) ON CONFLICT (user_id) DO UPDATE"
    " SET sealed = excluded.sealed, created_at = excluded.created_at"
    " WHERE user_factors.active = 0");
DB_QUERY(confirm_factor,
    "UPDATE user_factors SET active = 1, used_step = $2, confirmed_at = $3"
    " WHERE user_id = $1 AND active = 0");
DB_QUERY(use_factor,
    "UPDATE user_factors SET used_step = $2 WHERE user_id = $1 AND used_step < $2");
DB_QUERY(delete_factor, "DELETE FROM user_factors WHERE user_id = $1");
DB_QUERY(delete_codes, "DELETE FROM recovery_codes WHERE user_id = $1");
DB_QUERY(insert_code, "INSERT INTO recovery_codes (user_id, digest) VALUES ($1, $2)");
DB_INT_FN(store_recovery_count, (struct str user_id), (db_text(user_id)),
    "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1");
DB_QUERY(find_code, "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND digest = $2");
DB_QUERY(use_code, "DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2");
/* clang-format on */

int store_factor(struct db *db, struct str user_id, struct arena *arena, struct factor_row *ret,
                 struct error *err)
{
    return rows_one(db, &select_factor, DB_ARGS(db_text(user_id)), arena, ret, err);
}

int store_factor_begin(struct db *db, const struct factor_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->user_id), db_blob(row->sealed), db_int(row->created_at));

    return db_run_or(db, &begin_factor, args, err, ERR_CONFLICT,
                     "You have a second factor already; remove it first");
}

int store_factor_confirm(struct db *db, struct str user_id, int64_t step, int64_t now,
                         struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id), db_int(step), db_int(now));
    bool changed;

    if (db_run_changed(db, &confirm_factor, args, &changed, err) != 0)
        return -1;
    return changed ? 0 : err_set(err, ERR_CONFLICT, "The second factor is active already");
}

int store_factor_use(struct db *db, struct str user_id, int64_t step, bool *ret, struct error *err)
{
    return db_run_changed(db, &use_factor, DB_ARGS(db_text(user_id), db_int(step)), ret, err);
}

int store_factor_remove(struct db *db, struct str user_id, int64_t *ret_n, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id));

    if (db_run(db, &delete_codes, args, err) != 0 || db_run(db, &delete_factor, args, err) != 0)
        return -1;
    if (ret_n != NULL)
        *ret_n = db_changes(db);
    return 0;
}

int store_recovery_clear(struct db *db, struct str user_id, struct error *err)
{
    return db_run(db, &delete_codes, DB_ARGS(db_text(user_id)), err);
}

int store_recovery_add(struct db *db, struct str user_id, const struct sha256 *code,
                       struct error *err)
{
    return db_run(db, &insert_code, DB_ARGS(db_text(user_id), db_blob(digest_str(code))), err);
}

int store_recovery_has(struct db *db, struct str user_id, const struct sha256 *code, bool *ret,
                       struct error *err)
{
    return db_exec_bool(db, &find_code, DB_ARGS(db_text(user_id), db_blob(digest_str(code))), ret,
                        err);
}

int store_recovery_use(struct db *db, struct str user_id, const struct sha256 *code, bool *ret,
                       struct error *err)
{
    return db_run_changed(db, &use_code, DB_ARGS(db_text(user_id), db_blob(digest_str(code))), ret,
                          err);
}
