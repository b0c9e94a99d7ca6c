/* identities_store.c - SQL of identities. */
#include "features/users/identities.h"

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SELECT_IDENTITY                                                                            \
    "SELECT i.issuer, i.subject, i.user_id, u.email, i.created_at, i.last_login_at"                \
    " FROM user_identities i JOIN users u ON u.user_id = i.user_id"

/* clang-format off */
ROW_TABLE(identity_row,
    STR(issuer), STR(subject), STR(user_id), STR(email), TIME(created_at), TIME(last_login_at));

DB_ROWS_QUERY(select_identity, identity_row,
    SELECT_IDENTITY " WHERE i.issuer = $1 AND i.subject = $2");
DB_ROWS_QUERY(select_identities, identity_row,
    SELECT_IDENTITY " WHERE i.user_id = $1 ORDER BY i.created_at, i.issuer, i.subject");
ROWS_LIST_FN(identities_idle, identity_row, (int64_t before, int64_t most),
    (db_int(before), db_int(most)),
    "SELECT DISTINCT i.user_id, u.email FROM user_identities i"
    " JOIN users u ON u.user_id = i.user_id JOIN personal_tokens t ON t.user_id = i.user_id"
    " WHERE COALESCE(u.last_login_at, u.created_at) < $1 ORDER BY i.user_id LIMIT $2");
DB_QUERY(insert_identity,
    "INSERT INTO user_identities (issuer, subject, user_id, created_at, last_login_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (issuer, subject) DO NOTHING");
DB_RUN_FN(identity_used, (const struct identity_row *row),
    (db_text(row->issuer), db_text(row->subject), db_int(row->last_login_at)),
    "UPDATE user_identities SET last_login_at = $3 WHERE issuer = $1 AND subject = $2");
DB_QUERY(delete_identities, "DELETE FROM user_identities WHERE user_id = $1");
/* clang-format on */

int identity_find(struct db *db, struct str issuer, struct str subject, struct arena *arena,
                  struct identity_row *ret, struct error *err)
{
    return rows_one(db, &select_identity, DB_ARGS(db_text(issuer), db_text(subject)), arena, ret,
                    err);
}

int identity_add(struct db *db, const struct identity_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->issuer), db_text(row->subject), db_text(row->user_id),
                db_int(row->created_at), rows_time_value(row->last_login_at));

    return db_run_or(db, &insert_identity, args, err, ERR_CONFLICT,
                     "This person is linked to a user already");
}

int identities_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err)
{
    return rows_list(db, &select_identities, DB_ARGS(db_text(user_id)), arena, ret, err);
}

int identities_remove(struct db *db, struct str user_id, int64_t *ret_n, struct error *err)
{
    if (db_run(db, &delete_identities, DB_ARGS(db_text(user_id)), err) != 0)
        return -1;
    if (ret_n != NULL)
        *ret_n = db_changes(db);
    return 0;
}
