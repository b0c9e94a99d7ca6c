/* store.c - SQL of alerts and their histories, of the runs and agents that they are about, and of
 * tenants' alert rules. */
#include "features/alerts/store.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "db/lists.h"
#include "features/agents/agent_cache.h"
#include "features/events/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

enum {
    UNFINISHED_MAX = 20, /* runs without an end that are looked at besides */
    DEEP_MAX = 1000      /* runs looked at in all, when that many have no end */
};

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

DB_CHANGED_FN(alert_store_open, (const struct alert_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_text(row->type), db_int(row->agent_id),
     db_text(row->subject), rows_opt_int_value(row->run_no), db_int(row->notified),
     db_int(row->since_at), db_int(row->opened_at), db_text(row->detail),
     rows_opt_int_value(row->limit_seconds)),
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
DB_CHANGED_FN(alert_store_close, (const struct alert_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_int(row->closed_at),
     db_text(row->closed_by), rows_opt_int_value(row->away_seconds)),
    "UPDATE alerts SET open = 0, closed_at = $3, closed_by = $4, away_seconds = $5"
    " WHERE tenant_id = $1 AND alert_id = $2 AND open = 1");
DB_RUN_FN(alert_store_detail, (const struct alert_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_text(row->detail)),
    "UPDATE alerts SET detail = $3 WHERE tenant_id = $1 AND alert_id = $2 AND open = 1");
DB_CHANGED_FN(alert_store_notified, (const struct alert_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id)),
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
ROWS_ONE_FN(alert_store_get, alert_row, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id)), ALERTS " AND l.alert_id = $2");
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
DB_INT_FN(alert_store_over, (const struct alert_row *row, int64_t closed_at),
    (db_int(row->tenant_id), db_int(row->agent_id), db_text(row->type), db_text(row->subject),
     db_int(row->since_at), db_int(closed_at)),
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
DB_CHANGED_FN(alert_store_acknowledge, (const struct alert_entry_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_int(row->entry.at), db_text(row->entry.actor)),
    "UPDATE alerts SET acknowledged_at = $3, acknowledged_by = $4"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NULL");
DB_CHANGED_FN(alert_store_unacknowledge, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id)),
    "UPDATE alerts SET acknowledged_at = NULL, acknowledged_by = NULL"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NOT NULL");
DB_CHANGED_FN(alert_store_note, (int64_t tenant_id, struct str alert_id, struct str note),
    (db_int(tenant_id), db_text(alert_id), db_text(note)),
    "UPDATE alerts SET note = $3 WHERE tenant_id = $1 AND alert_id = $2");
DB_CHANGED_FN(alert_store_remind, (const struct alert_entry_row *row, int64_t before),
    (db_int(row->tenant_id), db_text(row->alert_id), db_int(row->entry.at), db_int(before)),
    "UPDATE alerts SET reminded_at = $3 WHERE tenant_id = $1 AND alert_id = $2 AND open = 1"
    " AND acknowledged_at IS NULL AND COALESCE(reminded_at, opened_at) = $4");
DB_RUN_FN(alert_store_history_add, (const struct alert_entry_row *row),
    (db_int(row->tenant_id), db_text(row->alert_id), db_text(row->entry.entry_id),
     db_int(row->entry.at), db_text(row->entry.what), db_text(row->entry.actor),
     db_text(row->entry.note)),
    "INSERT INTO alert_history (tenant_id, alert_id, entry_id, at, what, actor, note)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
ROWS_LIST_FN(alert_store_history, alert_entry_shape, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id), db_int(2 * ALERT_HISTORY_MAX + 1)),
    "SELECT entry_id, at, what, actor, note FROM alert_history"
    " WHERE tenant_id = $1 AND alert_id = $2 ORDER BY entry_id LIMIT $3");
/* Of people: reminders are one between two of them at most. */
DB_INT_FN(alert_store_history_count, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id), db_int(ALERT_HISTORY_MAX)),
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

/* Runs. */
#define RUN_COLUMNS "run_id, error_type, closing_event, start_at, closing_at, duration_ms"
#define STARTED " AND start_at IS NOT NULL" /* the index of runs by agent has no others */
#define NEWEST_STARTS " ORDER BY start_at DESC, run_id DESC LIMIT $2"

DB_QUERY(runs_of_tenant,
    "SELECT " RUN_COLUMNS " FROM runs WHERE tenant_id = $1" STARTED NEWEST_STARTS);
DB_QUERY(runs_of_agent,
    "SELECT " RUN_COLUMNS " FROM runs WHERE tenant_id = $1 AND agent_id = $3" STARTED
    NEWEST_STARTS);

ROW_TABLE(failing_row,
    INT(tenant_id), INT(agent_id), STR(alert_id), STR(detail), BOOL(enabled),
    BOOL(deleted), BOOL(wanted));

#define FAILING                                                                                    \
    "SELECT l.tenant_id, l.agent_id, l.alert_id, l.detail,"                                        \
    " CASE WHEN a.deleted_at IS NULL THEN a.enabled ELSE 0 END AS enabled,"                        \
    " CASE WHEN a.deleted_at IS NULL THEN 0 ELSE 1 END AS deleted,"                                \
    " COALESCE(r.run_failed, 1) AS wanted"                                                         \
    " FROM alerts l JOIN agents a ON a.tenant_id = l.tenant_id AND a.agent_id = l.agent_id"        \
    " LEFT JOIN alert_rules r ON r.tenant_id = l.tenant_id"                                        \
    " WHERE l.open = 1 AND l.type = 'agent.failing' AND l.subject = ''"

ROWS_LIST_FN(alert_store_failing, failing_row, (const struct failing_row *after, int64_t limit),
    (db_int(after->tenant_id), db_int(after->agent_id), db_int(limit)),
    FAILING " AND (l.tenant_id > $1 OR (l.tenant_id = $1 AND l.agent_id > $2))"
    " ORDER BY l.tenant_id, l.agent_id LIMIT $3");
ROWS_ONE_FN(alert_store_failing_of, failing_row, (int64_t tenant_id, int64_t agent_id),
    (db_int(tenant_id), db_int(agent_id)), FAILING " AND l.tenant_id = $1 AND l.agent_id = $2");
static const struct db_query hold_agent = {
    .sqlite = "SELECT $2 WHERE $1 = $1", /* one writer */
    .postgres = "SELECT agent_id FROM agents WHERE tenant_id = $1 AND agent_id = $2"
                " FOR NO KEY UPDATE",
};

#define STUCK_COLUMNS                                                                                \
    "SELECT r.tenant_id, r.run_no, r.agent_id, r.run_id, r.start_at,"               \
    " COALESCE(a.full_name, a.agent_name) AS agent_name,"                                          \
    " CASE WHEN r.closing_at IS NULL THEN 1 ELSE 0 END AS open,"                                   \
    " CASE WHEN a.enabled = 1 AND a.deleted_at IS NULL THEN 1 ELSE 0 END AS expected,"             \
    " COALESCE((SELECT run_stuck FROM alert_rules p WHERE p.tenant_id = r.tenant_id), 1) AS wanted"
#define OF_AGENT " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
#define ALERT_OF_RUN                                                                               \
    " l.tenant_id = r.tenant_id AND l.type = 'run.stuck' AND l.agent_id = r.agent_id"              \
    " AND l.subject = CAST(r.run_id AS TEXT) AND l.open = 1"

ROW_TABLE(stuck_tenant,
    INT(tenant_id),
    FIELD_AT("start_at", mark.start_at, int64_t, T_TIME),
    FIELD_AT("run_id", mark.run_id, struct str, T_STR));

ROW_TABLE(stuck_run,
    INT(tenant_id), INT(run_no), INT(agent_id), STR(run_id), STR(agent_name),
    TIME(start_at), BOOL(open), BOOL(expected), BOOL(wanted));

ROWS_LIST_FN(alert_store_stuck_tenants, stuck_tenant, (int64_t after, int64_t limit),
    (db_int(after), db_int(limit)),
    "SELECT t.tenant_id, m.start_at, m.run_id FROM tenants t"
    " LEFT JOIN stuck_marks m ON m.tenant_id = t.tenant_id"
    " WHERE t.tenant_id > $1 ORDER BY t.tenant_id LIMIT $2");
DB_RUN_FN(alert_store_stuck_mark, (const struct stuck_tenant *tenant),
    (db_int(tenant->tenant_id), db_int(tenant->mark.start_at), db_text(tenant->mark.run_id)),
    "INSERT INTO stuck_marks (tenant_id, start_at, run_id) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id) DO UPDATE SET start_at = excluded.start_at,"
    " run_id = excluded.run_id WHERE (excluded.start_at, excluded.run_id)"
    " > (stuck_marks.start_at, stuck_marks.run_id)");
ROWS_LIST_FN(alert_store_stuck_runs, stuck_run, (int64_t tenant_id, const struct stuck_span *span),
    (db_int(tenant_id), db_int(span->after.start_at), db_text(span->after.run_id),
     db_int(span->until), db_int(span->limit)),
    STUCK_COLUMNS " FROM runs r" OF_AGENT
    " WHERE r.tenant_id = $1 AND (r.start_at, r.run_id) > ($2, $3) AND r.start_at <= $4"
    " AND r.closing_at IS NULL AND NOT EXISTS (SELECT 1 FROM alerts l WHERE" ALERT_OF_RUN ")"
    " ORDER BY r.start_at, r.run_id LIMIT $5");
ROWS_ONE_FN(alert_store_stuck_run, stuck_run, (int64_t tenant_id, int64_t run_no),
    (db_int(tenant_id), db_int(run_no)),
    STUCK_COLUMNS " FROM runs r" OF_AGENT " WHERE r.tenant_id = $1 AND r.run_no = $2");
DB_RUN_FN(alert_store_stuck_later, (const struct stuck_run *run, int64_t due_at),
    (db_int(run->tenant_id), db_int(due_at), db_int(run->run_no)),
    "INSERT INTO stuck_later (tenant_id, due_at, run_no) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING");
DB_RUN_FN(alert_store_stuck_forget, (const struct stuck_run *run),
    (db_int(run->tenant_id), db_int(run->run_no)),
    "DELETE FROM stuck_later WHERE tenant_id = $1 AND run_no = $2");
ROWS_LIST_FN(alert_store_stuck_due, stuck_run, (int64_t until, int64_t limit),
    (db_int(until), db_int(limit)),
    STUCK_COLUMNS " FROM stuck_later s JOIN runs r ON r.tenant_id = s.tenant_id"
    " AND r.run_no = s.run_no" OF_AGENT " WHERE s.due_at <= $1 ORDER BY s.due_at LIMIT $2");
ROWS_LIST_FN(alert_store_stuck_over, stuck_run, (int64_t limit), (db_int(limit)),
    STUCK_COLUMNS " FROM alerts l JOIN runs r ON r.tenant_id = l.tenant_id"
    " AND r.run_no = l.run_no" OF_AGENT " WHERE l.open = 1 AND l.type = 'run.stuck'"
    " AND (r.closing_at IS NOT NULL OR a.enabled = 0 OR a.deleted_at IS NOT NULL OR EXISTS"
    " (SELECT 1 FROM alert_rules p WHERE p.tenant_id = r.tenant_id AND p.run_stuck = 0))"
    " LIMIT $1");
DB_INT_FN(alert_store_stuck_count, (const struct stuck_run *run),
    (db_int(run->tenant_id), db_int(run->agent_id)),
    "SELECT COUNT(*) FROM alerts WHERE tenant_id = $1 AND type = 'run.stuck'"
    " AND agent_id = $2 AND open = 1");
/* Not filtered by agent: the alert may be stored under an agent to which the run was first
 * attributed. */
DB_QUERY(select_stuck,
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND type = 'run.stuck'"
    " AND subject = $2 AND open = 1 ORDER BY alert_id LIMIT 1");

/* Agents that are silent. */
#define FACTS                                                                                      \
    "SELECT a.tenant_id, a.agent_id, a.interval_seconds, s.last_seen_at,"           \
    " l.alert_id, l.since_at, l.opened_at, l.limit_seconds," SCHEDULE_COLUMNS ","                   \
    " CASE WHEN a.deleted_at IS NULL THEN a.enabled ELSE 0 END AS enabled,"                        \
    " CASE WHEN a.deleted_at IS NULL THEN 0 ELSE 1 END AS deleted"
#define SILENCE_FROM                                                                               \
    " FROM agents a"                                                                               \
    " JOIN agent_signs s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN   \
    " LEFT JOIN alerts l ON l.tenant_id = a.tenant_id AND l.type = 'agent.silent'"                 \
    " AND l.agent_id = a.agent_id AND l.subject = '' AND l.open = 1"

ROW_TABLE(silence_row,
    INT(tenant_id), INT(agent_id), STR(agent_name), BOOL(enabled), BOOL(deleted),
    OPT_INT(interval_seconds), TIME(last_seen_at), STR(alert_id),
    TIME(since_at), TIME(opened_at), OPT_INT(limit_seconds),
    EMBEDDED(schedule, OPT_INT(every_seconds), STR(cron), STR(time_zone), OPT_INT(grace_seconds), BOOL(paused),
        TIME(scheduled_at)));

/* Skips agents with an interval that were seen so recently that no report is due before $2.
 * Compares in seconds, and subtracts instead of adding to a declared interval, which may be any
 * number. Last-seen times in the future ($1 is now) are not skipped: the caller checks those. */
#define INTERVAL "COALESCE(c.every_seconds, a.interval_seconds)"
ROWS_LIST_FN(alert_store_silent_near, silence_row, (int64_t now, int64_t until),
    (db_int(now), db_int(until / USEC_PER_SEC)),
    FACTS SILENCE_FROM " WHERE (a.enabled = 1 AND a.deleted_at IS NULL AND (c.cron IS NOT NULL"
    " OR (" INTERVAL " > 0 AND NOT (s.last_seen_at <= CAST($1 AS BIGINT)"
    " AND " INTERVAL " > CAST($2 AS BIGINT) - s.last_seen_at / 1000000))))"
    " OR l.alert_id IS NOT NULL ORDER BY s.tenant_id, s.agent_id");
static const struct db_query hold_silent = {
    .row = &silence_row,
    .sqlite = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" SILENCE_FROM
              " WHERE a.tenant_id = $1 AND a.agent_id = $2",
    .postgres = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" SILENCE_FROM
                " WHERE a.tenant_id = $1 AND a.agent_id = $2 FOR UPDATE OF s",
};

/* Rules. */
#define RULES_COLUMNS "tenant_id, run_failed, run_stuck, bounds, version, updated_at, rules, remind_hours, hard_budgets"

ROW_TABLE(alert_rules_row,
    INT(tenant_id), BOOL(run_failed), BOOL(run_stuck), INT(version), TIME(updated_at),
    STR(rules), FIELD_AT("bounds", thresholds, int64_t, T_INT), OPT_INT(remind_hours),
    INT(hard_budgets));

ROW_TABLE(budget_alert_row,
    INT(tenant_id), STR(detail), TIME(since_at));

DB_QUERY(set_rules,
    "INSERT INTO alert_rules (" RULES_COLUMNS ") VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8)"
    " ON CONFLICT (tenant_id) DO UPDATE SET run_failed = excluded.run_failed,"
    " run_stuck = excluded.run_stuck, bounds = excluded.bounds,"
    " version = alert_rules.version + 1, updated_at = excluded.updated_at,"
    " rules = excluded.rules, remind_hours = excluded.remind_hours,"
    " hard_budgets = excluded.hard_budgets");
/* The registry knows whether alerts on failed runs are enabled. */
DB_QUERY(touch_tenant,
    "UPDATE tenants SET changed = (SELECT number FROM change_numbers"
    " WHERE topic = 'registry') WHERE tenant_id = $1");
ROWS_ONE_FN(alert_store_rules_get, alert_rules_row, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT " RULES_COLUMNS " FROM alert_rules WHERE tenant_id = $1");
static const struct db_query hold_rules = {
    .sqlite = "SELECT version FROM alert_rules WHERE tenant_id = $1",
    .postgres = "SELECT version FROM alert_rules WHERE tenant_id = $1 FOR SHARE",
};
/* Without the rules: there may be many tenants. */
DB_ROWS_QUERY(select_limited, alert_rules_row,
    "SELECT tenant_id, version FROM alert_rules WHERE bounds > 0 ORDER BY tenant_id");
/* From the tenants with hard budgets, of which there are few, to their alerts: SQLite keeps the order
 * of a CROSS JOIN. */
DB_ROWS_QUERY(budget_alerts, budget_alert_row,
    "SELECT r.tenant_id, l.detail, l.since_at FROM alert_rules r CROSS JOIN alerts l"
    " WHERE r.hard_budgets > 0 AND l.tenant_id = r.tenant_id AND l.open = 1"
    " AND l.type = 'budget.exceeded' ORDER BY r.tenant_id");
/* Among the newest ones of the time, so that the cost does not grow with runs that failed. */
#define COMPLETED(of)                                                                              \
    "SELECT 1 FROM (SELECT closing_at, closing_event FROM runs WHERE tenant_id = $1"               \
    " AND start_at >= $2 AND start_at < $3" of " ORDER BY start_at DESC, run_id DESC LIMIT 10000)" \
    " AS newest WHERE closing_at IS NOT NULL AND closing_event = $4 LIMIT 1"
DB_QUERY(completed_of_tenant, COMPLETED(""));
DB_QUERY(completed_of_agent, COMPLETED(" AND agent_id = $5"));
/* clang-format on */

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

int alert_store_count_open(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &count_open, DB_NO_ARGS, ret, err);
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

int alert_store_history_remind(struct db *db, const struct alert_entry_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id));

    if (db_run(db, &delete_reminders, args, err) != 0)
        return -1;
    return alert_store_history_add(db, row, err);
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

struct finding {
    struct rows rows; /* that have ended */
    size_t limit;     /* of those */
    int64_t looked_at;
};

static bool add_finished(void *ctx, const struct db_row *row)
{
    struct finding *finding = ctx;
    struct rows *rows = &finding->rows;
    struct finished_run *run;
    struct opt_int duration_ms = rows_opt_int(row, 5);
    int64_t ended_at = rows_time(row, 4);

    finding->looked_at++;
    if (ended_at == TIME_NULL)
        return true;
    run = rows_add(rows);
    run->run_id = rows_text(rows->arena, row, 0);
    run->error_type = rows_text(rows->arena, row, 1);
    run->failed = db_get_int(row, 2) == EVENT_FAILED;
    run->ended_at = ended_at;
    run->duration_ms =
        duration_ms.has ? duration_ms.value : (ended_at - db_get_int(row, 3)) / USEC_PER_MSEC;
    return rows->n < finding->limit;
}

int alert_store_finished(struct db *db, const struct finished_runs *of, struct arena *arena,
                         struct list *ret, bool *ret_more, struct error *err)
{
    const int64_t max = of->deep ? DEEP_MAX : 2 * of->limit + UNFINISHED_MAX;
    struct finding finding = { .rows = { .arena = arena, .size = sizeof(struct finished_run) },
                               .limit = (size_t)of->limit };
    const struct rows *rows = &finding.rows;
    const int r = of->agent_id == 0
                      ? db_exec(db, &runs_of_tenant, DB_ARGS(db_int(of->tenant_id), db_int(max)),
                                add_finished, &finding, err)
                      : db_exec(db, &runs_of_agent,
                                DB_ARGS(db_int(of->tenant_id), db_int(max), db_int(of->agent_id)),
                                add_finished, &finding, err);

    if (r != 0)
        return -1;
    assert(rows->n <= finding.limit);
    *ret = (struct list){ rows->items, rows->n };
    *ret_more = !of->deep && finding.looked_at == max;
    return 0;
}

int alert_store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct error *err)
{
    return db_run(db, &hold_agent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), err);
}

int alert_store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                            struct str *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(run->tenant_id), db_text(run->run_id));

    return rows_one_text(db, &select_stuck, args, arena, ret, err);
}

static int compare_durations(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

int64_t finished_runs_percentile(const struct list *runs, int64_t percentile, struct arena *arena)
{
    const struct finished_run *all = runs->items;
    int64_t *sorted = ARENA_ARRAY(arena, int64_t, runs->n);
    const size_t rank = (runs->n * (size_t)percentile + 99) / 100;

    for (size_t i = 0; i < runs->n; i++)
        sorted[i] = all[i].duration_ms;
    qsort(sorted, runs->n, sizeof(*sorted), compare_durations);
    return sorted[rank - 1];
}

int alert_store_silent_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                            struct silence_row *ret, struct error *err)
{
    return rows_one(db, &hold_silent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret,
                    err);
}

int alert_store_rules_set(struct db *db, const struct alert_rules_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->run_failed), db_int(row->run_stuck),
                db_int(row->thresholds), db_int(row->updated_at), db_text(row->rules),
                rows_opt_int_value(row->remind_hours), db_int(row->hard_budgets));

    if (db_run(db, &set_rules, args, err) != 0)
        return -1;
    return db_run(db, &touch_tenant, DB_ARGS(db_int(row->tenant_id)), err);
}

int alert_store_rules_hold(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &hold_rules, DB_ARGS(db_int(tenant_id)), ret, err);
}

int alert_store_rules_limited(struct db *db, struct arena *arena, struct list *ret,
                              struct error *err)
{
    return rows_list(db, &select_limited, DB_NO_ARGS, arena, ret, err);
}

int alert_store_rules_budget_alerts(struct db *db, struct arena *arena, struct list *ret,
                                    struct error *err)
{
    return rows_list(db, &budget_alerts, DB_NO_ARGS, arena, ret, err);
}

int alert_store_rules_completed_runs(struct db *db, const struct completed_runs *which, bool *ret,
                                     struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(which->since), db_int(which->until),
                db_int(EVENT_COMPLETED), db_int(which->agent_id));

    return db_exec_bool(db, which->agent_id == 0 ? &completed_of_tenant : &completed_of_agent, args,
                        ret, err);
}
