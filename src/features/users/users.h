/* users.h - creates, lists, changes and deletes users and their roles.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * changes run as CHANGE_USERS and end the sessions of the changed user.
 * Passwords are passed as hashes. Results are in the arena.
 *
 * An e-mail address alone proves nothing: an admin of a tenant may create an account under the
 * address of another person and know its password. So an account is confirmed only when it is
 * known to be its owner's: a password was chosen by a link that was mailed to the address, the
 * identity provider vouches for it, or the platform does. One that is not gets roles in the
 * tenant that made it, and in no other.
 */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/users/shapes.h"
#include "shape/shape.h"

struct db;
struct user_row;

/* "platform_admin", or STR_NULL. */
struct str users_role_name(int role);

/* ERR_NOT_FOUND when there is no such user. */
int users_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
               struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the account may be another person's than the owner's of the address, unless
 * this tenant made it. */
int users_check_confirmed(const struct user_row *user, int64_t tenant_id,
                          struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the e-mail is taken. */
int users_add(struct db *db, const struct user_create *create, struct arena *arena,
              struct user *ret, struct error *err) MUST_CHECK;

/* Does users_set() with this patch confirm the account, which another person may hold till then? */
bool users_confirms(const struct user_row *user, const struct user_patch *patch);

/* A new password confirms the account: only the platform sets one, or the person of a link. If it
 * is confirmed without one, the password that it had ends: the owner needs a reset link.
 * ERR_NOT_FOUND; ERR_CONFLICT when no platform admin would be left, or one would be made of an
 * account that is not confirmed. */
int users_set(struct db *db, struct str email, const struct user_patch *patch, struct arena *arena,
              struct user *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND; ERR_CONFLICT when no platform admin would be left. */
int users_remove(struct db *db, struct str email, struct error *err) MUST_CHECK;

int users_list(struct db *db, struct arena *arena, struct listing *ret,
               struct error *err) MUST_CHECK;

/* Is there no user with this e-mail, so that a password is needed? */
int users_is_new(struct db *db, struct str email, bool *ret, struct error *err) MUST_CHECK;

/* Adds a role in a tenant, and the user if there is no such user. ERR_CONFLICT when the user has a
 * role already, is new and has no password, exists and is not confirmed, or TENANT_USERS_MAX have a
 * role there. */
int users_add_role(struct db *db, int64_t tenant_id, const struct tenant_user_create *create,
                   struct arena *arena, struct tenant_user_added *ret,
                   struct error *err) MUST_CHECK;

/* A new role for a user. */
struct role_change {
    int64_t tenant_id;
    struct str email;
    enum tenant_role role;
};

/* ERR_NOT_FOUND when the user has no role in the tenant. */
int users_set_role(struct db *db, const struct role_change *change, struct arena *arena,
                   struct tenant_user *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND as above. The user remains, even without any role. */
int users_remove_role(struct db *db, int64_t tenant_id, struct str email,
                      struct error *err) MUST_CHECK;

struct user_row {
    struct str user_id, email;
    struct str password; /* argon2id */
    int role;            /* enum platform_role */
    int64_t created_at;
    int64_t last_login_at; /* TIME_NULL */
    bool confirmed;        /* the account belongs to the owner of the address: see users.h */
    int64_t made_in;       /* the tenant whose admin made it; 0: none */
};

struct role_row {
    struct str user_id;
    int role;              /* enum tenant_role */
    struct str slug, name; /* of the tenant */
};

/* ERR_CONFLICT when the e-mail is taken. */
int user_add(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when TENANT_USERS_MAX have a role in the tenant: users of all tenants are in memory,
 * and their lists are answered as a whole. */
enum { TENANT_USERS_MAX = 1000 };

/* The user with this e-mail, in the arena; its user_id is STR_NULL when there is no such user. */
int user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
              struct error *err) MUST_CHECK;

/* Changes password, role, last sign-in and confirmation of the user with the row's user_id. */
int user_set(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* Deletes the user and all its roles; sessions_end_of() ends the sessions. */
int user_remove(struct db *db, struct str user_id, struct error *err) MUST_CHECK;

/* The users with a role in the tenant, oldest first: a list of struct tenant_user; in the arena. */
int tenant_users(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* Adds or replaces a role in a tenant. */
int role_set(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role role,
             struct error *err) MUST_CHECK;

int role_remove(struct db *db, int64_t tenant_id, struct str user_id, struct error *err) MUST_CHECK;

/* The user's role in a tenant, or ROLE_NONE. */
int role_find(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role *ret,
              struct error *err) MUST_CHECK;

/* Ends open links (links/links.h): all resets of this e-mail; all invitations of it, of any tenant;
 * all that a user made, in one tenant (0: anywhere). */
int resets_end(struct db *db, struct str email, struct error *err) MUST_CHECK;
int invitations_end(struct db *db, struct str email, struct error *err) MUST_CHECK;
int links_end_of(struct db *db, struct str made_by, int64_t tenant_id,
                 struct error *err) MUST_CHECK;

/* A user's roles by the tenant's slug: a list of struct tenant_membership; in the arena. */
int memberships(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                struct error *err) MUST_CHECK;

/* Those of a user that expire before `before`; INT64_MAX: all. */
int personal_end(struct db *db, struct str user_id, int64_t before, struct error *err) MUST_CHECK;

/* Which user a person at an identity provider is: by issuer and subject, never by the e-mail
 * address, which a provider may give to another person. */
struct identity_row {
    struct str issuer, subject;
    struct str user_id, email; /* of the user; STR_NULL: no such identity */
    int64_t created_at;
    int64_t last_login_at; /* TIME_NULL: never */
};

/* In the arena. */
int identity_find(struct db *db, struct str issuer, struct str subject, struct arena *arena,
                  struct identity_row *ret, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the identity is another user's. */
int identity_add(struct db *db, const struct identity_row *row, struct error *err) MUST_CHECK;

int identity_used(struct db *db, const struct identity_row *row, struct error *err) MUST_CHECK;

/* Those of a user, oldest first: a list of struct identity_row; in the arena. */
int identities_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;

/* User and address of those with an identity and a personal access token who have not signed in
 * since `before`, at most `most` of them: a list of struct identity_row; in the arena. */
int identities_idle(struct db *db, int64_t before, int64_t most, struct arena *arena,
                    struct list *ret, struct error *err) MUST_CHECK;

/* *ret_n: how many there were; may be NULL. */
int identities_remove(struct db *db, struct str user_id, int64_t *ret_n,
                      struct error *err) MUST_CHECK;
