/* sessions.h - users, their roles and their sessions in memory, so that loops never read the
 * database.
 *
 * Every change of users, roles or sessions increments a number in the database;
 * sessions_refresh() compares it and reloads: one user, if the one change since is
 * said to be about that user alone, else everything. Results are copied to the
 * caller, since a session may end while its request is running.
 *
 * A session ends 12 hours after its last use, and at most 7 days after it
 * began, by the wall clock. The last use is kept in memory and stored from time
 * to time; other processes know only the stored one. A personal access token is
 * found the same way, and ends when it expires.
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
#include "shape/shape.h"

struct db;
struct engine;
struct sessions;
struct writer;

/* Any thread. */
struct sessions *access_sessions(const struct engine *e);

enum { USER_RATE_LIMIT = 600 }; /* requests per session and rate window */

/* What a user may do in a tenant. */
enum tenant_role { ROLE_NONE = -1, ROLE_ADMIN, ROLE_MEMBER };

/* What a user may do on the platform. */
enum platform_role { PLATFORM_ADMIN, PLATFORM_NONE };

/* What a user may do with a token, at most. */
enum token_role { TOKEN_ROLE_PLATFORM_ADMIN, TOKEN_ROLE_ADMIN, TOKEN_ROLE_MEMBER };

extern const char *const tenant_role_names[], *const platform_role_names[],
                                                  *const token_role_names[];

struct session_user_role {
    int64_t tenant_id;
    enum tenant_role role;
};

/* A signed-in user. */
struct session_user {
    struct str user_id, email;
    bool is_platform_admin;
    struct session_user_role *roles;
    size_t n_roles;
    struct sha256 session; /* digest of the cookie */
    int64_t began_at;
    int64_t ends_at;     /* when the session ends if it is not used again, or the token */
    bool by_token;       /* a personal access token, whose role is its limit */
    struct str token_id; /* of that */
    bool everywhere;     /* has this role in every tenant: a platform admin, limited by a token */
    enum tenant_role everywhere_role;
};

struct sessions *sessions_new(void);

/* NULL is fine. */
void sessions_free(struct sessions *p);

/* Reads the change number and, if it has changed, what it is about. Blocks: never call it on a loop
 * thread. */
int sessions_refresh(struct sessions *p, struct db *db, struct error *err) MUST_CHECK;

/* The user of the session with this digest at `now_us`, in the arena; counts as a use of the
 * session. NULL when there is no such session or it has ended. */
struct session_user *sessions_find(struct sessions *p, const struct sha256 *digest, int64_t now_us,
                                   struct arena *arena);

/* Is the session still valid, with access to this tenant? Does not count as a use. */
bool sessions_may_look_up(struct sessions *p, const struct sha256 *digest, int64_t tenant_id,
                          int64_t now_us);

/* When it was last used, as far as this process knows; 0: it does not know the session. */
int64_t sessions_last_used(struct sessions *p, const struct sha256 *digest);

/* The window in which requests of this session count, held for the caller; NULL: it has just
 * ended, and this is its last request. */
struct rate_window *sessions_rate(struct sessions *p, const struct sha256 *digest);

/* The role in a tenant; ROLE_NONE. */
enum tenant_role user_role(const struct session_user *user, int64_t tenant_id);

/* When a session with these times ends if it is not used again. */
int64_t sessions_end(int64_t began_at, int64_t last_used_at);

/* Submits the last uses since the previous flush to the writer; with `shared`, increments the
 * change number for other processes. Deletes sessions that ended long ago. Never call it on a loop
 * thread. */
void sessions_flush(struct sessions *p, struct writer *writer, bool shared, int64_t now_us);

/* Are there no users yet? */
bool sessions_has_no_user(const struct sessions *p);

/* A new code for creating the first user; invalidates the previous one. */
void sessions_set_up_code(struct sessions *p, char ret[BASE64URL_LEN + 1]);

/* Is it the current code, and are there still no users? */
bool sessions_is_set_up_code(struct sessions *p, struct str code);

/* A row; the cookie itself is stored nowhere. */
struct session_row {
    struct sha256 digest;
    struct str user_id;
    int64_t created_at, last_used_at;
    struct str address, user_agent; /* of one user's; not of all */
    struct str voucher;             /* STR_NULL; of session_voucher() alone */
};

int session_add(struct db *db, const struct session_row *row, struct error *err) MUST_CHECK;

/* The user of a session, in the arena; STR_NULL when there is no such session. */
int session_owner(struct db *db, const struct sha256 *digest, struct arena *arena, struct str *ret,
                  struct error *err) MUST_CHECK;

/* What a feature kept with a session, in the arena; STR_NULL: nothing. */
int session_voucher(struct db *db, const struct sha256 *digest, struct arena *arena,
                    struct str *ret, struct error *err) MUST_CHECK;

/* Does nothing when there is no such session. */
int session_end(struct db *db, const struct sha256 *digest, struct error *err) MUST_CHECK;

/* Ends all sessions of a user except `keep` (NULL: all). */
int sessions_end_of(struct db *db, struct str user_id, const struct sha256 *keep,
                    struct error *err) MUST_CHECK;

/* Ends all but the user's `n` newest sessions. */
int sessions_keep_newest(struct db *db, struct str user_id, int64_t n,
                         struct error *err) MUST_CHECK;

/* A user's, newest first, or all (user_id STR_NULL): a list of struct session_row; in the arena. */
int sessions_load(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;

/* After users_changed(), in the same change: declares that the change concerns the row, roles,
 * sessions and tokens of this user. A change that declares several users, or none, makes every
 * process reload all users; one that declares a single user must not change any other. STR_LIT(""):
 * it changes several. */
int users_about(struct db *db, struct str user_id, struct error *err) MUST_CHECK;

/* First in every transaction that changes users, roles or sessions: a second one waits here until
 * the first has ended, and sees its changes. */
int users_changed(struct db *db, struct error *err) MUST_CHECK;
