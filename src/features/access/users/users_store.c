/* users_store.c - SQL of users and roles. */
#include "features/access/users/users_store.h"

#include "db/db.h"
#include "shape/rows.h"

#define USER_COLUMNS "user_id, email, password, platform_role, created_at, last_login_at"
#define SELECT_ROLES                                                                               \
    "SELECT r.user_id, r.tenant_id, r.role, t.slug, t.name FROM user_roles r"                      \
    " JOIN tenants t ON t.tenant_id = r.tenant_id"

/* clang-format off */
static const struct db_query insert_user = {
    .sql = "INSERT INTO users (" USER_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6)"
           " ON CONFLICT (email) DO NOTHING",
};
static const struct db_query find_user = {
    .sql = "SELECT " USER_COLUMNS " FROM users WHERE email = $1",
 };
static const struct db_query update_user = {
    .sql = "UPDATE users SET password = $2, platform_role = $3, last_login_at = $4"
           " WHERE user_id = $1",
};
static const struct db_query delete_roles = { .sql = "DELETE FROM user_roles WHERE user_id = $1" };
static const struct db_query delete_user = { .sql = "DELETE FROM users WHERE user_id = $1" };
static const struct db_query count_users = {
    .sql = "SELECT COUNT(*), COUNT(CASE WHEN platform_role = $1 THEN 1 END) FROM users",
 };
static const struct db_query select_users = {
    .sql = "SELECT " USER_COLUMNS " FROM users ORDER BY created_at, email",
 };
static const struct db_query select_tenant_users = {
    .sql = "SELECT " USER_COLUMNS " FROM users WHERE user_id IN"
           " (SELECT user_id FROM user_roles WHERE tenant_id = $1) ORDER BY created_at, email",
};
static const struct db_query set_role = {
    .sql = "INSERT INTO user_roles (tenant_id, user_id, role) VALUES ($1, $2, $3)"
           " ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = excluded.role",
};
static const struct db_query delete_role = {
    .sql = "DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2",
 };
static const struct db_query select_roles = { .sql = SELECT_ROLES " ORDER BY r.user_id, t.slug" };
static const struct db_query select_user_roles = {
    .sql = SELECT_ROLES " WHERE r.user_id = $1 ORDER BY t.slug",
 };
static const struct db_query select_number = {
    .sql = "SELECT number FROM change_numbers WHERE topic = 'people'",
 };
static const struct db_query add_to_number = {
    .sql = "UPDATE change_numbers SET number = number + 1 WHERE topic = 'people'",
 };
/* clang-format on */

int store_user_add(struct db *db, const struct user_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->user_id), db_text(row->email), db_text(row->password),
                db_int(row->role), db_int(row->created_at), rows_time_value(row->last_login_at));

    if (db_exec(db, &insert_user, args, NULL, NULL, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_CONFLICT, "user '%.*s' exists already", STR_ARG(row->email));
    return 0;
}

static bool add_user_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct user_row *u = rows_add(rows);

    u->user_id = rows_text(rows->arena, row, 0);
    u->email = rows_text(rows->arena, row, 1);
    u->password = rows_text(rows->arena, row, 2);
    u->role = (enum platform_role)db_get_int(row, 3);
    u->created_at = db_get_int(row, 4);
    u->last_login_at = rows_time(row, 5);
    return true;
}

int store_user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
                    struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct user_row) };

    if (db_exec(db, &find_user, DB_ARGS(db_text(email)), add_user_row, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct user_row){ .last_login_at = TIME_NULL }
                       : *(struct user_row *)rows.items;
    return 0;
}

int store_user_set(struct db *db, const struct user_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(row->user_id), db_text(row->password),
                                        db_int(row->role), rows_time_value(row->last_login_at));

    return db_exec(db, &update_user, args, NULL, NULL, err);
}

int store_user_remove(struct db *db, struct str user_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id));

    if (db_exec(db, &delete_roles, args, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &delete_user, args, NULL, NULL, err);
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
    *ret = counts.all;
    *ret_admins = counts.admins;
    return 0;
}

int store_users(struct db *db, int64_t tenant_id, struct arena *arena, struct user_row **ret,
                size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct user_row) };
    const struct db_query *query = tenant_id == 0 ? &select_users : &select_tenant_users;

    if (db_exec(db, query, DB_ARGS(db_int(tenant_id)), add_user_row, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_role_set(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role role,
                   struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(user_id), db_int(role));

    return db_exec(db, &set_role, args, NULL, NULL, err);
}

int store_role_remove(struct db *db, int64_t tenant_id, struct str user_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(user_id));

    return db_exec(db, &delete_role, args, NULL, NULL, err);
}

static bool add_role_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct role_row *r = rows_add(rows);

    r->user_id = rows_text(rows->arena, row, 0);
    r->tenant_id = db_get_int(row, 1);
    r->role = (enum tenant_role)db_get_int(row, 2);
    r->slug = rows_text(rows->arena, row, 3);
    r->name = rows_text(rows->arena, row, 4);
    return true;
}

int store_roles(struct db *db, struct str user_id, struct arena *arena, struct role_row **ret,
                size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct role_row) };
    const struct db_query *query = str_is_null(user_id) ? &select_roles : &select_user_roles;

    if (db_exec(db, query, DB_ARGS(db_text(user_id)), add_role_row, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_users_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_number, DB_NO_ARGS, db_read_int, ret, err);
}

int store_users_changed(struct db *db, struct error *err)
{
    return db_exec(db, &add_to_number, DB_NO_ARGS, NULL, NULL, err);
}
