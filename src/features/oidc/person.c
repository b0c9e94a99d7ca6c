/* person.c - creates users for people of the provider, and gives them the roles of their groups. */
#include "features/oidc/oidc.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "db/db.h"
#include "features/users/accounts.h"
#include "features/users/shapes.h"
#include "features/users/users.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE(oidc_group,
    STR(group_id), FIELD_AT("group_name", group, struct str, T_STR),
    FIELD_AT("role", role, int, T_ENUM, .choices = (const char *const[]){ "platform_admin", "admin", "member", NULL }),
    INT(tenant_id), FIELD_AT("slug", tenant, struct str, T_STR), TIME(created_at));

DB_ROWS_QUERY(select_groups, oidc_group,
    "SELECT g.group_id, g.group_name, g.role, g.tenant_id, t.slug, g.created_at"
    " FROM oidc_groups g LEFT JOIN tenants t ON t.tenant_id = g.tenant_id"
    " WHERE g.tenant_id = 0 OR (t.tenant_id IS NOT NULL AND t.deleted_at IS NULL)"
    " ORDER BY g.tenant_id, g.group_name");
DB_QUERY(count_groups, "SELECT COUNT(*) FROM oidc_groups");
DB_QUERY(insert_group,
    "INSERT INTO oidc_groups (tenant_id, group_name, group_id, role, created_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant_id, group_name) DO NOTHING");
DB_QUERY(delete_group, "DELETE FROM oidc_groups WHERE group_id = $1");
/* clang-format on */

int groups_load(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_groups, DB_NO_ARGS, arena, ret, err);
}

int group_add(struct db *db, const struct oidc_group *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->group), db_text(row->group_id),
                db_int(row->role), db_int(row->created_at));

    if (db_check_room(db, &count_groups, DB_NO_ARGS, GROUP_ROWS_MAX, "groups", err) != 0)
        return -1;
    return db_run_or(db, &insert_group, args, err, ERR_CONFLICT,
                     "Group '%.*s' has a role there already; delete that first",
                     STR_ARG(row->group));
}

int group_remove(struct db *db, struct str group_id, struct error *err)
{
    return db_run_or(db, &delete_group, DB_ARGS(db_text(group_id)), err, ERR_NOT_FOUND,
                     "There is no group '%.*s'", STR_ARG(group_id));
}

/* What the work on one person needs. */
struct admitting {
    struct db *db;
    const struct person *person;
    struct arena *arena;
    struct list groups; /* of struct oidc_group: all of them, by tenant */
    bool leaves;        /* no group gives a role any longer */
    struct person_admission *ret;
};

static int refuse(struct person_admission *ret, const char *why)
{
    ret->refused = true;
    (void)snprintf(ret->why, sizeof(ret->why), "%s", why);
    return 0;
}

static bool is_in_group(const struct id_claims *claims, struct str group)
{
    const struct str *groups = claims->groups.items;

    for (size_t i = 0; i < claims->groups.n; i++)
        if (str_eq(groups[i], group))
            return true;
    return false;
}

/* The rows from `first` on of the same tenant: how many, and the strongest role that the person's
 * groups give there; -1: none. */
static size_t role_in(const struct admitting *a, size_t first, int *ret_role)
{
    const struct oidc_group *rows = a->groups.items;
    size_t n = 0;

    *ret_role = -1;
    for (; first + n < a->groups.n && rows[first + n].tenant_id == rows[first].tenant_id; n++) {
        const struct oidc_group *row = &rows[first + n];

        if (is_in_group(a->person->claims, row->group) &&
            (*ret_role < 0 || row->role < *ret_role)) /* enum group_role: the strongest first */
            *ret_role = row->role;
    }
    assert(n > 0);
    return n;
}

static bool has_any_role(const struct admitting *a)
{
    int role = -1;

    for (size_t i = 0; i < a->groups.n && role < 0;)
        i += role_in(a, i, &role);
    return role >= 0;
}

/* The last platform admin who leaves stays one, without a session or a way to open one: otherwise
 * no access could be taken away at all. */
static int set_platform_role(const struct admitting *a, struct str email, bool is_admin,
                             struct error *err)
{
    const struct user_patch patch = { .role = is_admin ? PLATFORM_ADMIN : PLATFORM_NONE,
                                      .password = STR_NULL };
    struct error problem = { 0 };
    struct user_row row;
    struct user user;

    if (users_find(a->db, email, a->arena, &row, err) != 0)
        return -1;
    if (row.role == patch.role)
        return 0;
    a->ret->changed = true;
    if (users_set(a->db, email, &patch, a->arena, &user, &problem) == 0 ||
        (a->leaves && problem.code == ERR_CONFLICT))
        return 0;
    *err = problem;
    return -1;
}

/* `role`: ROLE_NONE takes it away. */
static int set_tenant_role(const struct admitting *a, const struct role_change *change,
                           struct str user_id, struct error *err)
{
    const struct tenant_user_create create = { .email = change->email,
                                               .role = change->role,
                                               .password = STR_NULL };
    struct tenant_user_added added;
    struct tenant_user user;
    enum tenant_role now;

    if (role_find(a->db, change->tenant_id, user_id, &now, err) != 0)
        return -1;
    if (now == change->role)
        return 0;
    a->ret->changed = true;
    if (change->role == ROLE_NONE)
        return users_remove_role(a->db, change->tenant_id, change->email, err);
    if (now == ROLE_NONE)
        return users_add_role(a->db, change->tenant_id, &create, a->arena, &added, err);
    return users_set_role(a->db, change, a->arena, &user, err);
}

static enum tenant_role tenant_role_of(int role)
{
    if (role < 0)
        return ROLE_NONE;
    return role == GROUP_ADMIN ? ROLE_ADMIN : ROLE_MEMBER;
}

static int set_roles(const struct admitting *a, struct str email, struct str user_id,
                     struct error *err)
{
    const struct oidc_group *rows = a->groups.items;

    for (size_t i = 0; i < a->groups.n;) {
        const int64_t tenant_id = rows[i].tenant_id;
        struct role_change change = { .tenant_id = tenant_id, .email = email };
        int role, r;

        i += role_in(a, i, &role);
        change.role = tenant_role_of(role);
        r = tenant_id == 0 ? set_platform_role(a, email, role >= 0, err)
                           : set_tenant_role(a, &change, user_id, err);
        if (r != 0)
            return -1;
    }
    return 0;
}

static int take_roles(struct admitting *a, const struct identity_row *known, struct error *err)
{
    const struct user_row user = { .user_id = known->user_id, .email = known->email };

    a->leaves = true;
    if (set_roles(a, known->email, known->user_id, err) != 0)
        return -1;
    return vouched_revoke(a->db, &user, err);
}

/* A sentence why no user may be created with this address; NULL: one may. */
static const char *email_problem(const struct person *person, struct str email)
{
    if (str_is_null(person->claims->email))
        return "The identity provider does not say your e-mail address: ask its operator to send "
               "the claim 'email'";
    if (email.len > EMAIL_MAX || !user_is_email(email))
        return "The identity provider's claim 'email' is not an e-mail address";
    if (!person->claims->email_verified && !person->any_email)
        return "The identity provider has not verified your e-mail address";
    return NULL;
}

/* Creates a user for an unknown person. Its password is empty: no password is right. */
static int create_user(const struct admitting *a, struct identity_row *ret, struct error *err)
{
    const struct id_claims *claims = a->person->claims;
    const struct str email =
        user_email_normal(str_is_null(claims->email) ? STR_LIT("") : claims->email, a->arena);
    const struct user_create create = {
        .email = email, .password = STR_LIT(""), .role = PLATFORM_NONE, .confirmed = true
    }; /* by email_problem() */
    const char *problem = email_problem(a->person, email);
    struct user_row existing;
    struct user user;

    if (problem != NULL)
        return refuse(a->ret, problem);
    if (user_find(a->db, email, a->arena, &existing, err) != 0)
        return -1;
    if (!str_is_null(existing.user_id)) {
        a->ret->refused = true;
        static_assert(EMAIL_MAX + SUBJECT_MAX + 256 < REFUSAL_MAX, "a sentence that is cut");
        (void)snprintf(a->ret->why, REFUSAL_MAX,
                       "There is a user '%.*s' already, which is not linked to the identity "
                       "provider. A platform admin can link it (muster identity add) to the "
                       "subject '%.*s'",
                       STR_ARG(email), STR_ARG(claims->subject));
        return 0;
    }
    if (users_add(a->db, &create, a->arena, &user, err) != 0)
        return -1;
    a->ret->created = true;
    *ret = (struct identity_row){ .issuer = a->person->issuer,
                                  .subject = claims->subject,
                                  .user_id = user.user_id,
                                  .email = email,
                                  .created_at = clock_wall_us(),
                                  .last_login_at = TIME_NULL };
    return identity_add(a->db, ret, err);
}

int person_admit(struct db *db, const struct person *person, struct arena *arena,
                 struct person_admission *ret, struct error *err)
{
    struct admitting a = { .db = db, .person = person, .arena = arena, .ret = ret };
    struct identity_row identity;
    bool known;

    *ret = (struct person_admission){ .email = STR_NULL };
    if (groups_load(db, arena, &a.groups, err) != 0 ||
        identity_find(db, person->issuer, person->claims->subject, arena, &identity, err) != 0)
        return -1;
    known = !str_is_null(identity.user_id);
    if (known)
        ret->email = identity.email;
    if (!person->claims->has_groups) /* a wrong setting must not end the access of all */
        return refuse(ret, person->claims->groups_elsewhere
                               ? "You have too many groups; let the provider send only those that "
                                 "are mapped"
                               : "The identity provider does not say which groups you are in: ask "
                                 "its operator to send them");
    if (!has_any_role(&a)) {
        (void)refuse(ret, "None of your groups has a role here: ask an admin for access");
        return known ? take_roles(&a, &identity, err) : 0;
    }
    if (!known && (create_user(&a, &identity, err) != 0 || ret->refused))
        return ret->refused ? 0 : -1;
    ret->email = identity.email;
    identity.last_login_at = clock_wall_us();
    if (set_roles(&a, identity.email, identity.user_id, err) != 0)
        return -1;
    return identity_used(db, &identity, err);
}
