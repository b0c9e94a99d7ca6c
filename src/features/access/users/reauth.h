/* reauth.h - asks a signed-in user for their password again, before something that an open session
 * alone must not allow. */
#pragma once
#include "api/call.h"
#include "base/err.h"
#include "base/str.h"

/* Checks the password of the call's user, throttled as sign-in is, and continues with a change of
 * `topic`: `work`, then call_reply(). A wrong password is entered in the audit log and answered
 * with 403. Uses call->own until `work` runs. */
struct reauth_next {
    enum change_topic topic;
    call_work_fn *work;
};
int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err) MUST_CHECK;
