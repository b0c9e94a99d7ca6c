/* store.h - second factors as rows: the key is sealed, recovery codes are digests. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct factor_row {
    struct str user_id; /* STR_NULL: no such row */
    struct str sealed;
    bool active;
    int64_t used_step; /* of the last code that was used */
    int64_t created_at, confirmed_at;
};

/* In the arena. */
int store_factor(struct db *db, struct str user_id, struct arena *arena, struct factor_row *ret,
                 struct error *err) MUST_CHECK;

/* A factor that is not active yet, in place of an earlier one that is not. ERR_CONFLICT when the
 * user has an active one. */
int store_factor_begin(struct db *db, const struct factor_row *row, struct error *err) MUST_CHECK;

/* Makes it active, at a step that is then used. */
int store_factor_confirm(struct db *db, struct str user_id, int64_t step, int64_t now,
                         struct error *err) MUST_CHECK;

/* Notes that the code of this step was used; false when it, or a later one, was used before. */
int store_factor_use(struct db *db, struct str user_id, int64_t step, bool *ret,
                     struct error *err) MUST_CHECK;

/* Deletes the factor and its recovery codes; *ret_n: how many factors there were (may be NULL). */
int store_factor_remove(struct db *db, struct str user_id, int64_t *ret_n,
                        struct error *err) MUST_CHECK;

int store_recovery_clear(struct db *db, struct str user_id, struct error *err) MUST_CHECK;
int store_recovery_add(struct db *db, struct str user_id, const struct sha256 *code,
                       struct error *err) MUST_CHECK;
int store_recovery_count(struct db *db, struct str user_id, int64_t *ret,
                         struct error *err) MUST_CHECK;

/* Is it one of the user's? */
int store_recovery_has(struct db *db, struct str user_id, const struct sha256 *code, bool *ret,
                       struct error *err) MUST_CHECK;

/* Deletes it; false when it was not there. */
int store_recovery_use(struct db *db, struct str user_id, const struct sha256 *code, bool *ret,
                       struct error *err) MUST_CHECK;
