/* users_store.c - SQL of users and roles. */
#include "features/users/users_store.h"

#include <assert.h>

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

#define USER_COLUMNS                                                                               \
    "user_id, email, password, platform_role, created_at, last_login_at, confirmed, made_in"
#define ROLES_OF_TENANTS " FROM user_roles r JOIN tenants t ON t.tenant_id = r.tenant_id"

/* clang-format off */
ROW_TABLE(user_row,
    STR(user_id), STR(email), STR(password), TIME(created_at), TIME(last_login_at),
    BOOL(confirmed), INT(made_in),
    FIELD_AT("platform_role", role, int, T_ENUM, .choices = platform_role_names));
ROW_TABLE(role_row,
    STR(user_id), STR(slug), STR(name),
    ENUM(role, .choices = tenant_role_names));

DB_QUERY(count_roles, "SELECT COUNT(*) FROM user_roles WHERE tenant_id = $1");
DB_QUERY(insert_user,
    "INSERT INTO users (" USER_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    " ON CONFLICT (email) DO NOTHING");
DB_ROWS_QUERY(find_user, user_row, "SELECT " USER_COLUMNS " FROM users WHERE email = $1");
DB_RUN_FN(store_user_set, (const struct user_row *row),
    (db_text(row->user_id), db_text(row->password), db_int(row->role),
     rows_time_value(row->last_login_at), db_int(row->confirmed)),
    "UPDATE users SET password = $2, platform_role = $3, last_login_at = $4,"
    " confirmed = $5"
    " WHERE user_id = $1");
DB_QUERY(delete_roles, "DELETE FROM user_roles WHERE user_id = $1");
DB_QUERY(delete_user, "DELETE FROM users WHERE user_id = $1");
DB_QUERY(count_users, "SELECT COUNT(*), COUNT(CASE WHEN platform_role = $1 THEN 1 END) FROM users");
DB_ROWS_QUERY(select_user_answers, user_shape,
    "SELECT user_id, email, platform_role AS role, created_at, last_login_at,"
    " confirmed AS email_confirmed FROM users"
    " ORDER BY created_at, email");
DB_ROWS_QUERY(select_tenant_users, tenant_user_shape,
    "SELECT u.user_id, u.email, r.role, u.last_login_at,"
    " u.confirmed AS email_confirmed FROM users u"
    " JOIN user_roles r ON r.user_id = u.user_id WHERE r.tenant_id = $1"
    " ORDER BY u.created_at, u.email");
DB_QUERY(set_role,
    "INSERT INTO user_roles (tenant_id, user_id, role) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = excluded.role");
DB_RUN_FN(store_role_remove, (int64_t tenant_id, struct str user_id),
    (db_int(tenant_id), db_text(user_id)),
    "DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2");
DB_QUERY(select_role, "SELECT role FROM user_roles WHERE tenant_id = $1 AND user_id = $2");
DB_ROWS_QUERY(select_roles, role_row,
    "SELECT r.user_id, r.role, t.slug, t.name" ROLES_OF_TENANTS
    " ORDER BY r.user_id, t.slug");
DB_ROWS_QUERY(select_memberships, tenant_membership_shape,
    "SELECT t.slug, t.name, r.role" ROLES_OF_TENANTS " WHERE r.user_id = $1 ORDER BY t.slug");
/* clang-format on */

int store_roles_check_room(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_check_room(db, &count_roles, DB_ARGS(db_int(tenant_id)), TENANT_USERS_MAX, "users",
                         err);
}

int store_user_add(struct db *db, const struct user_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->user_id), db_text(row->email), db_text(row->password),
                db_int(row->role), db_int(row->created_at), rows_time_value(row->last_login_at),
                db_int(row->confirmed), db_int(row->made_in));

    assert(!str_is_null(row->user_id) && row->email.len > 0);
    return db_run_or(db, &insert_user, args, err, ERR_CONFLICT, "user '%.*s' exists already",
                     STR_ARG(row->email));
}

int store_user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
                    struct error *err)
{
    return rows_one(db, &find_user, DB_ARGS(db_text(email)), arena, ret, err);
}

int store_user_remove(struct db *db, struct str user_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id));

    if (db_run(db, &delete_roles, args, err) != 0)
        return -1;
    return db_run(db, &delete_user, args, err);
}

struct counts {
    int64_t all, admins;
};

static bool read_counts(void *ctx, const struct db_row *row)
{
    struct counts *counts = ctx;

    counts->all = db_get_int(row, 0);
    counts->admins = db_get_int(row, 1);
    return true;
}

int store_users_count(struct db *db, int64_t *ret, int64_t *ret_admins, struct error *err)
{
    struct counts counts = { 0 };

    if (db_exec(db, &count_users, DB_ARGS(db_int(PLATFORM_ADMIN)), read_counts, &counts, err) != 0)
        return -1;
    assert(counts.admins <= counts.all);
    *ret = counts.all;
    *ret_admins = counts.admins;
    return 0;
}

int store_user_answers(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_user_answers, DB_NO_ARGS, arena, ret, err);
}

int store_tenant_users(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                       struct error *err)
{
    return rows_list(db, &select_tenant_users, DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int store_role_set(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role role,
                   struct error *err)
{
    assert(tenant_id > 0 && role != ROLE_NONE);
    return db_run(db, &set_role, DB_ARGS(db_int(tenant_id), db_text(user_id), db_int(role)), err);
}

int store_role(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role *ret,
               struct error *err)
{
    int64_t role = ROLE_NONE;

    if (db_exec(db, &select_role, DB_ARGS(db_int(tenant_id), db_text(user_id)), db_read_int, &role,
                err) != 0)
        return -1;
    *ret = (enum tenant_role)role;
    return 0;
}

int store_roles(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_roles, DB_NO_ARGS, arena, ret, err);
}

int store_memberships(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                      struct error *err)
{
    return rows_list(db, &select_memberships, DB_ARGS(db_text(user_id)), arena, ret, err);
}
