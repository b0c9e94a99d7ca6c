/* sessions.h - users, their roles and their sessions, in memory, so that loops never ask a
 * database.
 *
 * The database carries a number that grows with every change of people;
 * sessions_refresh() compares it and reloads. What is found is copied to the
 * caller: a session may end while its request is under way.
 *
 * A session ends when it was not used for 12 hours, or 7 days after it began,
 * by the wall clock. Its last use is kept here and written to the database now
 * and then; of several processes each knows of the others' use up to that.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/access/rate.h"
#include "features/access/users/shapes.h"

struct db;
struct sessions;
struct writer;

enum { USER_RATE_LIMIT = 600 }; /* requests of one session in a rate window */

struct session_user_role {
    int64_t tenant_id;
    enum tenant_role role;
};

/* Somebody who is logged in. */
struct session_user {
    struct str user_id, email;
    bool is_platform_admin;
    struct session_user_role *roles;
    size_t n_roles;
    struct sha256 session; /* digest of the cookie */
    int64_t began_at;
    int64_t ends_at; /* when the session ends if it is not used again */
};

struct sessions *sessions_new(void);

/* NULL is fine. */
void sessions_free(struct sessions *p);

/* Reads the number of people and, if it moved, everything. Blocks: never on a loop thread. */
int sessions_refresh(struct sessions *p, struct db *db, struct error *err) MUST_CHECK;

/* Who has the session with this digest at `now_us`, which counts as a use of it; in the arena.
 * NULL when there is none or it has ended. */
struct session_user *sessions_find(struct sessions *p, const struct sha256 *digest, int64_t now_us,
                                   struct arena *arena);

/* Does the session still hold, and may it look at this tenant? No use of it. */
bool sessions_may_look_up(struct sessions *p, const struct sha256 *digest, int64_t tenant_id,
                          int64_t now_us);

/* Counts a request of this session at `now_us` (monotonic). */
struct rate_verdict sessions_rate(struct sessions *p, const struct sha256 *digest, int64_t now_us);

/* The role in a tenant; ROLE_NONE. */
enum tenant_role user_role(const struct session_user *user, int64_t tenant_id);

/* When a session ends that began and was last used at these moments. */
int64_t sessions_end(int64_t began_at, int64_t last_used_at);

/* Hands the sessions used since the last time to the writer; with `shared`, other processes are
 * told. Clears sessions away that ended long ago. Not a loop thread. */
void sessions_flush(struct sessions *p, struct writer *writer, bool shared, int64_t now_us);

/* Is there nobody yet? */
bool sessions_has_no_user(const struct sessions *p);

/* A new code with which the first user may be made; the one before it is void. */
void sessions_set_up_code(struct sessions *p, char ret[BASE64URL_LEN + 1]);

/* Is it that code, and is there still nobody? */
bool sessions_is_set_up_code(struct sessions *p, struct str code);
