/* run_totals_store.c - SQL of counts of runs. Both scan the same range of the index runs_start. */
#include "features/fleet/run_totals_store.h"

#include "db/db.h"
#include "features/fleet/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define NEWEST                                                                                     \
    " FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"                         \
    " ORDER BY start_at DESC LIMIT $4"

#define OWNER struct run_total
SHAPE_BEGIN(run_total)
    { INT(period) }, { INT(event) }, { INT(runs) },
ROW_END(run_total);
#undef OWNER

static const struct db_query count_runs = {
    .row = &run_total,
    .sql = "SELECT period, event, COUNT(*) AS runs FROM (SELECT (start_at - $2) / $5 AS period,"
           " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS event" NEWEST ") newest"
           " GROUP BY period, event",
};

#define OWNER struct error_total
SHAPE_BEGIN(error_row)
    { STR(error_type) }, { INT(runs) }, { TIME(last_at) },
ROW_END(error_row);
#undef OWNER

static const struct db_query count_errors = {
    .row = &error_row,
    .sqlite = "SELECT error_type, COUNT(*) AS runs, MAX(start_at) AS last_at FROM"
              " (SELECT COALESCE(error_type, '') AS error_type, start_at, closing_at, closing_event" NEWEST ") newest"
              " WHERE closing_at IS NOT NULL AND closing_event = 2 GROUP BY error_type"
              " ORDER BY runs DESC, error_type LIMIT $5",
    .postgres = "SELECT error_type, COUNT(*) AS runs, MAX(start_at) AS last_at FROM"
                " (SELECT COALESCE(error_type, '') AS error_type, start_at, closing_at, closing_event" NEWEST ") newest"
                " WHERE closing_at IS NOT NULL AND closing_event = 2 GROUP BY error_type"
                " ORDER BY runs DESC, error_type COLLATE \"C\" LIMIT $5",
};
/* clang-format on */

int store_run_totals(struct db *db, const struct run_totals_span *span, struct arena *arena,
                     struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->first), db_int(span->until),
                db_int(span->limit), db_int(span->width_us));

    return rows_list(db, &count_runs, args, arena, ret, err);
}

int store_error_totals(struct db *db, const struct run_totals_span *span, struct arena *arena,
                       struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->first), db_int(span->until),
                db_int(span->limit), db_int(ERROR_TOTALS_MAX));

    return rows_list(db, &count_errors, args, arena, ret, err);
}
