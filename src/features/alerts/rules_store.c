/* rules_store.c - SQL of tenants' alert rules. */
#include "features/alerts/rules_store.h"

#include "features/events/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define COLUMNS "tenant_id, run_failed, run_stuck, bounds, version, updated_at, rules, remind_hours, hard_budgets"

ROW_TABLE(alert_rules_row,
    INT(tenant_id), BOOL(run_failed), BOOL(run_stuck), INT(version), TIME(updated_at),
    STR(rules), FIELD_AT("bounds", thresholds, int64_t, T_INT), OPT_INT(remind_hours),
    INT(hard_budgets));

ROW_TABLE(budget_alert_row,
    INT(tenant_id), STR(detail), TIME(since_at));

DB_QUERY(set_rules,
    "INSERT INTO alert_rules (" COLUMNS ") VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8)"
    " ON CONFLICT (tenant_id) DO UPDATE SET run_failed = excluded.run_failed,"
    " run_stuck = excluded.run_stuck, bounds = excluded.bounds,"
    " version = alert_rules.version + 1, updated_at = excluded.updated_at,"
    " rules = excluded.rules, remind_hours = excluded.remind_hours,"
    " hard_budgets = excluded.hard_budgets");
/* The registry knows whether alerts on failed runs are enabled. */
DB_QUERY(touch_tenant,
    "UPDATE tenants SET changed = (SELECT number FROM change_numbers"
    " WHERE topic = 'registry') WHERE tenant_id = $1");
DB_ROWS_QUERY(select_rules, alert_rules_row,
    "SELECT " COLUMNS " FROM alert_rules WHERE tenant_id = $1");
static const struct db_query hold_rules = {
    .sqlite = "SELECT version FROM alert_rules WHERE tenant_id = $1",
    .postgres = "SELECT version FROM alert_rules WHERE tenant_id = $1 FOR SHARE",
};
/* Without the rules: there may be many tenants. */
DB_ROWS_QUERY(select_limited, alert_rules_row,
    "SELECT tenant_id, version FROM alert_rules WHERE bounds > 0 ORDER BY tenant_id");
/* From the tenants with hard budgets, of which there are few, to their alerts: SQLite keeps the order
 * of a CROSS JOIN. */
DB_ROWS_QUERY(budget_alerts, budget_alert_row,
    "SELECT r.tenant_id, l.detail, l.since_at FROM alert_rules r CROSS JOIN alerts l"
    " WHERE r.hard_budgets > 0 AND l.tenant_id = r.tenant_id AND l.open = 1"
    " AND l.type = 'budget.exceeded' ORDER BY r.tenant_id");
/* Among the newest ones of the time, so that the cost does not grow with runs that failed. */
#define COMPLETED(of)                                                                              \
    "SELECT 1 FROM (SELECT closing_at, closing_event FROM runs WHERE tenant_id = $1"               \
    " AND start_at >= $2 AND start_at < $3" of " ORDER BY start_at DESC, run_id DESC LIMIT 10000)" \
    " AS newest WHERE closing_at IS NOT NULL AND closing_event = $4 LIMIT 1"
DB_QUERY(completed_of_tenant, COMPLETED(""));
DB_QUERY(completed_of_agent, COMPLETED(" AND agent_id = $5"));
/* clang-format on */

int rules_store_set(struct db *db, const struct alert_rules_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->run_failed), db_int(row->run_stuck),
                db_int(row->thresholds), db_int(row->updated_at), db_text(row->rules),
                rows_opt_int_value(row->remind_hours), db_int(row->hard_budgets));

    if (db_run(db, &set_rules, args, err) != 0)
        return -1;
    return db_run(db, &touch_tenant, DB_ARGS(db_int(row->tenant_id)), err);
}

int rules_store_get(struct db *db, int64_t tenant_id, struct arena *arena,
                    struct alert_rules_row *ret, struct error *err)
{
    return rows_one(db, &select_rules, DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int rules_store_hold(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &hold_rules, DB_ARGS(db_int(tenant_id)), ret, err);
}

int rules_store_budget_alerts(struct db *db, struct arena *arena, struct list *ret,
                              struct error *err)
{
    return rows_list(db, &budget_alerts, DB_NO_ARGS, arena, ret, err);
}

int rules_store_completed_runs(struct db *db, const struct completed_runs *which, bool *ret,
                               struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(which->tenant_id), db_int(which->since), db_int(which->until),
                db_int(EVENT_COMPLETED), db_int(which->agent_id));

    return db_exec_bool(db, which->agent_id == 0 ? &completed_of_tenant : &completed_of_agent, args,
                        ret, err);
}

int rules_store_limited(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_limited, DB_NO_ARGS, arena, ret, err);
}
