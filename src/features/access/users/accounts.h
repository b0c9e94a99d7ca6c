/* people.h - what the handlers of logging in and of users have in common.
 *
 * Layer: api. May use: base, contract, service.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct api_call;
struct db;
struct person;

/* Is it a password to be taken for this e-mail? False when it has answered 422 at the body's
 * member `name`. */
bool people_check_password(struct api_call *call, const char *name, struct str password,
                           struct str email);

/* An attempt to show that one is `email`. False when it has answered 429; else it must come to
 * people_end_attempt(). */
bool people_begin_attempt(struct api_call *call, struct str email);
void people_end_attempt(struct api_call *call, struct str email, bool decided, bool good);

/* Enters what somebody (NULL: nobody we know) did, or what happened to them, in the log of their
 * tenant if they have a role in one and no other; else in the platform's. Of platform admins always
 * there: any tenant's admin can give them a role, and is not to watch them by it. */
int people_audit(struct api_call *call, struct db *db, const struct person *person,
                 const char *action, struct error *err) MUST_CHECK;

/* The person of the call as an answer, with the session's token; for a reader. */
int people_answer_me(struct api_call *call, struct db *db, struct error *err) MUST_CHECK;
