/* factor.h - a user's second factor: created, confirmed, checked at sign-in, and removed.
 *
 * The key of the app is sealed by the vault, recovery codes are digests that only
 * this installation can compute. A code is good once: the step of the last code
 * that was used is stored, and no code of that step or an earlier one is good.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/access/users/second_factor.h"
#include "features/second_factor/shapes.h"

struct db;
struct vault;

/* A user whose second factor is meant. */
struct factor_owner {
    struct vault *vault;
    struct str user_id, email;
    struct arena *arena;
};

int factor_show(struct db *db, struct str user_id, struct arena *arena, struct factor_state *ret,
                struct error *err) MUST_CHECK;

/* A new key, which factor_confirm() makes active. ERR_CONFLICT when one is active. */
int factor_begin(struct db *db, const struct factor_owner *owner, struct factor_begun *ret,
                 struct error *err) MUST_CHECK;

/* With a code of the new key; answers recovery codes. ERR_CONFLICT when none was begun; ERR_INVALID
 * when the code is wrong. */
int factor_confirm(struct db *db, const struct factor_owner *owner, struct str code,
                   struct factor_recovery *ret, struct error *err) MUST_CHECK;

/* Replaces all recovery codes. ERR_CONFLICT when no factor is active. */
int factor_renew(struct db *db, const struct factor_owner *owner, struct factor_recovery *ret,
                 struct error *err) MUST_CHECK;

/* For sign-in (struct second_factor). */
extern const struct second_factor factor_hooks;
