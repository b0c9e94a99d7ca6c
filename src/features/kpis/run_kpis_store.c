/* run_kpis_store.c - SQL of the values that runs reported, one by one. */
#include "features/kpis/run_kpis_store.h"

#include "features/kpis/kpis.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/shapes.h"
#include "shape/rows.h"

/* clang-format off */
#define VALUES(bytes)                                                                              \
    "SELECT " BUSINESS_VALUE_SUMMED("v.") ", COALESCE(a.full_name, a.agent_name), k.label, k.unit" \
    " FROM business_runs r JOIN business_values v ON v.tenant_id = r.tenant_id"                    \
    " AND v.run_no = r.run_no JOIN agents a ON a.tenant_id = r.tenant_id"                          \
    " AND a.agent_id = r.agent_id LEFT JOIN kpis k ON k.tenant_id = r.tenant_id"                   \
    " AND k.agent_id = r.agent_id AND k.key = v.key WHERE r.tenant_id = $1 AND r.run_id = $2"      \
    " ORDER BY r.agent_id, v.key" bytes " LIMIT $3"

static const struct db_query select_values = {
    .sum = &business_value_sum,
    .sqlite = VALUES(""), .postgres = VALUES(" COLLATE \"C\""),
};

static const struct db_query select_reports = {
    .sum = &business_value_sum,
    .sql = "SELECT " BUSINESS_VALUE_SUMMED("v.") ", r.run_id FROM business_values v"
           " JOIN business_runs r ON r.tenant_id = v.tenant_id AND r.run_no = v.run_no"
           " WHERE v.tenant_id = $1 AND v.key = $2 AND v.agent_id = $3"
           " AND v.timestamp >= $4 AND v.timestamp < $5"
           " ORDER BY v.timestamp DESC, v.run_no DESC LIMIT $6",
};
/* clang-format on */

enum { BYTES_MAX = 16 << 20 };

static bool add_value(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct run_kpi *kpi = rows_add(rows);
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    const bool full = !db_is_null(row, VALUE_AT_FULL_KEY);

    kpi->key = rows_text(rows->arena, row, full ? VALUE_AT_FULL_KEY : VALUE_AT_KEY);
    kpi->at = db_get_int(row, VALUE_AT_TIMESTAMP);
    kpi->value = kpi_value_text(&value, rows_text(rows->arena, row, VALUE_AT_TEXT), rows->arena);
    kpi->agent_name = rows_text(rows->arena, row, VALUE_AT_NEXT);
    kpi->label = rows_text(rows->arena, row, VALUE_AT_NEXT + 1);
    kpi->unit = rows_text(rows->arena, row, VALUE_AT_NEXT + 2);
    return true;
}

int store_run_kpis(struct db *db, int64_t tenant_id, struct str run_id, struct arena *arena,
                   struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(run_id), db_int(RUN_KPIS_MAX));
    struct rows rows = { .arena = arena, .size = sizeof(struct run_kpi) };

    if (db_exec(db, &select_values, args, add_value, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

struct reports_reader {
    struct rows rows;
    size_t max, before; /* before: bytes in the arena at the start */
    bool cut;
};

static bool add_report(void *ctx, const struct db_row *row)
{
    struct reports_reader *r = ctx;
    struct arena *arena = r->rows.arena;
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    struct kpi_report *report;

    r->cut = r->rows.n == r->max || arena->total - r->before > BYTES_MAX;
    if (r->cut)
        return false;
    report = rows_add(&r->rows);
    report->run_id = rows_text(arena, row, VALUE_AT_NEXT);
    report->at = db_get_int(row, VALUE_AT_TIMESTAMP);
    report->value = kpi_value_text(&value, rows_text(arena, row, VALUE_AT_TEXT), arena);
    return true;
}

int store_kpi_reports(struct db *db, const struct kpi_reports_span *span, struct arena *arena,
                      struct kpi_reports *ret, struct error *err)
{
    const int64_t since = span->range.since == TIME_NULL ? INT64_MIN : span->range.since;
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_text(span->key), db_int(span->agent_id), db_int(since),
                db_int(span->range.until), db_int(span->limit + 1));
    struct reports_reader r = { .rows = { .arena = arena, .size = sizeof(struct kpi_report) },
                                .max = (size_t)span->limit,
                                .before = arena->total };

    if (db_exec(db, &select_reports, args, add_report, &r, err) != 0)
        return -1;
    *ret = (struct kpi_reports){ { r.rows.items, r.rows.n }, r.cut };
    return 0;
}
