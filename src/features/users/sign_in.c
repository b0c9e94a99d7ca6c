/* sign_in.c - checks a password and opens a session. */
#include "features/users/sign_in.h"

#include <assert.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/password.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/links/links.h"
#include "features/users/users.h"

enum { SESSIONS_MAX = 50 }; /* per user; the oldest end first */

int sign_in_hash(struct str password, struct arena *arena, struct str *ret, struct error *err)
{
    char hash[PASSWORD_HASH_MAX];

    if (password_hash(password, hash, err) != 0)
        return -1;
    *ret = arena_copy(arena, str_of(hash));
    return 0;
}

int sign_in_check(struct db *db, const struct sign_in *sign_in, struct arena *arena,
                  struct sign_in_check *ret, struct error *err)
{
    *ret = (struct sign_in_check){ 0 };
    if (user_find(db, sign_in->email, arena, &ret->user, err) != 0 ||
        password_verify(ret->user.password, sign_in->password, &ret->good, err) != 0)
        return -1;
    if (!ret->good || !password_is_stale(ret->user.password))
        return 0;
    return sign_in_hash(sign_in->password, arena, &ret->new_hash, err);
}

/* Reads the row again; it must not have changed since the check. */
static int find_again(struct db *db, const struct user_row *checked, struct arena *arena,
                      struct user_row *ret, struct error *err)
{
    if (user_find(db, checked->email, arena, ret, err) != 0)
        return -1;
    if (!str_eq(ret->user_id, checked->user_id) ||
        !digest_equal_text(ret->password, checked->password))
        return err_set(err, ERR_CONFLICT, "The user was changed at the same time; try again");
    return 0;
}

/* A change of this user alone, unless it also ends another user's session, which the browser had.
 */
static int note_change(struct db *db, const struct user_row *user,
                       const struct sign_in_session *session, struct arena *arena,
                       struct error *err)
{
    struct str owner = STR_NULL;

    if (session->instead_of != NULL &&
        session_owner(db, session->instead_of, arena, &owner, err) != 0)
        return -1;
    if (str_is_null(owner))
        owner = user->user_id;
    return users_about(db, str_eq(owner, user->user_id) ? owner : STR_LIT(""), err);
}

static int add_session(struct db *db, const struct user_row *user,
                       const struct sign_in_session *session, struct arena *arena,
                       struct session_answer *ret, struct error *err)
{
    const struct session_row row = { .digest = session->digest,
                                     .user_id = user->user_id,
                                     .created_at = user->last_login_at,
                                     .last_used_at = user->last_login_at,
                                     .address = session->address,
                                     .user_agent = session->user_agent,
                                     .voucher = session->voucher };

    assert(!str_is_null(user->user_id) && user->last_login_at != TIME_NULL);
    if (note_change(db, user, session, arena, err) != 0 ||
        (session->instead_of != NULL && session_end(db, session->instead_of, err) != 0))
        return -1;
    if (session_add(db, &row, err) != 0 ||
        sessions_keep_newest(db, user->user_id, SESSIONS_MAX, err) != 0)
        return -1;
    *ret = (struct session_answer){
        .user_id = user->user_id,
        .email = user->email,
        .role = users_role_name(user->role),
        .expires_at = sessions_end(row.created_at, row.last_used_at),
    };
    return memberships(db, user->user_id, arena, &ret->tenants, err);
}

int sign_in_open(struct db *db, const struct sign_in_check *check,
                 const struct sign_in_session *session, struct arena *arena,
                 struct session_answer *ret, struct error *err)
{
    struct user_row user;

    ASSERT_ALWAYS(check->good); /* no session without a verified password */
    if (find_again(db, &check->user, arena, &user, err) != 0)
        return -1;
    if (!str_is_null(check->new_hash))
        user.password = check->new_hash;
    user.last_login_at = clock_wall_us();
    if (user_set(db, &user, err) != 0)
        return -1;
    return add_session(db, &user, session, arena, ret, err);
}

int sign_in_open_vouched(struct db *db, struct str email, const struct sign_in_session *session,
                         struct arena *arena, struct session_answer *ret, struct error *err)
{
    struct user_row user;

    if (users_find(db, email, arena, &user, err) != 0)
        return -1;
    user.last_login_at = clock_wall_us();
    if (user_set(db, &user, err) != 0)
        return -1;
    return add_session(db, &user, session, arena, ret, err);
}

int sign_in_set_up(struct db *db, const struct sign_in *first,
                   const struct sign_in_session *session, struct arena *arena,
                   struct session_answer *ret, struct error *err)
{
    const int64_t now = clock_wall_us();
    const struct user_row user = { .user_id = digest_random_id("user_", arena),
                                   .email = first->email,
                                   .password = first->password,
                                   .role = PLATFORM_ADMIN,
                                   .created_at = now,
                                   .last_login_at = now,
                                   .confirmed = true };
    int64_t n, admins;

    if (users_count(db, &n, &admins, err) != 0)
        return -1;
    if (n > 0)
        return err_set(err, ERR_CONFLICT, "The first user exists already; sign in instead");
    if (user_add(db, &user, err) != 0)
        return -1;
    return add_session(db, &user, session, arena, ret, err);
}

int sign_in_set_password(struct db *db, const struct sign_in_check *check,
                         const struct sha256 *keep, struct error *err)
{
    struct user_row user;
    ARENA_SCOPED(arena);

    ASSERT_ALWAYS(check->good && !str_is_null(check->new_hash));
    if (find_again(db, &check->user, &arena, &user, err) != 0)
        return -1;
    user.password = check->new_hash;
    if (user_set(db, &user, err) != 0)
        return -1;
    if (resets_end(db, user.email, err) != 0)
        return -1;
    return sessions_end_of(db, user.user_id, keep, err);
}

struct sign_in_session *vouched_prepare(struct api_call *call)
{
    struct sign_in_session *session = ARENA_NEW(call->arena, struct sign_in_session);
    const struct str cookie = session_cookie(call);

    if (!str_is_null(cookie)) {
        struct sha256 *before = ARENA_NEW(call->arena, struct sha256);

        *before = digest_sha256(cookie);
        session->instead_of = before;
    }
    accounts_note_origin(call, session);
    return session;
}

int vouched_finish(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    struct session_answer *answer = call->answer;
    struct session_user *user = ARENA_NEW(call->arena, struct session_user);

    assert(!str_is_null(answer->user_id) && !str_is_null(answer->email));
    answer->csrf_token = session_csrf_token(call);
    user->user_id = answer->user_id;
    user->email = answer->email;
    call->caller->user = user;
    call->audit_target = answer->email;
    user->is_platform_admin = !str_is_null(answer->role);
    return accounts_audit(call, db, user, action, err);
}

void vouched_opened(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call->set_cookie = STR_NULL;
    call_reply(call, err);
}

int vouched_revoke(struct db *db, const struct user_row *user, struct error *err)
{
    if (sessions_end_of(db, user->user_id, NULL, err) != 0 ||
        personal_end(db, user->user_id, INT64_MAX, err) != 0 ||
        resets_end(db, user->email, err) != 0)
        return -1;
    return links_end_of(db, user->email, 0, err);
}

int vouched_voucher(struct db *db, const struct sha256 *session, struct arena *arena,
                    struct str *ret, struct error *err)
{
    return session_voucher(db, session, arena, ret, err);
}
