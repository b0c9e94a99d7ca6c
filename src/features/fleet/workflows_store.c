/* workflows_store.c - SQL of the runs of a workflow. */
#include "features/fleet/workflows_store.h"

#include "db/db.h"
#include "features/events/run_rows.h"
#include "shape/rows.h"

enum { BYTES_MAX = 16 << 20 };

/* clang-format off */
static const struct db_query select_runs = {
    .sql = "SELECT r.agent_id, r.run_id, a.agent_name, " RUN_STATE_COLUMNS " FROM runs r"
           " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
           " WHERE r.tenant_id = $1 AND r.workflow_run_id = $2 AND r.start_at IS NOT NULL"
           " ORDER BY r.start_at, r.run_id LIMIT $3",
};
/* clang-format on */

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

int store_workflow_runs(struct db *db, int64_t tenant_id, struct str workflow_run_id,
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
