/* vouched.c - what all ways to sign in have in common. */
#include "features/users/vouched.h"

#include <assert.h>

#include "api/call.h"
#include "features/access/cookies.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/links/store.h"
#include "features/users/personal_store.h"

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
    call->user = user;
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
    if (store_sessions_end(db, user->user_id, NULL, err) != 0 ||
        store_personal_end(db, user->user_id, INT64_MAX, err) != 0 ||
        store_resets_end(db, user->email, err) != 0)
        return -1;
    return store_links_end_of(db, user->email, 0, err);
}

int vouched_voucher(struct db *db, const struct sha256 *session, struct arena *arena,
                    struct str *ret, struct error *err)
{
    return store_session_voucher(db, session, arena, ret, err);
}
