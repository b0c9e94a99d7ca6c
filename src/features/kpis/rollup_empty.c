/* rollup_empty.c - deletes totals of hours and days in which no value is left.
 *
 * A report that replaces another may move its values to another hour. If the
 * totals that they leave stayed, a client could store any number of them.
 */
#include "db/postgres/array.h"
#include "features/kpis/rollup_group.h"

/* clang-format off */
DB_QUERY(delete_state,
    "DELETE FROM business_rollups"
    " WHERE tenant_id = $1 AND series_no = $2 AND level = $3 AND start = $4");
static const struct db_query delete_states = {
    .postgres = "DELETE FROM business_rollups r USING unnest($1::bigint[], $2::bigint[],"
                " $3::bigint[], $4::bigint[]) AS x(t, s, l, b) WHERE r.tenant_id = x.t"
                " AND r.series_no = x.s AND r.level = x.l AND r.start = x.b",
    .citus = "SELECT 1", /* one by one there */
};
/* clang-format on */

int rollup_rows_delete(struct db *db, struct rollups *r, const struct rollup_list *list,
                       struct error *err)
{
    const bool at_once = pg_arrays_suit(db);
    struct db_value args[4];
    int res = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &r->arena);

    for (size_t i = 0; i < list->n && res == 0; i++) {
        const struct rollup_bucket *b = list->items[i];

        args[0] = db_int(b->series->tenant_id);
        args[1] = db_int(b->series->series_no);
        args[2] = db_int(b->level);
        args[3] = db_int(b->start);
        if (at_once)
            pg_arrays_add(&arrays, args);
        else
            res = db_run(db, &delete_state, DB_ARGS_OF(args), err);
    }
    if (at_once && list->n > 0) {
        pg_arrays_args(&arrays, args);
        res = db_run(db, &delete_states, DB_ARGS_OF(args), err);
    }
    return res;
}
