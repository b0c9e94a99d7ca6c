/* key_rotation.h - creates a successor for a key, which stays valid for five minutes.
 *
 * The five minutes begin with the first rotation. Rotating the key again within
 * them revokes its unused successors, since their replies may have been lost; a
 * used one stays. The transaction knows which were used: a first use is stored
 * before it is answered (key_use.h).
 *
 * A key and all that were made from it by rotation are a line. A line has a
 * bounded number of rotations per hour, in all processes together. Its first key
 * and its newest hundred stay as rows; older ones, which ended more than a day ago,
 * are only in the audit log.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct key_refreshed;

enum { ROTATIONS_WINDOW_S = 3600 };

struct key_name {
    int64_t tenant_id;
    struct str key_id;
};

/* What became of a rotation, in the arena. */
struct rotation {
    int64_t per_hour_max;         /* set by the caller */
    int64_t wait_s;               /* > 0: too many; until the next one is allowed */
    struct key_refreshed *answer; /* else: filled in */
    struct str detail;            /* of the audit entry, a JSON object */
};

/* Within a transaction. ERR_NOT_FOUND; ERR_UNAUTHORIZED when the key is no longer valid; ERR_BUSY
 * with ret->wait_s when its line was rotated too often. */
int rotation_apply(struct db *db, const struct key_name *key, struct arena *arena,
                   struct rotation *ret, struct error *err) MUST_CHECK;
