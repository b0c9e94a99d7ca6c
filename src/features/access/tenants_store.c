/* tenants_store.c - SQL of tenants and of the registry's change number. */
#include "features/access/tenants.h"

#include <assert.h>

#include "db/db.h"
#include "db/servers.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

#define ANSWER_COLUMNS "slug, name, max_agents, rate_limit, max_bytes, created_at"

/* Values in registry_changes that stand for a subject other than a tenant and an agent. */
enum { ABOUT_NO_TENANT = -1, ABOUT_DIRECTIVES = -1, ABOUT_SCHEDULES = -2 };

/* clang-format off */
ROW_TABLE(tenant_row,
    INT(tenant_id),  STR(slug),        STR(name),        INT(max_agents),
    INT(rate_limit), INT(max_bytes),   INT(stored_bytes), TIME(created_at),
    BOOL(run_failed));

#define INSERT_END " ON CONFLICT (slug) DO NOTHING RETURNING tenant_id"
static const struct db_query insert_tenant = {
    .sqlite = "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at, max_bytes, changed,"
              " tenant_id) SELECT $1, $2, $3, $4, $5, $6, " CHANGE_NUMBER ", 1 + MAX(number,"
              " COALESCE((SELECT MAX(tenant_id) FROM tenants), 0))"
              " FROM change_numbers WHERE topic = 'tenant_id'" INSERT_END,
    .postgres = "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at, max_bytes,"
                " changed) VALUES ($1, $2, $3, $4, $5, $6, " CHANGE_NUMBER ")" INSERT_END,
    .citus = "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at, max_bytes,"
             " changed) VALUES ($1, $2, $3, $4, $5, $6, $7)" INSERT_END,
};
DB_RUN_FN(tenant_set, (const struct tenant_row *row),
    (db_text(row->slug), db_text(row->name), db_int(row->max_agents), db_int(row->rate_limit),
     db_int(row->max_bytes)),
    "UPDATE tenants SET name = $2, max_agents = $3, rate_limit = $4, max_bytes = $5, changed = "
    CHANGE_NUMBER " WHERE slug = $1");
DB_ROWS_QUERY(select_tenant, tenant_row,
    "SELECT tenant_id, " ANSWER_COLUMNS " FROM tenants WHERE slug = $1");
static const struct db_query select_tenants = {
    .row = &tenant_row,
    .sql = "SELECT t.tenant_id, " ANSWER_COLUMNS ", COALESCE(r.run_failed, 1) AS run_failed,"
           " COALESCE((SELECT SUM(b.bytes) FROM tenant_bytes b WHERE b.tenant_id = t.tenant_id), 0)"
           " AS stored_bytes"
           " FROM tenants t LEFT JOIN alert_rules r ON r.tenant_id = t.tenant_id"
           " WHERE t.changed > $1 AND t.changed <= $2 AND t.deleted_at IS NULL",
    .citus = "SELECT t.tenant_id, " ANSWER_COLUMNS ", COALESCE(r.run_failed, 1) AS run_failed,"
             " COALESCE(s.bytes, 0) AS stored_bytes"
             " FROM tenants t LEFT JOIN alert_rules r ON r.tenant_id = t.tenant_id LEFT JOIN"
             " (SELECT b.tenant_id, SUM(b.bytes) AS bytes FROM tenant_bytes b"
             " JOIN tenants c ON c.tenant_id = b.tenant_id WHERE c.changed > $1 AND c.changed <= $2"
             " GROUP BY b.tenant_id) s ON s.tenant_id = t.tenant_id"
             " WHERE t.changed > $1 AND t.changed <= $2 AND t.deleted_at IS NULL",
};
DB_ROWS_QUERY(select_plan, tenant_plan_shape,
    "SELECT " ANSWER_COLUMNS " FROM tenants WHERE slug = $1");
ROWS_LIST_FN(tenant_answers, tenant_shape, (struct str after, int64_t limit),
    (db_text(after), db_int(limit)),
    "SELECT " ANSWER_COLUMNS " FROM tenants WHERE deleted_at IS NULL AND slug > $1"
    " ORDER BY slug LIMIT $2");
#define COUNT_TENANTS "SELECT COUNT(*) FROM tenants WHERE deleted_at IS NULL"
static const struct db_query count_tenants = { .sql = COUNT_TENANTS, .citus = COUNT_TENANTS };
/* A slug has no '~', so the old one is free and the new one finds no tenant. */
DB_QUERY(mark_deleted,
    "UPDATE tenants SET slug = '~' || CAST(tenant_id AS TEXT), name = '', deleted_at = $2,"
    " changed = " CHANGE_NUMBER " WHERE tenant_id = $1 AND deleted_at IS NULL");
DB_QUERY(revoke_keys,
    "UPDATE keys SET revoked_at = $2, changed = " CHANGE_NUMBER
    " WHERE tenant_id = $1 AND revoked_at IS NULL");
DB_QUERY(delete_link_roles, "DELETE FROM user_link_roles WHERE tenant_id = $1");
DB_QUERY(delete_links, "DELETE FROM user_links WHERE tenant_id = $1");
DB_QUERY(delete_roles, "DELETE FROM user_roles WHERE tenant_id = $1");
DB_QUERY(select_number, "SELECT number FROM change_numbers WHERE topic = 'registry'");
DB_QUERY(add_to_number, "UPDATE change_numbers SET number = number + 1 WHERE topic = 'registry'");
/* The last 1,024 changes, each in the slot of its number: changes by older programs, which do not
 * record them, are missing. */
DB_QUERY(note_change,
    "INSERT INTO registry_changes (slot, number, about_tenant, about_agent)"
    " SELECT number % 1024, number, CAST($1 AS BIGINT), 0 FROM change_numbers"
    " WHERE topic = 'registry' ON CONFLICT (slot) DO UPDATE SET number = excluded.number,"
    " about_tenant = excluded.about_tenant, about_agent = 0");
DB_QUERY(set_about,
    "UPDATE registry_changes SET about_tenant = $1, about_agent = $2 WHERE number = " CHANGE_NUMBER);
DB_QUERY(select_abouts,
    "SELECT about_tenant, about_agent FROM registry_changes WHERE number > $1 AND number <= $2");
DB_QUERY(ask_reload,
    "UPDATE change_numbers SET number = " CHANGE_NUMBER " WHERE topic = 'registry_all'");
DB_QUERY(select_numbers,
    "SELECT MAX(CASE WHEN topic = 'registry' THEN number END),"
    " MAX(CASE WHEN topic = 'registry_all' THEN number END)"
    " FROM change_numbers WHERE topic IN ('registry', 'registry_all')");
static const struct db_query count_agents = {
    .sql = "SELECT agents FROM tenants WHERE tenant_id = $1",
    .citus = "SELECT COUNT(*) FROM agents WHERE tenant_id = $1 AND deleted_at IS NULL",
};
/* clang-format on */

int tenant_add(struct db *db, struct tenant_row *row, struct error *err)
{
    int64_t id = 0, changed = 0;

    if (db_is_distributed(db) &&
        db_exec(db, &select_number, DB_NO_ARGS, db_read_int, &changed, err) != 0)
        return -1;
    if (db_exec(db, &insert_tenant,
                DB_ARGS(db_text(row->slug), db_text(row->name), db_int(row->max_agents),
                        db_int(row->rate_limit), db_int(row->created_at), db_int(row->max_bytes),
                        db_int(changed)),
                db_read_int, &id, err) != 0)
        return -1;
    if (id == 0)
        return err_set(err, ERR_CONFLICT, "tenant '%.*s' exists already", STR_ARG(row->slug));
    row->tenant_id = id;
    return 0;
}

int tenants_load(struct db *db, struct change_span span, struct arena *arena, struct list *ret,
                 struct error *err)
{
    return rows_list(db, &select_tenants, DB_ARGS(db_int(span.after), db_int(span.until)), arena,
                     ret, err);
}

static int check_found(struct str found, struct str slug, struct error *err)
{
    return str_is_null(found)
               ? err_set(err, ERR_NOT_FOUND, "there is no tenant '%.*s'", STR_ARG(slug))
               : 0;
}

int tenant_find(struct db *db, struct str slug, struct arena *arena, struct tenant_row *ret,
                struct error *err)
{
    if (rows_one(db, &select_tenant, DB_ARGS(db_text(slug)), arena, ret, err) != 0)
        return -1;
    return check_found(ret->slug, slug, err);
}

int tenant_count(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &count_tenants, DB_NO_ARGS, ret, err);
}

int tenant_load_plan(struct db *db, struct str slug, struct arena *arena, struct tenant_plan *ret,
                     struct error *err)
{
    if (rows_one(db, &select_plan, DB_ARGS(db_text(slug)), arena, ret, err) != 0)
        return -1;
    return check_found(ret->slug, slug, err);
}

int tenant_delete(struct db *db, int64_t tenant_id, int64_t now_us, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(now_us));

    assert(tenant_id > 0);
    if (db_run(db, &mark_deleted, args, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_NOT_FOUND, "the tenant was deleted meanwhile");
    if (db_run(db, &revoke_keys, args, err) != 0 || db_run(db, &delete_roles, args, err) != 0 ||
        db_run(db, &delete_link_roles, DB_ARGS(db_int(tenant_id)), err) != 0 ||
        db_run(db, &delete_links, DB_ARGS(db_int(tenant_id)), err) != 0)
        return -1;
    return registry_reload(db, err); /* its row will be gone */
}

int registry_load_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_number, DB_NO_ARGS, db_read_int, ret, err);
}

static bool read_numbers(void *ctx, const struct db_row *row)
{
    *(struct registry_numbers *)ctx =
        (struct registry_numbers){ db_get_int(row, 0), db_get_int(row, 1) };
    return true;
}

int registry_load_numbers(struct db *db, struct registry_numbers *ret, struct error *err)
{
    *ret = (struct registry_numbers){ 0 };
    return db_exec(db, &select_numbers, DB_NO_ARGS, read_numbers, ret, err);
}

int registry_changed(struct db *db, struct error *err)
{
    if (db_run_later(db, &add_to_number, DB_NO_ARGS, err) != 0 ||
        db_run_later(db, &note_change, DB_ARGS(db_int(ABOUT_NO_TENANT)), err) != 0)
        return -1;
    return db_notify(db, STR_LIT(ENGINE_CHANGED), err);
}

int registry_about_agent(struct db *db, int64_t tenant_id, int64_t agent_id, struct error *err)
{
    assert(agent_id > 0);
    return db_run_later(db, &set_about, DB_ARGS(db_int(tenant_id), db_int(agent_id)), err);
}

int registry_about_directives(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_run_later(db, &set_about, DB_ARGS(db_int(tenant_id), db_int(ABOUT_DIRECTIVES)), err);
}

int registry_about_schedules(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_run_later(db, &set_about, DB_ARGS(db_int(tenant_id), db_int(ABOUT_SCHEDULES)), err);
}

struct abouts_read {
    struct registry_abouts *abouts;
    int64_t n;
};

static bool read_about(void *ctx, const struct db_row *row)
{
    struct abouts_read *read = ctx;
    struct registry_abouts *abouts = read->abouts;
    const int64_t tenant_id = db_get_int(row, 0), agent_id = db_get_int(row, 1);

    read->n++;
    if (agent_id == ABOUT_DIRECTIVES)
        abouts->on_directives(abouts->ctx, tenant_id);
    else if (agent_id == ABOUT_SCHEDULES)
        abouts->schedules = true;
    else if (agent_id != 0)
        abouts->on_agent(abouts->ctx, tenant_id, agent_id);
    return true;
}

int registry_load_abouts(struct db *db, struct change_span span, struct registry_abouts *abouts,
                         struct error *err)
{
    struct abouts_read read = { abouts, 0 };

    abouts->any_agents = abouts->any_directives = abouts->schedules = false;
    if (db_exec(db, &select_abouts, DB_ARGS(db_int(span.after), db_int(span.until)), read_about,
                &read, err) != 0)
        return -1;
    if (read.n != span.until - span.after)
        abouts->any_agents = abouts->any_directives = abouts->schedules = true;
    return 0;
}

int registry_reload(struct db *db, struct error *err)
{
    return db_run(db, &ask_reload, DB_NO_ARGS, err);
}

int tenant_agents(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    return db_exec(db, &count_agents, DB_ARGS(db_int(tenant_id)), db_read_int, ret, err);
}
