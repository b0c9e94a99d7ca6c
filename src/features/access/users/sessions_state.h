/* sessions_state.h - what sessions.h hides; for the files that implement it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "db/followed.h"
#include "features/access/users/personal_shapes.h"
#include "features/access/users/sessions.h"

enum { SESSION_IDLE_S = 12 * 3600, SESSION_LIFE_S = 7 * 24 * 3600 };

struct user_entry {
    struct str user_id, email;
    bool is_platform_admin;
    bool replaced; /* by a newer one */
    struct session_user_role *roles;
    size_t n_roles;
};

struct session_entry {
    struct sha256 digest;
    const struct user_entry *user;
    int64_t created_at;
    _Atomic int64_t last_used_at;
    _Atomic int64_t stored_at; /* the last use submitted to the writer */
    struct rate_window *rate;
    bool there;       /* while reloading: it still has a row */
    char *token_text; /* id of a personal access token, owned; NULL: a session */
    enum token_role role;
    int64_t expires_at; /* of a token */
};

/* A snapshot of all users. */
struct users {
    struct arena arena;
    struct map by_id; /* user_id -> struct user_entry */
};

struct sessions {
    struct lock refresh; /* one refresh at a time; taken before `lock` */
    struct rwlock lock;
    struct users *users GUARDED_BY(lock); /* replaced as a whole; NULL at first */
    struct map sessions GUARDED_BY(lock); /* digest -> struct session_entry */
    bool has_code GUARDED_BY(lock);
    struct sha256 code GUARDED_BY(lock);
    _Atomic int64_t n_users;
    struct followed followed GUARDED_BY(refresh);
    size_t replaced GUARDED_BY(lock); /* users and roles that were loaded one by one; their old
                                       * entries stay until all are loaded */
};

/* Sets a time, unless it is later already. */
static inline void session_raise(_Atomic int64_t *moment, int64_t at)
{
    int64_t now = atomic_load(moment);

    while (now < at && !atomic_compare_exchange_weak(moment, &now, at))
        continue;
}
