/* identities_store.h - which user a person at an identity provider is: the pair of issuer and
 * subject, never the e-mail address, which a provider may give to another person. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct identity_row {
    struct str issuer, subject;
    struct str user_id, email; /* of the user; STR_NULL: no such identity */
    int64_t created_at;
    int64_t last_login_at; /* TIME_NULL: never */
};

/* In the arena. */
int identity_find(struct db *db, struct str issuer, struct str subject, struct arena *arena,
                  struct identity_row *ret, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the identity is another user's. */
int identity_add(struct db *db, const struct identity_row *row, struct error *err) MUST_CHECK;

int identity_used(struct db *db, const struct identity_row *row, struct error *err) MUST_CHECK;

/* Those of a user, oldest first: a list of struct identity_row; in the arena. */
int identities_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;

/* User and address of those with an identity and a personal access token who have not signed in
 * since `before`, at most `most` of them: a list of struct identity_row; in the arena. */
int identities_idle(struct db *db, int64_t before, int64_t most, struct arena *arena,
                    struct list *ret, struct error *err) MUST_CHECK;

/* *ret_n: how many there were; may be NULL. */
int identities_remove(struct db *db, struct str user_id, int64_t *ret_n,
                      struct error *err) MUST_CHECK;
