/* store.c - SQL of invitations and reset links. */
#include "features/users/links/store.h"

#include <assert.h>

#include "db/db.h"
#include "features/users/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

#define LINK_COLUMNS                                                                               \
    "link_id, kind, state, tenant_id, email, platform_role, made_by, created_at, expires_at"

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
DB_INT_FN(store_links_open, (int64_t tenant_id, enum link_kind kind, int64_t now),
    (db_int(tenant_id), db_int(kind), db_int(now)),
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
ROWS_LIST_FN(store_invitations, link_row_shape, (int64_t tenant_id, int64_t now),
    (db_int(tenant_id), db_int(now)),
    "SELECT " LINK_COLUMNS " FROM user_links WHERE tenant_id = $1 AND kind = 0"
    " AND state = 0 AND expires_at > $2 ORDER BY created_at DESC, link_id");
ROW_TABLE(link_membership,
    STR(link_id), EMBEDDED(role, STR(slug), STR(name), STR(role, .choices = tenant_role_names)));
ROWS_LIST_FN(store_invitations_roles, link_membership, (int64_t tenant_id, int64_t now),
    (db_int(tenant_id), db_int(now)),
    "SELECT l.link_id, t.slug, t.name, r.role FROM user_links l"
    " JOIN user_link_roles r ON r.link_id = l.link_id JOIN tenants t ON t.tenant_id = r.tenant_id"
    " WHERE l.tenant_id = $1 AND l.kind = 0 AND l.state = 0 AND l.expires_at > $2"
    " AND t.deleted_at IS NULL ORDER BY l.link_id, t.slug");
DB_ROWS_QUERY(select_roles, tenant_membership_shape,
    "SELECT t.slug, t.name, r.role FROM user_link_roles r"
    " JOIN tenants t ON t.tenant_id = r.tenant_id"
    " WHERE r.link_id = $1 AND t.deleted_at IS NULL ORDER BY t.slug");
DB_QUERY(revoke_invitation,
    "UPDATE user_links SET state = 2 WHERE tenant_id = $1 AND link_id = $2 AND kind = 0"
    " AND state = 0");
DB_RUN_FN(store_invitations_replace, (int64_t tenant_id, struct str email),
    (db_int(tenant_id), db_text(email)),
    "UPDATE user_links SET state = 2 WHERE tenant_id = $1 AND email = $2 AND kind = 0"
    " AND state = 0");
DB_RUN_FN(store_resets_end, (struct str email), (db_text(email)),
    "UPDATE user_links SET state = 2 WHERE email = $1 AND kind = 1 AND state = 0");
DB_RUN_FN(store_invitations_end, (struct str email), (db_text(email)),
    "UPDATE user_links SET state = 2 WHERE email = $1 AND kind = 0 AND state = 0");
DB_RUN_FN(store_links_end_of, (struct str made_by, int64_t tenant_id),
    (db_text(made_by), db_int(tenant_id)),
    "UPDATE user_links SET state = 2 WHERE made_by = $1 AND state = 0"
    " AND (tenant_id = $2 OR $2 = 0)");
DB_QUERY(prune_roles,
    "DELETE FROM user_link_roles WHERE link_id IN"
    " (SELECT link_id FROM user_links WHERE created_at < $1)");
DB_QUERY(prune_links, "DELETE FROM user_links WHERE created_at < $1");
/* clang-format on */

int store_link_add(struct db *db, const struct link_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(
        db_text(row->link_id), db_int(row->kind), db_int(row->state), db_int(row->tenant_id),
        db_text(row->email), db_int(row->platform_role), db_text(row->made_by),
        db_int(row->created_at), db_int(row->expires_at), db_blob(digest_str(&row->digest)));

    assert(row->state == LINK_OPEN && row->expires_at > row->created_at && row->email.len > 0);
    return db_run(db, &insert_link, args, err);
}

int store_link_role_add(struct db *db, int64_t tenant_id, struct str link_id, int role,
                        struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(link_id), db_int(role));

    assert(tenant_id > 0);
    return db_run(db, &insert_role, args, err);
}

int store_link_find(struct db *db, const struct sha256 *digest, struct arena *arena,
                    struct link_row *ret, struct error *err)
{
    return rows_one(db, &find_link, DB_ARGS(db_blob(digest_str(digest))), arena, ret, err);
}

int store_link_use(struct db *db, struct str link_id, int64_t now, bool *ret, struct error *err)
{
    return db_run_changed(db, &use_link, DB_ARGS(db_text(link_id), db_int(now)), ret, err);
}

int store_links_since(struct db *db, int64_t tenant_id, int64_t since, int64_t *ret,
                      struct error *err)
{
    return db_exec_int(db, &count_since, DB_ARGS(db_int(tenant_id), db_int(since)), ret, err);
}

int store_resets_asked(struct db *db, struct str email, int64_t since, int64_t *ret,
                       struct error *err)
{
    *ret = 0;
    if (str_is_null(email))
        return db_exec(db, &count_all_asked, DB_ARGS(db_int(since)), db_read_int, ret, err);
    return db_exec(db, &count_asked, DB_ARGS(db_text(email), db_int(since)), db_read_int, ret, err);
}

int store_link_roles(struct db *db, struct str link_id, struct arena *arena, struct list *ret,
                     struct error *err)
{
    return rows_list(db, &select_roles, DB_ARGS(db_text(link_id)), arena, ret, err);
}

int store_invitation_revoke(struct db *db, int64_t tenant_id, struct str link_id, struct error *err)
{
    return db_run_or(db, &revoke_invitation, DB_ARGS(db_int(tenant_id), db_text(link_id)), err,
                     ERR_NOT_FOUND, "There is no open invitation '%.*s'", STR_ARG(link_id));
}

int store_links_prune(struct db *db, int64_t created_before, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(created_before));

    if (db_run(db, &prune_roles, args, err) != 0)
        return -1;
    return db_run(db, &prune_links, args, err);
}
