/* expiry_store.c - SQL that deletes rows past their retention, and deleted tenants. */
#include "features/retention/expiry_store.h"

#include <string.h>

#include "db/db.h"
#include "db/lists.h"
#include "features/access/retention.h"
#include "features/access/stored_bytes.h"
#include "features/cost/report_sums.h"
#include "features/events/event_rows.h"
#include "features/events/shapes.h"
#include "features/kpis/report_sums.h"
#include "shape/rows.h"
#include "shape/table.h"

/* In PostgreSQL each statement is a round trip, and a hundred rows cost hardly more than one. */
enum {
    SQLITE_PORTION = 50,
    SQLITE_WINDOW = 100,
    POSTGRES_PORTION = 1000,
    POSTGRES_WINDOW = 250,
    REPORT_ROWS = 4, /* of a business run, about */
};

_Static_assert(EVENT_FAILED == 2, "stands in the statements below and in the index runs_failed");

/* clang-format off */
ROW_TABLE(run_cursor,
    TIME(start_at), STR(run_id));

ROW_TABLE(gone_run,
    STR(run_id), INT(agent_id), BOOL(open));

DB_ROWS_QUERY(find_window, run_cursor,
    "SELECT start_at, run_id FROM runs WHERE tenant_id = $1 AND start_at < $2"
    " AND (start_at, run_id) > ($3, $4) ORDER BY start_at, run_id LIMIT 1 OFFSET $5");
/* The runs of the window to delete. A failed run is kept while its agent has fewer than $8 newer
 * failed runs; these are sorted so that PostgreSQL uses the index. */
#define MARK_RUNS                                                                                  \
    "INSERT INTO gone_runs (tenant_id, run_no) SELECT r.tenant_id, r.run_no FROM runs r"           \
    " WHERE r.tenant_id = $1 AND r.last_at < $2 AND (r.start_at, r.run_id) > ($3, $4)"             \
    " AND r.start_at <= $5 AND (r.start_at, r.run_id) <= ($5, $6)"                                 \
    " AND (r.closing_at IS NOT NULL OR r.last_at < $7)"                                            \
    " AND NOT (r.closing_at IS NOT NULL AND r.closing_event = 2 AND (SELECT COUNT(*) FROM"         \
    " (SELECT 1 FROM runs f WHERE f.tenant_id = $1 AND f.agent_id = r.agent_id"           \
    " AND f.closing_event = 2 AND (f.start_at, f.run_id) > (r.start_at, r.run_id)"                 \
    " ORDER BY f.start_at, f.run_id LIMIT $8) AS newer) < $8)"
const struct db_query expiry_mark_runs = {
    .sqlite = MARK_RUNS,
    .postgres = MARK_RUNS " FOR UPDATE OF r SKIP LOCKED",
};
DB_QUERY(mark_any_runs,
    "INSERT INTO gone_runs (tenant_id, run_no) SELECT tenant_id, run_no FROM runs"
    " WHERE tenant_id = $1 LIMIT $2 ON CONFLICT (tenant_id, run_no) DO NOTHING");
/* Numbers are never reused, even if the row with the greatest number is deleted. */
static const struct db_query keep_run_no = {
    .sqlite = "UPDATE change_numbers SET number = (SELECT MAX(run_no) FROM runs)"
              " WHERE topic = 'run_no' AND number < (SELECT MAX(run_no) FROM runs)",
};
static const struct db_query keep_event_no = {
    .sqlite = "UPDATE change_numbers SET number = (SELECT MAX(event_no) FROM events)"
              " WHERE topic = 'event_no' AND number < (SELECT MAX(event_no) FROM events)",
};
/* + (SQLite) and ARRAY (PostgreSQL) make the planner search by run_no, not by tenant. */
#define RETURN_RUN " RETURNING run_id, agent_id, CASE WHEN closing_at IS NULL THEN 1 ELSE 0 END AS open"
const struct db_query expiry_delete_runs = {
    .row = &gone_run,
    .sqlite = "DELETE FROM runs WHERE run_no IN (SELECT run_no FROM gone_runs WHERE tenant_id = $1)"
              " AND +tenant_id = $1" RETURN_RUN,
    .postgres = "DELETE FROM runs WHERE tenant_id = $1 AND run_no = ANY"
                " (ARRAY(SELECT run_no FROM gone_runs WHERE tenant_id = $1))" RETURN_RUN,
};
DB_QUERY(close_alert,
    "UPDATE alerts SET open = 0, closed_at = $4, closed_by = 'retention'"
    " WHERE tenant_id = $1 AND type = 'run.stuck' AND agent_id = $2 AND subject = $3"
    " AND open = 1");
DB_QUERY(forget_later,
    "DELETE FROM stuck_later WHERE tenant_id = $1 AND due_at < $2 AND NOT EXISTS"
    " (SELECT 1 FROM runs r WHERE r.tenant_id = stuck_later.tenant_id"
    " AND r.run_no = stuck_later.run_no)");

/* CROSS and LATERAL fix the join order: from deleted runs to their events, whatever the table
 * statistics say. One row: how many, their bytes, and the last run of those that they belonged to;
 * earlier ones have no events left. In PostgreSQL rows are deleted where they were found (ctid):
 * an event never changes. */
const struct db_query expiry_delete_events = {
    .sqlite = "DELETE FROM events WHERE event_no IN (SELECT e.event_no FROM gone_runs g"
              " CROSS JOIN run_extents x ON x.run_no = g.run_no"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n WHERE g.tenant_id = $1 LIMIT $2)"
              " AND +tenant_id = $1 RETURNING 1, " EVENT_STORED_BYTES(STORED_TEXT_SQLITE) ", 0",
    .postgres = "WITH gone AS (DELETE FROM events WHERE tenant_id = $1 AND ctid = ANY (ARRAY("
                "SELECT n.ctid FROM (SELECT run_no FROM gone_runs WHERE tenant_id = $1"
                " ORDER BY run_no) g CROSS JOIN LATERAL (SELECT e.ctid"
                " FROM events e WHERE e.tenant_id = $1 AND e.run_no = g.run_no OFFSET 0) n"
                " ORDER BY g.run_no LIMIT $2)) RETURNING run_no, "
                EVENT_STORED_BYTES(STORED_TEXT_POSTGRES) " AS bytes)"
                " SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT),"
                " COALESCE(MAX(run_no), 0) FROM gone",
};
static const struct db_query delete_extents = {
    .sqlite = "DELETE FROM run_extents"
              " WHERE run_no IN (SELECT run_no FROM gone_runs WHERE tenant_id = $1)",
};
/* Reports may be stored meanwhile, so that fewer events than asked for do not mean that they were the
 * last. A subquery, not EXISTS: that might be planned as a look at all events. */
static const struct db_query delete_gone = {
    .sqlite = "DELETE FROM gone_runs WHERE tenant_id = $1 AND run_no < $2",
    .postgres = "DELETE FROM gone_runs g WHERE tenant_id = $1 AND run_no < $2"
                " AND (SELECT e.event_no FROM events e WHERE e.tenant_id = $1"
                " AND e.run_no = g.run_no LIMIT 1) IS NULL",
};

#define OLDEST_BUSINESS                                                                            \
    "SELECT run_no FROM business_runs WHERE tenant_id = $1 AND timestamp < $2"                     \
    " ORDER BY timestamp LIMIT $3"
const struct db_query expiry_select_business = {
    .sqlite = OLDEST_BUSINESS,
    .postgres = OLDEST_BUSINESS " FOR UPDATE SKIP LOCKED",
};
#define DELETE_VALUES                                                                              \
    "DELETE FROM business_values WHERE tenant_id = $1 AND run_no = $2 AND key IN"                  \
    " (SELECT key FROM business_values WHERE tenant_id = $1 AND run_no = $2 LIMIT $3) RETURNING "
static const struct db_query delete_values = {
    .sqlite = DELETE_VALUES BUSINESS_VALUE_BYTES(STORED_TEXT_SQLITE),
    .postgres = DELETE_VALUES BUSINESS_VALUE_BYTES(STORED_TEXT_POSTGRES),
};
#define DELETE_BREAKDOWNS                                                                          \
    "DELETE FROM business_breakdowns WHERE tenant_id = $1 AND run_no = $2"                         \
    " AND (metric, dimensions) IN (SELECT metric, dimensions FROM business_breakdowns"             \
    " WHERE tenant_id = $1 AND run_no = $2 LIMIT $3) RETURNING "
static const struct db_query delete_breakdowns = {
    .sqlite = DELETE_BREAKDOWNS BUSINESS_BREAKDOWN_BYTES(STORED_TEXT_SQLITE),
    .postgres = DELETE_BREAKDOWNS BUSINESS_BREAKDOWN_BYTES(STORED_TEXT_POSTGRES),
};
DB_QUERY(delete_business_run, "DELETE FROM business_runs WHERE tenant_id = $1 AND run_no = $2");
/* The same of several runs, whose rows are locked: no other transaction changes theirs. */
#define OF_RUNS(table)                                                                             \
    "DELETE FROM " table " WHERE tenant_id = $1 AND ctid = ANY (ARRAY("                            \
    "SELECT v.ctid FROM unnest($2::bigint[]) n(run_no) CROSS JOIN LATERAL (SELECT o.ctid"          \
    " FROM " table " o WHERE o.tenant_id = $1 AND o.run_no = n.run_no OFFSET 0) v LIMIT $3))"      \
    " RETURNING "
const struct db_query expiry_delete_values = {
    .postgres = OF_RUNS("business_values") BUSINESS_VALUE_BYTES(STORED_TEXT_POSTGRES),
};
const struct db_query expiry_delete_breakdowns = {
    .postgres = OF_RUNS("business_breakdowns") BUSINESS_BREAKDOWN_BYTES(STORED_TEXT_POSTGRES),
};
/* How many rows each of these runs has, in their order; of one that has very many, more than $3. */
#define UP_TO(table)                                                                               \
    "(SELECT COUNT(*) FROM (SELECT 1 FROM " table " o WHERE o.tenant_id = $1"                      \
    " AND o.run_no = n.run_no LIMIT $3 + 1) x)"
const struct db_query expiry_count_rows = {
    .postgres = "SELECT " UP_TO("business_values") " + " UP_TO("business_breakdowns")
                " FROM unnest($2::bigint[]) WITH ORDINALITY n(run_no, at) ORDER BY n.at",
};
const struct db_query expiry_delete_business_runs = {
    .postgres = "DELETE FROM business_runs"
                " WHERE tenant_id = $1 AND run_no = ANY ($2::bigint[])",
};

const struct db_query expiry_delete_llm = {
    .sqlite = "DELETE FROM llm_usage WHERE tenant_id = $1"
              " AND (timestamp, agent_id, run_id, model) IN"
              " (SELECT timestamp, agent_id, run_id, model FROM llm_usage"
              " WHERE tenant_id = $1 AND timestamp < $2 ORDER BY timestamp LIMIT $3) RETURNING "
              USAGE_BYTES(STORED_TEXT_SQLITE),
    .postgres = "DELETE FROM llm_usage WHERE tenant_id = $1 AND ctid = ANY (ARRAY("
                "SELECT ctid FROM llm_usage WHERE tenant_id = $1 AND timestamp < $2"
                " ORDER BY timestamp LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING "
                USAGE_BYTES(STORED_TEXT_POSTGRES),
};
/* clang-format on */

static bool is_sqlite(const struct db *db)
{
    return strcmp(db_dialect(db), "sqlite") == 0;
}

int64_t expiry_portion(const struct db *db)
{
    return is_sqlite(db) ? SQLITE_PORTION : POSTGRES_PORTION;
}

int64_t expiry_window(const struct db *db)
{
    return is_sqlite(db) ? SQLITE_WINDOW : POSTGRES_WINDOW;
}

/* Deletes the marked runs and what refers to them. */
static int delete_marked(struct db *db, const struct expiry_runs *which, struct arena *arena,
                         struct list *ret, struct error *err)
{
    const struct db_args later = DB_ARGS(db_int(which->tenant_id), db_int(which->now_us));
    const struct gone_run *runs;

    if (is_sqlite(db) && (db_run(db, &keep_run_no, DB_NO_ARGS, err) != 0 ||
                          db_run(db, &keep_event_no, DB_NO_ARGS, err) != 0))
        return -1;
    if (rows_list(db, &expiry_delete_runs, later, arena, ret, err) != 0)
        return -1;
    runs = ret->items;
    for (size_t i = 0; i < ret->n; i++) {
        const struct db_args alert = DB_ARGS(db_int(which->tenant_id), db_int(runs[i].agent_id),
                                             db_text(runs[i].run_id), db_int(which->now_us));

        if (runs[i].open && db_run(db, &close_alert, alert, err) != 0)
            return -1;
    }
    return db_run(db, &forget_later, later, err);
}

int expire_runs(struct db *db, const struct expiry_runs *which, struct arena *arena,
                struct expired_runs *ret, struct error *err)
{
    struct run_cursor end;
    struct list gone = { 0 };
    bool more;

    if (rows_one(db, &find_window,
                 DB_ARGS(db_int(which->tenant_id), db_int(which->before),
                         db_int(which->at.start_at), db_text(which->at.run_id),
                         db_int(which->window - 1)),
                 arena, &end, err) != 0)
        return -1;
    more = !str_is_null(end.run_id);
    if (!more)
        end = (struct run_cursor){ which->before, RUN_ID_FIRST };
    if (db_run(db, &expiry_mark_runs,
               DB_ARGS(db_int(which->tenant_id), db_int(which->before), db_int(which->at.start_at),
                       db_text(which->at.run_id), db_int(end.start_at), db_text(end.run_id),
                       db_int(which->open_before), db_int(which->keep_failed)),
               err) != 0)
        return -1;
    if (db_changes(db) > 0 && delete_marked(db, which, arena, &gone, err) != 0)
        return -1;
    *ret = (struct expired_runs){ gone, end, more };
    return 0;
}

int expire_any_runs(struct db *db, int64_t tenant_id, int64_t max, struct arena *arena,
                    struct list *ret, struct error *err)
{
    const struct expiry_runs which = { .tenant_id = tenant_id, .now_us = INT64_MAX };

    *ret = (struct list){ 0 };
    if (db_run(db, &mark_any_runs, DB_ARGS(db_int(tenant_id), db_int(max)), err) != 0)
        return -1;
    return db_changes(db) == 0 ? 0 : delete_marked(db, &which, arena, ret, err);
}

/* Adds up what RETURNING gives. */
static bool add_bytes(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx += db_get_int(row, 0);
    return true;
}

struct gone_events {
    int64_t rows, bytes;
    int64_t last_run; /* 0: not known, or none */
};

static bool note_gone_events(void *ctx, const struct db_row *row)
{
    struct gone_events *gone = ctx;

    gone->rows += db_get_int(row, 0);
    gone->bytes += db_get_int(row, 1);
    gone->last_run = db_get_int(row, 2);
    return true;
}

/* Runs whose events are all gone are forgotten at once: the next call would look for them again. */
int expire_events(struct db *db, int64_t tenant_id, int64_t max, struct expired_reports *ret,
                  struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(max));
    struct gone_events gone = { 0 };
    bool all;

    if (db_exec(db, &expiry_delete_events, args, note_gone_events, &gone, err) != 0)
        return -1;
    *ret = (struct expired_reports){ gone.rows, gone.rows, gone.bytes };
    all = gone.rows < max;
    if (!all && gone.last_run == 0)
        return 0;
    if (is_sqlite(db) && db_run(db, &delete_extents, args, err) != 0)
        return -1;
    return db_run(db, &delete_gone,
                  DB_ARGS(db_int(tenant_id), db_int(all ? INT64_MAX : gone.last_run)), err);
}

/* A run's values and breakdowns; the run itself once none of them is left. */
static int expire_report(struct db *db, const struct expiry_reports *which, int64_t run_no,
                         struct expired_reports *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(run_no), db_int(which->max));
    int64_t values, breakdowns;

    if (db_exec(db, &delete_values, args, add_bytes, &ret->bytes, err) != 0)
        return -1;
    values = db_changes(db);
    if (db_exec(db, &delete_breakdowns, args, add_bytes, &ret->bytes, err) != 0)
        return -1;
    breakdowns = db_changes(db);
    ret->rows += values + breakdowns;
    if (values == which->max || breakdowns == which->max)
        return 0;
    ret->rows++;
    ret->reports++;
    return db_run(db, &delete_business_run, args, err);
}

struct fitting {
    int64_t room; /* for rows */
    size_t n;     /* of runs */
};

static bool take_while_it_fits(void *ctx, const struct db_row *row)
{
    struct fitting *fitting = ctx;

    fitting->room -= db_get_int(row, 0);
    fitting->n += fitting->room >= 0;
    return fitting->room >= 0;
}

/* The same of several runs with few statements: of as many as have at most `max` rows together. A
 * run is deleted as a whole: one that is kept, because the limit was raised or it goes on, has all
 * its values. */
static int expire_reports(struct db *db, const struct expiry_reports *which, struct rows *runs,
                          struct expired_reports *ret, struct error *err)
{
    const int64_t *run_nos = runs->items;
    struct fitting fitting = { .room = which->max };
    struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_id_list(db, run_nos, runs->n, runs->arena),
                db_int(which->max));

    if (db_exec(db, &expiry_count_rows, args, take_while_it_fits, &fitting, err) != 0)
        return -1;
    if (fitting.n == 0)
        return expire_report(db, which, run_nos[0], ret, err);
    args = DB_ARGS(db_int(which->tenant_id), db_id_list(db, run_nos, fitting.n, runs->arena),
                   db_int(which->max));
    if (db_exec(db, &expiry_delete_values, args, add_bytes, &ret->bytes, err) != 0)
        return -1;
    ret->rows = db_changes(db);
    if (db_exec(db, &expiry_delete_breakdowns, args, add_bytes, &ret->bytes, err) != 0)
        return -1;
    ret->rows += db_changes(db);
    if (db_run(db, &expiry_delete_business_runs, args, err) != 0)
        return -1;
    ret->reports = db_changes(db);
    ret->rows += ret->reports;
    return 0;
}

static bool add_number(void *ctx, const struct db_row *row)
{
    *(int64_t *)rows_add(ctx) = db_get_int(row, 0);
    return true;
}

int expire_business(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
                    struct error *err)
{
    const int64_t runs_max = which->max < REPORT_ROWS ? which->max : which->max / REPORT_ROWS;
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(which->before), db_int(runs_max));
    ARENA_SCOPED(arena);
    struct rows runs = { .arena = &arena, .size = sizeof(int64_t) };
    int r;

    *ret = (struct expired_reports){ 0 };
    r = db_exec(db, &expiry_select_business, args, add_number, &runs, err);
    if (r == 0 && runs.n > 0 && !is_sqlite(db))
        return expire_reports(db, which, &runs, ret, err);
    for (size_t i = 0; r == 0 && i < runs.n && ret->rows < which->max; i++)
        r = expire_report(db, which, ((const int64_t *)runs.items)[i], ret, err);
    return r;
}

int expire_llm(struct db *db, const struct expiry_reports *which, struct expired_reports *ret,
               struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(which->before), db_int(which->max));

    *ret = (struct expired_reports){ 0 };
    if (db_exec(db, &expiry_delete_llm, args, add_bytes, &ret->bytes, err) != 0)
        return -1;
    ret->rows = ret->reports = db_changes(db);
    return 0;
}

/* Deleted tenants */

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
