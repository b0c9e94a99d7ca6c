/* workflows_store.c - SQL of the runs of a workflow. */
#include "features/fleet/workflows_store.h"

#include <string.h>

#include "db/id_list.h"
#include "db/postgres/array.h"
#include "features/events/run_rows.h"
#include "shape/rows.h"
#include "shape/table.h"

enum { BYTES_MAX = 16 << 20, SCAN_MAX = 10000 };

/* clang-format off */
DB_QUERY(select_runs,
    "SELECT r.agent_id, r.run_id, a.agent_name, " RUN_STATE_COLUMNS " FROM runs r"
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
    " WHERE r.tenant_id = $1 AND r.workflow_run_id = $2 AND r.start_at IS NOT NULL"
    " ORDER BY r.start_at, r.run_id LIMIT $3");

ROW_TABLE(workflow_found,
    STR(workflow_run_id), TIME(latest_at));

DB_ROWS_QUERY(select_workflows, workflow_found,
    "SELECT workflow_run_id, MAX(start_at) AS latest_at FROM"
    " (SELECT workflow_run_id, start_at FROM runs"
    " WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC LIMIT $4) newest WHERE workflow_run_id IS NOT NULL"
    " GROUP BY workflow_run_id ORDER BY latest_at DESC, workflow_run_id LIMIT $5");

/* The start of the last run that is examined, when there are more. */
DB_QUERY(select_floor,
    "SELECT start_at FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
    " ORDER BY start_at DESC LIMIT 1 OFFSET $4");

ROW_TABLE(workflow_agent,
    STR(agent_name), INT(runs), INT(failed), INT(open), TIME(first_at),
    TIME(last_at, .flags = F_NULL), INT(place));

#define AGENTS_OF(workflow)                                                                        \
    "SELECT a.agent_name, g.runs, g.failed, g.open, g.first_at, g.last_at FROM"                    \
    " (SELECT agent_id, COUNT(*) AS runs,"                                                         \
    " SUM(CASE WHEN closing_at IS NOT NULL AND closing_event = 2 THEN 1 ELSE 0 END) AS failed,"    \
    " SUM(CASE WHEN closing_at IS NULL THEN 1 ELSE 0 END) AS open,"                                \
    " MIN(start_at) AS first_at, MAX(closing_at) AS last_at FROM"                                  \
    " (SELECT agent_id, start_at, closing_at, closing_event FROM runs"                             \
    " WHERE tenant_id = $1 AND workflow_run_id = " workflow " AND start_at IS NOT NULL"            \
    " ORDER BY start_at DESC LIMIT $3) newest GROUP BY agent_id) g"                                \
    " JOIN agents a ON a.tenant_id = $1 AND a.agent_id = g.agent_id"
ROWS_LIST_FN(store_workflow_agents, workflow_agent, (int64_t tenant_id, struct str workflow_run_id),
    (db_int(tenant_id), db_text(workflow_run_id), db_int(WORKFLOW_RUNS_MAX)),
    AGENTS_OF("$2") " ORDER BY g.first_at, a.agent_name");
/* The same of several workflows, one after the other. */
static const struct db_query agents_of_each = {
    .row = &workflow_agent,
    .postgres = "SELECT v.*, x.place - 1 AS place"
                " FROM unnest($2::text[]) WITH ORDINALITY AS x(workflow_run_id, place)"
                " CROSS JOIN LATERAL (" AGENTS_OF("x.workflow_run_id") " OFFSET 0) v"
                " ORDER BY x.place, v.first_at, v.agent_name",
};
/* $2 has the ids (db_text_list()): the first run of each is the first of an index. */
#define START_OF(workflow)                                                                         \
    "SELECT r.start_at FROM runs r WHERE r.tenant_id = $1 AND r.workflow_run_id = " workflow       \
    " AND r.start_at IS NOT NULL ORDER BY r.start_at LIMIT 1"
static const struct db_query select_starts = {
    .sqlite = "SELECT j.key, (" START_OF("j.value") ") FROM json_each($2) j",
    .postgres = "SELECT x.place - 1, v.start_at"
                " FROM unnest($2::text[]) WITH ORDINALITY AS x(workflow_run_id, place)"
                " CROSS JOIN LATERAL (" START_OF("x.workflow_run_id") ") v",
};
/* clang-format on */

int store_workflows(struct db *db, const struct workflow_span *span, struct arena *arena,
                    struct workflows_found *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(SCAN_MAX),
                db_int(span->limit + 1));
    const struct db_args last = DB_ARGS(db_int(span->tenant_id), db_int(span->since),
                                        db_int(span->until), db_int(SCAN_MAX - 1));

    *ret = (struct workflows_found){ .examined_since = TIME_NULL };
    if (rows_list(db, &select_workflows, args, arena, &ret->workflows, err) != 0 ||
        db_exec(db, &select_floor, last, db_read_int, &ret->examined_since, err) != 0)
        return -1;
    ret->more = ret->workflows.n > (size_t)span->limit;
    ret->workflows.n -= ret->more;
    return 0;
}

static int agents_one_by_one(struct db *db, int64_t tenant_id, const struct list *workflows,
                             struct arena *arena, struct list *ret, struct error *err)
{
    const struct workflow_found *found = workflows->items;

    for (size_t i = 0; i < workflows->n; i++)
        if (store_workflow_agents(db, tenant_id, found[i].workflow_run_id, arena, &ret[i], err) !=
            0)
            return -1;
    return 0;
}

int store_workflows_agents(struct db *db, int64_t tenant_id, const struct list *workflows,
                           struct arena *arena, struct list *ret, struct error *err)
{
    const struct workflow_found *found = workflows->items;
    struct db_value args[] = { db_int(tenant_id), db_null(), db_int(WORKFLOW_RUNS_MAX) };
    PG_ARRAYS_SCOPED(ids, 1, arena);
    struct workflow_agent *agents;
    struct list all;

    if (workflows->n == 0 || strcmp(db_dialect(db), "sqlite") == 0)
        return agents_one_by_one(db, tenant_id, workflows, arena, ret, err);
    for (size_t i = 0; i < workflows->n; i++) {
        const struct db_value id = db_text(found[i].workflow_run_id);

        pg_arrays_add(&ids, &id);
    }
    pg_arrays_args(&ids, &args[1]);
    if (rows_list(db, &agents_of_each, DB_ARGS_OF(args), arena, &all, err) != 0)
        return -1;
    agents = all.items;
    for (size_t i = 0, at = 0; i < workflows->n; i++) {
        ret[i] = (struct list){ 0 };
        for (; at < all.n && agents[at].place == (int64_t)i; at++)
            if (ret[i].n++ == 0)
                ret[i].items = &agents[at];
    }
    return 0;
}

static bool read_start(void *ctx, const struct db_row *row)
{
    int64_t *starts = ctx;

    starts[db_get_int(row, 0)] = rows_time(row, 1);
    return true;
}

int store_workflows_starts(struct db *db, int64_t tenant_id, const struct list *ids,
                           struct arena *arena, int64_t *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text_list(db, ids->items, ids->n, arena));

    for (size_t i = 0; i < ids->n; i++)
        ret[i] = TIME_NULL;
    return ids->n == 0 ? 0 : db_exec(db, &select_starts, args, read_start, ret, err);
}

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
