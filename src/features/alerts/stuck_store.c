/* stuck_store.c - SQL of runs that are open for too long. */
#include "features/alerts/stuck_store.h"

#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define RUN_COLUMNS                                                                                \
    "SELECT r.tenant_id, r.run_no, r.agent_id, r.run_id, r.start_at, a.muted_until,"               \
    " COALESCE(a.full_name, a.agent_name) AS agent_name,"                                          \
    " CASE WHEN r.closing_at IS NULL THEN 1 ELSE 0 END AS open,"                                   \
    " CASE WHEN a.enabled = 1 AND a.deleted_at IS NULL THEN 1 ELSE 0 END AS expected,"             \
    " COALESCE((SELECT run_stuck FROM alert_rules p WHERE p.tenant_id = r.tenant_id), 1) AS wanted"
#define WITH_AGENT " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
#define ALERT_OF_RUN                                                                               \
    " l.tenant_id = r.tenant_id AND l.type = 'run.stuck' AND l.agent_id = r.agent_id"              \
    " AND l.subject = r.run_id AND l.open = 1"

ROW_TABLE(stuck_tenant,
    INT(tenant_id),
    FIELD_AT("start_at", mark.start_at, int64_t, T_TIME),
    FIELD_AT("run_id", mark.run_id, struct str, T_STR));

ROW_TABLE(stuck_run,
    INT(tenant_id), INT(run_no), INT(agent_id), STR(run_id), STR(agent_name),
    TIME(start_at), TIME(muted_until), BOOL(open), BOOL(expected), BOOL(wanted));

ROWS_LIST_FN(store_stuck_tenants, stuck_tenant, (int64_t after, int64_t limit),
    (db_int(after), db_int(limit)),
    "SELECT t.tenant_id, m.start_at, m.run_id FROM tenants t"
    " LEFT JOIN stuck_marks m ON m.tenant_id = t.tenant_id"
    " WHERE t.tenant_id > $1 ORDER BY t.tenant_id LIMIT $2");
DB_RUN_FN(store_stuck_mark, (const struct stuck_tenant *tenant),
    (db_int(tenant->tenant_id), db_int(tenant->mark.start_at), db_text(tenant->mark.run_id)),
    "INSERT INTO stuck_marks (tenant_id, start_at, run_id) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id) DO UPDATE SET start_at = excluded.start_at,"
    " run_id = excluded.run_id WHERE (excluded.start_at, excluded.run_id)"
    " > (stuck_marks.start_at, stuck_marks.run_id)");
ROWS_LIST_FN(store_stuck_runs, stuck_run, (int64_t tenant_id, const struct stuck_span *span),
    (db_int(tenant_id), db_int(span->after.start_at), db_text(span->after.run_id),
     db_int(span->until), db_int(span->limit)),
    RUN_COLUMNS " FROM runs r" WITH_AGENT
    " WHERE r.tenant_id = $1 AND (r.start_at, r.run_id) > ($2, $3) AND r.start_at <= $4"
    " AND r.closing_at IS NULL AND NOT EXISTS (SELECT 1 FROM alerts l WHERE" ALERT_OF_RUN ")"
    " ORDER BY r.start_at, r.run_id LIMIT $5");
DB_ROWS_QUERY(select_run, stuck_run,
    RUN_COLUMNS " FROM runs r" WITH_AGENT " WHERE r.tenant_id = $1 AND r.run_no = $2");
DB_RUN_FN(store_stuck_later, (const struct stuck_run *run, int64_t due_at),
    (db_int(run->tenant_id), db_int(due_at), db_int(run->run_no)),
    "INSERT INTO stuck_later (tenant_id, due_at, run_no) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING");
DB_RUN_FN(store_stuck_forget, (const struct stuck_run *run),
    (db_int(run->tenant_id), db_int(run->run_no)),
    "DELETE FROM stuck_later WHERE tenant_id = $1 AND run_no = $2");
ROWS_LIST_FN(store_stuck_due, stuck_run, (int64_t until, int64_t limit),
    (db_int(until), db_int(limit)),
    RUN_COLUMNS " FROM stuck_later s JOIN runs r ON r.tenant_id = s.tenant_id"
    " AND r.run_no = s.run_no" WITH_AGENT " WHERE s.due_at <= $1 ORDER BY s.due_at LIMIT $2");
ROWS_LIST_FN(store_stuck_over, stuck_run, (int64_t limit), (db_int(limit)),
    RUN_COLUMNS " FROM alerts l JOIN runs r ON r.tenant_id = l.tenant_id"
    " AND r.run_no = l.run_no" WITH_AGENT " WHERE l.open = 1 AND l.type = 'run.stuck'"
    " AND (r.closing_at IS NOT NULL OR a.enabled = 0 OR a.deleted_at IS NOT NULL OR EXISTS"
    " (SELECT 1 FROM alert_rules p WHERE p.tenant_id = r.tenant_id AND p.run_stuck = 0))"
    " LIMIT $1");
DB_QUERY(count_open,
    "SELECT COUNT(*) FROM alerts WHERE tenant_id = $1 AND type = 'run.stuck'"
    " AND agent_id = $2 AND open = 1");
/* Perhaps of another agent, whose run it seemed to be. */
DB_QUERY(select_alert,
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND type = 'run.stuck'"
    " AND subject = $2 AND open = 1 ORDER BY alert_id LIMIT 1");
/* clang-format on */

int store_stuck_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                    struct stuck_run *ret, struct error *err)
{
    return rows_one(db, &select_run, DB_ARGS(db_int(tenant_id), db_int(run_no)), arena, ret, err);
}

int store_stuck_count(struct db *db, const struct stuck_run *run, int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(run->tenant_id), db_int(run->agent_id));

    return db_exec(db, &count_open, args, db_read_int, ret, err);
}

int store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                      struct str *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(run->tenant_id), db_text(run->run_id));

    return rows_one_text(db, &select_alert, args, arena, ret, err);
}
