/* run_counts_store.c - SQL of the counts of runs by agent and state. */
#include "features/events/run_counts_store.h"

#include "features/events/shapes.h"
#include "shape/rows.h"

/* clang-format off */
/* The newest runs of the range, by the index of starts; then their states are counted. */
DB_QUERY(count_runs,
    "SELECT COALESCE(a.full_name, a.agent_name), n.status, n.runs FROM ("
    "SELECT agent_id, status, COUNT(*) AS runs FROM (SELECT agent_id,"
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS status"
    " FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC, run_id DESC LIMIT $4) newest"
    " GROUP BY agent_id, status) n"
    " JOIN agents a ON a.tenant_id = $1 AND a.agent_id = n.agent_id"
    " ORDER BY a.agent_name, n.status");
/* One more than are counted: is there another? */
DB_QUERY(select_beyond,
    "SELECT 1 FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC, run_id DESC LIMIT 1 OFFSET $4");
/* clang-format on */

static int status_of(int64_t closing)
{
    if (closing < 0)
        return RUN_IN_PROGRESS;
    return closing == EVENT_FAILED ? RUN_FAILED : RUN_COMPLETED;
}

static bool add_count(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct run_count *count = rows_add(rows);

    *count = (struct run_count){ .agent_name = rows_text(rows->arena, row, 0),
                                 .status = status_of(db_get_int(row, 1)),
                                 .n = db_get_int(row, 2) };
    return true;
}

int store_run_counts(struct db *db, int64_t tenant_id, const struct time_range *range,
                     struct arena *arena, struct run_count_list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_int(range->since == TIME_NULL ? INT64_MIN : range->since),
                db_int(range->until), db_int(RUNS_COUNTED_MAX));
    struct rows rows = { .arena = arena, .size = sizeof(struct run_count) };

    if (db_exec(db, &count_runs, args, add_count, &rows, err) != 0 ||
        db_exec_bool(db, &select_beyond, args, &ret->cut, err) != 0)
        return -1;
    ret->counts = (struct list){ rows.items, rows.n };
    return 0;
}
