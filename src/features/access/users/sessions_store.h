/* sessions_store.h - sessions as rows; a session's cookie itself is stored nowhere. */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct session_row {
    struct sha256 digest;
    struct str user_id;
    int64_t created_at, last_used_at;
    struct str address, user_agent; /* of one user's; not of all */
    struct str voucher;             /* STR_NULL; of store_session_voucher() alone */
};

int store_session_add(struct db *db, const struct session_row *row, struct error *err) MUST_CHECK;

/* Within a transaction: moves the last uses of sessions (`digest`, `last_used_at`) forward, never
 * back. */
int store_sessions_used(struct db *db, const struct session_row *used, size_t n,
                        struct error *err) MUST_CHECK;

/* The user of a session, in the arena; STR_NULL when there is no such session. */
int store_session_owner(struct db *db, const struct sha256 *digest, struct arena *arena,
                        struct str *ret, struct error *err) MUST_CHECK;

/* What a feature kept with a session, in the arena; STR_NULL: nothing. */
int store_session_voucher(struct db *db, const struct sha256 *digest, struct arena *arena,
                          struct str *ret, struct error *err) MUST_CHECK;

/* Does nothing when there is no such session. */
int store_session_end(struct db *db, const struct sha256 *digest, struct error *err) MUST_CHECK;

/* Ends all sessions of a user except `keep` (NULL: all). */
int store_sessions_end(struct db *db, struct str user_id, const struct sha256 *keep,
                       struct error *err) MUST_CHECK;

/* Ends all but the user's `n` newest sessions. */
int store_sessions_keep_newest(struct db *db, struct str user_id, int64_t n,
                               struct error *err) MUST_CHECK;

/* Deletes sessions that began before `created_before` or were last used before `used_before`. */
int store_sessions_prune(struct db *db, int64_t created_before, int64_t used_before,
                         struct error *err) MUST_CHECK;

/* A user's, newest first, or all (user_id STR_NULL): a list of struct session_row; in the arena. */
int store_sessions(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                   struct error *err) MUST_CHECK;
