/* erasure_store.c - SQL that erases a deleted tenant. */
#include "features/retention/erasure_store.h"

#include <string.h>

#include "db/db.h"
#include "features/access/retention.h"

/* clang-format off */
#define POSTGRES_PORTION(table)                                                                    \
    .postgres = "DELETE FROM " table " WHERE tenant_id = $1 AND ctid = ANY (ARRAY("                \
                "SELECT ctid FROM " table " WHERE tenant_id = $1 LIMIT $2))"
/* Of a table whose primary key in SQLite is tenant_id and `rest`. */
#define BY_TENANT(table, rest)                                                                     \
    { .sqlite = "DELETE FROM " table " WHERE tenant_id = $1 AND (" rest ") IN"                     \
                " (SELECT " rest " FROM " table " WHERE tenant_id = $1 LIMIT $2)",                 \
      POSTGRES_PORTION(table) }
/* Of a table with row numbers; + makes SQLite search by them, not by tenant. */
#define BY_NUMBER(table, number)                                                                   \
    { .sqlite = "DELETE FROM " table " WHERE " number " IN"                                        \
                " (SELECT " number " FROM " table " WHERE tenant_id = $1 LIMIT $2)"                \
                " AND +tenant_id = $1",                                                            \
      POSTGRES_PORTION(table) }
#define ONE_ROW(table) BY_TENANT(table, "tenant_id")

/* Events and runs are gone when this begins (expiry_store.h), but for what another node stored. */
static const struct db_query tables[] = {
    { POSTGRES_PORTION("events") },
    { POSTGRES_PORTION("runs") },
    BY_TENANT("business_values", "run_no, key"),
    BY_NUMBER("business_breakdowns", "breakdown_no"),
    BY_NUMBER("business_runs", "run_no"),
    BY_TENANT("business_rollups", "series_no, level, start"),
    BY_NUMBER("business_series", "series_no"),
    BY_TENANT("llm_usage", "timestamp, agent_id, run_id, model"),
    BY_TENANT("llm_totals", "width, start, agent_id, model"),
    BY_TENANT("gone_runs", "run_no"),
    BY_TENANT("event_days", "first_no"),
    BY_TENANT("deliveries", "delivery_id"),
    BY_TENANT("messages", "message_id"),
    BY_TENANT("webhooks", "webhook_id"),
    BY_TENANT("alert_history", "alert_id, entry_id"),
    BY_TENANT("alerts", "alert_id"),
    ONE_ROW("alert_rules"),
    ONE_ROW("stuck_marks"),
    BY_TENANT("stuck_later", "due_at, run_no"),
    BY_TENANT("config_values", "scope, agent_name, key"),
    BY_TENANT("security_catalog", "key"),
    BY_TENANT("agent_documents", "agent_name, version"),
    BY_TENANT("agent_models", "scope, agent_name"),
    BY_TENANT("command_policies", "scope, agent_name"),
    BY_TENANT("heartbeats", "client_id"),
    BY_TENANT("kpis", "agent_id, key"),
    BY_TENANT("agent_schedules", "agent_id"),
    BY_TENANT("maintenance_windows", "window_id"),
    BY_TENANT("agent_signs", "agent_id"),
    BY_NUMBER("agents", "agent_id"),
    ONE_ROW("agent_counts"),
    BY_TENANT("secrets", "name"),
    BY_TENANT("data_keys", "version"),
    BY_TENANT("keys", "key_id"),
    BY_TENANT("user_roles", "user_id"),
    BY_TENANT("user_link_roles", "link_id"),
    BY_TENANT("oidc_groups", "group_name"),
    BY_TENANT("user_links", "link_id"),
    BY_TENANT("audit_log", "seq"),
    ONE_ROW("audit_heads"),
    BY_TENANT("tenant_bytes", "part"),
};
const size_t erasure_tables_n = COUNT_OF(tables);

DB_INT_FN(erasure_next, (int64_t before), (db_int(before)),
    "SELECT COALESCE(MIN(tenant_id), 0) FROM tenants WHERE deleted_at <= $1");
static const struct db_query keep_agent_id = {
    .sqlite = "UPDATE change_numbers SET number = MAX(number,"
              " COALESCE((SELECT MAX(agent_id) FROM agents), 0)) WHERE topic = 'agent_id'",
};
static const struct db_query keep_tenant_id = {
    .sqlite = "UPDATE change_numbers SET number = MAX(number, $1) WHERE topic = 'tenant_id'",
};
DB_QUERY(count_tenants, "SELECT COUNT(*) FROM tenants WHERE tenant_id = $1");
DB_QUERY(count_living,
    "SELECT COUNT(*) FROM tenants WHERE tenant_id = $1 AND deleted_at IS NULL");
/* The row that is locked. */
static const struct db_query add_limits = {
    .postgres = "INSERT INTO retention (tenant_id, keep_failed_runs, updated_at) VALUES ($1, 0, 0)"
                " ON CONFLICT (tenant_id) DO NOTHING",
};
DB_QUERY(delete_limits, "DELETE FROM retention WHERE tenant_id = $1");
DB_QUERY(delete_tenant, "DELETE FROM tenants WHERE tenant_id = $1 AND deleted_at IS NOT NULL");
/* clang-format on */

static bool is_sqlite(const struct db *db)
{
    return strcmp(db_dialect(db), "sqlite") == 0;
}

int erasure_take(struct db *db, int64_t tenant_id, enum erasure_turn *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));
    struct retention_limits limits;
    bool there = true;
    int64_t rows, living;

    if (db_exec_int(db, &count_living, args, &living, err) != 0)
        return -1;
    *ret = ERASURE_LIVES;
    if (living > 0)
        return 0;
    if (!is_sqlite(db) && (db_run(db, &add_limits, args, err) != 0 ||
                           retention_take(db, tenant_id, &limits, &there, err) != 0))
        return -1;
    if (db_exec_int(db, &count_tenants, args, &rows, err) != 0)
        return -1;
    *ret = !there ? ERASURE_TAKEN : rows > 0 ? ERASURE_OURS : ERASURE_ENDED;
    return 0;
}

int erasure_limits(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_run(db, &delete_limits, DB_ARGS(db_int(tenant_id)), err);
}

int erasure_rows(struct db *db, int64_t tenant_id, size_t table, int64_t max, int64_t *ret,
                 struct error *err)
{
    *ret = 0;
    if (is_sqlite(db) && tables[table].sqlite == NULL)
        return 0;
    if (db_run(db, &tables[table], DB_ARGS(db_int(tenant_id), db_int(max)), err) != 0)
        return -1;
    *ret = db_changes(db);
    return 0;
}

int erasure_tenant(struct db *db, int64_t tenant_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    if ((is_sqlite(db) && db_run(db, &keep_tenant_id, args, err) != 0) ||
        erasure_limits(db, tenant_id, err) != 0)
        return -1;
    return db_run(db, &delete_tenant, args, err);
}

int erasure_begin(struct db *db, struct error *err)
{
    if (!is_sqlite(db))
        return 0;
    return db_script(db, "PRAGMA secure_delete = ON", err) != 0
               ? -1
               : db_run(db, &keep_agent_id, DB_NO_ARGS, err);
}

int erasure_end(struct db *db, struct error *err)
{
    return is_sqlite(db) ? db_script(db, "PRAGMA secure_delete = FAST", err) : 0;
}
