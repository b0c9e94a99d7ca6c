/* vouched.h - opening a session, for sign-in by password and for features that vouch for a user in
 * another way, such as by an identity provider. */
#pragma once
#include "base/err.h"
#include "features/users/sign_in.h"

struct api_call;
struct db;
struct user_row;

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
