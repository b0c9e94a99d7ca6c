/* accounts.h - proves who a user is, opens and ends sessions, and enters that in the audit log.
 *
 * Functions that hash run on the hashing thread (engine_hash()); those with a db and no call run
 * inside a transaction or on a reader, with the caller's connection.
 */
#pragma once
#include <stdbool.h>

#include "api/call.h"
#include "api/route.h"
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/throttle.h"
#include "features/users/users.h"

struct sign_in_check {
    struct user_row user;       /* user_id STR_NULL: unknown user */
    bool good;                  /* the password is right */
    struct str new_hash;        /* replaces the stored hash; STR_NULL: keep it */
    struct factor_check factor; /* of accounts_check() at sign-in */
};

/* Takes equally long for an unknown user. A right password whose stored hash has weaker parameters
 * is hashed again. In the arena. */
int sign_in_check(struct db *db, const struct sign_in *sign_in, struct arena *arena,
                  struct sign_in_check *ret, struct error *err) MUST_CHECK;

/* Hashes a password for storage; in the arena. */
int sign_in_hash(struct str password, struct arena *arena, struct str *ret,
                 struct error *err) MUST_CHECK;

/* The cookie digests of a new session and of the one that it replaces (NULL: none), and from where
 * it is opened. */
struct sign_in_session {
    struct sha256 digest;
    const struct sha256 *instead_of;
    struct str address, user_agent;
    struct str voucher; /* of the feature that vouches: see vouched_voucher(); STR_NULL */
};

/* Opens a session after a good check. ERR_CONFLICT when the user changed meanwhile. *ret has no
 * csrf_token yet. */
int sign_in_open(struct db *db, const struct sign_in_check *check,
                 const struct sign_in_session *session, struct arena *arena,
                 struct session_answer *ret, struct error *err) MUST_CHECK;

/* The same for a user for whom another feature vouches (vouched_finish()): no password was checked.
 */
int sign_in_open_vouched(struct db *db, struct str email, const struct sign_in_session *session,
                         struct arena *arena, struct session_answer *ret,
                         struct error *err) MUST_CHECK;

/* Creates the first user, a platform admin, with a hashed password, and opens a session.
 * ERR_CONFLICT when a user exists. */
int sign_in_set_up(struct db *db, const struct sign_in *first,
                   const struct sign_in_session *session, struct arena *arena,
                   struct session_answer *ret, struct error *err) MUST_CHECK;

/* Sets the password and ends the user's other sessions. ERR_CONFLICT as above. */
int sign_in_set_password(struct db *db, const struct sign_in_check *check,
                         const struct sha256 *keep, struct error *err) MUST_CHECK;

/* Is the password acceptable for this e-mail? Fails with 422 at the body's member `name`. */
int accounts_check_password(struct api_call *call, const char *name, struct str password,
                            struct str email, struct error *err) MUST_CHECK;

/* An attempt to prove to be an account, which accounts_end_attempt() must end; sets where it comes
 * from. Fails with 429. */
int accounts_begin_attempt(struct api_call *call, struct throttle_attempt *attempt,
                           struct error *err) MUST_CHECK;
void accounts_end_attempt(struct api_call *call, const struct throttle_attempt *attempt,
                          bool decided, bool good);

/* May the caller help this user, who lost the password or the second factor? Fails with 403 for the
 * caller's own user, who has ways that ask for the password, and for a personal access token: a
 * stolen session or token must not be enough. The operator may. */
int accounts_check_helper(struct api_call *call, struct str email, struct error *err) MUST_CHECK;

/* An admin sets this password of a user (STR_NULL: none): checks it, hashes it, unless it is only
 * for a new user (`if_new`) and this one exists, and goes on with the route's change, for which
 * call->own begins with the hash, a struct str. Fails with 422 at the body's member `password`, and
 * with 429. */
int accounts_hash(struct api_call *call, struct str password, struct str email, bool if_new,
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

/* A claim to be a user: at sign-in by address, password and code; of the call's own user by the
 * password once more. */
struct proof {
    struct throttle_attempt attempt;
    struct sign_in claim;
    struct sign_in_check check;
    bool signs_in;
    enum change_topic topic;
    call_work_fn *prepare; /* on the hashing thread, with a right password; NULL: nothing to do */
    call_work_fn *work;    /* the change of this topic that follows a good proof */
    call_then_fn *done;    /* after it */
};

/* Checks the claim, throttled and counted with those at other processes and before a restart, and
 * continues with the change. Sets call->own to `proof`, which `work` finds there. A wrong password
 * or code is entered in the audit log and refused with 401 at sign-in, else with 403; a code that
 * is missing is asked for with 422. Fails with 429. */
int proof_begin(struct api_call *call, struct proof *proof, struct error *err) MUST_CHECK;

/* The same of the call's user, with call_reply() at the end. `asks_code`: of a user who has a
 * second factor, too; else the one at sign-in is enough. */
struct reauth_next {
    enum change_topic topic;
    call_work_fn *prepare, *work;
    bool asks_code;
    struct str code; /* STR_NULL: none was sent */
};
int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err) MUST_CHECK;

/* For `prepare` and `work`: the user whose password was right. */
struct sign_in_check *reauth_result(const struct api_call *call);

/* From where the session is opened, and that it replaces the one that the browser has, if any; in
 * the call's arena. On the carrier's thread. */
struct sign_in_session *vouched_prepare(struct api_call *call);

/* In the transaction (CHANGE_USERS) that opened the session, whose answer is in call->answer: from
 * here on the caller is this user. Enters the action in the audit log. */
int vouched_finish(struct api_call *call, struct db *db, const char *action,
                   struct error *err) MUST_CHECK;

/* Replies; a cookie is sent only with the session that it belongs to. */
void vouched_opened(struct api_call *call, const struct error *err);

/* What the feature that vouched for a session kept with it (sign_in_session.voucher, such as the ID
 * token of an identity provider), until it ends; in the arena. STR_NULL: nothing. */
enum { VOUCHER_MAX = 16 << 10 };
int vouched_voucher(struct db *db, const struct sha256 *session, struct arena *arena,
                    struct str *ret, struct error *err) MUST_CHECK;

/* In such a transaction: ends all sessions, tokens and links of a user for whom it is not vouched
 * any longer. */
int vouched_revoke(struct db *db, const struct user_row *user, struct error *err) MUST_CHECK;
