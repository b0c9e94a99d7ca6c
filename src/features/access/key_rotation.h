/* key_rotation.h - creates a successor for a key, which stays valid for five minutes.
 *
 * The five minutes begin with the first rotation. Rotating the key again within
 * them revokes its unused successors, since their replies may have been lost; a
 * used one stays. The transaction knows which were used: a first use is stored
 * before it is answered (key_use.h).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct key_refreshed;

struct key_name {
    int64_t tenant_id;
    struct str key_id;
};

/* Within a transaction. ERR_NOT_FOUND; ERR_UNAUTHORIZED when the key is no longer valid.
 * *ret_detail is the audit entry's detail, a JSON object. All in the arena. */
int rotation_apply(struct db *db, const struct key_name *key, struct arena *arena,
                   struct key_refreshed *ret, struct str *ret_detail, struct error *err) MUST_CHECK;
