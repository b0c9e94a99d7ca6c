/* alert_runs_store.c - SQL of the runs that alerts are about: an agent's last ones, and stuck ones.
 */
#include "features/alerts/alert_runs_store.h"

#include <assert.h>

#include "base/clock.h"
#include "features/events/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

enum {
    UNFINISHED_MAX = 20, /* runs without an end that are looked at besides */
    DEEP_MAX = 1000      /* runs looked at in all, when that many have no end */
};

/* clang-format off */
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

ROWS_LIST_FN(alert_runs_store_failing, failing_row, (const struct failing_row *after, int64_t limit),
    (db_int(after->tenant_id), db_int(after->agent_id), db_int(limit)),
    FAILING " AND (l.tenant_id > $1 OR (l.tenant_id = $1 AND l.agent_id > $2))"
    " ORDER BY l.tenant_id, l.agent_id LIMIT $3");
DB_ROWS_QUERY(failing_of_agent, failing_row, FAILING " AND l.tenant_id = $1 AND l.agent_id = $2");
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
#define WITH_AGENT " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
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

ROWS_LIST_FN(alert_runs_store_stuck_tenants, stuck_tenant, (int64_t after, int64_t limit),
    (db_int(after), db_int(limit)),
    "SELECT t.tenant_id, m.start_at, m.run_id FROM tenants t"
    " LEFT JOIN stuck_marks m ON m.tenant_id = t.tenant_id"
    " WHERE t.tenant_id > $1 ORDER BY t.tenant_id LIMIT $2");
DB_RUN_FN(alert_runs_store_stuck_mark, (const struct stuck_tenant *tenant),
    (db_int(tenant->tenant_id), db_int(tenant->mark.start_at), db_text(tenant->mark.run_id)),
    "INSERT INTO stuck_marks (tenant_id, start_at, run_id) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id) DO UPDATE SET start_at = excluded.start_at,"
    " run_id = excluded.run_id WHERE (excluded.start_at, excluded.run_id)"
    " > (stuck_marks.start_at, stuck_marks.run_id)");
ROWS_LIST_FN(alert_runs_store_stuck_runs, stuck_run, (int64_t tenant_id, const struct stuck_span *span),
    (db_int(tenant_id), db_int(span->after.start_at), db_text(span->after.run_id),
     db_int(span->until), db_int(span->limit)),
    STUCK_COLUMNS " FROM runs r" WITH_AGENT
    " WHERE r.tenant_id = $1 AND (r.start_at, r.run_id) > ($2, $3) AND r.start_at <= $4"
    " AND r.closing_at IS NULL AND NOT EXISTS (SELECT 1 FROM alerts l WHERE" ALERT_OF_RUN ")"
    " ORDER BY r.start_at, r.run_id LIMIT $5");
DB_ROWS_QUERY(select_run, stuck_run,
    STUCK_COLUMNS " FROM runs r" WITH_AGENT " WHERE r.tenant_id = $1 AND r.run_no = $2");
DB_RUN_FN(alert_runs_store_stuck_later, (const struct stuck_run *run, int64_t due_at),
    (db_int(run->tenant_id), db_int(due_at), db_int(run->run_no)),
    "INSERT INTO stuck_later (tenant_id, due_at, run_no) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING");
DB_RUN_FN(alert_runs_store_stuck_forget, (const struct stuck_run *run),
    (db_int(run->tenant_id), db_int(run->run_no)),
    "DELETE FROM stuck_later WHERE tenant_id = $1 AND run_no = $2");
ROWS_LIST_FN(alert_runs_store_stuck_due, stuck_run, (int64_t until, int64_t limit),
    (db_int(until), db_int(limit)),
    STUCK_COLUMNS " FROM stuck_later s JOIN runs r ON r.tenant_id = s.tenant_id"
    " AND r.run_no = s.run_no" WITH_AGENT " WHERE s.due_at <= $1 ORDER BY s.due_at LIMIT $2");
ROWS_LIST_FN(alert_runs_store_stuck_over, stuck_run, (int64_t limit), (db_int(limit)),
    STUCK_COLUMNS " FROM alerts l JOIN runs r ON r.tenant_id = l.tenant_id"
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

int alert_runs_store_finished(struct db *db, const struct finished_runs *of, struct arena *arena,
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

int alert_runs_store_failing_of(struct db *db, int64_t tenant_id, int64_t agent_id,
                                struct arena *arena, struct failing_row *ret, struct error *err)
{
    return rows_one(db, &failing_of_agent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret,
                    err);
}

int alert_runs_store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id,
                                  struct error *err)
{
    return db_run(db, &hold_agent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), err);
}

int alert_runs_store_stuck_run(struct db *db, int64_t tenant_id, int64_t run_no,
                               struct arena *arena, struct stuck_run *ret, struct error *err)
{
    return rows_one(db, &select_run, DB_ARGS(db_int(tenant_id), db_int(run_no)), arena, ret, err);
}

int alert_runs_store_stuck_count(struct db *db, const struct stuck_run *run, int64_t *ret,
                                 struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(run->tenant_id), db_int(run->agent_id));

    return db_exec(db, &count_open, args, db_read_int, ret, err);
}

int alert_runs_store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                                 struct str *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(run->tenant_id), db_text(run->run_id));

    return rows_one_text(db, &select_alert, args, arena, ret, err);
}
