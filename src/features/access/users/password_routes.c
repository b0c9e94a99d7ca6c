/* password_routes.c - people change their own password. */
#include "api/call.h"
#include "features/access/routes.h"
#include "features/access/users/accounts.h"
#include "features/access/users/sessions.h"
#include "features/access/users/shapes.h"
#include "features/access/users/sign_in.h"

/* The old one is checked and the new one hashed, on the hashing thread. */
static int check_and_hash(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct sign_in claim = { call->user->email, change->current_password };
    struct sign_in_check *check = call->own;

    if (sign_in_check(db, &claim, call->arena, check, err) != 0)
        return -1;
    if (!check->good)
        return 0;
    return sign_in_hash(change->new_password, call->arena, &check->new_hash, err);
}

static int set_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct session_user *user = call->user;

    if (sign_in_set_password(db, call->own, &user->session, err) != 0 ||
        accounts_answer_me(call, db, err) != 0)
        return -1;
    call->audit_target = user->email;
    return accounts_audit(call, db, user, "password.change", err);
}

static int enter_refusal(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->user->email;
    return accounts_audit(call, db, call->user, "password.refuse", err);
}

static void refused(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply_failure(call, err);
    else
        call_reply_error(call, 403, "The current password is wrong");
}

static void checked(struct api_call *call, const struct error *err)
{
    const struct sign_in_check *check = call->own;

    accounts_end_attempt(call, call->user->email, err == NULL, check->good);
    if (err != NULL)
        call_reply_failure(call, err);
    else if (!check->good)
        call_change_then(call, CHANGE_NOTHING, enter_refusal, refused);
    else
        call_change_then(call, CHANGE_USERS, set_password, call_finish);
}

static void post_password(struct api_call *call)
{
    const struct password_change *change = call->body;
    struct str email = call->user->email;

    if (!accounts_check_password(call, "new_password", change->new_password, email) ||
        !accounts_begin_attempt(call, email))
        return;
    call->own = ARENA_NEW(call->arena, struct sign_in_check);
    call->answer = ARENA_NEW(call->arena, struct session_answer);
    call_hash(call, check_and_hash, checked);
}

/* clang-format off */
const struct route password_routes[] = {
    { ROUTE(POST, "/api/v1/auth/password", USER, 200), .handler = post_password, .also = ALSO_CONFLICT, .body = &password_change_shape, .answer = &session_answer_shape,
      .summary = "Change one's own password; one's other sessions end" },
    { 0 },
};
/* clang-format on */
