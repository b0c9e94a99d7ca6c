/* store.c - SQL of agents as front ends read them. */
#include "features/fleet/store.h"

#include "db/id_list.h"
#include "db/name_key.h"
#include "features/agents/schedules/store.h"
#include "features/agents/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define AGENTS AGENTS_BY("agents a")
#define AGENTS_BY(source)                                                                          \
    "SELECT a.agent_id, a.agent_name AS key, COALESCE(a.full_name, a.agent_name) AS agent_name,"   \
    " a.registered_version, substr(a.description, 1, 1024) AS description, a.enabled,"             \
    " a.interval_seconds, a.first_seen_at,"                                                        \
    " s.last_seen_at, a.registered_at, a.muted_until," SCHEDULE_COLUMNS                            \
    " FROM " source " JOIN agent_signs s"                                                          \
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN                      \
    " WHERE a.tenant_id = $1"                                                                      \
    " AND a.deleted_at IS NULL"

ROW_TABLE(fleet_agent,
    INT(agent_id), STR(key), STR(agent_name), STR(registered_version), STR(description),
    BOOL(enabled), OPT_INT(interval_seconds), TIME(first_seen_at), TIME(last_seen_at),
    TIME(registered_at), TIME(muted_until),
    EMBEDDED(schedule, OPT_INT(every_seconds), STR(cron), STR(time_zone), OPT_INT(grace_seconds), BOOL(paused),
        TIME(scheduled_at)));

/* Sorted by bytes in both databases, independent of PostgreSQL's locale. */
static const struct db_query first_agents = {
    .row = &fleet_agent,
    .sqlite = AGENTS " ORDER BY a.agent_name LIMIT $2",
    .postgres = AGENTS " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
};
static const struct db_query next_agents = {
    .row = &fleet_agent,
    .sqlite = AGENTS " AND a.agent_name > $3 ORDER BY a.agent_name LIMIT $2",
    .postgres = AGENTS " AND a.agent_name COLLATE \"C\" > $3"
                " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
};
DB_ROWS_QUERY(one_agent, fleet_agent, AGENTS " AND a.agent_name = $2");
/* $2 has the ids (db_id_list()): one is looked up after the other, whatever is known about the tables. */
static const struct db_query agents_by_id = {
    .row = &fleet_agent,
    .sqlite = AGENTS_BY("json_each($2) j CROSS JOIN agents a ON a.agent_id = j.value")
              " ORDER BY j.key",
    .postgres = "SELECT f.* FROM unnest($2::bigint[]) WITH ORDINALITY AS x(agent, place)"
                " CROSS JOIN LATERAL (" AGENTS " AND a.agent_id = x.agent OFFSET 0) f"
                " ORDER BY x.place",
};
#define SIGNS                                                                                      \
    "SELECT a.agent_id, COALESCE(a.full_name, a.agent_name), a.enabled, a.interval_seconds,"       \
    " s.last_seen_at," SCHEDULE_COLUMNS " FROM agents a JOIN agent_signs s"                        \
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN                      \
    " WHERE a.tenant_id = $1"                                                                      \
    " AND a.deleted_at IS NULL"
static const struct db_query select_signs = {
    .sqlite = SIGNS " ORDER BY a.agent_name",
    .postgres = SIGNS " ORDER BY a.agent_name COLLATE \"C\"",
};
ROW_TABLE(fleet_contract,
    INT(agent_id), LIST(inputs, io_field_shape), LIST(outputs, io_field_shape));

#define CONTRACTS "SELECT a.agent_id, a.inputs, a.outputs FROM "
/* $2 as above. */
static const struct db_query select_contracts = {
    .row = &fleet_contract,
    .sqlite = CONTRACTS "json_each($2) j CROSS JOIN agents a"
              " WHERE a.tenant_id = $1 AND a.agent_id = j.value",
    .postgres = "SELECT f.* FROM unnest($2::bigint[]) AS x(agent) CROSS JOIN LATERAL (" CONTRACTS
                "agents a WHERE a.tenant_id = $1 AND a.agent_id = x.agent OFFSET 0) f",
};
DB_ROWS_QUERY(select_declared, agent_register_shape,
    "SELECT registered_version AS agent_version, description, telemetry_doc,"
    " interval_seconds, inputs, outputs, config_schema"
    " FROM agents WHERE tenant_id = $1 AND agent_id = $2");
static const struct db_query select_kpis = {
    .row = &business_kpi_decl_shape,
    .sqlite = "SELECT COALESCE(full_key, key) AS key, label, unit, agg FROM kpis"
              " WHERE tenant_id = $1 AND agent_id = $2 ORDER BY kpis.key",
    .postgres = "SELECT COALESCE(full_key, key) AS key, label, unit, agg FROM kpis"
                " WHERE tenant_id = $1 AND agent_id = $2 ORDER BY kpis.key COLLATE \"C\"",
};
/* clang-format on */

int store_fleet_page(struct db *db, int64_t tenant_id, const struct fleet_span *span,
                     struct arena *arena, struct rows_page *ret, struct error *err)
{
    const struct db_query *q = str_is_null(span->after_key) ? &first_agents : &next_agents;
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_int(span->limit), db_text(span->after_key));

    ret->bytes = span->bytes;
    return rows_page(db, q, args, arena, ret, err);
}

int store_fleet_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                      struct fleet_agent *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(store_name_key(agent_name, arena).key));

    return rows_one(db, &one_agent, args, arena, ret, err);
}

struct sign_reader {
    void (*each)(void *ctx, const struct fleet_sign *sign);
    void *ctx;
};

static bool read_sign(void *ctx, const struct db_row *row)
{
    const struct sign_reader *reader = ctx;
    const struct fleet_sign sign = {
        .agent_id = db_get_int(row, 0),
        .agent_name = db_get_text(row, 1),
        .enabled = db_get_int(row, 2) != 0,
        .interval_seconds = { !db_is_null(row, 3), db_get_int(row, 3) },
        .last_seen_at = db_is_null(row, 4) ? TIME_NULL : db_get_int(row, 4),
        .schedule = { .every_seconds = rows_opt_int(row, 5),
                      .cron = db_is_null(row, 6) ? STR_NULL : db_get_text(row, 6),
                      .time_zone = db_is_null(row, 7) ? STR_NULL : db_get_text(row, 7),
                      .grace_seconds = rows_opt_int(row, 8),
                      .paused = db_get_int(row, 9) != 0,
                      .scheduled_at = rows_time(row, 10) },
    };

    reader->each(reader->ctx, &sign);
    return true;
}

int store_fleet_signs(struct db *db, int64_t tenant_id,
                      void (*each)(void *ctx, const struct fleet_sign *sign), void *ctx,
                      struct error *err)
{
    struct sign_reader reader = { each, ctx };

    return db_exec(db, &select_signs, DB_ARGS(db_int(tenant_id)), read_sign, &reader, err);
}

int store_fleet_agents_by_id(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                             struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_id_list(db, agent_ids->items, agent_ids->n, arena));

    return rows_list(db, &agents_by_id, args, arena, ret, err);
}

int store_fleet_contracts(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                          struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_id_list(db, agent_ids->items, agent_ids->n, arena));

    return rows_list(db, &select_contracts, args, arena, ret, err);
}

int store_fleet_declared(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                         struct agent_register *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));

    if (rows_one(db, &select_declared, args, arena, ret, err) != 0)
        return -1;
    ret->agent_name = STR_LIT("");
    return rows_list(db, &select_kpis, args, arena, &ret->business_kpis, err);
}
