/* tenants_store.c - SQL of tenants and of the registry's change number. */
#include "features/access/tenants_store.h"

#include "db/db.h"
#include "shape/rows.h"

/* clang-format off */
static const struct db_query insert_tenant = {
    .sql = "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at)"
           " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (slug) DO NOTHING RETURNING tenant_id",
};
static const struct db_query update_tenant = {
    .sql = "UPDATE tenants SET name = $2, max_agents = $3, rate_limit = $4 WHERE slug = $1",
 };
static const struct db_query select_tenant = {
    .sql = "SELECT tenant_id, slug, name, max_agents, rate_limit, created_at FROM tenants"
           " WHERE slug = $1",
};
static const struct db_query select_tenants = {
    .sql = "SELECT t.tenant_id, t.slug, t.name, t.max_agents, t.rate_limit, t.created_at,"
           " COALESCE(r.run_failed, 0) FROM tenants t"
           " LEFT JOIN alert_rules r ON r.tenant_id = t.tenant_id ORDER BY t.slug",
};
static const struct db_query select_number = {
    .sql = "SELECT number FROM change_numbers WHERE topic = 'registry'",
 };
static const struct db_query add_to_number = {
    .sql = "UPDATE change_numbers SET number = number + 1 WHERE topic = 'registry'",
 };
/* clang-format on */

int store_tenant_add(struct db *db, struct tenant_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_text(row->slug), db_text(row->name), db_int(row->max_agents),
                db_int(row->rate_limit), db_int(row->created_at));
    int64_t id = 0;

    if (db_exec(db, &insert_tenant, args, db_read_int, &id, err) != 0)
        return -1;
    if (id == 0)
        return err_set(err, ERR_CONFLICT, "tenant '%.*s' exists already", STR_ARG(row->slug));
    row->tenant_id = id;
    return 0;
}

int store_tenant_set(struct db *db, const struct tenant_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(row->slug), db_text(row->name),
                                        db_int(row->max_agents), db_int(row->rate_limit));

    return db_exec(db, &update_tenant, args, NULL, NULL, err);
}

static bool add_tenant_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct tenant_row *t = rows_add(rows);

    t->tenant_id = db_get_int(row, 0);
    t->slug = rows_text(rows->arena, row, 1);
    t->name = rows_text(rows->arena, row, 2);
    t->max_agents = db_get_int(row, 3);
    t->rate_limit = db_get_int(row, 4);
    t->created_at = db_get_int(row, 5);
    return true;
}

static bool add_with_rules(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct tenant_row *t;

    (void)add_tenant_row(rows, row);
    t = &((struct tenant_row *)rows->items)[rows->n - 1];
    t->run_failed = db_get_int(row, 6) != 0;
    return true;
}

int store_tenants(struct db *db, struct arena *arena, struct tenant_row **ret, size_t *ret_n,
                  struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct tenant_row) };

    if (db_exec(db, &select_tenants, DB_NO_ARGS, add_with_rules, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_tenant(struct db *db, struct str slug, struct arena *arena, struct tenant_row *ret,
                 struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct tenant_row) };
    const struct db_args args = DB_ARGS(db_text(slug));

    if (db_exec(db, &select_tenant, args, add_tenant_row, &rows, err) != 0)
        return -1;
    if (rows.n == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no tenant '%.*s'", STR_ARG(slug));
    *ret = *(struct tenant_row *)rows.items;
    return 0;
}

int store_registry_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_number, DB_NO_ARGS, db_read_int, ret, err);
}

int store_registry_changed(struct db *db, struct error *err)
{
    return db_exec(db, &add_to_number, DB_NO_ARGS, NULL, NULL, err);
}
