/* store.c - SQL of alerts and of their histories. */
#include "features/alerts/store.h"

#include <assert.h>

#include "base/buf.h"
#include "db/lists.h"
#include "features/agents/agent_cache.h"
#include "features/alerts/alerts.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define ALERT_COLUMNS                                                                              \
    "l.tenant_id, l.alert_id, l.type, l.agent_id, l.subject,"                                      \
    " COALESCE(a.full_name, a.agent_name) AS agent_name, l.run_no, l.open, l.told, l.since_at, l.opened_at, l.closed_at, l.closed_by,"                \
    " l.away_seconds, l.acknowledged_at, l.acknowledged_by, l.detail, l.limit_seconds, l.note,"                       \
    " l.reminded_at"
#define WITH_AGENT                                                                                 \
    " LEFT JOIN agents a ON a.tenant_id = l.tenant_id AND a.agent_id = l.agent_id"
#define ALERTS "SELECT " ALERT_COLUMNS " FROM alerts l" WITH_AGENT " WHERE l.tenant_id = $1"
#define NEWEST_FIRST " AND l.alert_id < $2 ORDER BY l.alert_id DESC LIMIT $3"

ROW_TABLE(alert_row,
    INT(tenant_id), STR(alert_id), STR(type), INT(agent_id), STR(agent_name),
    STR(subject), OPT_INT(run_no), BOOL(open), FIELD_AT("told", notified, bool, T_BOOL), TIME(since_at),
    TIME(opened_at), TIME(closed_at), STR(closed_by), OPT_INT(away_seconds),
    TIME(acknowledged_at), STR(acknowledged_by), STR(detail), OPT_INT(limit_seconds), STR(note),
    TIME(reminded_at));

DB_QUERY(open_alert,
    "INSERT INTO alerts (tenant_id, alert_id, type, agent_id, subject, run_no, open, told,"
    " since_at, opened_at, detail, limit_seconds)"
    " VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9, $10, $11)"
    " ON CONFLICT (tenant_id, type, agent_id, subject) WHERE open = 1 DO NOTHING");
/* `told` is 0 while the run's agent is muted; unique per run. */
DB_QUERY(failed_alert,
    "INSERT INTO alerts (tenant_id, alert_id, type, agent_id, subject, run_no, open, told,"
    " since_at, opened_at, closed_at, closed_by, detail)"
    " SELECT r.tenant_id, CAST($3 AS TEXT), 'run.failed', r.agent_id, r.run_id, r.run_no, 0,"
    " CASE WHEN a.muted_until > $5 THEN 0 ELSE 1 END, CAST($4 AS BIGINT),"
    " CAST($5 AS BIGINT), CAST($5 AS BIGINT), 'event', CAST($6 AS TEXT)"
    " FROM runs r JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
    " WHERE r.tenant_id = $1 AND r.run_no = $2"
    " ON CONFLICT (tenant_id, subject) WHERE type = 'run.failed' DO NOTHING");
/* The same for many runs of a tenant. */
static const struct db_query failed_alerts = {
    .row = &alert_row,
    .postgres = "WITH added AS (INSERT INTO alerts (tenant_id, alert_id, type, agent_id, subject,"
                " run_no, open, told, since_at, opened_at, closed_at, closed_by, detail)"
                " SELECT CAST($1 AS BIGINT), x.id, 'run.failed', r.agent_id, r.run_id, x.no, 0,"
                " CASE WHEN r.muted_until > x.at THEN 0 ELSE 1 END, x.since, x.at, x.at, 'event',"
                " x.detail FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[],"
                " $6::text[]) WITH ORDINALITY AS x(no, id, since, at, detail, place)"
                " CROSS JOIN LATERAL (SELECT n.agent_id, n.run_id, a.muted_until FROM runs n"
                " JOIN agents a ON a.tenant_id = $1 AND a.agent_id = n.agent_id"
                " WHERE n.tenant_id = $1 AND n.run_no = x.no OFFSET 0) r ORDER BY x.no, x.place"
                " ON CONFLICT (tenant_id, subject) WHERE type = 'run.failed' DO NOTHING RETURNING *)"
                " SELECT " ALERT_COLUMNS " FROM added l" WITH_AGENT,
    .citus = "SELECT 1", /* one by one there */
};
DB_QUERY(close_alert,
    "UPDATE alerts SET open = 0, closed_at = $3, closed_by = $4, away_seconds = $5"
    " WHERE tenant_id = $1 AND alert_id = $2 AND open = 1");
DB_RUN_FN(alert_store_detail, (const struct alert_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_text(row->detail)),
    "UPDATE alerts SET detail = $3 WHERE tenant_id = $1 AND alert_id = $2 AND open = 1");
DB_QUERY(mark_notified,
    "UPDATE alerts SET told = 1"
    " WHERE tenant_id = $1 AND alert_id = $2 AND open = 1 AND told = 0");
ROWS_LIST_FN(alert_store_unnotified, alert_row, (int64_t now, int64_t limit),
    (db_int(now), db_int(limit)),
    "SELECT " ALERT_COLUMNS " FROM alerts l" WITH_AGENT " WHERE l.open = 1 AND l.told = 0"
    " AND a.enabled = 1 AND a.deleted_at IS NULL"
    " AND (a.muted_until IS NULL OR a.muted_until <= $1)"
    " ORDER BY l.tenant_id, l.alert_id LIMIT $2");
/* Not acknowledged, and its message was sent or repeated as long ago as the tenant's rules say. */
ROWS_LIST_FN(alert_store_to_remind, alert_row, (int64_t now, int64_t limit),
    (db_int(now), db_int(limit)),
    "SELECT " ALERT_COLUMNS " FROM alert_rules r JOIN alerts l ON l.tenant_id = r.tenant_id"
    " AND l.open = 1" WITH_AGENT " WHERE r.remind_hours > 0 AND l.told = 1"
    " AND l.acknowledged_at IS NULL AND COALESCE(l.reminded_at, l.opened_at)"
    " <= CAST($1 AS BIGINT) - r.remind_hours * 3600000000"
    " AND (a.muted_until IS NULL OR a.muted_until <= $1)"
    " ORDER BY l.tenant_id, l.alert_id LIMIT $2");
static const struct db_query select_alert = { .row = &alert_row, .sql = ALERTS " AND l.alert_id = $2" };
static const struct db_query all_alerts = { .row = &alert_row, .sql = ALERTS NEWEST_FIRST };
DB_ROWS_QUERY(alerts_by_state, alert_row, ALERTS " AND l.open = $4" NEWEST_FIRST);
DB_ROWS_QUERY(alerts_by_agent, alert_row, ALERTS " AND l.agent_id = $4" NEWEST_FIRST);
DB_INT_FN(alert_store_closed_after, (int64_t tenant_id, struct str alert_id, int64_t limit),
    (db_int(tenant_id), db_text(alert_id), db_int(limit)),
    "SELECT COUNT(*) FROM (SELECT 1 FROM alerts WHERE tenant_id = $1 AND open = 0"
    " AND alert_id > $2 LIMIT $3) AS counted");
DB_QUERY(count_open, "SELECT COUNT(*) FROM alerts WHERE open = 1");
ROWS_LIST_FN(alert_store_of_thresholds, alert_row, (int64_t tenant_id), (db_int(tenant_id)),
    ALERTS " AND l.open = 1 AND l.type IN ('kpi.crossed', 'budget.exceeded',"
    " 'budget.forecast', 'failure_rate.exceeded', 'duration.exceeded')");
ROWS_LIST_FN(alert_store_of_failing, alert_row, (int64_t tenant_id), (db_int(tenant_id)),
    ALERTS " AND l.open = 1 AND l.type = 'agent.failing' ORDER BY l.agent_id");
DB_QUERY(select_over,
    "SELECT 1 FROM alerts WHERE tenant_id = $1 AND agent_id = $2 AND type = $3"
    " AND subject = $4 AND since_at = $5 AND closed_at >= $6 LIMIT 1");
/* $1 is a JSON array of tenant and agent. Where tenants are distributed, all of the tenant $2. */
static const struct db_query alerts_of_sightings = {
    .row = &alert_row,
    .sqlite = "SELECT " ALERT_COLUMNS " FROM json_each($1) j CROSS JOIN alerts l"
              " ON l.tenant_id = json_extract(j.value, '$[0]') AND l.type = 'agent.silent'"
              " AND l.agent_id = json_extract(j.value, '$[1]') AND l.subject = '' AND l.open = 1"
              WITH_AGENT,
    .postgres = "SELECT " ALERT_COLUMNS " FROM json_array_elements(CAST($1 AS json)) AS j"
                " JOIN alerts l ON l.tenant_id = CAST(j ->> 0 AS BIGINT) AND l.type = 'agent.silent'"
                " AND l.agent_id = CAST(j ->> 1 AS BIGINT) AND l.subject = '' AND l.open = 1"
                WITH_AGENT,
    .citus = "SELECT " ALERT_COLUMNS " FROM json_array_elements(CAST($1 AS json)) AS j"
             " JOIN alerts l ON l.tenant_id = $2 AND l.type = 'agent.silent'"
             " AND l.agent_id = CAST(j ->> 1 AS BIGINT) AND l.subject = '' AND l.open = 1"
             WITH_AGENT,
};
DB_QUERY(acknowledge,
    "UPDATE alerts SET acknowledged_at = $3, acknowledged_by = $4"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NULL");
DB_QUERY(unacknowledge,
    "UPDATE alerts SET acknowledged_at = NULL, acknowledged_by = NULL"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NOT NULL");
DB_QUERY(set_note, "UPDATE alerts SET note = $3 WHERE tenant_id = $1 AND alert_id = $2");
DB_QUERY(remind,
    "UPDATE alerts SET reminded_at = $3 WHERE tenant_id = $1 AND alert_id = $2 AND open = 1"
    " AND acknowledged_at IS NULL AND COALESCE(reminded_at, opened_at) = $4");
DB_QUERY(add_entry,
    "INSERT INTO alert_history (tenant_id, alert_id, entry_id, at, what, actor, note)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
ROWS_LIST_FN(alert_store_history, alert_entry_shape, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id), db_int(2 * ALERT_HISTORY_MAX + 1)),
    "SELECT entry_id, at, what, actor, note FROM alert_history"
    " WHERE tenant_id = $1 AND alert_id = $2 ORDER BY entry_id LIMIT $3");
/* Of people: reminders are one between two of them at most. */
DB_QUERY(count_entries,
    "SELECT COUNT(*) FROM (SELECT 1 FROM alert_history"
    " WHERE tenant_id = $1 AND alert_id = $2 AND what <> 'reminded' LIMIT $3) AS counted");
DB_QUERY(delete_reminders,
    "DELETE FROM alert_history WHERE tenant_id = $1 AND alert_id = $2 AND what = 'reminded'"
    " AND entry_id > COALESCE((SELECT MAX(h.entry_id) FROM alert_history h"
    " WHERE h.tenant_id = $1 AND h.alert_id = $2 AND h.what <> 'reminded'), '')");
ROWS_LIST_FN(alert_store_counts, alert_count_shape, (int64_t tenant_id, int64_t limit),
    (db_int(tenant_id), db_int(limit)),
    "SELECT type, COUNT(*) AS open,"
    " CAST(SUM(CASE WHEN acknowledged_at IS NULL THEN 1 ELSE 0 END) AS BIGINT)"
    " AS unacknowledged FROM (SELECT type, acknowledged_at FROM alerts"
    " WHERE tenant_id = $1 AND open = 1 LIMIT $2) AS counted GROUP BY type ORDER BY type");
DB_INT_FN(alert_store_closed_next_tenant, (int64_t after), (db_int(after)),
    "SELECT COALESCE(MIN(tenant_id), 0) FROM tenants WHERE tenant_id > $1");
DB_QUERY(select_beyond,
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND open = 0"
    " ORDER BY alert_id DESC LIMIT 1 OFFSET $2");
#define OLDEST                                                                                     \
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND open = 0 AND alert_id <= $2"             \
    " ORDER BY alert_id LIMIT $3"
static const struct db_query select_oldest = {
    .sqlite = OLDEST,
    .postgres = OLDEST " FOR UPDATE SKIP LOCKED",
};
DB_QUERY(delete_alert, "DELETE FROM alerts WHERE tenant_id = $1 AND alert_id = $2 AND open = 0");
#define DELETE_HISTORY                                                                             \
    "DELETE FROM alert_history WHERE tenant_id = $1 AND alert_id = $2 RETURNING "
static const struct db_query delete_history = {
    .sqlite = DELETE_HISTORY ALERT_NOTE_BYTES(STORED_TEXT_SQLITE),
    .postgres = DELETE_HISTORY ALERT_NOTE_BYTES(STORED_TEXT_POSTGRES),
};
/* clang-format on */

int alert_store_open(struct db *db, const struct alert_row *row, bool *ret_opened,
                     struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id), db_text(row->type),
                db_int(row->agent_id), db_text(row->subject), rows_opt_int_value(row->run_no),
                db_int(row->notified), db_int(row->since_at), db_int(row->opened_at),
                db_text(row->detail), rows_opt_int_value(row->limit_seconds));

    return db_run_changed(db, &open_alert, args, ret_opened, err);
}

static int failed_one_by_one(struct db *db, const struct alert_row *rows, size_t n,
                             struct arena *arena, struct list *ret, struct error *err)
{
    struct rows stored = { .arena = arena, .size = sizeof(struct alert_row) };

    for (size_t i = 0; i < n; i++) {
        const struct db_args args = DB_ARGS(db_int(rows[i].tenant_id), db_int(rows[i].run_no.value),
                                            db_text(rows[i].alert_id), db_int(rows[i].since_at),
                                            db_int(rows[i].opened_at), db_text(rows[i].detail));

        if (db_run(db, &failed_alert, args, err) != 0)
            return -1;
        if (db_changes(db) > 0 && alert_store_get(db, rows[i].tenant_id, rows[i].alert_id, arena,
                                                  rows_add(&stored), err) != 0)
            return -1;
    }
    *ret = (struct list){ stored.items, stored.n };
    return 0;
}

int alert_store_failed(struct db *db, const struct alert_row *rows, size_t n, struct arena *arena,
                       struct list *ret, struct error *err)
{
    struct db_value args[6];

    if (!pg_arrays_suit(db))
        return failed_one_by_one(db, rows, n, arena, ret, err);
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args) - 1, arena);
    for (size_t i = 0; i < n; i++) {
        const struct db_value row[] = { db_int(rows[i].run_no.value), db_text(rows[i].alert_id),
                                        db_int(rows[i].since_at), db_int(rows[i].opened_at),
                                        db_text(rows[i].detail) };

        assert(rows[i].tenant_id == rows[0].tenant_id);
        pg_arrays_add(&arrays, row);
    }
    args[0] = db_int(rows[0].tenant_id);
    pg_arrays_args(&arrays, args + 1);
    return rows_list(db, &failed_alerts, DB_ARGS_OF(args), arena, ret, err);
}

int alert_store_close(struct db *db, const struct alert_row *row, bool *ret_closed,
                      struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id), db_int(row->closed_at),
                db_text(row->closed_by), rows_opt_int_value(row->away_seconds));

    return db_run_changed(db, &close_alert, args, ret_closed, err);
}

int alert_store_notified(struct db *db, const struct alert_row *row, bool *ret_first,
                         struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id));

    return db_run_changed(db, &mark_notified, args, ret_first, err);
}

int alert_store_list(struct db *db, int64_t tenant_id, const struct alert_filter *filter,
                     struct arena *arena, struct list *ret, struct error *err)
{
    /* no id begins with a letter after 'a' */
    struct str before = str_is_null(filter->before) ? STR_LIT("b") : filter->before;
    const struct db_query *q = filter->open >= 0 ? &alerts_by_state : &all_alerts;
    int64_t which = filter->open;

    if (filter->agent_id != 0) {
        q = &alerts_by_agent;
        which = filter->agent_id;
    }
    return rows_list(
        db, q, DB_ARGS(db_int(tenant_id), db_text(before), db_int(filter->limit), db_int(which)),
        arena, ret, err);
}

int alert_store_count_open(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &count_open, DB_NO_ARGS, ret, err);
}

int alert_store_is_over(struct db *db, const struct alert_row *row, int64_t closed_at, bool *ret,
                        struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->agent_id), db_text(row->type),
                db_text(row->subject), db_int(row->since_at), db_int(closed_at));

    return db_exec_bool(db, &select_over, args, ret, err);
}

int alert_store_get(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                    struct alert_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(alert_id));

    return rows_one(db, &select_alert, args, arena, ret, err);
}

static int alerts_of_some(struct db *db, const struct sighting *sightings, size_t n,
                          struct arena *arena, struct list *ret, struct error *err)
{
    BUF_SCOPED(agents, SIZE_MAX); /* bounded by n */

    buf_add_char(&agents, '[');
    for (size_t i = 0; i < n; i++)
        buf_printf(&agents, "%s[%lld,%lld]", i == 0 ? "" : ",", (long long)sightings[i].tenant_id,
                   (long long)sightings[i].agent_id);
    buf_add_char(&agents, ']');
    return rows_list(db, &alerts_of_sightings,
                     DB_ARGS(db_text(buf_str(&agents)), db_int(sightings->tenant_id)), arena, ret,
                     err);
}

int alert_store_of_sightings(struct db *db, const struct sighting *sightings, size_t n,
                             struct arena *arena, struct list *ret, struct error *err)
{
    struct rows all = { .arena = arena, .size = sizeof(struct alert_row) };

    if (n == 0 || !db_is_distributed(db))
        return alerts_of_some(db, sightings, n, arena, ret, err);
    for (size_t begin = 0, end; begin < n; begin = end) {
        struct list some;

        for (end = begin + 1; end < n && sightings[end].tenant_id == sightings[begin].tenant_id;)
            end++;
        if (alerts_of_some(db, sightings + begin, end - begin, arena, &some, err) != 0)
            return -1;
        for (size_t i = 0; i < some.n; i++)
            *(struct alert_row *)rows_add(&all) = ((const struct alert_row *)some.items)[i];
    }
    *ret = (struct list){ all.items, all.n };
    return 0;
}

int alert_store_acknowledge(struct db *db, const struct alert_entry_row *row, bool *ret_first,
                            struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id),
                                        db_int(row->entry.at), db_text(row->entry.actor));

    return db_run_changed(db, &acknowledge, args, ret_first, err);
}

int alert_store_unacknowledge(struct db *db, int64_t tenant_id, struct str alert_id,
                              bool *ret_first, struct error *err)
{
    return db_run_changed(db, &unacknowledge, DB_ARGS(db_int(tenant_id), db_text(alert_id)),
                          ret_first, err);
}

int alert_store_note(struct db *db, int64_t tenant_id, struct str alert_id, struct str note,
                     bool *ret_found, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(alert_id), db_text(note));

    return db_run_changed(db, &set_note, args, ret_found, err);
}

int alert_store_remind(struct db *db, const struct alert_entry_row *row, int64_t before, bool *ret,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id),
                                        db_int(row->entry.at), db_int(before));

    return db_run_changed(db, &remind, args, ret, err);
}

int alert_store_history_add(struct db *db, const struct alert_entry_row *row, struct error *err)
{
    const struct alert_entry *entry = &row->entry;
    const struct db_args args = DB_ARGS(
        db_int(row->tenant_id), db_text(row->alert_id), db_text(entry->entry_id), db_int(entry->at),
        db_text(entry->what), db_text(entry->actor), db_text(entry->note));

    return db_run(db, &add_entry, args, err);
}

int alert_store_history_remind(struct db *db, const struct alert_entry_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id));

    if (db_run(db, &delete_reminders, args, err) != 0)
        return -1;
    return alert_store_history_add(db, row, err);
}

int alert_store_history_is_full(struct db *db, int64_t tenant_id, struct str alert_id, bool *ret,
                                struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(alert_id), db_int(ALERT_HISTORY_MAX));
    int64_t n = 0;

    if (db_exec(db, &count_entries, args, db_read_int, &n, err) != 0)
        return -1;
    *ret = n >= ALERT_HISTORY_MAX;
    return 0;
}

int alert_store_closed_beyond(struct db *db, int64_t tenant_id, int64_t keep, struct arena *arena,
                              struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_beyond, DB_ARGS(db_int(tenant_id), db_int(keep)), arena, ret,
                         err);
}

static bool add_text(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;

    *(struct str *)rows_add(rows) = rows_text(rows->arena, row, 0);
    return true;
}

int alert_store_closed_oldest(struct db *db, int64_t tenant_id, struct str until, int64_t max,
                              struct rows *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(until), db_int(max));

    return db_exec(db, &select_oldest, args, add_text, ret, err);
}

static bool add_bytes(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx += db_get_int(row, 0);
    return true;
}

int alert_store_closed_delete(struct db *db, int64_t tenant_id, struct str alert_id,
                              int64_t *ret_rows, int64_t *ret_bytes, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(alert_id));

    if (db_run(db, &delete_alert, args, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return 0;
    *ret_rows += 1;
    if (db_exec(db, &delete_history, args, add_bytes, ret_bytes, err) != 0)
        return -1;
    *ret_rows += db_changes(db);
    return 0;
}
