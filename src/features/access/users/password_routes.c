/* password_routes.c - users change their own password. */
#include "api/call.h"
#include "features/access/routes.h"
#include "features/access/users/accounts.h"
#include "features/access/users/personal_store.h"
#include "features/access/users/sessions.h"
#include "features/access/users/shapes.h"
#include "features/access/users/sign_in.h"
#include "features/access/users/throttle.h"
#include "features/access/users/users_store.h"

/* State of a change between its steps. */
struct password_step {
    struct throttle_attempt attempt;
    struct sign_in_check check;
};

/* Checks the old password and hashes the new one, on the hashing thread. */
static int check_and_hash(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct sign_in claim = { .email = call->user->email,
                                   .password = change->current_password };
    struct password_step *step = call->own;
    struct sign_in_check *check = &step->check;

    if (accounts_check(call, db, &step->attempt, &claim, check, err) != 0)
        return -1;
    if (!check->good)
        return 0;
    return sign_in_hash(change->new_password, call->arena, &check->new_hash, err);
}

static int set_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct session_user *user = call->user;
    const struct password_step *step = call->own;

    if (sign_in_set_password(db, &step->check, &user->session, err) != 0 ||
        (!change->keep_tokens && store_personal_end(db, user->user_id, INT64_MAX, err) != 0) ||
        store_users_about(db, user->user_id, err) != 0 || accounts_answer_me(call, db, err) != 0)
        return -1;
    call->audit_target = user->email;
    return accounts_audit(call, db, user, "password.change", err);
}

static int enter_password_refusal(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->user->email;
    return accounts_audit(call, db, call->user, "password.refuse", err);
}

static int refuse_password(struct api_call *call, struct error *err)
{
    return call_refuse(call, err, 403, "The current password is wrong");
}

static void refusal_entered(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, refuse_password);
}

static void password_checked(struct api_call *call, const struct error *err)
{
    const struct password_step *step = call->own;

    accounts_end_hash(call);
    accounts_end_attempt(call, &step->attempt, err == NULL, step->check.good);
    if (err != NULL)
        call_reply(call, err);
    else if (!step->check.good)
        call_change(call, CHANGE_NOTHING, enter_password_refusal, refusal_entered);
    else
        call_change(call, CHANGE_USERS, set_password, call_reply);
}

static int change_password(struct api_call *call, struct error *err)
{
    const struct password_change *change = call->body;
    struct password_step *step = ARENA_NEW(call->arena, struct password_step);
    struct str email = call->user->email;

    call->own = step;
    step->attempt = accounts_own_attempt(call);
    if (accounts_check_password(call, "new_password", change->new_password, email, err) != 0 ||
        accounts_begin_hash(call, err) != 0)
        return -1;
    if (accounts_begin_attempt(call, &step->attempt, err) != 0) {
        accounts_end_hash(call);
        return -1;
    }
    call_hash(call, check_and_hash, password_checked);
    return 0;
}

/* clang-format off */
const struct route password_routes[] = {
    { ROUTE(POST, "/api/v1/auth/password", USER, 200), .handler = change_password, .also = ALSO_CONFLICT, .body = &password_change_shape, .answer = &session_answer_shape,
      .id = "change_password", .summary = "Change one's own password",
      .description = "Ends all other sessions of the user and deletes the user's personal access tokens, unless `keep_tokens` is true. One at a time: 429 while another change of the same user is under way." },
    { 0 },
};
/* clang-format on */
