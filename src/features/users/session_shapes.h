/* session_shapes.h - sessions as their user and platform admins see them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "base/digest.h"
#include "shape/shape.h"

struct listed_session {
    struct str session_id;
    int64_t created_at, last_used_at, expires_at;
    struct str address, user_agent; /* empty: not known */
    bool current;
};

struct session_path {
    struct str session_id;
};

struct session_user_path {
    struct str email, session_id;
};

/* The public id of the session with this cookie digest, which it does not reveal; in the arena. */
struct str session_public_id(const struct sha256 *digest, struct arena *arena);

extern const struct shape session_list_shape, session_path_shape, session_user_path_shape;
