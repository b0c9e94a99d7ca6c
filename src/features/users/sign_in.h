/* sign_in.h - checks passwords, opens and ends sessions.
 *
 * Functions that hash run on the hashing thread (engine_hash()); all others
 * inside a transaction or on a reader, with the caller's connection.
 */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/users.h"

struct api_call;
struct db;
struct user_row;

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
