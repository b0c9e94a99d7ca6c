/* retention_store.c - SQL of limits and marks. */
#include "features/access/retention.h"

#include "db/db.h"
#include "shape/rows.h"

/* clang-format off */
#define SELECT_LIMITS                                                                              \
    "SELECT events_days, business_days, llm_days, keep_failed_runs FROM retention"                 \
    " WHERE tenant_id = $1"

DB_ROWS_QUERY(select_limits, retention_shape, SELECT_LIMITS);
static const struct db_query take_limits = {
    .row = &retention_shape,
    .sqlite = SELECT_LIMITS,
    .postgres = SELECT_LIMITS " FOR UPDATE SKIP LOCKED",
};
DB_RUN_FN(retention_set,
    (int64_t tenant_id, const struct retention_limits *limits, int64_t now_us),
    (db_int(tenant_id), rows_opt_int_value(limits->events_days),
     rows_opt_int_value(limits->business_days), rows_opt_int_value(limits->llm_days),
     db_int(limits->keep_failed_runs), db_int(now_us)),
    "INSERT INTO retention (tenant_id, events_days, business_days, llm_days,"
    " keep_failed_runs, updated_at) VALUES ($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (tenant_id) DO UPDATE SET events_days = excluded.events_days,"
    " business_days = excluded.business_days, llm_days = excluded.llm_days,"
    " keep_failed_runs = excluded.keep_failed_runs, updated_at = excluded.updated_at");
DB_QUERY(select_marks, "SELECT business_until, llm_until FROM retention WHERE tenant_id = $1");
/* Also tenants without a limit that still have events of deleted runs. */
DB_INT_FN(retention_next, (int64_t after), (db_int(after)),
    "SELECT COALESCE(MIN(tenant_id), 0) FROM retention r WHERE tenant_id > $1"
    " AND (events_days IS NOT NULL OR business_days IS NOT NULL OR llm_days IS NOT NULL"
    " OR EXISTS (SELECT 1 FROM gone_runs g WHERE g.tenant_id = r.tenant_id))");
DB_RUN_FN(retention_mark_business, (int64_t tenant_id, int64_t until),
    (db_int(tenant_id), db_int(until)),
    "UPDATE retention SET business_until = $2"
    " WHERE tenant_id = $1 AND (business_until IS NULL OR business_until < $2)");
DB_RUN_FN(retention_mark_llm, (int64_t tenant_id, int64_t until),
    (db_int(tenant_id), db_int(until)),
    "UPDATE retention SET llm_until = $2"
    " WHERE tenant_id = $1 AND (llm_until IS NULL OR llm_until < $2)");
/* clang-format on */

/* *ret_there: does the tenant have a row that no other process holds? */
static int read_limits(struct db *db, const struct db_query *query, int64_t tenant_id,
                       struct retention_limits *ret, bool *ret_there, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list rows;

    if (rows_list(db, query, DB_ARGS(db_int(tenant_id)), &arena, &rows, err) != 0)
        return -1;
    *ret_there = rows.n > 0;
    *ret =
        rows.n > 0 ? *(const struct retention_limits *)rows.items : (struct retention_limits){ 0 };
    return 0;
}

int retention_load(struct db *db, int64_t tenant_id, struct retention_limits *ret,
                   struct error *err)
{
    bool there;

    return read_limits(db, &select_limits, tenant_id, ret, &there, err);
}

int retention_take(struct db *db, int64_t tenant_id, struct retention_limits *ret, bool *ret_there,
                   struct error *err)
{
    return read_limits(db, &take_limits, tenant_id, ret, ret_there, err);
}

static bool read_marks(void *ctx, const struct db_row *row)
{
    *(struct retention_marks *)ctx =
        (struct retention_marks){ rows_time(row, 0), rows_time(row, 1) };
    return false;
}

int retention_load_marks(struct db *db, int64_t tenant_id, struct retention_marks *ret,
                         struct error *err)
{
    *ret = (struct retention_marks){ TIME_NULL, TIME_NULL };
    return db_exec(db, &select_marks, DB_ARGS(db_int(tenant_id)), read_marks, ret, err);
}
