/* links.c - creates and uses invitations and reset links. */
#include "features/users/links/links.h"

#include <assert.h>

#include "base/clock.h"
#include "base/map.h"
#include "db/db.h"
#include "features/access/tenants.h"
#include "features/users/shapes.h"
#include "features/users/users.h"
#include "shape/rows.h"
#include "shape/table.h"

#define LINK_COLUMNS                                                                               \
    "link_id, kind, state, tenant_id, email, platform_role, made_by, created_at, expires_at"

/* One of the roles of a link, in a tenant that exists. */
struct link_membership {
    struct str link_id;
    struct tenant_membership role;
};

/* clang-format off */
static const char *const state_names[] = { "open", "used", "revoked", NULL };

ROW_TABLE_OF(link_row_shape, struct link_row,
    STR(link_id), STR(email), STR(made_by), INT(tenant_id), TIME(created_at), TIME(expires_at),
    ENUM(kind, .choices = link_kind_names), ENUM(state, .choices = state_names),
    ENUM(platform_role, .choices = platform_role_names));

DB_QUERY(insert_link,
    "INSERT INTO user_links (" LINK_COLUMNS ", digest)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
DB_QUERY(insert_role,
    "INSERT INTO user_link_roles (tenant_id, link_id, role) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id, link_id) DO UPDATE SET role = excluded.role");
DB_ROWS_QUERY(find_link, link_row_shape,
    "SELECT " LINK_COLUMNS " FROM user_links WHERE digest = $1");
DB_QUERY(use_link,
    "UPDATE user_links SET state = 1 WHERE link_id = $1 AND state = 0 AND expires_at > $2");
DB_QUERY(count_open,
    "SELECT COUNT(*) FROM user_links WHERE tenant_id = $1 AND kind = $2 AND state = 0"
    " AND expires_at > $3 AND made_by <> email");
DB_QUERY(count_since,
    "SELECT COUNT(*) FROM user_links WHERE tenant_id = $1 AND created_at > $2"
    " AND made_by <> email");
DB_QUERY(count_asked,
    "SELECT COUNT(*) FROM user_links WHERE email = $1 AND created_at > $2 AND kind = 1"
    " AND made_by = email");
DB_QUERY(count_all_asked,
    "SELECT COUNT(*) FROM user_links WHERE created_at > $1 AND kind = 1 AND made_by = email");
DB_ROWS_QUERY(select_invitations, link_row_shape,
    "SELECT " LINK_COLUMNS " FROM user_links WHERE tenant_id = $1 AND kind = 0"
    " AND state = 0 AND expires_at > $2 ORDER BY created_at DESC, link_id");
ROW_TABLE(link_membership,
    STR(link_id), EMBEDDED(role, STR(slug), STR(name), STR(role, .choices = tenant_role_names)));
DB_ROWS_QUERY(select_all_roles, link_membership,
    "SELECT l.link_id, t.slug, t.name, r.role FROM user_links l"
    " JOIN user_link_roles r ON r.link_id = l.link_id JOIN tenants t ON t.tenant_id = r.tenant_id"
    " WHERE l.tenant_id = $1 AND l.kind = 0 AND l.state = 0 AND l.expires_at > $2"
    " AND t.deleted_at IS NULL ORDER BY l.link_id, t.slug");
ROWS_LIST_FN(link_roles, tenant_membership_shape, (struct str link_id), (db_text(link_id)),
    "SELECT t.slug, t.name, r.role FROM user_link_roles r"
    " JOIN tenants t ON t.tenant_id = r.tenant_id"
    " WHERE r.link_id = $1 AND t.deleted_at IS NULL ORDER BY t.slug");
DB_QUERY(revoke_invitation,
    "UPDATE user_links SET state = 2 WHERE tenant_id = $1 AND link_id = $2 AND kind = 0"
    " AND state = 0");
DB_QUERY(replace_invitations,
    "UPDATE user_links SET state = 2 WHERE tenant_id = $1 AND email = $2 AND kind = 0"
    " AND state = 0");
DB_QUERY(prune_roles,
    "DELETE FROM user_link_roles WHERE link_id IN"
    " (SELECT link_id FROM user_links WHERE created_at < $1)");
DB_QUERY(prune_links, "DELETE FROM user_links WHERE created_at < $1");
/* clang-format on */

static int link_add(struct db *db, const struct link_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(
        db_text(row->link_id), db_int(row->kind), db_int(row->state), db_int(row->tenant_id),
        db_text(row->email), db_int(row->platform_role), db_text(row->made_by),
        db_int(row->created_at), db_int(row->expires_at), db_blob(digest_str(&row->digest)));

    assert(row->state == LINK_OPEN && row->expires_at > row->created_at && row->email.len > 0);
    return db_run(db, &insert_link, args, err);
}

static int link_find(struct db *db, const struct sha256 *digest, struct arena *arena,
                     struct link_row *ret, struct error *err)
{
    return rows_one(db, &find_link, DB_ARGS(db_blob(digest_str(digest))), arena, ret, err);
}

/* How many resets this user (STR_NULL: all users) asked for after `since`. */
static int resets_asked(struct db *db, struct str email, int64_t since, int64_t *ret,
                        struct error *err)
{
    *ret = 0;
    if (str_is_null(email))
        return db_exec(db, &count_all_asked, DB_ARGS(db_int(since)), db_read_int, ret, err);
    return db_exec(db, &count_asked, DB_ARGS(db_text(email), db_int(since)), db_read_int, ret, err);
}

int invitation_revoke(struct db *db, int64_t tenant_id, struct str link_id, struct error *err)
{
    return db_run_or(db, &revoke_invitation, DB_ARGS(db_int(tenant_id), db_text(link_id)), err,
                     ERR_NOT_FOUND, "There is no open invitation '%.*s'", STR_ARG(link_id));
}

enum {
    INVITATION_S = 7 * 24 * 3600,
    RESET_S = 3600,
    DAY_S = 24 * 3600,
    KEPT_S = 30 * DAY_S,      /* to say of an old link that it was used or has expired */
    OPEN_MAX = 100,           /* invitations per tenant */
    PLATFORM_OPEN_MAX = 1000, /* those of the platform */
    DAY_MAX = 200,            /* links per tenant in a day: each may send a mail to anyone */
    PLATFORM_DAY_MAX = 2000,
    ASKED_MAX = 3, /* that a user asked for, in the life of one: when no further one is sent, those
                      that were are still valid */
    ASKED_DAY_MAX = 5,
    ALL_ASKED_DAY_MAX = 2000, /* of all users: strangers may ask too, who know many addresses */
};

/* Only people without an account are invited, or without one that is known to be theirs: a link
 * must not change the password of a user of other tenants. */
static int check_user(struct db *db, const struct link_wish *wish, struct arena *arena,
                      bool *ret_takes_over, struct error *err)
{
    struct user_row user;
    bool is_new;

    if (user_find(db, wish->email, arena, &user, err) != 0)
        return -1;
    is_new = str_is_null(user.user_id);
    *ret_takes_over = wish->kind == LINK_INVITATION && !is_new;
    if (*ret_takes_over && user.confirmed)
        return err_set(err, ERR_CONFLICT,
                       "There is a user '%.*s' already: add the role without an invitation",
                       STR_ARG(wish->email));
    if (*ret_takes_over && !wish->by_mail)
        return err_set(err, ERR_CONFLICT,
                       "There is an account '%.*s' that is not confirmed to belong to the owner of "
                       "that address: only an invitation by e-mail can give it to them. Or have a "
                       "platform admin make a reset link (muster user reset-link)",
                       STR_ARG(wish->email));
    if (wish->kind == LINK_RESET && is_new)
        return err_set(err, ERR_NOT_FOUND, "There is no user '%.*s'", STR_ARG(wish->email));
    return 0;
}

static int check_bounds(struct db *db, const struct link_wish *wish, int64_t now, struct error *err)
{
    const bool platform = wish->tenant_id == 0;
    const int64_t open_max = platform ? PLATFORM_OPEN_MAX : OPEN_MAX;
    const int64_t day_max = platform ? PLATFORM_DAY_MAX : DAY_MAX;
    const int64_t day_us = (int64_t)DAY_S * USEC_PER_SEC;
    int64_t open = 0, lately = 0;

    if (db_exec_int(db, &count_open,
                    DB_ARGS(db_int(wish->tenant_id), db_int(wish->kind), db_int(now)), &open,
                    err) != 0 ||
        db_exec_int(db, &count_since, DB_ARGS(db_int(wish->tenant_id), db_int(now - day_us)),
                    &lately, err) != 0)
        return -1;
    if (open >= open_max)
        return err_set(err, ERR_CONFLICT, "%lld links are open, which is the limit: revoke some",
                       (long long)open);
    if (lately >= day_max)
        return err_set(err, ERR_CONFLICT,
                       "%lld links were created in 24 hours, which is the limit: try again later",
                       (long long)lately);
    return 0;
}

static int links_prune(struct db *db, int64_t now, struct error *err)
{
    const struct db_args before = DB_ARGS(db_int(now - (int64_t)KEPT_S * USEC_PER_SEC));

    return db_run(db, &prune_roles, before, err) != 0 ? -1 : db_run(db, &prune_links, before, err);
}

/* A new link takes the place of the one that the person has. */
static int end_previous(struct db *db, const struct link_wish *wish, struct error *err)
{
    return wish->kind == LINK_RESET
               ? resets_end(db, wish->email, err)
               : db_run(db, &replace_invitations,
                        DB_ARGS(db_int(wish->tenant_id), db_text(wish->email)), err);
}

/* The token that is shown instead of a mailed one. */
static struct str shown_token(struct str mailed, struct arena *arena)
{
    const struct sha256 digest = digest_sha256(mailed);
    char text[BASE64URL_LEN + 1];

    digest_base64url(digest.bytes, text);
    return arena_copy(arena, str_from(text, BASE64URL_LEN));
}

static void make_row(const struct link_wish *wish, int64_t now, struct arena *arena,
                     struct link_made *ret)
{
    const int64_t life_s = wish->kind == LINK_RESET ? RESET_S : INVITATION_S;
    char token[BASE64URL_LEN + 1];

    digest_random_base64url(token);
    ret->mailed = arena_copy(arena, str_from(token, BASE64URL_LEN));
    ret->shown = shown_token(ret->mailed, arena);
    ret->row = (struct link_row){
        .link_id = digest_random_id("lnk_", arena),
        .digest = digest_sha256(ret->shown),
        .kind = (int)wish->kind,
        .state = LINK_OPEN,
        .tenant_id = wish->tenant_id,
        .email = wish->email,
        .platform_role = wish->platform_role,
        .made_by = wish->made_by,
        .created_at = now,
        .expires_at = now + life_s * USEC_PER_SEC,
    };
}

int links_make(struct db *db, const struct link_wish *wish, struct arena *arena,
               struct link_made *ret, struct error *err)
{
    const struct link_role *roles = wish->roles.items;
    const int64_t now = clock_wall_us();

    *ret = (struct link_made){ 0 };
    if (links_prune(db, now, err) != 0 || check_user(db, wish, arena, &ret->takes_over, err) != 0 ||
        end_previous(db, wish, err) != 0 || check_bounds(db, wish, now, err) != 0)
        return -1;
    make_row(wish, now, arena, ret);
    if (link_add(db, &ret->row, err) != 0)
        return -1;
    for (size_t i = 0; i < wish->roles.n; i++)
        if (db_run(db, &insert_role,
                   DB_ARGS(db_int(roles[i].tenant_id), db_text(ret->row.link_id),
                           db_int(roles[i].role)),
                   err) != 0)
            return -1;
    return 0;
}

/* Were enough links sent to this user, or to all? The first one of a user in a day is sent in any
 * case: what strangers ask for others must not take it away. */
static int check_asked(struct db *db, struct str email, int64_t now, bool *ret, struct error *err)
{
    const int64_t day_ago = now - (int64_t)DAY_S * USEC_PER_SEC;
    int64_t lately = 0, today = 0, all = 0;

    if (resets_asked(db, email, now - (int64_t)RESET_S * USEC_PER_SEC, &lately, err) != 0 ||
        resets_asked(db, email, day_ago, &today, err) != 0 ||
        resets_asked(db, STR_NULL, day_ago, &all, err) != 0)
        return -1;
    /* a user without a link that may still be used always gets one: strangers cannot prevent it */
    *ret =
        lately >= ASKED_MAX || (lately > 0 && (today >= ASKED_DAY_MAX || all >= ALL_ASKED_DAY_MAX));
    return 0;
}

int links_ask(struct db *db, struct str email, struct arena *arena, struct user_row *ret_user,
              struct link_made *ret, struct error *err)
{
    const struct link_wish wish = {
        .kind = LINK_RESET, .email = email, .platform_role = PLATFORM_NONE, .made_by = email
    };
    const int64_t now = clock_wall_us();
    bool enough;

    *ret = (struct link_made){ 0 };
    if (links_prune(db, now, err) != 0 || user_find(db, email, arena, ret_user, err) != 0 ||
        check_asked(db, email, now, &enough, err) != 0)
        return -1;
    /* who signs in by the identity provider must not get around it: its groups decide */
    if (enough || str_is_null(ret_user->user_id) || ret_user->password.len == 0)
        return 0;
    make_row(&wish, now, arena, ret);
    return link_add(db, &ret->row, err);
}

int links_find(struct db *db, struct str token, int64_t now, struct arena *arena,
               struct link_row *ret, struct error *err)
{
    const struct sha256 shown = digest_sha256(token),
                        mailed = digest_sha256(shown_token(token, arena));

    if (link_find(db, &shown, arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->link_id)) {
        if (link_find(db, &mailed, arena, ret, err) != 0)
            return -1;
        ret->mailed = true;
    }
    if (str_is_null(ret->link_id))
        return err_set(err, ERR_NOT_FOUND,
                       "This link is not valid; check that it is complete, or ask for a new one");
    if (ret->state == LINK_USED)
        return err_set(err, ERR_NOT_FOUND,
                       "This link was used already; sign in with the password that was set");
    if (ret->state != LINK_OPEN)
        return err_set(err, ERR_NOT_FOUND,
                       "This link was replaced or withdrawn; sign in if you have an account, or "
                       "ask for a new one");
    if (ret->expires_at <= now)
        return err_set(err, ERR_NOT_FOUND, "This link has expired; ask for a new one");
    return 0;
}

/* The account may be a stranger's, who was quicker: the person cannot sign in with it, and this
 * link, which was shown and not mailed, proves nothing about the address. */
static int refuse_taken(const struct link_row *link, bool confirmed, struct error *err)
{
    if (confirmed)
        return err_set(err, ERR_CONFLICT, "There is an account for '%.*s' by now: sign in with it",
                       STR_ARG(link->email));
    return err_set(err, ERR_CONFLICT,
                   "There is an account for '%.*s' by now, and it is not confirmed that it is "
                   "yours: ask a platform admin for a reset link (muster user reset-link), which "
                   "gives it to you",
                   STR_ARG(link->email));
}

int links_check_user(struct db *db, const struct link_row *link, struct error *err)
{
    struct user_row user;
    ARENA_SCOPED(arena);

    if (link->kind != LINK_INVITATION)
        return 0;
    if (user_find(db, link->email, &arena, &user, err) != 0)
        return -1;
    return str_is_null(user.user_id) || (link->mailed && !user.confirmed)
               ? 0
               : refuse_taken(link, user.confirmed, err);
}

/* Does the platform vouch for the person of this link, as it does when it creates a user? Then it
 * does not matter whether the link was mailed. */
static int is_platforms(struct db *db, const struct link_row *link, struct arena *arena, bool *ret,
                        struct error *err)
{
    struct user_row maker;

    if (user_find(db, link->made_by, arena, &maker, err) != 0)
        return -1;
    *ret = link->tenant_id == 0 || str_eq_c(link->made_by, LINK_OPERATOR) ||
           (!str_is_null(maker.user_id) && maker.role == PLATFORM_ADMIN);
    return 0;
}

static int add_user(struct db *db, const struct link_row *link, struct str hash,
                    struct arena *arena, struct user *ret, struct error *err)
{
    struct user_create create = { .email = link->email,
                                  .password = hash,
                                  .role = link->platform_role,
                                  .made_in = link->tenant_id };

    if (is_platforms(db, link, arena, &create.confirmed, err) != 0)
        return -1;
    create.confirmed |= link->mailed;
    return users_add(db, &create, arena, ret, err);
}

static int set_password(struct db *db, const struct link_row *link, struct str hash,
                        struct arena *arena, struct user *ret, struct error *err)
{
    const bool makes_admin = link->kind == LINK_INVITATION && link->platform_role == PLATFORM_ADMIN;
    const struct user_patch patch = { .role = makes_admin ? PLATFORM_ADMIN : -1, .password = hash };

    return users_set(db, link->email, &patch, arena, ret, err);
}

/* One that the user has already stays. */
static int add_role(struct db *db, const struct user *user, const struct tenant_membership *role,
                    struct arena *arena, struct error *err)
{
    const bool is_admin = str_eq_c(role->role, tenant_role_names[ROLE_ADMIN]);
    const struct tenant_user_create added = { .email = user->email,
                                              .role = is_admin ? ROLE_ADMIN : ROLE_MEMBER };
    struct tenant_user_added answer;
    struct tenant_row tenant;
    enum tenant_role now;

    if (tenant_find(db, role->slug, arena, &tenant, err) != 0 ||
        role_find(db, tenant.tenant_id, user->user_id, &now, err) != 0)
        return -1;
    return now != ROLE_NONE ? 0 : users_add_role(db, tenant.tenant_id, &added, arena, &answer, err);
}

/* Creates the user with the link's roles, or gives the account to the reader of the mail. */
static int accept_invitation(struct db *db, const struct link_row *link, struct str hash,
                             struct arena *arena, struct user *ret, struct error *err)
{
    const struct tenant_membership *role;
    struct list roles;
    bool is_new;

    if (links_check_user(db, link, err) != 0 || users_is_new(db, link->email, &is_new, err) != 0 ||
        (is_new ? add_user : set_password)(db, link, hash, arena, ret, err) != 0 ||
        link_roles(db, link->link_id, arena, &roles, err) != 0)
        return -1;
    role = roles.items;
    for (size_t i = 0; i < roles.n; i++)
        if (add_role(db, ret, &role[i], arena, err) != 0)
            return -1;
    return 0; /* other invitations have ended, if the account is known to be the person's now */
}

int links_accept(struct db *db, const struct link_row *link, struct str hash, struct arena *arena,
                 struct user *ret, struct error *err)
{
    bool used;

    assert(!str_is_null(link->link_id) && !str_is_null(hash));
    if (db_run_changed(db, &use_link, DB_ARGS(db_text(link->link_id), db_int(clock_wall_us())),
                       &used, err) != 0)
        return -1;
    if (!used) /* by another request, since it was found */
        return err_set(err, ERR_NOT_FOUND, "This link was used already, or has just ended");
    return link->kind == LINK_RESET ? set_password(db, link, hash, arena, ret, err)
                                    : accept_invitation(db, link, hash, arena, ret, err);
}

/* Gives each of the invitations, which are in the map by their link_id, its own part of the roles.
 */
static void share_roles(const struct map *invitations, const struct list *all, struct arena *arena)
{
    struct tenant_membership *roles = ARENA_ARRAY(arena, struct tenant_membership, all->n);
    const struct link_membership *rows = all->items;

    for (size_t i = 0; i < all->n; i++) {
        struct invitation *of = map_get(invitations, rows[i].link_id);

        roles[i] = rows[i].role;
        if (of == NULL) /* it was made after they were listed */
            continue;
        if (of->tenants.n++ == 0)
            of->tenants.items = &roles[i];
    }
}

int links_list(struct db *db, int64_t tenant_id, struct arena *arena, struct listing *ret,
               struct error *err)
{
    const struct db_args open = DB_ARGS(db_int(tenant_id), db_int(clock_wall_us()));
    const struct link_row *row;
    struct invitation *items;
    struct list rows, roles;
    struct map by_id;

    if (rows_list(db, &select_invitations, open, arena, &rows, err) != 0 ||
        rows_list(db, &select_all_roles, open, arena, &roles, err) != 0)
        return -1;
    row = rows.items;
    items = ARENA_ARRAY(arena, struct invitation, rows.n);
    map_init(&by_id);
    for (size_t i = 0; i < rows.n; i++) {
        items[i] = (struct invitation){ .link_id = row[i].link_id,
                                        .email = row[i].email,
                                        .made_by = row[i].made_by,
                                        .role = users_role_name(row[i].platform_role),
                                        .created_at = row[i].created_at,
                                        .expires_at = row[i].expires_at };
        (void)map_put(&by_id, items[i].link_id, &items[i]);
    }
    share_roles(&by_id, &roles, arena);
    map_done(&by_id);
    ret->list = (struct list){ items, rows.n };
    return 0;
}
