/* accounts.h - shared parts of the routes for sign-in and users. */
#pragma once
#include <stdbool.h>

#include "api/call.h"
#include "api/route.h"
#include "base/err.h"
#include "base/str.h"

struct api_call;
struct db;
struct session_user;
struct sign_in;
struct sign_in_check;
struct sign_in_session;
struct throttle_attempt;
struct user_patch;
struct user_row;

/* Is the password acceptable for this e-mail? Fails with 422 at the body's member `name`. */
int accounts_check_password(struct api_call *call, const char *name, struct str password,
                            struct str email, struct error *err) MUST_CHECK;

/* An attempt to prove to be an account, which accounts_end_attempt() must end; sets where it comes
 * from. Fails with 429. */
int accounts_begin_attempt(struct api_call *call, struct throttle_attempt *attempt,
                           struct error *err) MUST_CHECK;
void accounts_end_attempt(struct api_call *call, const struct throttle_attempt *attempt,
                          bool decided, bool good);

/* sign_in_check() of an attempt that has begun, on the hashing thread: counted with those at other
 * processes and before a restart. At sign-in, and if the claim asks_code, it also judges the code
 * of a second factor: a missing one is neither a failure nor a success. Fails with 429. */
int accounts_check(struct api_call *call, struct db *db, const struct throttle_attempt *attempt,
                   const struct sign_in *claim, struct sign_in_check *ret,
                   struct error *err) MUST_CHECK;

/* May the caller help this user, who lost the password or the second factor? Fails with 403 for the
 * caller's own user, who has ways that ask for the password, and for a personal access token: a
 * stolen session or token must not be enough. The operator may. */
int accounts_check_helper(struct api_call *call, struct str email, struct error *err) MUST_CHECK;

/* From where a session is being opened: its address and its user agent, bounded and printable. */
void accounts_note_origin(struct api_call *call, struct sign_in_session *session);

/* An admin sets this password of a user: checks it, runs `hash` on the hashing thread, and goes on
 * with the route's change. Fails with 422 at the body's member `password`, and with 429. */
int accounts_hash(struct api_call *call, struct str password, struct str email, call_work_fn *hash,
                  struct error *err) MUST_CHECK;

/* Before users_set() with this patch, in its transaction: if that confirms the account, another
 * person may have set up its second factor, which would keep the owner out. */
int accounts_forget_factor(struct api_call *call, struct db *db, struct str email,
                           const struct user_patch *patch, struct error *err) MUST_CHECK;

/* Adds an entry about a user (NULL: an unknown one) to the audit log of their tenant if they have a
 * role in exactly one; else to the platform's. Entries about platform admins always go to the
 * platform's: otherwise a tenant's admin could watch them by assigning them a role. */
int accounts_audit(struct api_call *call, struct db *db, const struct session_user *user,
                   const char *action, struct error *err) MUST_CHECK;

/* The same of a row; user_id STR_NULL: an unknown user. Sets the entry's target. */
int accounts_audit_row(struct api_call *call, struct db *db, const struct user_row *row,
                       const char *action, struct error *err) MUST_CHECK;

/* The user of the call as an answer, with the session's token. */
int accounts_answer_me(struct api_call *call, struct db *db, struct error *err) MUST_CHECK;

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
