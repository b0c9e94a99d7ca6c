/* run_kpis_store.c - SQL of the values that one run reported. */
#include "features/kpis/run_kpis_store.h"

#include "db/db.h"
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
/* clang-format on */

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
