/* run_totals_store.c - SQL of counts of runs. All scan one range of the index runs_start, or of
 * runs_agent. */
#include "features/fleet/run_totals_store.h"

#include "features/fleet/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define NEWEST_OF(agent)                                                                           \
    " FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3" agent                   \
    " ORDER BY start_at DESC LIMIT $4"
#define NEWEST NEWEST_OF("")
#define NEWEST_OF_AGENT NEWEST_OF(" AND agent_id = $5")

ROW_TABLE(run_total,
    INT(period), INT(event), INT(runs));

ROWS_LIST_FN(store_run_totals, run_total, (const struct run_totals_span *span),
    (db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(span->limit),
     db_int(span->width_us), db_int(span->first)),
    "SELECT period, event, COUNT(*) AS runs FROM (SELECT (start_at - $6) / $5 AS period,"
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS event" NEWEST ") newest"
    " GROUP BY period, event");

ROW_TABLE_OF(error_row, struct error_total,
    STR(error_type), INT(runs), TIME(last_at));

ROW_TABLE(agent_run_total,
    INT(period), INT(event), OPT_INT(duration_ms));

ROWS_LIST_FN(store_agent_runs, agent_run_total, (const struct run_totals_span *span),
    (db_int(span->tenant_id), db_int(span->since), db_int(span->until), db_int(span->limit),
     db_int(span->agent_id), db_int(span->width_us), db_int(span->first)),
    "SELECT (start_at - $7) / $6 AS period,"
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS event,"
    " CASE WHEN closing_at IS NULL THEN NULL ELSE"
    " COALESCE(duration_ms, (closing_at - start_at) / 1000) END AS duration_ms" NEWEST_OF_AGENT);

#define ERRORS(newest, bytes, most)                                                                \
    "SELECT error_type, COUNT(*) AS runs, MAX(start_at) AS last_at FROM"                           \
    " (SELECT COALESCE(error_type, '') AS error_type, start_at, closing_at, closing_event" newest  \
    ") newest WHERE closing_at IS NOT NULL AND closing_event = 2 GROUP BY error_type"              \
    " ORDER BY runs DESC, error_type" bytes " LIMIT " most

static const struct db_query count_errors = {
    .row = &error_row,
    .sqlite = ERRORS(NEWEST, "", "$5"),
    .postgres = ERRORS(NEWEST, " COLLATE \"C\"", "$5"),
};
static const struct db_query count_agent_errors = {
    .row = &error_row,
    .sqlite = ERRORS(NEWEST_OF_AGENT, "", "$6"),
    .postgres = ERRORS(NEWEST_OF_AGENT, " COLLATE \"C\"", "$6"),
};
/* clang-format on */

int store_error_totals(struct db *db, const struct run_totals_span *span, struct arena *arena,
                       struct list *ret, struct error *err)
{
    const struct db_args of_all =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                db_int(span->limit), db_int(ERROR_TOTALS_MAX));
    const struct db_args of_agent =
        DB_ARGS(db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                db_int(span->limit), db_int(span->agent_id), db_int(ERROR_TOTALS_MAX));

    return span->agent_id == 0 ? rows_list(db, &count_errors, of_all, arena, ret, err)
                               : rows_list(db, &count_agent_errors, of_agent, arena, ret, err);
}
