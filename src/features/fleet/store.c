/* store.c - SQL of agents as front ends read them. */
#include "features/fleet/store.h"

#include "base/buf.h"
#include "base/clock.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "shape/problems.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define AGENTS                                                                                     \
    "SELECT a.agent_id, a.agent_name, COALESCE(a.full_name, a.agent_name), a.registered_version,"  \
    " substr(a.description, 1, 1024), a.enabled, a.interval_seconds, a.first_seen_at,"             \
    " s.last_seen_at, a.registered_at, a.muted_until FROM agents a JOIN agent_signs s"             \
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id WHERE a.tenant_id = $1"                     \
    " AND a.deleted_at IS NULL"

/* By bytes in both databases, whatever PostgreSQL's locale. */
static const struct db_query first_agents = {
    .sqlite = AGENTS " ORDER BY a.agent_name LIMIT $2",
    .postgres = AGENTS " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
    .n_args = 2,
};
static const struct db_query next_agents = {
    .sqlite = AGENTS " AND a.agent_name > $3 ORDER BY a.agent_name LIMIT $2",
    .postgres = AGENTS " AND a.agent_name COLLATE \"C\" > $3"
                " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
    .n_args = 3,
};
static const struct db_query one_agent = {
    .sql = AGENTS " AND a.agent_name = $2",
    .n_args = 2,
};
static const struct db_query select_declared = {
    .sql = "SELECT registered_version, description, telemetry_doc, interval_seconds,"
           " COALESCE(inputs, '[]'), COALESCE(outputs, '[]'), COALESCE(config_schema, 'null')"
           " FROM agents WHERE tenant_id = $1 AND agent_id = $2",
    .n_args = 2,
};
static const struct db_query select_kpis = {
    .sqlite = "SELECT COALESCE(full_key, key), label, unit, agg FROM kpis"
              " WHERE tenant_id = $1 AND agent_id = $2 ORDER BY key",
    .postgres = "SELECT COALESCE(full_key, key), label, unit, agg FROM kpis"
                " WHERE tenant_id = $1 AND agent_id = $2 ORDER BY key COLLATE \"C\"",
    .n_args = 2,
};
static const struct db_query select_runs = {
    .sql = "SELECT run_id, agent_version, start_at, closing_at, closing_event, duration_ms"
           " FROM runs WHERE tenant_id = $1 AND agent_id = $2 AND start_at IS NOT NULL"
           " ORDER BY start_at DESC, run_id DESC LIMIT $3",
    .n_args = 3,
};

/* What a registration keeps as JSON. */
struct declared {
    struct list inputs, outputs;
    struct config_schema_decl *config_schema;
};

#define OWNER struct declared
SHAPE_BEGIN(declared_shape)
    { LIST(inputs, io_field_shape),  .flags = F_REQUIRED },
    { LIST(outputs, io_field_shape), .flags = F_REQUIRED },
    { SHAPE(config_schema, struct config_schema_decl, config_schema_decl_shape), .flags = F_NULL },
STATIC_SHAPE_END(declared_shape, "Declared");
#undef OWNER
/* clang-format on */

static bool add_agent(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct fleet_agent *agent = rows_add(rows);

    agent->agent_id = db_get_int(row, 0);
    agent->key = rows_text(rows->arena, row, 1);
    agent->agent_name = rows_text(rows->arena, row, 2);
    agent->registered_version = rows_text(rows->arena, row, 3);
    agent->description = rows_text(rows->arena, row, 4);
    agent->enabled = db_get_int(row, 5) != 0;
    agent->interval_seconds = rows_opt_int(row, 6);
    agent->first_seen_at = db_get_int(row, 7);
    agent->last_seen_at = rows_time(row, 8);
    agent->registered_at = rows_time(row, 9);
    agent->muted_until = rows_time(row, 10);
    return true;
}

int store_fleet_page(struct db *db, int64_t tenant_id, const struct fleet_span *span,
                     struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_query *q = str_is_null(span->after_key) ? &first_agents : &next_agents;
    const struct db_value args[] = { db_int(tenant_id), db_int(span->limit),
                                     db_text(span->after_key) };
    struct rows rows = { .arena = arena, .size = sizeof(struct fleet_agent) };

    if (db_exec(db, q, args, add_agent, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_fleet_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                      struct fleet_agent *ret, struct error *err)
{
    const struct db_value args[] = { db_int(tenant_id),
                                     db_text(store_name_key(agent_name, arena).key) };
    struct rows rows = { .arena = arena, .size = sizeof(struct fleet_agent) };

    if (db_exec(db, &one_agent, args, add_agent, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct fleet_agent){ 0 } : *(struct fleet_agent *)rows.items;
    return 0;
}

struct declared_reader {
    struct arena *arena;
    struct agent_register *ret;
    struct str json; /* of struct declared */
};

static bool read_declared(void *ctx, const struct db_row *row)
{
    struct declared_reader *reader = ctx;
    struct agent_register *ret = reader->ret;
    struct buf json;

    ret->agent_version = rows_text(reader->arena, row, 0);
    ret->description = rows_text(reader->arena, row, 1);
    ret->telemetry_doc = rows_text(reader->arena, row, 2);
    ret->interval_seconds = rows_opt_int(row, 3);
    buf_init(&json, SIZE_MAX); /* in proportion to what was registered, which was bounded */
    buf_add_c(&json, "{\"inputs\":");
    buf_add(&json, db_get_text(row, 4));
    buf_add_c(&json, ",\"outputs\":");
    buf_add(&json, db_get_text(row, 5));
    buf_add_c(&json, ",\"config_schema\":");
    buf_add(&json, db_get_text(row, 6));
    buf_add_char(&json, '}');
    reader->json = arena_copy(reader->arena, buf_str(&json));
    buf_done(&json);
    return false;
}

static bool add_kpi(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct business_kpi_decl *kpi = rows_add(rows);

    kpi->key = rows_text(rows->arena, row, 0);
    kpi->label = rows_text(rows->arena, row, 1);
    kpi->unit = rows_text(rows->arena, row, 2);
    kpi->agg = rows_text(rows->arena, row, 3);
    return true;
}

int store_fleet_declared(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                         struct agent_register *ret, struct error *err)
{
    const struct db_value args[] = { db_int(tenant_id), db_int(agent_id) };
    struct declared_reader reader = { .arena = arena, .ret = ret };
    struct rows kpis = { .arena = arena, .size = sizeof(struct business_kpi_decl) };
    struct problems *problems = problems_new(arena, "stored");
    struct declared declared = { 0 };

    *ret = (struct agent_register){ .agent_name = STR_LIT("") };
    if (db_exec(db, &select_declared, args, read_declared, &reader, err) != 0 ||
        db_exec(db, &select_kpis, args, add_kpi, &kpis, err) != 0)
        return -1;
    if (!str_is_null(reader.json) &&
        shape_read_json(&declared_shape, reader.json, arena, &declared, problems) != 0)
        return err_set(err, ERR_INTERNAL, "what agent %lld registered cannot be read",
                       (long long)agent_id);
    ret->business_kpis = (struct list){ kpis.items, kpis.n };
    ret->inputs = declared.inputs;
    ret->outputs = declared.outputs;
    ret->config_schema = declared.config_schema;
    return 0;
}

static bool add_run(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct fleet_run *run = rows_add(rows);

    run->run_id = rows_text(rows->arena, row, 0);
    run->agent_version = rows_text(rows->arena, row, 1);
    run->started_at = db_get_int(row, 2);
    run->ended_at = rows_time(row, 3);
    run->duration_ms = rows_opt_int(row, 5);
    run->status = RUN_IN_PROGRESS;
    if (run->ended_at == TIME_NULL)
        return true;
    run->status = db_get_int(row, 4) == EVENT_FAILED ? RUN_FAILED : RUN_COMPLETED;
    if (!run->duration_ms.has)
        run->duration_ms =
            (struct opt_int){ true, (run->ended_at - run->started_at) / USEC_PER_MSEC };
    return true;
}

int store_fleet_runs(struct db *db, const struct fleet_place *place, int64_t limit,
                     struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_value args[] = { db_int(place->tenant_id), db_int(place->agent_id),
                                     db_int(limit) };
    struct rows rows = { .arena = arena, .size = sizeof(struct fleet_run) };

    if (db_exec(db, &select_runs, args, add_run, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}
