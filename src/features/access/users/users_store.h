/* users_store.h - users and their roles in tenants as rows, and the number of their changes. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/access/users/shapes.h"

struct db;

struct user_row {
    struct str user_id, email;
    struct str password; /* argon2id */
    enum platform_role role;
    int64_t created_at;
    int64_t last_login_at; /* TIME_NULL */
};

struct role_row {
    struct str user_id;
    int64_t tenant_id;
    enum tenant_role role;
    struct str slug, name; /* of the tenant */
};

/* ERR_CONFLICT when there is such an e-mail. */
int store_user_add(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* The user with this e-mail, in the arena; its user_id is STR_NULL when there is none. */
int store_user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
                    struct error *err) MUST_CHECK;

/* Changes password, role and last log-in of the user with the row's user_id. */
int store_user_set(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* With all roles; sessions are store_sessions_end()'s. */
int store_user_remove(struct db *db, struct str user_id, struct error *err) MUST_CHECK;

/* How many users there are, and how many of them are platform admins. */
int store_users_count(struct db *db, int64_t *ret, int64_t *ret_admins,
                      struct error *err) MUST_CHECK;

/* All users (tenant_id 0) or those with a role in one, oldest first; in the arena. */
int store_users(struct db *db, int64_t tenant_id, struct arena *arena, struct user_row **ret,
                size_t *ret_n, struct error *err) MUST_CHECK;

/* Gives a role in a tenant, or another one. */
int store_role_set(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role role,
                   struct error *err) MUST_CHECK;

int store_role_remove(struct db *db, int64_t tenant_id, struct str user_id,
                      struct error *err) MUST_CHECK;

/* All roles (STR_NULL) or those of one user, by user and the tenant's slug; in the arena. */
int store_roles(struct db *db, struct str user_id, struct arena *arena, struct role_row **ret,
                size_t *ret_n, struct error *err) MUST_CHECK;

/* The number of people (users, roles, sessions): it grows with every change. */
int store_users_number(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Within the transaction that changes people, and first in it: whoever comes second waits until
 * the first is done, and sees what it did. */
int store_users_changed(struct db *db, struct error *err) MUST_CHECK;
