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
#include "base/err.h"
#include "features/users/shapes.h"

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
