/* delete_store.c - SQL that deletes an agent. */
#include "db/db.h"
#include "db/name_key.h"
#include "features/access/tenants.h"
#include "features/agents/agent_count.h"
#include "features/agents/store.h"

/* clang-format off */
/* What the agent declared is cleared; the row stays, since its reports refer to it. */
DB_QUERY(mark_agent,
    "UPDATE agents SET deleted_at = $3, registered_version = '', description = '',"
    " telemetry_doc = '', interval_seconds = NULL, inputs = NULL, outputs = NULL,"
    " config_schema = NULL, registered_at = NULL, muted_until = NULL"
    " WHERE tenant_id = $1 AND agent_name = $2 AND deleted_at IS NULL RETURNING agent_id");
/* Before the agent's row: that is the order of an agent's first contact too. */
static const struct db_query take_from_agents = {
    .sql = "UPDATE tenants SET agents = agents - 1 WHERE tenant_id = $1 AND agents > 0 AND EXISTS"
           " (SELECT 1 FROM agents a WHERE a.tenant_id = $1 AND a.agent_name = $2"
           " AND a.deleted_at IS NULL)",
    .citus = "SELECT 0", /* counted in a row of its own (agent_count.h) */
};
DB_QUERY(forget_sign,
    "UPDATE agent_signs SET last_seen_at = NULL WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(delete_kpis, "DELETE FROM kpis WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(delete_schedule, "DELETE FROM agent_schedules WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(delete_windows, "DELETE FROM maintenance_windows WHERE tenant_id = $1 AND agent_id = $2");
DB_QUERY(revoke_keys,
    "UPDATE keys SET revoked_at = $3, changed = " CHANGE_NUMBER
    " WHERE tenant_id = $1 AND agent_name = $2 AND revoked_at IS NULL");
/* clang-format on */

static int mark_deleted(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                        int64_t *ret, struct error *err)
{
    struct name_room room;
    const struct db_args args = DB_ARGS(
        db_int(tenant_id), db_text(store_name_key_in(agent_name, &room).key), db_int(now_us));
    struct agent_count count;

    if (!db_is_distributed(db))
        return db_run(db, &take_from_agents, args, err) != 0
                   ? -1
                   : db_exec(db, &mark_agent, args, db_read_int, ret, err);
    if (agent_count_lock(db, tenant_id, &count, err) != 0 ||
        db_exec(db, &mark_agent, args, db_read_int, ret, err) != 0)
        return -1;
    return *ret == 0 ? 0 : agent_count_add(db, tenant_id, &count, -1, err);
}

int store_agent_delete(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                       struct agent_deletion *ret, struct error *err)
{
    const struct db_args keys = DB_ARGS(db_int(tenant_id), db_text(agent_name), db_int(now_us));
    struct db_args agent;

    *ret = (struct agent_deletion){ 0 };
    if (mark_deleted(db, tenant_id, agent_name, now_us, &ret->agent_id, err) != 0)
        return -1;
    if (ret->agent_id == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(agent_name));
    agent = DB_ARGS(db_int(tenant_id), db_int(ret->agent_id));
    if (db_run(db, &forget_sign, agent, err) != 0 || db_run(db, &delete_kpis, agent, err) != 0 ||
        db_run(db, &delete_schedule, agent, err) != 0 ||
        db_run(db, &delete_windows, agent, err) != 0 || db_run(db, &revoke_keys, keys, err) != 0)
        return -1;
    ret->keys_revoked = db_changes(db);
    return store_registry_about_agent(db, tenant_id, ret->agent_id, err);
}
