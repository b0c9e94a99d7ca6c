/* store.c - SQL of agents and workflows as front ends read them, and of counts of runs. */
#include "features/fleet/store.h"

#include <string.h>

#include "db/lists.h"
#include "db/name_key.h"
#include "features/agents/schedules/schedules.h"
#include "features/agents/shapes.h"
#include "features/events/run_state.h"
#include "features/fleet/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

enum { BYTES_MAX = 16 << 20, SCAN_MAX = 10000 };

/* clang-format off */
#define AGENTS AGENTS_BY("agents a")
#define AGENTS_BY(source)                                                                          \
    "SELECT a.agent_id, COALESCE(a.full_name, a.agent_name) AS agent_name,"                        \
    " substr(a.registered_version, 1, 1024) AS registered_version,"                           \
    " substr(a.description, 1, 1024) AS description, a.enabled,"             \
    " a.interval_seconds, a.first_seen_at,"                                                        \
    " s.last_seen_at, a.registered_at, a.muted_until," SCHEDULE_COLUMNS                            \
    " FROM " source " JOIN agent_signs s"                                                          \
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN                      \
    " WHERE a.tenant_id = $1"                                                                      \
    " AND a.deleted_at IS NULL"

ROW_TABLE(fleet_agent,
    INT(agent_id), STR(agent_name), STR(registered_version), STR(description),
    BOOL(enabled), OPT_INT(interval_seconds), TIME(first_seen_at), TIME(last_seen_at),
    TIME(registered_at), TIME(muted_until),
    EMBEDDED(schedule, OPT_INT(every_seconds), STR(cron), STR(time_zone), OPT_INT(grace_seconds), BOOL(paused),
        TIME(scheduled_at)));

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
    " s.last_seen_at," SCHEDULE_COLUMNS ", a.agent_name FROM agents a JOIN agent_signs s"          \
    " ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN                      \
    " WHERE a.tenant_id = $1 AND a.deleted_at IS NULL"
/* Sorted by bytes in both databases, independent of PostgreSQL's locale. */
static const struct db_query first_signs = {
    .sqlite = SIGNS " ORDER BY a.agent_name LIMIT $2",
    .postgres = SIGNS " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
};
static const struct db_query next_signs = {
    .sqlite = SIGNS " AND a.agent_name > $3 ORDER BY a.agent_name LIMIT $2",
    .postgres = SIGNS " AND a.agent_name COLLATE \"C\" > $3"
                " ORDER BY a.agent_name COLLATE \"C\" LIMIT $2",
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

/* Counts of runs: all scan one range of the index runs_start, or of runs_agent. */
#define NEWEST_OF(agent)                                                                           \
    " FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3" agent                   \
    " ORDER BY start_at DESC LIMIT $4"
#define NEWEST NEWEST_OF("")
#define NEWEST_OF_AGENT NEWEST_OF(" AND agent_id = $5")

ROW_TABLE(run_total,
    INT(period), INT(event), INT(runs));

ROWS_LIST_FN(run_totals_all, run_total, (const struct run_totals_span *span),
    (db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(span->limit),
     db_int(span->width_us), db_int(span->first)),
    "SELECT period, event, COUNT(*) AS runs FROM (SELECT (start_at - $6) / $5 AS period,"
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS event" NEWEST ") newest"
    " GROUP BY period, event");

ROW_TABLE_OF(error_row, struct error_total,
    STR(error_type), INT(runs), TIME(last_at));

ROW_TABLE(agent_run_total,
    INT(period), INT(event), OPT_INT(duration_ms));

ROWS_LIST_FN(run_totals_of_agent, agent_run_total, (const struct run_totals_span *span),
    (db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(span->limit),
     db_int(span->agent_id), db_int(span->width_us), db_int(span->first)),
    "SELECT (start_at - $7) / $6 AS period,"
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS event,"
    " CASE WHEN closing_at IS NULL THEN NULL ELSE"
    " COALESCE(duration_ms, (closing_at - start_at) / 1000) END AS duration_ms" NEWEST_OF_AGENT);

#define ERRORS(newest, bytes, most)                                                                \
    "SELECT error_type, COUNT(*) AS runs, MAX(start_at) AS last_at FROM"                           \
    " (SELECT COALESCE(error_type, '') AS error_type, start_at, closing_at, closing_event" newest  \
    ") newest WHERE closing_at IS NOT NULL AND closing_event = 2 GROUP BY error_type"              \
    " ORDER BY runs DESC, error_type" bytes " LIMIT " most

static const struct db_query count_errors = {
    .row = &error_row,
    .sqlite = ERRORS(NEWEST, "", "$5"),
    .postgres = ERRORS(NEWEST, " COLLATE \"C\"", "$5"),
};
static const struct db_query count_agent_errors = {
    .row = &error_row,
    .sqlite = ERRORS(NEWEST_OF_AGENT, "", "$6"),
    .postgres = ERRORS(NEWEST_OF_AGENT, " COLLATE \"C\"", "$6"),
};

DB_QUERY(select_runs,
    "SELECT r.agent_id, r.run_id, a.agent_name, " RUN_STATE_COLUMNS " FROM runs r"
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
    " WHERE r.tenant_id = $1 AND r.workflow_run_id = $2 AND r.start_at IS NOT NULL"
    " ORDER BY r.start_at, r.run_id LIMIT $3");

ROW_TABLE(workflow_found,
    STR(workflow_run_id), TIME(latest_at), TIME(started_at));

/* The first run of each is the first of an index. */
DB_ROWS_QUERY(select_workflows, workflow_found,
    "SELECT f.workflow_run_id, f.latest_at, (SELECT r.start_at FROM runs r WHERE r.tenant_id = $1"
    " AND r.workflow_run_id = f.workflow_run_id AND r.start_at IS NOT NULL"
    " ORDER BY r.start_at LIMIT 1) AS started_at FROM"
    " (SELECT workflow_run_id, MAX(start_at) AS latest_at FROM"
    " (SELECT workflow_run_id, start_at FROM runs"
    " WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC LIMIT $4) newest WHERE workflow_run_id IS NOT NULL"
    " GROUP BY workflow_run_id ORDER BY latest_at DESC, workflow_run_id LIMIT $5) f"
    " ORDER BY f.latest_at DESC, f.workflow_run_id");

/* The start of the last run that is examined, when there are more. */
DB_QUERY(select_floor,
    "SELECT start_at FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC LIMIT 1 OFFSET $4");

ROW_TABLE(workflow_agent,
    STR(agent_name), INT(runs), INT(failed), INT(open), TIME(first_at),
    TIME(last_at, .flags = F_NULL), INT(place));

#define AGENTS_OF(workflow)                                                                        \
    "SELECT a.agent_name, g.runs, g.failed, g.open, g.first_at, g.last_at FROM"                    \
    " (SELECT agent_id, COUNT(*) AS runs,"                                                         \
    " SUM(CASE WHEN closing_at IS NOT NULL AND closing_event = 2 THEN 1 ELSE 0 END) AS failed,"    \
    " SUM(CASE WHEN closing_at IS NULL THEN 1 ELSE 0 END) AS open,"                                \
    " MIN(start_at) AS first_at, MAX(closing_at) AS last_at FROM"                                  \
    " (SELECT agent_id, start_at, closing_at, closing_event FROM runs"                             \
    " WHERE tenant_id = $1 AND workflow_run_id = " workflow " AND start_at IS NOT NULL"            \
    " ORDER BY start_at DESC LIMIT $3) newest GROUP BY agent_id) g"                                \
    " JOIN agents a ON a.tenant_id = $1 AND a.agent_id = g.agent_id"
ROWS_LIST_FN(workflow_agents_of, workflow_agent, (int64_t tenant_id, struct str workflow_run_id),
    (db_int(tenant_id), db_text(workflow_run_id), db_int(WORKFLOW_RUNS_MAX)),
    AGENTS_OF("$2") " ORDER BY g.first_at, a.agent_name");
/* The same of several workflows, one after the other. */
static const struct db_query agents_of_each = {
    .row = &workflow_agent,
    .postgres = "SELECT v.*, x.place - 1 AS place"
                " FROM unnest($2::text[]) WITH ORDINALITY AS x(workflow_run_id, place)"
                " CROSS JOIN LATERAL (" AGENTS_OF("x.workflow_run_id") " OFFSET 0) v"
                " ORDER BY x.place, v.first_at, v.agent_name",
};
/* clang-format on */

int fleet_row_of(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                 struct fleet_agent *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(store_name_key(agent_name, arena).key));

    return rows_one(db, &one_agent, args, arena, ret, err);
}

struct sign_reader {
    bool (*each)(void *ctx, const struct fleet_sign *sign);
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
        .key = db_get_text(row, 11),
    };

    return reader->each(reader->ctx, &sign);
}

int fleet_signs(struct db *db, int64_t tenant_id, const struct fleet_span *span,
                bool (*each)(void *ctx, const struct fleet_sign *sign), void *ctx,
                struct error *err)
{
    const struct db_query *q = str_is_null(span->after_key) ? &first_signs : &next_signs;
    struct sign_reader reader = { each, ctx };

    return db_exec(db, q, DB_ARGS(db_int(tenant_id), db_int(span->limit), db_text(span->after_key)),
                   read_sign, &reader, err);
}

int fleet_rows_by_id(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                     struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_id_list(db, agent_ids->items, agent_ids->n, arena));

    return rows_list(db, &agents_by_id, args, arena, ret, err);
}

int fleet_contracts(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                    struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_id_list(db, agent_ids->items, agent_ids->n, arena));

    return rows_list(db, &select_contracts, args, arena, ret, err);
}

int fleet_declared(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                   struct agent_register *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));

    if (rows_one(db, &select_declared, args, arena, ret, err) != 0)
        return -1;
    ret->agent_name = STR_LIT("");
    return rows_list(db, &select_kpis, args, arena, &ret->business_kpis, err);
}

int run_totals_errors(struct db *db, const struct run_totals_span *span, struct arena *arena,
                      struct list *ret, struct error *err)
{
    const struct db_args of_all =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                db_int(span->limit), db_int(ERROR_TOTALS_MAX));
    const struct db_args of_agent =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                db_int(span->limit), db_int(span->agent_id), db_int(ERROR_TOTALS_MAX));

    return span->agent_id == 0 ? rows_list(db, &count_errors, of_all, arena, ret, err)
                               : rows_list(db, &count_agent_errors, of_agent, arena, ret, err);
}

int workflows_find(struct db *db, const struct workflow_span *span, struct arena *arena,
                   struct workflows_found *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(SCAN_MAX),
                db_int(span->limit + 1));
    const struct db_args last = DB_ARGS(db_int(span->tenant_id), db_int(span->since),
                                        db_int(span->until), db_int(SCAN_MAX - 1));

    *ret = (struct workflows_found){ .examined_since = TIME_NULL };
    if (rows_list(db, &select_workflows, args, arena, &ret->workflows, err) != 0 ||
        db_exec(db, &select_floor, last, db_read_int, &ret->examined_since, err) != 0)
        return -1;
    ret->more = ret->workflows.n > (size_t)span->limit;
    ret->workflows.n -= ret->more;
    return 0;
}

int workflows_agents(struct db *db, int64_t tenant_id, const struct list *workflows,
                     struct arena *arena, struct list *ret, struct error *err)
{
    const struct workflow_found *found = workflows->items;
    struct str *ids = ARENA_ARRAY(arena, struct str, workflows->n);
    struct workflow_agent *agents;
    struct list all;

    if (strcmp(db_dialect(db), "sqlite") == 0) { /* it has no lateral joins, nor round trips */
        for (size_t i = 0; i < workflows->n; i++)
            if (workflow_agents_of(db, tenant_id, found[i].workflow_run_id, arena, &ret[i], err) !=
                0)
                return -1;
        return 0;
    }
    for (size_t i = 0; i < workflows->n; i++)
        ids[i] = found[i].workflow_run_id;
    if (rows_list(db, &agents_of_each,
                  DB_ARGS(db_int(tenant_id), db_text_list(db, ids, workflows->n, arena),
                          db_int(WORKFLOW_RUNS_MAX)),
                  arena, &all, err) != 0)
        return -1;
    agents = all.items;
    for (size_t i = 0, at = 0; i < workflows->n; i++) {
        ret[i] = (struct list){ 0 };
        for (; at < all.n && agents[at].place == (int64_t)i; at++)
            if (ret[i].n++ == 0)
                ret[i].items = &agents[at];
    }
    return 0;
}

struct reader {
    struct rows rows;
    size_t before; /* what the arena held */
    bool more;
};

static bool add_run(void *ctx, const struct db_row *row)
{
    struct reader *reader = ctx;
    struct workflow_run *run;

    reader->more = reader->rows.n == WORKFLOW_RUNS_MAX ||
                   reader->rows.arena->total - reader->before > BYTES_MAX;
    if (reader->more)
        return false;
    run = rows_add(&reader->rows);
    run->agent_id = db_get_int(row, 0);
    run->run_id = rows_text(reader->rows.arena, row, 1);
    run->run.agent_name = rows_text(reader->rows.arena, row, 2);
    run_row_read(row, 3, reader->rows.arena, &run->run.state);
    return true;
}

int workflow_runs_of(struct db *db, int64_t tenant_id, struct str workflow_run_id,
                     struct arena *arena, struct workflow_runs *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(workflow_run_id), db_int(WORKFLOW_RUNS_MAX + 1));
    struct reader reader = { .rows = { .arena = arena, .size = sizeof(struct workflow_run) },
                             .before = arena->total };

    if (db_exec(db, &select_runs, args, add_run, &reader, err) != 0)
        return -1;
    *ret = (struct workflow_runs){ { reader.rows.items, reader.rows.n }, reader.more };
    return 0;
}
