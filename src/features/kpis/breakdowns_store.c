/* breakdowns_store.c - SQL that reads breakdowns. */
#include "features/kpis/breakdowns_store.h"

#include "db/db.h"
#include "shape/rows.h"

/* clang-format off */
#define OF_FILTER                                                                                  \
    " FROM business_breakdowns b WHERE b.tenant_id = $1 AND b.metric = $2 AND b.timestamp >= $3"   \
    " AND b.timestamp < $4 AND (CAST($5 AS BIGINT) = 0 OR b.agent_id = $5)"
/* The run's other breakdowns must be found by run: the conditions rule out any other index, which
 * would scan the whole range once per breakdown. */
#define OTHERS(metric, in_set)                                                                     \
    "SELECT b.timestamp, b.received_at, b.run_no, b.cells" OF_FILTER                               \
    " AND b.dimensions = $6 AND NOT EXISTS (SELECT 1 FROM business_breakdowns o"                   \
    " WHERE o.tenant_id = $1 AND o.run_no = b.run_no AND " metric " = $2 AND +o.timestamp >= $3"   \
    " AND +o.timestamp < $4 AND o.dimensions " in_set " LIMIT 1 OFFSET 0)"

static const struct db_query select_sets = {
    .sql = "SELECT DISTINCT b.agent_id, b.dimensions, b.full_dimensions" OF_FILTER " LIMIT $6",
};
const struct db_query breakdowns_query = {
    .sqlite = OTHERS("o.metric", "IN (SELECT value FROM json_each($7))"),
    .postgres = OTHERS("o.metric || ''",
                       "= ANY (ARRAY(SELECT json_array_elements_text(CAST($7 AS json))))"),
};
/* clang-format on */

static bool add_set(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct breakdown_set *set = rows_add(rows);

    set->agent_id = db_get_int(row, 0);
    set->key = rows_text(rows->arena, row, 1);
    set->names = db_is_null(row, 2) ? set->key : rows_text(rows->arena, row, 2);
    return true;
}

int store_breakdown_sets(struct db *db, const struct breakdown_filter *filter, int64_t max,
                         struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct breakdown_set) };
    const struct db_args args =
        DB_ARGS(db_int(filter->tenant_id), db_text(filter->metric), db_int(filter->range.since),
                db_int(filter->range.until), db_int(filter->agent_id), db_int(max));

    if (db_exec(db, &select_sets, args, add_set, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

struct reading {
    breakdown_fn *on_breakdown;
    void *ctx;
};

static bool read_breakdown(void *ctx, const struct db_row *row)
{
    const struct reading *r = ctx;
    const struct kpi_stamp place = { db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) };

    return r->on_breakdown(r->ctx, &place, db_get_text(row, 3));
}

int store_breakdowns(struct db *db, const struct breakdown_filter *filter,
                     const struct breakdown_choice *choice, breakdown_fn *on_breakdown, void *ctx,
                     struct error *err)
{
    struct reading r = { .on_breakdown = on_breakdown, .ctx = ctx };
    const struct db_args args =
        DB_ARGS(db_int(filter->tenant_id), db_text(filter->metric), db_int(filter->range.since),
                db_int(filter->range.until), db_int(filter->agent_id), db_text(choice->set_key),
                db_text(choice->others));

    return db_exec(db, &breakdowns_query, args, read_breakdown, &r, err);
}
