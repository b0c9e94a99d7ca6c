/* rules_store.c - SQL of what tenants want to be alerted of. */
#include "features/alerts/rules_store.h"

#include "db/db.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* clang-format off */
#define COLUMNS "tenant_id, run_failed, run_stuck, bounds, version, updated_at, rules"

static const struct db_query set_rules = {
    .sql = "INSERT INTO alert_rules (" COLUMNS ") VALUES ($1, $2, $3, $4, 1, $5, $6)"
           " ON CONFLICT (tenant_id) DO UPDATE SET run_failed = excluded.run_failed,"
           " run_stuck = excluded.run_stuck, bounds = excluded.bounds,"
           " version = alert_rules.version + 1, updated_at = excluded.updated_at,"
           " rules = excluded.rules",
};
static const struct db_query select_rules = {
    .sql = "SELECT " COLUMNS " FROM alert_rules WHERE tenant_id = $1",
 };
static const struct db_query hold_rules = {
    .sqlite = "SELECT version FROM alert_rules WHERE tenant_id = $1",
    .postgres = "SELECT version FROM alert_rules WHERE tenant_id = $1 FOR SHARE",
 };
static const struct db_query select_thresholds = {
    .sql = "SELECT " COLUMNS " FROM alert_rules WHERE tenant_id > $1 AND bounds > 0"
           " ORDER BY tenant_id LIMIT $2",
};
static const struct db_query completed_of_tenant = {
    .sql = "SELECT 1 FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
           " AND closing_at IS NOT NULL AND closing_event = $4 LIMIT 1",
};
static const struct db_query completed_of_agent = {
    .sql = "SELECT 1 FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3"
           " AND closing_at IS NOT NULL AND closing_event = $4 AND agent_id = $5 LIMIT 1",
};
/* clang-format on */

int store_alert_rules_set(struct db *db, const struct alert_rules_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->run_failed), db_int(row->run_stuck),
                db_int(row->thresholds), db_int(row->updated_at), db_text(row->rules));

    return db_exec(db, &set_rules, args, NULL, NULL, err);
}

static bool add_rules(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct alert_rules_row *rules = rows_add(rows);

    rules->tenant_id = db_get_int(row, 0);
    rules->run_failed = db_get_int(row, 1) != 0;
    rules->run_stuck = db_get_int(row, 2) != 0;
    rules->thresholds = db_get_int(row, 3);
    rules->version = db_get_int(row, 4);
    rules->updated_at = db_get_int(row, 5);
    rules->rules = rows_text(rows->arena, row, 6);
    return true;
}

int store_alert_rules(struct db *db, int64_t tenant_id, struct arena *arena,
                      struct alert_rules_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));
    struct rows rows = { .arena = arena, .size = sizeof(*ret) };

    if (db_exec(db, &select_rules, args, add_rules, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct alert_rules_row){ .rules = STR_NULL }
                       : *(struct alert_rules_row *)rows.items;
    return 0;
}

int store_alert_rules_hold(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    *ret = 0;
    return db_exec(db, &hold_rules, DB_ARGS(db_int(tenant_id)), db_read_int, ret, err);
}

int store_alert_rules_thresholds(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                                 struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(after), db_int(limit));
    struct rows rows = { .arena = arena, .size = sizeof(struct alert_rules_row) };

    if (db_exec(db, &select_thresholds, args, add_rules, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_completed_runs(struct db *db, const struct completed_runs *which, bool *ret,
                         struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(which->since), db_int(which->until),
                db_int(EVENT_COMPLETED), db_int(which->agent_id));
    int64_t found = 0;

    if (db_exec(db, which->agent_id == 0 ? &completed_of_tenant : &completed_of_agent, args,
                db_read_int, &found, err) != 0)
        return -1;
    *ret = found != 0;
    return 0;
}
