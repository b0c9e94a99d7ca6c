/* recent_runs_store.c - SQL of the last runs of an agent. */
#include "features/events/recent_runs_store.h"

#include "base/clock.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* clang-format off */
DB_QUERY(select_recent,
    "SELECT run_id, agent_version, start_at, closing_at, closing_event, duration_ms"
    " FROM runs WHERE tenant_id = $1 AND agent_id = $2 AND start_at IS NOT NULL"
    " ORDER BY start_at DESC, run_id DESC LIMIT $3");
/* clang-format on */

static bool recent_run_add(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct recent_run *run = rows_add(rows);

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

int store_recent_runs(struct db *db, const struct recent_runs *of, struct arena *arena,
                      struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(of->tenant_id), db_int(of->agent_id), db_int(of->limit));
    struct rows rows = { .arena = arena, .size = sizeof(struct recent_run) };

    if (db_exec(db, &select_recent, args, recent_run_add, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}
