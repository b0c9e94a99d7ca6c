/* own_password.c - people change their own password. */
#include "api/call.h"
#include "api/handlers.h"
#include "features/access/users/accounts.h"
#include "features/access/users/sessions.h"
#include "features/access/users/sign_in.h"

/* The old one is checked and the new one hashed, on the hashing thread. */
static int check_and_hash(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct log_in claim = { call->person->email, change->current_password };
    struct log_in_check *check = call->own;

    if (log_in_check(db, &claim, call->arena, check, err) != 0)
        return -1;
    if (!check->good)
        return 0;
    return log_in_hash(change->new_password, call->arena, &check->new_hash, err);
}

static int set_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct person *person = call->person;

    if (log_in_set_password(db, call->own, &person->session, err) != 0 ||
        people_answer_me(call, db, err) != 0)
        return -1;
    call->audit_target = person->email;
    return people_audit(call, db, person, "password.change", err);
}

static int enter_refusal(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->person->email;
    return people_audit(call, db, call->person, "password.refuse", err);
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
    const struct log_in_check *check = call->own;

    people_end_attempt(call, call->person->email, err == NULL, check->good);
    if (err != NULL)
        call_reply_failure(call, err);
    else if (!check->good)
        call_change_then(call, CHANGE_NOTHING, enter_refusal, refused);
    else
        call_change_then(call, CHANGE_PEOPLE, set_password, call_finish);
}

void post_password(struct api_call *call)
{
    const struct password_change *change = call->body;
    struct str email = call->person->email;

    if (!people_check_password(call, "new_password", change->new_password, email) ||
        !people_begin_attempt(call, email))
        return;
    call->own = ARENA_NEW(call->arena, struct log_in_check);
    call->answer = ARENA_NEW(call->arena, struct session_answer);
    call_hash(call, check_and_hash, checked);
}
