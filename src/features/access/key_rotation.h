/* key_rotation.h - a successor is made for a key, which stays good for five minutes.
 *
 * The five minutes run from the first rotation. A key that is rotated again in
 * them replaces those of its successors that nobody used, since their replies
 * may have been lost; one that was used stays. What was used is known to the
 * transaction that replaces: the first use is stored before it is answered
 * (key_use.h).
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

/* Within a transaction. ERR_NOT_FOUND; ERR_UNAUTHORIZED when the key is over. *ret_detail is what
 * the audit log says of it, a JSON object. All in the arena. */
int rotation_apply(struct db *db, const struct key_name *key, struct arena *arena,
                   struct key_refreshed *ret, struct str *ret_detail, struct error *err) MUST_CHECK;
