/* password_routes.c - users change their own password. */
#include "api/call.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/personal_store.h"
#include "features/users/reauth.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/users_store.h"

/* On the hashing thread, after the current password. */
static int hash_next_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;

    (void)db;
    return sign_in_hash(change->new_password, call->arena, &reauth_result(call)->new_hash, err);
}

static int set_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct session_user *user = call->user;

    if (sign_in_set_password(db, reauth_result(call), &user->session, err) != 0 ||
        (!change->keep_tokens && store_personal_end(db, user->user_id, INT64_MAX, err) != 0) ||
        store_users_about(db, user->user_id, err) != 0 || accounts_answer_me(call, db, err) != 0)
        return -1;
    call->audit_target = user->email;
    return accounts_audit(call, db, user, "password.change", err);
}

static int change_password(struct api_call *call, struct error *err)
{
    const struct password_change *change = call->body;
    const struct reauth_next next = { .topic = CHANGE_USERS,
                                      .prepare = hash_next_password,
                                      .work = set_password };

    if (accounts_check_password(call, "new_password", change->new_password, call->user->email,
                                err) != 0)
        return -1;
    return reauth_begin(call, change->current_password, &next, err);
}

/* clang-format off */
const struct route password_routes[] = {
    { ROUTE(POST, "/api/v1/auth/password", USER, 200), .handler = change_password, .also = ALSO_CONFLICT, .body = &password_change_shape, .answer = &session_answer_shape,
      .id = "change_password", .summary = "Change one's own password",
      .description = "Ends all other sessions of the user and deletes the user's personal access tokens, unless `keep_tokens` is true. One at a time: 429 while another change of the same user is under way." },
    { 0 },
};
/* clang-format on */
