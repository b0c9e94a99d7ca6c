/* users.c - users, their roles and their identities. */
#include "features/users/users.h"

#include <assert.h>

#include "base/clock.h"
#include "base/digest.h"
#include "db/db.h"
#include "features/access/sessions.h"
#include "shape/rows.h"
#include "shape/table.h"

#define USER_COLUMNS                                                                               \
    "user_id, email, password, platform_role, created_at, last_login_at, confirmed, made_in"
#define SELECT_IDENTITY                                                                            \
    "SELECT i.issuer, i.subject, i.user_id, u.email, i.created_at, i.last_login_at"                \
    " FROM user_identities i JOIN users u ON u.user_id = i.user_id"
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
DB_RUN_FN(user_set, (const struct user_row *row),
    (db_text(row->user_id), db_text(row->password), db_int(row->role),
     rows_time_value(row->last_login_at), db_int(row->confirmed)),
    "UPDATE users SET password = $2, platform_role = $3, last_login_at = $4,"
    " confirmed = $5"
    " WHERE user_id = $1");
DB_QUERY(delete_roles, "DELETE FROM user_roles WHERE user_id = $1");
DB_QUERY(delete_user, "DELETE FROM users WHERE user_id = $1");
DB_QUERY(count_admins, "SELECT COUNT(*) FROM users WHERE platform_role = $1");
DB_ROWS_QUERY(select_user_answers, user_shape,
    "SELECT user_id, email, platform_role AS role, created_at, last_login_at,"
    " confirmed AS email_confirmed FROM users"
    " ORDER BY created_at, email");
ROWS_LIST_FN(tenant_users, tenant_user_shape, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT u.user_id, u.email, r.role, u.last_login_at,"
    " u.confirmed AS email_confirmed FROM users u"
    " JOIN user_roles r ON r.user_id = u.user_id WHERE r.tenant_id = $1"
    " ORDER BY u.created_at, u.email");
DB_RUN_FN(role_set, (int64_t tenant_id, struct str user_id, enum tenant_role role),
    (db_int(tenant_id), db_text(user_id), db_int(role)),
    "INSERT INTO user_roles (tenant_id, user_id, role) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = excluded.role");
DB_RUN_FN(role_remove, (int64_t tenant_id, struct str user_id),
    (db_int(tenant_id), db_text(user_id)),
    "DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2");
DB_QUERY(select_role, "SELECT role FROM user_roles WHERE tenant_id = $1 AND user_id = $2");
DB_ROWS_QUERY(select_roles, role_row,
    "SELECT r.user_id, r.role, t.slug, t.name" ROLES_OF_TENANTS
    " ORDER BY r.user_id, t.slug");
ROWS_LIST_FN(memberships, tenant_membership_shape, (struct str user_id), (db_text(user_id)),
    "SELECT t.slug, t.name, r.role" ROLES_OF_TENANTS " WHERE r.user_id = $1 ORDER BY t.slug");
DB_RUN_FN(resets_end, (struct str email), (db_text(email)),
    "UPDATE user_links SET state = 2 WHERE email = $1 AND kind = 1 AND state = 0");
DB_RUN_FN(invitations_end, (struct str email), (db_text(email)),
    "UPDATE user_links SET state = 2 WHERE email = $1 AND kind = 0 AND state = 0");
DB_RUN_FN(links_end_of, (struct str made_by, int64_t tenant_id),
    (db_text(made_by), db_int(tenant_id)),
    "UPDATE user_links SET state = 2 WHERE made_by = $1 AND state = 0"
    " AND (tenant_id = $2 OR $2 = 0)");
ROW_TABLE(identity_row,
    STR(issuer), STR(subject), STR(user_id), STR(email), TIME(created_at), TIME(last_login_at));

DB_ROWS_QUERY(select_identity, identity_row,
    SELECT_IDENTITY " WHERE i.issuer = $1 AND i.subject = $2");
DB_ROWS_QUERY(select_identities, identity_row,
    SELECT_IDENTITY " WHERE i.user_id = $1 ORDER BY i.created_at, i.issuer, i.subject");
ROWS_LIST_FN(identities_idle, identity_row, (int64_t before, int64_t most),
    (db_int(before), db_int(most)),
    "SELECT DISTINCT i.user_id, u.email FROM user_identities i"
    " JOIN users u ON u.user_id = i.user_id JOIN personal_tokens t ON t.user_id = i.user_id"
    " WHERE COALESCE(u.last_login_at, u.created_at) < $1 ORDER BY i.user_id LIMIT $2");
DB_QUERY(insert_identity,
    "INSERT INTO user_identities (issuer, subject, user_id, created_at, last_login_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (issuer, subject) DO NOTHING");
DB_RUN_FN(identity_used, (const struct identity_row *row),
    (db_text(row->issuer), db_text(row->subject), db_int(row->last_login_at)),
    "UPDATE user_identities SET last_login_at = $3 WHERE issuer = $1 AND subject = $2");
DB_QUERY(delete_identities, "DELETE FROM user_identities WHERE user_id = $1");
/* clang-format on */

int user_add(struct db *db, const struct user_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->user_id), db_text(row->email), db_text(row->password),
                db_int(row->role), db_int(row->created_at), rows_time_value(row->last_login_at),
                db_int(row->confirmed), db_int(row->made_in));

    assert(!str_is_null(row->user_id) && row->email.len > 0);
    return db_run_or(db, &insert_user, args, err, ERR_CONFLICT, "user '%.*s' exists already",
                     STR_ARG(row->email));
}

int user_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
              struct error *err)
{
    return rows_one(db, &find_user, DB_ARGS(db_text(email)), arena, ret, err);
}

int user_remove(struct db *db, struct str user_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id));

    if (db_run(db, &delete_roles, args, err) != 0)
        return -1;
    return db_run(db, &delete_user, args, err);
}

int role_find(struct db *db, int64_t tenant_id, struct str user_id, enum tenant_role *ret,
              struct error *err)
{
    int64_t role = ROLE_NONE;

    if (db_exec(db, &select_role, DB_ARGS(db_int(tenant_id), db_text(user_id)), db_read_int, &role,
                err) != 0)
        return -1;
    *ret = (enum tenant_role)role;
    return 0;
}

struct str users_role_name(int role)
{
    return role == PLATFORM_ADMIN ? str_of(platform_role_names[role]) : STR_NULL;
}

static struct str tenant_role_name(int role)
{
    return str_of(tenant_role_names[role == ROLE_ADMIN ? ROLE_ADMIN : ROLE_MEMBER]);
}

static struct user user_answer(const struct user_row *row, struct list tenants)
{
    return (struct user){ .user_id = row->user_id,
                          .email = row->email,
                          .role = users_role_name(row->role),
                          .tenants = tenants,
                          .created_at = row->created_at,
                          .last_login_at = row->last_login_at,
                          .email_confirmed = row->confirmed };
}

/* Invitations for a person who has an account by now are of no use, and would bring the person back
 * after the account was deleted. Those for an account that may be a stranger's stay: they give it
 * to the person, and one tenant must not end the invitations of others. */
static int add_row(struct db *db, const struct user_row *row, struct error *err)
{
    if (user_add(db, row, err) != 0 || users_about(db, row->user_id, err) != 0)
        return -1;
    return row->confirmed ? invitations_end(db, row->email, err) : 0;
}

int users_add(struct db *db, const struct user_create *create, struct arena *arena,
              struct user *ret, struct error *err)
{
    const struct user_row row = { .user_id = digest_random_id("user_", arena),
                                  .email = create->email,
                                  .password = create->password,
                                  .role = create->role,
                                  .created_at = clock_wall_us(),
                                  .last_login_at = TIME_NULL,
                                  .confirmed = create->confirmed,
                                  .made_in = create->made_in };

    if (add_row(db, &row, err) != 0)
        return -1;
    *ret = user_answer(&row, (struct list){ 0 });
    return 0;
}

int users_find(struct db *db, struct str email, struct arena *arena, struct user_row *ret,
               struct error *err)
{
    if (user_find(db, email, arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->user_id))
        return err_set(err, ERR_NOT_FOUND, "There is no user '%.*s'", STR_ARG(email));
    return 0;
}

int users_check_confirmed(const struct user_row *user, int64_t tenant_id, struct error *err)
{
    if (user->confirmed || (tenant_id != 0 && user->made_in == tenant_id))
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "It is not confirmed that the account '%.*s' belongs to the owner of that "
                   "address: another person may know its password. Invite the person by e-mail, or "
                   "have a platform admin make a reset link (muster user reset-link)",
                   STR_ARG(user->email));
}

/* Without a platform admin no other one could be created. */
static int check_not_last_admin(struct db *db, const struct user_row *user, struct error *err)
{
    int64_t admins;

    if (user->role != PLATFORM_ADMIN)
        return 0;
    if (db_exec_int(db, &count_admins, DB_ARGS(db_int(PLATFORM_ADMIN)), &admins, err) != 0)
        return -1;
    assert(admins > 0); /* at least this one */
    if (admins <= 1)
        return err_set(err, ERR_CONFLICT,
                       "'%.*s' is the last platform admin; create another one first",
                       STR_ARG(user->email));
    return 0;
}

/* Beside sessions: tokens, reset links, and links for others that the user made, all of which could
 * outlive a new password. */
static int end_other_ways(struct db *db, const struct user_row *user, struct error *err)
{
    if (personal_end(db, user->user_id, INT64_MAX, err) != 0 ||
        resets_end(db, user->email, err) != 0)
        return -1;
    return links_end_of(db, user->email, 0, err);
}

bool users_confirms(const struct user_row *user, const struct user_patch *patch)
{
    return !user->confirmed && (patch->email_confirmed.has || !str_is_null(patch->password));
}

/* The password that the patch gives the user, STR_NULL to keep it. Another person may know that of
 * an account that was not confirmed, so this ends with it: no password matches what it becomes. It
 * is not empty as that of a person of an identity provider: the owner may ask for a reset link. */
static struct str new_password(const struct user_row *user, const struct user_patch *patch)
{
    if (!str_is_null(patch->password))
        return patch->password;
    return users_confirms(user, patch) ? STR_LIT("!") : STR_NULL;
}

int users_set(struct db *db, struct str email, const struct user_patch *patch, struct arena *arena,
              struct user *ret, struct error *err)
{
    struct str password;
    struct user_row row;
    struct list tenants;
    bool changes, confirms;

    if (users_find(db, email, arena, &row, err) != 0)
        return -1;
    password = new_password(&row, patch);
    confirms = users_confirms(&row, patch);
    changes = !str_is_null(password) || (patch->role >= 0 && patch->role != row.role);
    if (patch->role == PLATFORM_NONE && check_not_last_admin(db, &row, err) != 0)
        return -1;
    row.confirmed |= confirms;
    if (patch->role == PLATFORM_ADMIN && users_check_confirmed(&row, 0, err) != 0)
        return -1;
    if (patch->role >= 0)
        row.role = patch->role;
    if (!str_is_null(password))
        row.password = password;
    if (user_set(db, &row, err) != 0 || users_about(db, row.user_id, err) != 0 ||
        (changes && sessions_end_of(db, row.user_id, NULL, err) != 0) ||
        (!str_is_null(password) && end_other_ways(db, &row, err) != 0) ||
        (confirms && invitations_end(db, row.email, err) != 0) ||
        (patch->role == PLATFORM_NONE && links_end_of(db, row.email, 0, err) != 0) ||
        memberships(db, row.user_id, arena, &tenants, err) != 0)
        return -1;
    *ret = user_answer(&row, tenants);
    return 0;
}

int users_remove(struct db *db, struct str email, struct error *err)
{
    struct user_row row;
    ARENA_SCOPED(arena);

    if (users_find(db, email, &arena, &row, err) != 0 || check_not_last_admin(db, &row, err) != 0 ||
        sessions_end_of(db, row.user_id, NULL, err) != 0 || end_other_ways(db, &row, err) != 0 ||
        invitations_end(db, row.email, err) != 0 ||
        identities_remove(db, row.user_id, NULL, err) != 0 ||
        users_about(db, row.user_id, err) != 0)
        return -1;
    return user_remove(db, row.user_id, err);
}

/* The roles of one user, out of the roles of all users, which are sorted by user. */
static struct list memberships_of(const struct list *roles, struct str user_id, struct arena *arena)
{
    const struct role_row *rows = roles->items;
    struct tenant_membership *items;
    size_t first = 0, n = 0;

    while (first < roles->n && !str_eq(rows[first].user_id, user_id))
        first++;
    while (first + n < roles->n && str_eq(rows[first + n].user_id, user_id))
        n++;
    items = ARENA_ARRAY(arena, struct tenant_membership, n);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct tenant_membership){ .slug = rows[first + i].slug,
                                               .name = rows[first + i].name,
                                               .role = tenant_role_name(rows[first + i].role) };
    return (struct list){ items, n };
}

int users_list(struct db *db, struct arena *arena, struct listing *ret, struct error *err)
{
    struct list roles;
    struct user *users;

    if (rows_list(db, &select_user_answers, DB_NO_ARGS, arena, &ret->list, err) != 0 ||
        rows_list(db, &select_roles, DB_NO_ARGS, arena, &roles, err) != 0)
        return -1;
    users = ret->list.items;
    for (size_t i = 0; i < ret->list.n; i++)
        users[i].tenants = memberships_of(&roles, users[i].user_id, arena);
    return 0;
}

int users_is_new(struct db *db, struct str email, bool *ret, struct error *err)
{
    struct user_row row;
    ARENA_SCOPED(arena);
    int r;

    r = user_find(db, email, &arena, &row, err);
    *ret = r == 0 && str_is_null(row.user_id);
    return r;
}

/* Finds the user, or creates it. */
static int find_or_make(struct db *db, int64_t tenant_id, const struct tenant_user_create *create,
                        struct arena *arena, struct user_row *ret, struct error *err)
{
    if (user_find(db, create->email, arena, ret, err) != 0)
        return -1;
    if (!str_is_null(ret->user_id))
        return 0;
    if (str_is_null(create->password))
        return err_set(err, ERR_CONFLICT, "There is no user '%.*s': a new one needs a password",
                       STR_ARG(create->email));
    *ret = (struct user_row){ .user_id = digest_random_id("user_", arena),
                              .email = create->email,
                              .password = create->password,
                              .role = PLATFORM_NONE,
                              .created_at = clock_wall_us(),
                              .last_login_at = TIME_NULL,
                              .confirmed = create->vouched,
                              .made_in = tenant_id };
    return add_row(db, ret, err);
}

int users_add_role(struct db *db, int64_t tenant_id, const struct tenant_user_create *create,
                   struct arena *arena, struct tenant_user_added *ret, struct error *err)
{
    enum tenant_role role, wanted = (enum tenant_role)create->role;
    struct user_row row;
    bool is_new;

    if (users_is_new(db, create->email, &is_new, err) != 0 ||
        find_or_make(db, tenant_id, create, arena, &row, err) != 0 ||
        role_find(db, tenant_id, row.user_id, &role, err) != 0)
        return -1;
    if (role != ROLE_NONE)
        return err_set(err, ERR_CONFLICT, "'%.*s' has a role in this tenant already",
                       STR_ARG(create->email));
    assert(tenant_id > 0 && wanted != ROLE_NONE);
    if (users_check_confirmed(&row, tenant_id, err) != 0 ||
        db_check_room(db, &count_roles, DB_ARGS(db_int(tenant_id)), TENANT_USERS_MAX, "users",
                      err) != 0 ||
        role_set(db, tenant_id, row.user_id, wanted, err) != 0 ||
        users_about(db, row.user_id, err) != 0)
        return -1;
    *ret = (struct tenant_user_added){ .user_id = row.user_id,
                                       .email = row.email,
                                       .role = tenant_role_name(wanted),
                                       .created = is_new };
    return 0;
}

/* The user, who must have a role in the tenant. */
static int find_in_tenant(struct db *db, int64_t tenant_id, struct str email, struct arena *arena,
                          struct user_row *ret, struct error *err)
{
    enum tenant_role role = ROLE_NONE;

    assert(tenant_id > 0);
    if (user_find(db, email, arena, ret, err) != 0 ||
        (!str_is_null(ret->user_id) && role_find(db, tenant_id, ret->user_id, &role, err) != 0))
        return -1;
    if (role == ROLE_NONE)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' has no role in this tenant", STR_ARG(email));
    return 0;
}

/* Only for a user with a role in this tenant alone: a tenant must not end sessions of users of
 * other tenants. The new role is in effect at once anyway. */
static int end_sessions(struct db *db, const struct user_row *user, size_t n_roles,
                        struct error *err)
{
    assert(n_roles > 0); /* the role that changes */
    if (user->role == PLATFORM_ADMIN || n_roles > 1)
        return 0;
    return sessions_end_of(db, user->user_id, NULL, err);
}

int users_set_role(struct db *db, const struct role_change *change, struct arena *arena,
                   struct tenant_user *ret, struct error *err)
{
    enum tenant_role before = ROLE_NONE;
    struct list tenants;
    struct user_row row;

    if (find_in_tenant(db, change->tenant_id, change->email, arena, &row, err) != 0 ||
        role_find(db, change->tenant_id, row.user_id, &before, err) != 0 ||
        memberships(db, row.user_id, arena, &tenants, err) != 0 ||
        role_set(db, change->tenant_id, row.user_id, change->role, err) != 0 ||
        users_about(db, row.user_id, err) != 0 ||
        (change->role != ROLE_ADMIN && links_end_of(db, row.email, change->tenant_id, err) != 0) ||
        (change->role != before && end_sessions(db, &row, tenants.n, err) != 0))
        return -1;
    *ret = (struct tenant_user){ .user_id = row.user_id,
                                 .email = row.email,
                                 .role = tenant_role_name(change->role),
                                 .last_login_at = row.last_login_at,
                                 .email_confirmed = row.confirmed };
    return 0;
}

int users_remove_role(struct db *db, int64_t tenant_id, struct str email, struct error *err)
{
    struct list tenants;
    struct user_row row;
    ARENA_SCOPED(arena);

    if (find_in_tenant(db, tenant_id, email, &arena, &row, err) != 0 ||
        memberships(db, row.user_id, &arena, &tenants, err) != 0 ||
        role_remove(db, tenant_id, row.user_id, err) != 0 ||
        users_about(db, row.user_id, err) != 0 || links_end_of(db, row.email, tenant_id, err) != 0)
        return -1;
    return end_sessions(db, &row, tenants.n, err);
}

int identity_find(struct db *db, struct str issuer, struct str subject, struct arena *arena,
                  struct identity_row *ret, struct error *err)
{
    return rows_one(db, &select_identity, DB_ARGS(db_text(issuer), db_text(subject)), arena, ret,
                    err);
}

int identity_add(struct db *db, const struct identity_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->issuer), db_text(row->subject), db_text(row->user_id),
                db_int(row->created_at), rows_time_value(row->last_login_at));

    return db_run_or(db, &insert_identity, args, err, ERR_CONFLICT,
                     "This person is linked to a user already");
}

int identities_of(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err)
{
    return rows_list(db, &select_identities, DB_ARGS(db_text(user_id)), arena, ret, err);
}

int identities_remove(struct db *db, struct str user_id, int64_t *ret_n, struct error *err)
{
    if (db_run(db, &delete_identities, DB_ARGS(db_text(user_id)), err) != 0)
        return -1;
    if (ret_n != NULL)
        *ret_n = db_changes(db);
    return 0;
}
