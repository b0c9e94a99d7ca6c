/* reauth.h - asks a signed-in user for their password again, before something that an open session
 * alone must not allow. Failures count per user, from whatever address. */
#pragma once
#include "api/call.h"
#include "base/err.h"
#include "base/str.h"

struct sign_in_check;

/* Checks the password of the call's user, throttled as sign-in is, and continues with a change of
 * `topic`: `work`, then call_reply(). A wrong password is entered in the audit log and answered
 * with 403. Uses call->own, which `work` must leave alone. */
struct reauth_next {
    enum change_topic topic;
    call_work_fn *prepare; /* on the hashing thread, with a right password; NULL: nothing to do */
    call_work_fn *work;
    bool asks_code;  /* of a user who has a second factor; else the one at sign-in is enough */
    struct str code; /* STR_NULL: none was sent, which is 422 if one is needed */
};

/* For `prepare` and `work`: the user whose password was right. */
struct sign_in_check *reauth_result(const struct api_call *call);

int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err) MUST_CHECK;
