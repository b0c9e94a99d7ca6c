/* sessions_store.c - SQL of sessions. */
#include "features/access/users/sessions_store.h"

#include <assert.h>

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE(session_row,
    DIGEST(digest), STR(user_id), TIME(created_at), TIME(last_used_at), STR(address), STR(user_agent));

DB_QUERY(insert_session,
    "INSERT INTO sessions (digest, user_id, created_at, last_used_at, address, user_agent,"
    " voucher) VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(set_used, "UPDATE sessions SET last_used_at = $2 WHERE digest = $1 AND last_used_at < $2");
DB_RUN_FN(store_session_end, (const struct sha256 *digest), (db_blob(digest_str(digest))),
    "DELETE FROM sessions WHERE digest = $1");
DB_QUERY(select_owner, "SELECT user_id FROM sessions WHERE digest = $1");
DB_QUERY(select_voucher, "SELECT voucher FROM sessions WHERE digest = $1 AND voucher <> ''");
DB_QUERY(delete_others, "DELETE FROM sessions WHERE user_id = $1 AND digest <> $2");
DB_QUERY(delete_all, "DELETE FROM sessions WHERE user_id = $1");
DB_QUERY(delete_oldest,
    "DELETE FROM sessions WHERE user_id = $1 AND digest NOT IN (SELECT digest FROM sessions"
    " WHERE user_id = $1 ORDER BY created_at DESC, digest LIMIT $2)");
DB_QUERY(prune_sessions, "DELETE FROM sessions WHERE created_at < $1 OR last_used_at < $2");
DB_ROWS_QUERY(select_of_user, session_row,
    "SELECT digest, user_id, created_at, last_used_at, address, user_agent FROM sessions"
    " WHERE user_id = $1 ORDER BY created_at DESC, digest");
DB_ROWS_QUERY(select_sessions, session_row,
    "SELECT digest, user_id, created_at, last_used_at FROM sessions");
/* clang-format on */

static struct db_value text_value(struct str text)
{
    return db_text(str_is_null(text) ? STR_LIT("") : text);
}

int store_session_add(struct db *db, const struct session_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_blob(digest_str(&row->digest)), db_text(row->user_id), db_int(row->created_at),
                db_int(row->last_used_at), text_value(row->address), text_value(row->user_agent),
                text_value(row->voucher));

    assert(!str_is_null(row->user_id) && row->last_used_at >= row->created_at);
    return db_run(db, &insert_session, args, err);
}

int store_sessions_used(struct db *db, const struct session_row *used, size_t n, struct error *err)
{
    enum { TURN = 256 }; /* what the server is sent before its answers are read */

    for (size_t i = 0; i < n; i++) {
        const struct db_args args =
            DB_ARGS(db_blob(digest_str(&used[i].digest)), db_int(used[i].last_used_at));

        if (db_run_later(db, &set_used, args, err) != 0 ||
            ((i + 1) % TURN == 0 && db_settle(db, err) != 0))
            return -1;
    }
    return 0;
}

int store_session_owner(struct db *db, const struct sha256 *digest, struct arena *arena,
                        struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_owner, DB_ARGS(db_blob(digest_str(digest))), arena, ret, err);
}

int store_session_voucher(struct db *db, const struct sha256 *digest, struct arena *arena,
                          struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_voucher, DB_ARGS(db_blob(digest_str(digest))), arena, ret,
                         err);
}

int store_sessions_end(struct db *db, struct str user_id, const struct sha256 *keep,
                       struct error *err)
{
    const struct db_args user = DB_ARGS(db_text(user_id));

    if (keep == NULL)
        return db_run(db, &delete_all, user, err);
    return db_run(db, &delete_others, DB_ARGS(db_text(user_id), db_blob(digest_str(keep))), err);
}

int store_sessions_keep_newest(struct db *db, struct str user_id, int64_t n, struct error *err)
{
    assert(n > 0); /* the one that was just opened */
    return db_run(db, &delete_oldest, DB_ARGS(db_text(user_id), db_int(n)), err);
}

int store_sessions_prune(struct db *db, int64_t created_before, int64_t used_before,
                         struct error *err)
{
    return db_run(db, &prune_sessions, DB_ARGS(db_int(created_before), db_int(used_before)), err);
}

int store_sessions(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                   struct error *err)
{
    return rows_list(db, str_is_null(user_id) ? &select_sessions : &select_of_user,
                     DB_ARGS(db_text(user_id)), arena, ret, err);
}
