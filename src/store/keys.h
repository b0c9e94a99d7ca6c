/* keys.h - agents' and workspaces' keys as rows; a token itself is stored nowhere.
 *
 * Layer: store. May use: base, contract, db.
 */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "contract/shape.h"

struct db;

struct key_row {
    int64_t tenant_id;
    struct str key_id;
    struct sha256 digest;
    struct str agent_name; /* STR_NULL: a workspace key */
    struct str label;
    int64_t created_at;
    int64_t last_used_at, expires_at, revoked_at; /* TIME_NULL */
};

int store_key_add(struct db *db, const struct key_row *row, struct error *err) MUST_CHECK;

/* Marks the key as revoked at `now_us`, once. ERR_NOT_FOUND. */
int store_key_revoke(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us,
                     struct error *err) MUST_CHECK;

/* All keys of all tenants (tenant_id 0), or of one, oldest first; in the arena. */
int store_keys(struct db *db, int64_t tenant_id, struct arena *arena, struct key_row **ret,
               size_t *ret_n, struct error *err) MUST_CHECK;
