/* store.c - SQL of the provider's groups. */
#include "features/oidc/store.h"

#include "db/db.h"
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

int store_groups(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_groups, DB_NO_ARGS, arena, ret, err);
}

int store_groups_check_room(struct db *db, struct error *err)
{
    return db_check_room(db, &count_groups, DB_NO_ARGS, GROUP_ROWS_MAX, "groups", err);
}

int store_group_add(struct db *db, const struct oidc_group *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->group), db_text(row->group_id),
                db_int(row->role), db_int(row->created_at));

    return db_run_or(db, &insert_group, args, err, ERR_CONFLICT,
                     "Group '%.*s' has a role there already; delete that first",
                     STR_ARG(row->group));
}

int store_group_remove(struct db *db, struct str group_id, struct error *err)
{
    return db_run_or(db, &delete_group, DB_ARGS(db_text(group_id)), err, ERR_NOT_FOUND,
                     "There is no group '%.*s'", STR_ARG(group_id));
}
