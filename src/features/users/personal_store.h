/* personal_store.h - personal access tokens as rows; a token itself is stored nowhere. */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct personal_row {
    struct str token_id, user_id, name;
    struct sha256 digest;
    int role; /* enum token_role */
    int64_t created_at, expires_at;
};

int store_personal_add(struct db *db, const struct personal_row *row, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND when the user has no such token. */
int store_personal_remove(struct db *db, struct str user_id, struct str token_id,
                          struct error *err) MUST_CHECK;

/* Those of a user that expire before `before`; INT64_MAX: all. */
int store_personal_end(struct db *db, struct str user_id, int64_t before,
                       struct error *err) MUST_CHECK;

int store_personal_count(struct db *db, struct str user_id, int64_t *ret,
                         struct error *err) MUST_CHECK;

/* A user's, oldest first: a list of struct personal_token; in the arena. */
int store_personal_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;
