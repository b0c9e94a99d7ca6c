/* runs.c - SQL that reads runs and rebuilds their states. */
#include "features/events/runs.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "db/lists.h"
#include "features/access/registry.h"
#include "features/events/event_rows.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

static const int64_t skew_us = 3600LL * USEC_PER_SEC; /* further ahead counts as skewed */

bool run_event_is_skewed(const struct stored_event *event)
{
    return event->event.timestamp > event->received_at + skew_us;
}

int run_not_found(const struct tenant_entry *tenant, struct str run_id, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "There is no run '%.*s' in tenant '%.*s'", STR_ARG(run_id),
                   STR_ARG(tenant->slug));
}

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

int runs_get(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
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
                   struct runs_rebuild *ret, struct error *err)
{
    struct db_value args[2 + RUN_STATE_N] = { db_int(tenant_id), db_int(run_no) };
    struct db_value before[RUN_STATE_N];
    struct run_state state;
    struct run_row run;
    struct list events;
    int64_t found = 0;
    bool same = true;

    ret->next = (struct opt_int){ true, run_no };
    if (db_exec(db, &lock_run, DB_ARGS_OF(args), db_read_int, &found, err) != 0)
        return -1;
    if (found == 0) /* a sweep has deleted it meanwhile */
        return 0;
    ret->runs++;
    if (runs_get(db, tenant_id, run_no, arena, &run, err) != 0)
        return -1;
    if (run_events(db, tenant_id, run_no, arena, &events, err) != 0) {
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

int runs_rebuild_page(struct db *db, int64_t tenant_id, int64_t after, int64_t limit,
                      struct runs_rebuild *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(after), db_int(limit));
    struct arena arena, of_run;
    struct rows rows = { .arena = &arena, .size = sizeof(int64_t) };
    const int64_t until_us = clock_raw_us() + REBUILD_US;
    int r;

    *ret = (struct runs_rebuild){ 0 };
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

/* clang-format off */
#define RECENT_COLUMNS "run_id, agent_version, start_at, closing_at, closing_event, duration_ms"
#define RECENT(agent)                                                                              \
    "SELECT " RECENT_COLUMNS " FROM runs WHERE tenant_id = $1 AND agent_id = " agent               \
    " AND start_at IS NOT NULL ORDER BY start_at DESC, run_id DESC LIMIT $3"
DB_QUERY(select_recent, RECENT("$2"));
/* $2 has the agents' ids (db_id_list()). The index of an agent's runs is asked for one agent after
 * the other, whatever is known about the table. SQLite would have to sort all of them: a third more
 * work than a statement for each agent. */
static const struct db_query select_recent_of = {
    .postgres = "SELECT r.*, x.place - 1"
                " FROM unnest($2::bigint[]) WITH ORDINALITY AS x(agent, place)"
                " CROSS JOIN LATERAL (" RECENT("x.agent") ") r"
                " ORDER BY x.place, start_at DESC, run_id DESC",
};
enum { RECENT_PLACE = 6 };
/* clang-format on */

static void recent_run_read(struct rows *rows, const struct db_row *row)
{
    struct recent_run *run = rows_add(rows);

    run->run_id = rows_text(rows->arena, row, 0);
    run->agent_version = rows_text(rows->arena, row, 1);
    run->started_at = db_get_int(row, 2);
    run->ended_at = rows_time(row, 3);
    run->duration_ms = rows_opt_int(row, 5);
    run->status = run_status_of(run->ended_at == TIME_NULL ? -1 : db_get_int(row, 4));
    if (run->ended_at == TIME_NULL)
        return;
    if (!run->duration_ms.has)
        run->duration_ms =
            (struct opt_int){ true, (run->ended_at - run->started_at) / USEC_PER_MSEC };
}

static bool recent_run_add(void *ctx, const struct db_row *row)
{
    recent_run_read(ctx, row);
    return true;
}

/* The runs of all agents in turn, and how many each has. */
struct recent_reader {
    struct rows rows;
    struct list *lists;
    size_t n;
};

static bool recent_run_add_of(void *ctx, const struct db_row *row)
{
    struct recent_reader *reader = ctx;
    const size_t place = (size_t)db_get_int(row, RECENT_PLACE);

    assert(place < reader->n);
    assert(place + 1 == reader->n || reader->lists[place + 1].n == 0); /* sorted */
    reader->lists[place].n++;
    recent_run_read(&reader->rows, row);
    return true;
}

static int read_one_by_one(struct db *db, const struct recent_runs *of, struct arena *arena,
                           struct list *ret, struct error *err)
{
    for (size_t i = 0; i < of->n; i++) {
        struct rows rows = { .arena = arena, .size = sizeof(struct recent_run) };

        if (db_exec(db, &select_recent,
                    DB_ARGS(db_int(of->tenant_id), db_int(of->agent_ids[i]), db_int(of->limit)),
                    recent_run_add, &rows, err) != 0)
            return -1;
        ret[i] = (struct list){ rows.items, rows.n };
    }
    return 0;
}

int runs_recent(struct db *db, const struct recent_runs *of, struct arena *arena, struct list *ret,
                struct error *err)
{
    struct recent_reader reader = { .rows = { .arena = arena, .size = sizeof(struct recent_run) },
                                    .lists = ret,
                                    .n = of->n };
    struct recent_run *runs;

    if (of->n == 0 || strcmp(db_dialect(db), "sqlite") == 0)
        return read_one_by_one(db, of, arena, ret, err);
    for (size_t i = 0; i < of->n; i++)
        ret[i] = (struct list){ 0 };
    if (db_exec(db, &select_recent_of,
                DB_ARGS(db_int(of->tenant_id), db_id_list(db, of->agent_ids, of->n, arena),
                        db_int(of->limit)),
                recent_run_add_of, &reader, err) != 0)
        return -1;
    runs = reader.rows.items;
    for (size_t i = 0; i < of->n; i++) {
        if (ret[i].n == 0)
            continue;
        ret[i].items = runs;
        runs += ret[i].n;
    }
    return 0;
}

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

static bool add_count(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct run_count *count = rows_add(rows);

    *count = (struct run_count){ .agent_name = rows_text(rows->arena, row, 0),
                                 .status = run_status_of(db_get_int(row, 1)),
                                 .n = db_get_int(row, 2) };
    return true;
}

int runs_count(struct db *db, int64_t tenant_id, const struct time_range *range,
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
