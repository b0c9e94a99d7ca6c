/* sign_in.h - passwords checked, sessions opened and ended.
 *
 * What hashes runs on the hashing thread (engine_hash()); all else inside a
 * transaction or on a reader, with the caller's connection.
 */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "features/access/users/shapes.h"
#include "features/access/users/users_store.h"

struct db;

struct sign_in_check {
    struct user_row user; /* user_id STR_NULL: there is none */
    bool good;            /* the password is theirs */
    struct str new_hash;  /* to be stored from now on; STR_NULL: the one that is there */
};

/* Takes as long for a user that is not there. A good password whose hash is of weaker times is
 * hashed anew. In the arena. */
int sign_in_check(struct db *db, const struct sign_in *sign_in, struct arena *arena,
                  struct sign_in_check *ret, struct error *err) MUST_CHECK;

/* A password as it is stored; in the arena. */
int sign_in_hash(struct str password, struct arena *arena, struct str *ret,
                 struct error *err) MUST_CHECK;

/* The cookie's digest of a new session, and of the one it follows (NULL: none). */
struct sign_in_session {
    struct sha256 digest;
    const struct sha256 *instead_of;
};

/* Opens a session after a good check. ERR_CONFLICT when the user changed meanwhile. *ret has no
 * csrf_token yet. */
int sign_in_open(struct db *db, const struct sign_in_check *check,
                 const struct sign_in_session *session, struct arena *arena,
                 struct session_answer *ret, struct error *err) MUST_CHECK;

/* Makes the first user, a platform admin, with a password as it is stored, and opens a session.
 * ERR_CONFLICT when there is a user. */
int sign_in_set_up(struct db *db, const struct sign_in *first,
                   const struct sign_in_session *session, struct arena *arena,
                   struct session_answer *ret, struct error *err) MUST_CHECK;

/* Ending a session that is over changes nothing. */
int sign_in_end(struct db *db, const struct sha256 *session, struct error *err) MUST_CHECK;

/* Sets the password and ends the user's other sessions. ERR_CONFLICT as above. */
int sign_in_set_password(struct db *db, const struct sign_in_check *check,
                         const struct sha256 *keep, struct error *err) MUST_CHECK;
