/* accounts.h - what the handlers of logging in and of users have in common. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct api_call;
struct db;
struct session_user;

/* Is it a password to be taken for this e-mail? False when it has answered 422 at the body's
 * member `name`. */
bool accounts_check_password(struct api_call *call, const char *name, struct str password,
                             struct str email);

/* An attempt to show that one is `email`. False when it has answered 429; else it must come to
 * accounts_end_attempt(). */
bool accounts_begin_attempt(struct api_call *call, struct str email);
void accounts_end_attempt(struct api_call *call, struct str email, bool decided, bool good);

/* Enters what somebody (NULL: nobody we know) did, or what happened to them, in the log of their
 * tenant if they have a role in one and no other; else in the platform's. Of platform admins always
 * there: any tenant's admin can give them a role, and is not to watch them by it. */
int accounts_audit(struct api_call *call, struct db *db, const struct session_user *user,
                   const char *action, struct error *err) MUST_CHECK;

/* The person of the call as an answer, with the session's token; for a reader. */
int accounts_answer_me(struct api_call *call, struct db *db, struct error *err) MUST_CHECK;
