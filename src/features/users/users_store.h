/* users_store.h - users and their roles in tenants as rows. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/users/shapes.h"

struct db;

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
int store_user_add(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when TENANT_USERS_MAX have a role in the tenant: users of all tenants are in memory,
 * and their lists are answered as a whole. */
enum { TENANT_USERS_MAX = 1000 };
int store_roles_check_room(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* The user with this e-mail, in the arena; its user_id is STR_NULL when there is no such user. */
int store_user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
                    struct error *err) MUST_CHECK;

/* Changes password, role, last sign-in and confirmation of the user with the row's user_id. */
int store_user_set(struct db *db, const struct user_row *row, struct error *err) MUST_CHECK;

/* Deletes the user and all its roles; store_sessions_end() ends the sessions. */
int store_user_remove(struct db *db, struct str user_id, struct error *err) MUST_CHECK;

/* How many users there are, and how many of them are platform admins. */
int store_users_count(struct db *db, int64_t *ret, int64_t *ret_admins,
                      struct error *err) MUST_CHECK;

/* All users, oldest first: a list of struct user without their tenants; in the arena. */
int store_user_answers(struct db *db, struct arena *arena, struct list *ret,
                       struct error *err) MUST_CHECK;

/* The users with a role in the tenant, oldest first: a list of struct tenant_user; in the arena. */
int store_tenant_users(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                       struct error *err) MUST_CHECK;

/* Adds or replaces a role in a tenant. */
int store_role_set(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role role,
                   struct error *err) MUST_CHECK;

int store_role_remove(struct db *db, int64_t tenant_id, struct str user_id,
                      struct error *err) MUST_CHECK;

/* The user's role in a tenant, or ROLE_NONE. */
int store_role(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role *ret,
               struct error *err) MUST_CHECK;

/* Roles by user and the tenant's slug: a list of struct role_row; in the arena. */
int store_roles(struct db *db, struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* A user's roles by the tenant's slug: a list of struct tenant_membership; in the arena. */
int store_memberships(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;
