/* users.h - users and their roles: making, listing, changing and removing them.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * what changes people runs as CHANGE_USERS. Whoever is changed is logged out.
 * Passwords come as they are stored, not as they were sent. What is answered is in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/access/users/shapes.h"

struct db;

/* "user_…": public. */
struct str users_new_id(struct arena *arena);

/* "platform_admin", or STR_NULL. */
struct str users_role_name(int role);

/* The tenants in which the user has a role: a list of struct tenant_membership. */
int users_memberships(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;

/* ERR_CONFLICT when there is such an e-mail. */
int users_add(struct db *db, const struct user_create *create, struct arena *arena,
              struct user *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND; ERR_CONFLICT when the last platform admin would be none. */
int users_set(struct db *db, struct str email, const struct user_patch *patch, struct arena *arena,
              struct user *ret, struct error *err) MUST_CHECK;

/* As above. */
int users_remove(struct db *db, struct str email, struct error *err) MUST_CHECK;

int users_list(struct db *db, struct arena *arena, struct user_list *ret,
               struct error *err) MUST_CHECK;

/* Is there no such e-mail, so that a password is wanted? */
int users_is_new(struct db *db, struct str email, bool *ret, struct error *err) MUST_CHECK;

/* Gives a role in a tenant; a user that is not there is made. ERR_CONFLICT when they have one
 * already, or when there is no such user and no password. */
int users_add_role(struct db *db, int64_t tenant_id, const struct tenant_user_create *create,
                   struct arena *arena, struct tenant_user_added *ret,
                   struct error *err) MUST_CHECK;

/* Who is to have which role. */
struct role_change {
    int64_t tenant_id;
    struct str email;
    enum tenant_role role;
};

/* ERR_NOT_FOUND when they have none. */
int users_set_role(struct db *db, const struct role_change *change, struct arena *arena,
                   struct tenant_user *ret, struct error *err) MUST_CHECK;

/* As above; the user stays, maybe without any role. */
int users_remove_role(struct db *db, int64_t tenant_id, struct str email,
                      struct error *err) MUST_CHECK;

int users_list_tenant(struct db *db, int64_t tenant_id, struct arena *arena,
                      struct tenant_user_list *ret, struct error *err) MUST_CHECK;
