/* person.h - from a person at the identity provider to a user with roles.
 *
 * 1. A user is found by issuer and subject, never by e-mail address.
 * 2. A person whose groups give no role is refused, and loses the roles of groups. If the
 *    provider says nothing about groups, the person is refused too, but loses nothing.
 * 3. For an unknown person with a role a user is created, whose e-mail address the
 *    provider must have verified. If a user with that address exists, the person is
 *    refused until a platform admin links the two: otherwise an address that a
 *    provider gives away would be a way into that user's account.
 * 4. The groups decide the roles in every tenant for which there is a group, and
 *    the platform role if there is a group for it. Other roles stay as they are.
 *
 * In a transaction of CHANGE_USERS.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "features/oidc/id_token.h"

struct db;

enum { REFUSAL_MAX = 1024 }; /* room for an e-mail address and a subject */

struct person {
    struct str issuer;
    const struct id_claims *claims;
    bool any_email; /* an address need not be verified */
};

struct person_admission {
    bool refused;
    char why[REFUSAL_MAX]; /* a sentence, if refused */
    struct str email;      /* of the user, in the arena; STR_NULL: unknown user */
    bool created;          /* the user is new */
    bool changed;          /* some role is another than before */
};

/* A refusal is a success here: it may have taken roles away, which must be committed. */
int person_admit(struct db *db, const struct person *person, struct arena *arena,
                 struct person_admission *ret, struct error *err) MUST_CHECK;
