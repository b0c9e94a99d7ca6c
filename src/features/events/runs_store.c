/* runs_store.c - SQL that reads runs and rebuilds their states. */
#include "features/events/runs_store.h"

#include "base/clock.h"
#include "features/events/event_rows.h"
#include "features/events/run_rows.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* clang-format off */
DB_QUERY(select_run,
    "SELECT a.agent_name, " RUN_STATE_COLUMNS " FROM runs r"
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
    " WHERE r.tenant_id = $1 AND r.run_no = $2");
DB_QUERY(select_run_nos,
    "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_no > $2 ORDER BY run_no LIMIT $3");
/* No other writer may add to the run between reading its events and writing its state. */
static const struct db_query lock_run = {
    .sqlite = "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_no = $2",
    .postgres = "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_no = $2 FOR UPDATE",
};
DB_QUERY(update_state,
    "UPDATE runs SET (" RUN_STATE_COLUMNS ") ="
    " ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,"
    " $21, $22) WHERE tenant_id = $1 AND run_no = $2");
/* clang-format on */

/* Others wait for the writer meanwhile. */
enum { REBUILD_US = 10 * USEC_PER_MSEC };

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
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(run_no));
    struct run_reader reader = { .arena = arena, .ret = ret };

    *ret = (struct run_row){ 0 };
    return db_exec(db, &select_run, args, read_run, &reader, err);
}

static bool same_value(const struct db_value *a, const struct db_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == DB_INT)
        return a->integer == b->integer;
    return a->type == DB_NULL || str_eq(a->bytes, b->bytes);
}

/* Compares the run's state with its events, and writes it when they differ. */
static int rebuild(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                   struct runs_rebuilt *ret, struct error *err)
{
    struct db_value args[2 + RUN_STATE_N] = { db_int(tenant_id), db_int(run_no) };
    struct db_value before[RUN_STATE_N];
    struct run_state state;
    struct run_row run;
    struct list events;
    int64_t found = 0;
    bool same = true;

    ret->last_run_no = run_no;
    if (db_exec(db, &lock_run, DB_ARGS_OF(args), db_read_int, &found, err) != 0)
        return -1;
    if (found == 0) /* a sweep has deleted it meanwhile */
        return 0;
    ret->runs++;
    if (store_run(db, tenant_id, run_no, arena, &run, err) != 0)
        return -1;
    if (store_run_events(db, tenant_id, run_no, arena, &events, err) != 0) {
        ret->damaged += err->code == ERR_DAMAGED;
        return err->code == ERR_DAMAGED ? 0 : -1;
    }
    run_state_init(&state);
    for (size_t i = 0; i < events.n; i++)
        run_state_add(&state, &((const struct stored_event *)events.items)[i].event);
    run_row_values(&run.state, before);
    run_row_values(&state, args + 2);
    for (size_t i = 0; i < RUN_STATE_N; i++)
        same = same && same_value(&before[i], &args[2 + i]);
    if (same)
        return 0;
    ret->changed++;
    return db_run(db, &update_state, DB_ARGS_OF(args), err);
}

static bool add_run_no(void *ctx, const struct db_row *row)
{
    *(int64_t *)rows_add(ctx) = db_get_int(row, 0);
    return true;
}

int store_runs_rebuild(struct db *db, int64_t tenant_id, int64_t after, int64_t limit,
                       struct runs_rebuilt *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(after), db_int(limit));
    struct arena arena, of_run;
    struct rows rows = { .arena = &arena, .size = sizeof(int64_t) };
    const int64_t until_us = clock_raw_us() + REBUILD_US;
    int r;

    *ret = (struct runs_rebuilt){ 0 };
    arena_init(&arena);
    arena_init(&of_run);
    r = db_exec(db, &select_run_nos, args, add_run_no, &rows, err);
    for (size_t i = 0; r == 0 && i < rows.n && (i == 0 || clock_raw_us() < until_us); i++) {
        r = rebuild(db, tenant_id, ((const int64_t *)rows.items)[i], &of_run, ret, err);
        arena_reset(&of_run);
    }
    arena_done(&of_run);
    arena_done(&arena);
    return r;
}
