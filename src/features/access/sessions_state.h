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
#include "features/access/sessions.h"
#include "features/access/tenants.h"

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

struct session_user_row {
    struct str user_id, email;
    int role; /* enum platform_role */
};

struct session_role_row {
    struct str user_id;
    int64_t tenant_id;
    int role; /* enum tenant_role */
};

struct session_token_row {
    struct str token_id, user_id;
    struct sha256 digest;
    int role; /* enum token_role */
    int64_t created_at, expires_at;
};

/* What the database has of one user, or of all. */
struct session_rows {
    struct str about;                           /* STR_NULL: all */
    struct list users, roles, sessions, tokens; /* of the rows above; roles by user */
};

/* What `ret->about` says; in the arena. */
int sessions_load_rows(struct db *db, struct arena *arena, struct session_rows *ret,
                       struct error *err) MUST_CHECK;

/* The change number of users, roles and sessions: each change increments it. */
int users_number(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Whom the changes of the span were about: the ids of users, each once, as a list of struct str in
 * the arena. *ret_all: they may be about all users, because one was about several, or too long ago.
 */
int users_abouts(struct db *db, struct change_span span, struct arena *arena, struct list *ret,
                 bool *ret_all, struct error *err) MUST_CHECK;

/* Within a transaction: moves the last uses of sessions (`digest`, `last_used_at`) forward, never
 * back. */
int sessions_used(struct db *db, const struct session_row *used, size_t n,
                  struct error *err) MUST_CHECK;

/* Deletes sessions that began before `created_before` or were last used before `used_before`. */
int sessions_prune(struct db *db, int64_t created_before, int64_t used_before,
                   struct error *err) MUST_CHECK;

/* Sets a time, unless it is later already. */
static inline void session_raise(_Atomic int64_t *moment, int64_t at)
{
    int64_t now = atomic_load(moment);

    while (now < at && !atomic_compare_exchange_weak(moment, &now, at))
        continue;
}
