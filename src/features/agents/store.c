/* store.c - SQL of agents. */
#include "features/agents/store.h"

#include <string.h>

#include "db/name_key.h"
#include "features/access/tenants.h"
#include "features/agents/agent_count.h"
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
/* All of that in one round trip, for an agent that was never there: the count locks the tenant's row
 * and is compared with the cap again after a wait; the unique index decides between processes. */
static const struct db_query add_new_agent = {
    .sqlite = "SELECT 0, 0", /* asked step by step */
    .postgres = "WITH room AS (UPDATE tenants SET agents = agents + 1"
                " WHERE tenant_id = $1 AND agents < max_agents RETURNING tenant_id),"
                " made AS (INSERT INTO agents (tenant_id, agent_name, full_name, enabled,"
                " first_seen_at, agent_id) OVERRIDING SYSTEM VALUE"
                " SELECT tenant_id, $2, $3, 1, $4, $5 FROM room"
                " ON CONFLICT DO NOTHING RETURNING tenant_id, agent_id),"
                " seen AS (INSERT INTO agent_signs (tenant_id, agent_id)"
                " SELECT tenant_id, agent_id FROM made)"
                " SELECT (SELECT COUNT(*) FROM room), COALESCE((SELECT agent_id FROM made), 0)",
    .citus = "SELECT 0, 0",
};
DB_QUERY(take_from_agents, "UPDATE tenants SET agents = agents - 1 WHERE tenant_id = $1");
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
ROWS_LIST_FN(store_agent_names, agent_name_row, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT agent_id, COALESCE(full_name, agent_name) AS name FROM agents WHERE tenant_id = $1"
    " ORDER BY agent_id");
/* clang-format on */

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

int store_agent_find(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                     struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    return find_agent(db, tenant_id, &name, ret, err);
}

int store_agent_id(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                   struct error *err)
{
    struct name_room room;

    return db_exec_int(
        db, &select_id,
        DB_ARGS(db_int(tenant_id), db_text(store_name_key_in(agent_name, &room).key)), ret, err);
}

int store_agent_filter(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                       struct error *err)
{
    *ret = 0;
    if (str_is_null(agent_name))
        return 0;
    if (store_agent_id(db, tenant_id, agent_name, ret, err) != 0)
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

struct made {
    int64_t room, agent_id;
};

static bool read_made(void *ctx, const struct db_row *row)
{
    *(struct made *)ctx = (struct made){ db_get_int(row, 0), db_get_int(row, 1) };
    return false;
}

/* Adds an agent that was never there, or sets *ret to 0. */
static int add_new(struct db *db, int64_t tenant_id, const struct name_key *name, int64_t now_us,
                   int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name->key), db_text(name->full),
                                        db_int(now_us), db_int(db_number(db)));
    struct made made = { 0 };

    *ret = 0;
    if (strcmp(db_dialect(db), "postgres") != 0 || db_is_distributed(db))
        return 0;
    if (db_exec(db, &add_new_agent, args, read_made, &made, err) != 0)
        return -1;
    *ret = made.agent_id;
    /* Another process added it just now, or it was deleted: it counted already, or will. */
    if (made.room != 0 && made.agent_id == 0)
        return db_run(db, &take_from_agents, DB_ARGS(db_int(tenant_id)), err);
    return 0;
}

static int add_agent(struct db *db, int64_t tenant_id, const struct name_key *name, int64_t now_us,
                     struct agent_row *ret, struct error *err)
{
    struct agent_count count;

    *ret = (struct agent_row){ .enabled = true, .last_seen_at = TIME_NULL };
    if (add_new(db, tenant_id, name, now_us, &ret->agent_id, err) != 0)
        return -1;
    if (ret->agent_id != 0)
        return 0;
    if (agent_count_lock(db, tenant_id, &count, err) != 0 ||
        find_agent(db, tenant_id, name, ret, err) != 0)
        return -1;
    if (ret->agent_id != 0)
        return 0;
    if (count.used >= count.max && agent_count_rows(db, tenant_id, &count, err) != 0)
        return -1;
    if (count.used >= count.max)
        return 0;
    ret->enabled = true;
    ret->last_seen_at = TIME_NULL;
    if (insert_row(db, tenant_id, name, now_us, &ret->agent_id, err) != 0)
        return -1;
    return agent_count_add(db, tenant_id, &count, 1, err);
}

int store_agent_add(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                    struct agent_row *ret, struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    return add_agent(db, tenant_id, &name, now_us, ret, err);
}

static int not_found(struct str agent_name, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(agent_name));
}

int store_agent_enable(struct db *db, int64_t tenant_id, struct str agent_name, bool enabled,
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
    return store_registry_about_agent(db, tenant_id, *ret_agent_id, err);
}

int store_agent_mute(struct db *db, int64_t tenant_id, struct str agent_name, int64_t until,
                     struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(agent_name, &room);

    if (db_run(db, &mute_agent,
               DB_ARGS(db_int(tenant_id), db_text(name.key), rows_time_value(until)), err) != 0)
        return -1;
    return db_changes(db) == 0 ? not_found(agent_name, err) : 0;
}

int store_agent_is_off(struct db *db, int64_t tenant_id, int64_t agent_id, bool *ret,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));

    return db_exec_bool(db, &select_off, args, ret, err);
}

int store_agent_is_muted(struct db *db, int64_t tenant_id, int64_t agent_id, int64_t now_us,
                         bool *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));
    int64_t until = 0;

    if (db_exec(db, &select_muted, args, db_read_int, &until, err) != 0)
        return -1;
    *ret = until > now_us;
    return 0;
}
