/* agents_store.c - SQL of agents: found, added within the plan's cap, counted, muted and deleted.
 */
#include "features/agents/agents_store.h"

#include "db/lists.h"
#include "db/name_key.h"
#include "db/servers.h"
#include "features/access/tenants.h"
#include "features/agents/agents.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE_OF(agent_name_row, struct agent_name,
    INT(agent_id), STR(name));

DB_QUERY(select_agent,
    "SELECT a.agent_id, a.enabled, s.last_seen_at, a.interval_seconds"
    " FROM agents a JOIN agent_signs s"
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id"
    " WHERE a.tenant_id = $1 AND a.agent_name = $2 AND a.deleted_at IS NULL");
DB_QUERY(select_id, "SELECT agent_id FROM agents WHERE tenant_id = $1 AND agent_name = $2");
DB_QUERY(revive_agent,
    "UPDATE agents SET deleted_at = NULL, enabled = 1, first_seen_at = $3"
    " WHERE tenant_id = $1 AND agent_name = $2 RETURNING agent_id");
static const struct db_query insert_agent = {
    .sqlite = "INSERT INTO agents (tenant_id, agent_name, full_name, enabled, first_seen_at,"
              " agent_id) SELECT $1, $2, $3, 1, $4, 1 + MAX(number,"
              " COALESCE((SELECT MAX(agent_id) FROM agents), 0))"
              " FROM change_numbers WHERE topic = 'agent_id' RETURNING agent_id",
    .postgres = "INSERT INTO agents (tenant_id, agent_name, full_name, enabled, first_seen_at,"
                " agent_id) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, 1, $4, $5)"
                " RETURNING agent_id",
};
DB_QUERY(insert_sign, "INSERT INTO agent_signs (tenant_id, agent_id) VALUES ($1, $2)");
DB_QUERY(forget_signs,
    "UPDATE agent_signs SET last_seen_at = NULL WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(mute_agent,
    "UPDATE agents SET muted_until = $3"
    " WHERE tenant_id = $1 AND agent_name = $2 AND deleted_at IS NULL");
DB_QUERY(select_off,
    "SELECT 1 FROM agents WHERE tenant_id = $1 AND agent_id = $2"
    " AND (enabled = 0 OR deleted_at IS NOT NULL)");
DB_QUERY(select_muted,
    "SELECT COALESCE(muted_until, 0) FROM agents WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(enable_agent,
    "UPDATE agents SET enabled = $3"
    " WHERE tenant_id = $1 AND agent_name = $2 AND deleted_at IS NULL RETURNING agent_id");
ROWS_LIST_FN(agents_names, agent_name_row, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT agent_id, COALESCE(full_name, agent_name) AS name FROM agents WHERE tenant_id = $1"
    " ORDER BY agent_id");

/* How many agents a tenant has is kept, not counted: in the tenant's row, or where Citus distributes
 * the database, in a row on the tenant's own server: the tenants' rows are on all servers, and a
 * transaction that changed them would take two phases and need all servers. That row is locked
 * before rows of agents, so one transaction at a time adds agents to a tenant. The count is never
 * below the number of agents; it may be above it, so an agent is refused by the rows alone. */
static const struct db_query select_count = {
    .sqlite = "SELECT agents, max_agents FROM tenants WHERE tenant_id = $1",
    .postgres = "SELECT agents, max_agents FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE",
    .citus = "SELECT agents, -1 FROM agent_counts WHERE tenant_id = $1 FOR NO KEY UPDATE",
};
DB_QUERY(select_max, "SELECT max_agents FROM tenants WHERE tenant_id = $1");
static const struct db_query add_count = {
    .postgres = "INSERT INTO agent_counts (tenant_id, agents) VALUES ($1, 0)"
                " ON CONFLICT (tenant_id) DO NOTHING",
};
static const struct db_query update_count = {
    .sql = "UPDATE tenants SET agents = $2 WHERE tenant_id = $1",
    .citus = "UPDATE agent_counts SET agents = $2 WHERE tenant_id = $1",
};
DB_QUERY(count_agents, "SELECT COUNT(*) FROM agents WHERE tenant_id = $1 AND deleted_at IS NULL");
static const struct db_query set_all_counts = {
    .postgres = "INSERT INTO agent_counts (tenant_id, agents)"
                " SELECT tenant_id, COUNT(*) FROM agents WHERE deleted_at IS NULL GROUP BY tenant_id"
                " ON CONFLICT (tenant_id) DO UPDATE SET agents = excluded.agents",
};
#define LOW_COUNTS(table)                                                                          \
    "SELECT c.tenant_id, c.agents, COUNT(*) FROM " table " c"                                      \
    " JOIN agents a ON a.tenant_id = c.tenant_id WHERE a.deleted_at IS NULL"                       \
    " GROUP BY c.tenant_id, c.agents HAVING COUNT(*) > c.agents"
static const struct db_query select_low_counts = {
    .sql = LOW_COUNTS("tenants"),
    .citus = LOW_COUNTS("agent_counts"),
};

static const struct db_query find_agents = {
    .postgres = "SELECT x.place, a.agent_id, a.enabled, s.last_seen_at, a.interval_seconds"
                " FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS x(tenant_id, agent_name, place)"
                " JOIN agents a ON a.tenant_id = x.tenant_id AND a.agent_name = x.agent_name"
                " JOIN agent_signs s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id"
                " WHERE a.deleted_at IS NULL",
    .citus = "SELECT 0", /* not used there */
};
/* Locks the tenants in the order of their numbers, as all writers do, and reads their counts after
 * that; the unique index decides between processes. A name that was deleted is there. */
static const struct db_query add_agents = {
    .postgres = "WITH wanted AS (SELECT * FROM unnest($1::bigint[], $2::text[],"
                " $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])"
                " AS x(tenant_id, agent_name, full_name, first_seen_at, last_seen_at, agent_id)),"
                " asked AS (SELECT tenant_id, COUNT(*) AS n FROM wanted GROUP BY tenant_id),"
                " room AS (SELECT tenant_id, max_agents - agents AS free FROM tenants"
                " WHERE tenant_id = ANY ($1::bigint[]) ORDER BY tenant_id FOR NO KEY UPDATE),"
                " made AS (INSERT INTO agents (tenant_id, agent_name, full_name, enabled,"
                " first_seen_at, agent_id) OVERRIDING SYSTEM VALUE"
                " SELECT w.tenant_id, w.agent_name, w.full_name, 1, w.first_seen_at, w.agent_id FROM wanted w"
                " JOIN asked a ON a.tenant_id = w.tenant_id JOIN room r ON r.tenant_id = w.tenant_id"
                " WHERE a.n <= r.free ORDER BY w.tenant_id, w.agent_name COLLATE \"C\""
                " ON CONFLICT DO NOTHING RETURNING tenant_id, agent_id),"
                " seen AS (INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)"
                " SELECT m.tenant_id, m.agent_id, w.last_seen_at FROM made m"
                " JOIN wanted w ON w.agent_id = m.agent_id),"
                " counted AS (UPDATE tenants t SET agents = t.agents + m.n FROM (SELECT tenant_id,"
                " COUNT(*) AS n FROM made GROUP BY tenant_id) m WHERE t.tenant_id = m.tenant_id)"
                " SELECT agent_id FROM made",
    .citus = "SELECT 0", /* not used there */
};

/* What the agent declared is cleared; the row stays, since its reports refer to it. */
DB_QUERY(mark_agent,
    "UPDATE agents SET deleted_at = $3, registered_version = '', description = '',"
    " telemetry_doc = '', interval_seconds = NULL, inputs = NULL, outputs = NULL,"
    " config_schema = NULL, registered_at = NULL, muted_until = NULL"
    " WHERE tenant_id = $1 AND agent_name = $2 AND deleted_at IS NULL RETURNING agent_id");
DB_QUERY(delete_kpis, "DELETE FROM kpis WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(delete_schedule, "DELETE FROM agent_schedules WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(delete_windows, "DELETE FROM maintenance_windows WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(revoke_keys,
    "UPDATE keys SET revoked_at = $3, changed = " CHANGE_NUMBER
    " WHERE tenant_id = $1 AND agent_name = $2 AND revoked_at IS NULL");
DB_QUERY(select_schema,
    "SELECT config_schema FROM agents WHERE tenant_id = $1 AND agent_name = $2");
static const struct db_query select_schemas = {
    .sqlite = "SELECT COALESCE(full_name, agent_name), config_schema FROM agents"
              " WHERE tenant_id = $1 AND instr(config_schema, $2) > 0 LIMIT 1000",
    .postgres = "SELECT COALESCE(full_name, agent_name), config_schema FROM agents"
                " WHERE tenant_id = $1 AND strpos(config_schema, $2) > 0 LIMIT 1000",
};
/* clang-format on */

struct agent_count {
    int64_t used, max;
};

static bool read_count(void *ctx, const struct db_row *row)
{
    *(struct agent_count *)ctx = (struct agent_count){ db_get_int(row, 0), db_get_int(row, 1) };
    return false;
}

static int set_count(struct db *db, int64_t tenant_id, int64_t used, struct error *err)
{
    return db_run(db, &update_count, DB_ARGS(db_int(tenant_id), db_int(used)), err);
}

/* Sets the count to the number of rows. */
static int recount(struct db *db, int64_t tenant_id, struct agent_count *c, struct error *err)
{
    if (db_exec(db, &count_agents, DB_ARGS(db_int(tenant_id)), db_read_int, &c->used, err) != 0)
        return -1;
    return set_count(db, tenant_id, c->used, err);
}

/* Locks the tenant's count until the transaction ends, and reads it. */
static int lock_count(struct db *db, int64_t tenant_id, struct agent_count *ret, struct error *err)
{
    const struct db_args tenant = DB_ARGS(db_int(tenant_id));

    *ret = (struct agent_count){ .used = db_is_distributed(db) ? -1 : 0 };
    if (db_exec(db, &select_count, tenant, read_count, ret, err) != 0)
        return -1;
    if (!db_is_distributed(db))
        return 0;
    if (ret->used < 0 && (db_run(db, &add_count, tenant, err) != 0 ||
                          db_exec(db, &select_count, tenant, read_count, ret, err) != 0 ||
                          recount(db, tenant_id, ret, err) != 0))
        return -1;
    return db_exec(db, &select_max, tenant, db_read_int, &ret->max, err);
}

int agents_count_all(struct db *db, struct error *err)
{
    return db_run(db, &set_all_counts, DB_NO_ARGS, err);
}

struct count_check {
    agents_low_count_fn *on_low;
    void *ctx;
};

static bool pass_low(void *ctx, const struct db_row *row)
{
    const struct count_check *check = ctx;

    return check->on_low(check->ctx, db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2));
}

int agents_check_counts(struct db *db, agents_low_count_fn *on_low, void *ctx, struct error *err)
{
    struct count_check check = { on_low, ctx };

    return db_exec(db, &select_low_counts, DB_NO_ARGS, pass_low, &check, err);
}

static bool read_agent(void *ctx, const struct db_row *row)
{
    struct agent_row *agent = ctx;

    agent->agent_id = db_get_int(row, 0);
    agent->enabled = db_get_int(row, 1) != 0;
    agent->last_seen_at = rows_time(row, 2);
    agent->interval_seconds = rows_opt_int(row, 3);
    return false;
}

static int find_agent(struct db *db, int64_t tenant_id, const struct name_key *name,
                      struct agent_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name->key));

    *ret = (struct agent_row){ 0 };
    return db_exec(db, &select_agent, args, read_agent, ret, err);
}

int agents_find(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    return find_agent(db, tenant_id, &name, ret, err);
}

static int not_found(struct str agent_name, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(agent_name));
}

int agents_require(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                   struct error *err)
{
    if (agents_find(db, tenant_id, agent_name, ret, err) != 0)
        return -1;
    return ret->agent_id == 0 ? not_found(agent_name, err) : 0;
}

int agents_id_of(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                 struct error *err)
{
    struct name_room room;

    return db_exec_int(
        db, &select_id,
        DB_ARGS(db_int(tenant_id), db_text(store_name_key_in(agent_name, &room).key)), ret, err);
}

int agents_filter_id(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                     struct error *err)
{
    *ret = 0;
    if (str_is_null(agent_name))
        return 0;
    if (agents_id_of(db, tenant_id, agent_name, ret, err) != 0)
        return -1;
    if (*ret == 0)
        *ret = -1;
    return 0;
}

static int insert_row(struct db *db, int64_t tenant_id, const struct name_key *name, int64_t now_us,
                      int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name->key), db_text(name->full),
                                        db_int(now_us), db_int(db_number(db)));
    const struct db_args again = DB_ARGS(db_int(tenant_id), db_text(name->key), db_int(now_us));

    const struct db_query *sighting = &forget_signs;

    if (db_exec(db, &revive_agent, again, db_read_int, ret, err) != 0)
        return -1;
    if (*ret == 0) {
        sighting = &insert_sign;
        if (db_exec(db, &insert_agent, args, db_read_int, ret, err) != 0)
            return -1;
    }
    return db_run(db, sighting, DB_ARGS(db_int(tenant_id), db_int(*ret)), err);
}

int agents_add(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
               struct agent_row *ret, struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);
    struct agent_count count;

    if (lock_count(db, tenant_id, &count, err) != 0 ||
        find_agent(db, tenant_id, &name, ret, err) != 0)
        return -1;
    if (ret->agent_id != 0)
        return 0;
    if (count.used >= count.max && recount(db, tenant_id, &count, err) != 0)
        return -1;
    if (count.used >= count.max)
        return 0;
    *ret = (struct agent_row){ .enabled = true, .last_seen_at = TIME_NULL };
    if (insert_row(db, tenant_id, &name, now_us, &ret->agent_id, err) != 0)
        return -1;
    return set_count(db, tenant_id, count.used + 1, err);
}

int agents_enable(struct db *db, int64_t tenant_id, struct str agent_name, bool enabled,
                  int64_t *ret_agent_id, struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    *ret_agent_id = 0;
    if (db_exec(db, &enable_agent, DB_ARGS(db_int(tenant_id), db_text(name.key), db_int(enabled)),
                db_read_int, ret_agent_id, err) != 0)
        return -1;
    if (*ret_agent_id == 0)
        return not_found(agent_name, err);
    return registry_about_agent(db, tenant_id, *ret_agent_id, err);
}

int agents_mute(struct db *db, int64_t tenant_id, struct str agent_name, int64_t until,
                struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    if (db_run(db, &mute_agent,
               DB_ARGS(db_int(tenant_id), db_text(name.key), rows_time_value(until)), err) != 0)
        return -1;
    return db_changes(db) == 0 ? not_found(agent_name, err) : 0;
}

int agents_is_off(struct db *db, int64_t tenant_id, int64_t agent_id, bool *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));

    return db_exec_bool(db, &select_off, args, ret, err);
}

int agents_is_muted(struct db *db, int64_t tenant_id, int64_t agent_id, int64_t now_us, bool *ret,
                    struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));
    int64_t until = 0;

    if (db_exec(db, &select_muted, args, db_read_int, &until, err) != 0)
        return -1;
    *ret = until > now_us;
    return 0;
}

struct sought {
    struct agent_seek *seeks;
    size_t n;
};

static bool read_found(void *ctx, const struct db_row *row)
{
    const struct sought *sought = ctx;
    const size_t place = (size_t)db_get_int(row, 0);

    if (place < sought->n)
        sought->seeks[place].row = (struct agent_row){ .agent_id = db_get_int(row, 1),
                                                       .enabled = db_get_int(row, 2) != 0,
                                                       .last_seen_at = rows_time(row, 3),
                                                       .interval_seconds = rows_opt_int(row, 4) };
    return true;
}

int agents_find_all(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                    struct error *err)
{
    struct sought sought = { seeks, n };
    struct db_value args[3];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), arena);

    for (size_t i = 0; i < n; i++) {
        const struct name_key name = store_name_key(seeks[i].agent_name, arena);

        seeks[i].row = (struct agent_row){ 0 };
        pg_arrays_add(&arrays, (const struct db_value[]){ db_int(seeks[i].tenant_id),
                                                          db_text(name.key), db_int((int64_t)i) });
    }
    pg_arrays_args(&arrays, args);
    return db_exec(db, &find_agents, DB_ARGS_OF(args), read_found, &sought, err);
}

/* Their numbers were made in the order of the seeks. */
static bool read_made(void *ctx, const struct db_row *row)
{
    const struct sought *sought = ctx;
    const int64_t agent_id = db_get_int(row, 0);
    size_t first = 0, end = sought->n;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (sought->seeks[middle].row.agent_id < agent_id)
            first = middle + 1;
        else
            end = middle;
    }
    if (first < sought->n && sought->seeks[first].row.agent_id == agent_id)
        sought->seeks[first].row.enabled = true;
    return true;
}

int agents_add_all(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                   struct error *err)
{
    struct sought sought = { seeks, n };
    struct db_value args[6];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), arena);
    int r;

    for (size_t i = 0; i < n; i++) {
        const struct name_key name = store_name_key(seeks[i].agent_name, arena);

        seeks[i].row =
            (struct agent_row){ .agent_id = db_number(db),
                                .last_seen_at = seeks[i].seen ? seeks[i].at : TIME_NULL };
        pg_arrays_add(&arrays,
                      (const struct db_value[]){ db_int(seeks[i].tenant_id), db_text(name.key),
                                                 db_text(name.full), db_int(seeks[i].at),
                                                 rows_time_value(seeks[i].row.last_seen_at),
                                                 db_int(seeks[i].row.agent_id) });
    }
    pg_arrays_args(&arrays, args);
    r = db_exec(db, &add_agents, DB_ARGS_OF(args), read_made, &sought, err);
    for (size_t i = 0; i < n; i++)
        if (!seeks[i].row.enabled) /* it was not added */
            seeks[i].row = (struct agent_row){ 0 };
    return r;
}

int agents_delete(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                  struct agent_deletion *ret, struct error *err)
{
    const struct db_args keys = DB_ARGS(db_int(tenant_id), db_text(agent_name), db_int(now_us));
    struct name_room room;
    const struct db_args named = DB_ARGS(
        db_int(tenant_id), db_text(store_name_key_in(agent_name, &room).key), db_int(now_us));
    struct agent_count count;
    struct db_args agent;

    *ret = (struct agent_deletion){ 0 };
    if (lock_count(db, tenant_id, &count, err) != 0 ||
        db_exec(db, &mark_agent, named, db_read_int, &ret->agent_id, err) != 0)
        return -1;
    if (ret->agent_id == 0)
        return not_found(agent_name, err);
    if (count.used > 0 && set_count(db, tenant_id, count.used - 1, err) != 0)
        return -1;
    agent = DB_ARGS(db_int(tenant_id), db_int(ret->agent_id));
    if (db_run(db, &forget_signs, agent, err) != 0 || db_run(db, &delete_kpis, agent, err) != 0 ||
        db_run(db, &delete_schedule, agent, err) != 0 ||
        db_run(db, &delete_windows, agent, err) != 0 || db_run(db, &revoke_keys, keys, err) != 0)
        return -1;
    ret->keys_revoked = db_changes(db);
    return registry_about_agent(db, tenant_id, ret->agent_id, err);
}

int config_schema_of(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                     struct str *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(store_name_key(agent_name, arena).key));

    return rows_one_text(db, &select_schema, args, arena, ret, err);
}

int config_schemas_with(struct db *db, int64_t tenant_id, struct str word, db_row_fn *on_row,
                        void *ctx, struct error *err)
{
    return db_exec(db, &select_schemas, DB_ARGS(db_int(tenant_id), db_text(word)), on_row, ctx,
                   err);
}
