/* failing_store.c - SQL of the last runs of agents, and of the alerts about failing agents. */
#include "features/alerts/failing_store.h"

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

ROWS_LIST_FN(store_failing, failing_row, (const struct failing_row *after, int64_t limit),
    (db_int(after->tenant_id), db_int(after->agent_id), db_int(limit)),
    FAILING " AND (l.tenant_id > $1 OR (l.tenant_id = $1 AND l.agent_id > $2))"
    " ORDER BY l.tenant_id, l.agent_id LIMIT $3");
DB_ROWS_QUERY(failing_of_agent, failing_row, FAILING " AND l.tenant_id = $1 AND l.agent_id = $2");
static const struct db_query hold_agent = {
    .sqlite = "SELECT $2 WHERE $1 = $1", /* one writer */
    .postgres = "SELECT agent_id FROM agents WHERE tenant_id = $1 AND agent_id = $2"
                " FOR NO KEY UPDATE",
};
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

int store_finished_runs(struct db *db, const struct finished_runs *of, struct arena *arena,
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

int store_failing_of(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                     struct failing_row *ret, struct error *err)
{
    return rows_one(db, &failing_of_agent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret,
                    err);
}

int store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct error *err)
{
    return db_run(db, &hold_agent, DB_ARGS(db_int(tenant_id), db_int(agent_id)), err);
}
