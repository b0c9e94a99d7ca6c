/* reauth.c - checks the password of a signed-in user once more. */
#include "features/users/reauth.h"

#include <assert.h>

#include "api/api.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/throttle.h"

struct reauth {
    struct throttle_attempt attempt;
    struct sign_in claim;
    struct sign_in_check check;
    struct reauth_next next;
};

static int reauth_check(struct api_call *call, struct db *db, struct error *err)
{
    struct reauth *r = call->own;

    if (accounts_check(call, db, &r->attempt, &r->claim, &r->check, err) != 0)
        return -1;
    return r->check.good && r->next.prepare != NULL ? r->next.prepare(call, db, err) : 0;
}

struct sign_in_check *reauth_result(const struct api_call *call)
{
    struct reauth *r = call->own;

    return &r->check;
}

static int enter_reauth_refusal(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->user->email;
    return accounts_audit(call, db, call->user, "password.refuse", err);
}

static int refuse_password(struct api_call *call, struct error *err)
{
    const struct reauth *r = call->own;

    if (r->check.good)
        return call_refuse(call, err, 403, "Wrong code, or one that was used already");
    return call_refuse(call, err, 403, "The current password is wrong");
}

static void reauth_refused(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, refuse_password);
}

static int ask_for_code(struct api_call *call, struct error *err)
{
    return call_refuse_body(call, err, "code", STR_NULL,
                            "A code of the authenticator app, or a recovery code, is needed");
}

/* A code is good once. */
static int use_and_work(struct api_call *call, struct db *db, struct error *err)
{
    const struct reauth *r = call->own;
    bool used = true;

    if (r->check.factor.verdict != FACTOR_NONE &&
        factor_use(db, call->user->user_id, &r->check.factor, &used, err) != 0)
        return -1;
    return used ? r->next.work(call, db, err) : refuse_password(call, err);
}

static void reauth_checked(struct api_call *call, const struct error *err)
{
    const struct reauth *r = call->own;
    const bool needs_code = r->check.good && r->check.factor.verdict == FACTOR_NEEDED;
    const bool good = r->check.good && r->check.factor.verdict != FACTOR_WRONG;

    assert(err != NULL || r->check.good || r->check.factor.verdict == FACTOR_NONE);
    accounts_end_hash(call);
    accounts_end_attempt(call, &r->attempt, err == NULL && !needs_code, good);
    if (err != NULL)
        call_reply(call, err);
    else if (needs_code)
        call_run_or_reply(call, ask_for_code);
    else if (!good)
        call_change(call, CHANGE_NOTHING, enter_reauth_refusal, reauth_refused);
    else
        call_change(call, r->next.topic, use_and_work, call_reply);
}

int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err)
{
    struct reauth *r = ARENA_NEW(call->arena, struct reauth);

    assert(call->user != NULL && next->work != NULL);
    *r = (struct reauth){ .attempt = accounts_own_attempt(call),
                          .claim = { .email = call->user->email,
                                     .password = password,
                                     .code = next->code,
                                     .asks_code = next->asks_code },
                          .next = *next };
    call->own = r;
    if (accounts_begin_hash(call, err) != 0)
        return -1;
    if (accounts_begin_attempt(call, &r->attempt, err) != 0) {
        accounts_end_hash(call);
        return -1;
    }
    call_hash(call, reauth_check, reauth_checked);
    return 0;
}
