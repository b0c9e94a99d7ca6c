/* runs.c - SQL of reading runs. */
#include "store/runs.h"

#include "db/db.h"
#include "store/rows.h"
#include "store/run_rows.h"

/* clang-format off */
static const struct db_query select_run = {
    .sql = "SELECT a.agent_name, " RUN_STATE_COLUMNS " FROM runs r"
           " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
           " WHERE r.tenant_id = $1 AND r.run_no = $2",
    .n_args = 2,
};
/* clang-format on */

struct run_reader {
    struct arena *arena;
    struct run_row *ret;
};

static bool read_run(void *ctx, const struct db_row *row)
{
    struct run_reader *reader = ctx;

    reader->ret->agent_name = rows_text(reader->arena, row, 0);
    run_row_read(row, 1, reader->arena, &reader->ret->state);
    return false;
}

int store_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
              struct run_row *ret, struct error *err)
{
    const struct db_value args[] = { db_int(tenant_id), db_int(run_no) };
    struct run_reader reader = { .arena = arena, .ret = ret };

    *ret = (struct run_row){ 0 };
    return db_exec(db, &select_run, args, read_run, &reader, err);
}
