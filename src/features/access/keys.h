/* keys.h - keys as rows. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"
#include "shape/shape.h"

struct db;
struct db_query;

struct key_row {
    int64_t tenant_id;
    struct str key_id;
    struct sha256 digest;
    struct str agent_name; /* STR_NULL: a workspace key, or a read-only one */
    bool read_only;        /* never bound to an agent */
    struct str label;
    int64_t created_at;
    int64_t last_used_at, expires_at, revoked_at; /* TIME_NULL */

    struct str predecessor;            /* the key_id it was rotated from, or STR_NULL */
    struct str line;                   /* the key_id of the first key of its line */
    int64_t rotated_at, first_used_at; /* TIME_NULL; the second is set for successors only */
};

/* What the key may do. */
static inline enum token_kind key_kind(const struct key_row *row)
{
    if (row->read_only)
        return TOKEN_READ_ONLY;
    return str_is_null(row->agent_name) ? TOKEN_WORKSPACE : TOKEN_AGENT;
}

struct key_revocation {
    int64_t tenant_id;
    struct str key_id;
    bool descent;
    int64_t now_us;
};

int key_add(struct db *db, const struct key_row *row, struct error *err) MUST_CHECK;

/* Within a transaction: marks the key as revoked at `now_us`, unless it was before, and with
 * `descent` also all keys that were made from it by rotation. *ret lists the key_ids of those that
 * were not revoked before; in the arena. ERR_NOT_FOUND. */
int key_revoke(struct db *db, const struct key_revocation *revocation, struct arena *arena,
               struct list *ret, struct error *err) MUST_CHECK;

/* Up to `limit` keys of a tenant, oldest first. */
struct keys_page {
    int64_t tenant_id;
    struct str after; /* a key_id: those that follow it; STR_NULL: from the first on */
    int64_t limit;
};

/* A list of struct key; in the arena. ERR_NOT_FOUND: no key `after`. */
int keys_load(struct db *db, const struct keys_page *page, struct arena *arena, struct list *ret,
              struct error *err) MUST_CHECK;

/* How many keys of the tenant were neither revoked nor rotated. */
extern const struct db_query keys_in_use_query; /* tests look at its plan */
int keys_count(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* The keys of all tenants except those that were revoked, or that expired or were rotated before
 * `since`: a list of struct key_row; in the arena. */
int live_keys(struct db *db, int64_t since, struct arena *arena, struct list *ret,
              struct error *err) MUST_CHECK;

/* A page of the keys that were not rotated, by tenant and key_id. Call it at the end of a
 * transaction: it changes planner settings that slow down sorts. */
struct keys_portion {
    int64_t since;
    int64_t tenant_id;
    struct str after; /* a key_id of that tenant: those that follow it, also of other tenants */
    int64_t limit;
};
int keys_load_page(struct db *db, const struct keys_portion *from, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

/* Those that were rotated at `since` or later, and not revoked. */
int keys_rotated(struct db *db, int64_t since, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* The key of any tenant that has this digest, revoked or not: a list of one struct key_row, or of
 * none. */
int keys_by_digest(struct db *db, const struct sha256 *digest, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

/* The keys that changed last within the span, revoked ones too. */
int changed_keys(struct db *db, struct change_span span, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* Within a transaction: the key, locked until the transaction ends. ERR_NOT_FOUND. */
int key_lock(struct db *db, int64_t tenant_id, struct str key_id, struct arena *arena,
             struct key_row *ret, struct error *err) MUST_CHECK;

/* Notes that the key was rotated at `now_us`, unless it was before, and revokes its unused
 * successors: *ret_replaced lists their key_ids, in the arena. */
int key_rotated(struct db *db, const struct key_row *key, int64_t now_us, struct arena *arena,
                struct list *ret_replaced, struct error *err) MUST_CHECK;

/* How many keys of a line were made by rotation after `since`, and when the first of them was. */
struct key_rotations {
    int64_t n, first_at;
};
int key_rotations_load(struct db *db, const struct key_row *key, int64_t since,
                       struct key_rotations *ret, struct error *err) MUST_CHECK;

/* Within a transaction, after a rotation: deletes some keys of this one's line that ended before
 * `ended_before`. The first key of the line and its newest KEYS_OF_LINE_KEPT stay. Successors of a
 * deleted key become those of its predecessor, so that revoking one still ends all its descent. */
enum { KEYS_OF_LINE_KEPT = 100 };
int keys_forget(struct db *db, const struct key_row *key, int64_t ended_before, struct arena *arena,
                struct error *err) MUST_CHECK;

/* Notes that a successor is in use; *ret is false when key_rotated() revoked it first. */
int key_first_used(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us, bool *ret,
                   struct error *err) MUST_CHECK;

/* Within a transaction: moves the last uses of keys forward to `at`, never back. The keys are in
 * the order in which all processes lock their rows: by key_id. */
struct key_used {
    int64_t tenant_id;
    struct str key_id;
    int64_t at;
};
int keys_used(struct db *db, const struct key_used *used, size_t n, struct error *err) MUST_CHECK;
