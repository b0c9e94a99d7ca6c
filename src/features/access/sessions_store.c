/* sessions_store.c - SQL of sessions, of what is loaded of users, and of the number of their
 * changes.
 */
#include <assert.h>

#include "db/db.h"
#include "db/servers.h"
#include "engine/engine.h"
#include "features/access/sessions_state.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE(session_user_row,
    STR(user_id), STR(email),
    FIELD_AT("platform_role", role, int, T_ENUM, .choices = platform_role_names));
ROW_TABLE(session_role_row,
    STR(user_id), INT(tenant_id), ENUM(role, .choices = tenant_role_names));
ROW_TABLE(session_token_row,
    STR(token_id), DIGEST(digest), STR(user_id), ENUM(role, .choices = token_role_names),
    TIME(created_at), TIME(expires_at));
ROW_TABLE(session_row,
    DIGEST(digest), STR(user_id), TIME(created_at), TIME(last_used_at), STR(address), STR(user_agent));

DB_QUERY(insert_session,
    "INSERT INTO sessions (digest, user_id, created_at, last_used_at, address, user_agent,"
    " voucher) VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(set_used, "UPDATE sessions SET last_used_at = $2 WHERE digest = $1 AND last_used_at < $2");
DB_RUN_FN(session_end, (const struct sha256 *digest), (db_blob(digest_str(digest))),
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
DB_ROWS_QUERY(select_users, session_user_row, "SELECT user_id, email, platform_role FROM users");
DB_ROWS_QUERY(select_user, session_user_row,
    "SELECT user_id, email, platform_role FROM users WHERE user_id = $1");
DB_ROWS_QUERY(select_roles, session_role_row,
    "SELECT user_id, tenant_id, role FROM user_roles ORDER BY user_id");
DB_ROWS_QUERY(select_roles_of, session_role_row,
    "SELECT user_id, tenant_id, role FROM user_roles WHERE user_id = $1");
#define TOKENS "SELECT token_id, digest, user_id, role, created_at, expires_at FROM personal_tokens"
DB_ROWS_QUERY(select_tokens, session_token_row, TOKENS);
DB_ROWS_QUERY(select_tokens_of, session_token_row, TOKENS " WHERE user_id = $1");
DB_QUERY(select_number, "SELECT number FROM change_numbers WHERE topic = 'people'");
DB_QUERY(add_to_number, "UPDATE change_numbers SET number = number + 1 WHERE topic = 'people'");
/* The last 1,024 changes, each in the slot of its number. */
DB_QUERY(note_change,
    "INSERT INTO user_changes (slot, number, about) SELECT number % 1024, number, NULL"
    " FROM change_numbers WHERE topic = 'people'"
    " ON CONFLICT (slot) DO UPDATE SET number = excluded.number, about = NULL");
DB_QUERY(set_about,
    "UPDATE user_changes SET about = CASE WHEN about IS NULL OR about = $1 THEN $1 ELSE '' END"
    " WHERE slot = (SELECT number % 1024 FROM change_numbers WHERE topic = 'people')");
DB_QUERY(select_abouts,
    "SELECT COALESCE(about, ''), COUNT(*) FROM user_changes WHERE number > $1 AND number <= $2"
    " GROUP BY 1 ORDER BY 1");
/* clang-format on */

static struct db_value text_value(struct str text)
{
    return db_text(str_is_null(text) ? STR_LIT("") : text);
}

int session_add(struct db *db, const struct session_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_blob(digest_str(&row->digest)), db_text(row->user_id), db_int(row->created_at),
                db_int(row->last_used_at), text_value(row->address), text_value(row->user_agent),
                text_value(row->voucher));

    assert(!str_is_null(row->user_id) && row->last_used_at >= row->created_at);
    return db_run(db, &insert_session, args, err);
}

int sessions_used(struct db *db, const struct session_row *used, size_t n, struct error *err)
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

int session_owner(struct db *db, const struct sha256 *digest, struct arena *arena, struct str *ret,
                  struct error *err)
{
    return rows_one_text(db, &select_owner, DB_ARGS(db_blob(digest_str(digest))), arena, ret, err);
}

int session_voucher(struct db *db, const struct sha256 *digest, struct arena *arena,
                    struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_voucher, DB_ARGS(db_blob(digest_str(digest))), arena, ret,
                         err);
}

int sessions_end_of(struct db *db, struct str user_id, const struct sha256 *keep, struct error *err)
{
    const struct db_args user = DB_ARGS(db_text(user_id));

    if (keep == NULL)
        return db_run(db, &delete_all, user, err);
    return db_run(db, &delete_others, DB_ARGS(db_text(user_id), db_blob(digest_str(keep))), err);
}

int sessions_keep_newest(struct db *db, struct str user_id, int64_t n, struct error *err)
{
    assert(n > 0); /* the one that was just opened */
    return db_run(db, &delete_oldest, DB_ARGS(db_text(user_id), db_int(n)), err);
}

int sessions_prune(struct db *db, int64_t created_before, int64_t used_before, struct error *err)
{
    return db_run(db, &prune_sessions, DB_ARGS(db_int(created_before), db_int(used_before)), err);
}

int sessions_load(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err)
{
    return rows_list(db, str_is_null(user_id) ? &select_sessions : &select_of_user,
                     DB_ARGS(db_text(user_id)), arena, ret, err);
}

int sessions_load_rows(struct db *db, struct arena *arena, struct session_rows *ret,
                       struct error *err)
{
    const bool all = str_is_null(ret->about);
    const struct db_args of = all ? DB_NO_ARGS : DB_ARGS(db_text(ret->about));

    if (rows_list(db, all ? &select_users : &select_user, of, arena, &ret->users, err) != 0 ||
        rows_list(db, all ? &select_roles : &select_roles_of, of, arena, &ret->roles, err) != 0 ||
        sessions_load(db, ret->about, arena, &ret->sessions, err) != 0)
        return -1;
    return rows_list(db, all ? &select_tokens : &select_tokens_of, of, arena, &ret->tokens, err);
}

int users_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_number, DB_NO_ARGS, db_read_int, ret, err);
}

struct abouts {
    struct rows users; /* of struct str */
    int64_t n;
    bool any;
};

static bool read_about(void *ctx, const struct db_row *row)
{
    struct abouts *abouts = ctx;

    abouts->n += db_get_int(row, 1);
    if (db_get_text(row, 0).len == 0)
        abouts->any = true;
    else
        *(struct str *)rows_add(&abouts->users) = rows_text(abouts->users.arena, row, 0);
    return true;
}

int users_abouts(struct db *db, struct change_span span, struct arena *arena, struct list *ret,
                 bool *ret_all, struct error *err)
{
    struct abouts abouts = { .users = { .arena = arena, .size = sizeof(struct str) } };

    if (db_exec(db, &select_abouts, DB_ARGS(db_int(span.after), db_int(span.until)), read_about,
                &abouts, err) != 0)
        return -1;
    *ret = (struct list){ abouts.users.items, abouts.users.n };
    *ret_all = abouts.any || abouts.n != span.until - span.after;
    return 0;
}

int users_about(struct db *db, struct str user_id, struct error *err)
{
    return db_run_later(db, &set_about, DB_ARGS(db_text(user_id)), err);
}

int users_changed(struct db *db, struct error *err)
{
    if (db_run_later(db, &add_to_number, DB_NO_ARGS, err) != 0 ||
        db_run_later(db, &note_change, DB_NO_ARGS, err) != 0)
        return -1;
    return db_notify(db, STR_LIT(ENGINE_CHANGED), err);
}
