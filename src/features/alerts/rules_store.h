/* rules_store.h - tenants' alert rules as rows.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

struct alert_rules_row {
    int64_t tenant_id;
    bool run_failed, run_stuck;
    int64_t thresholds;   /* how many rules with a limit are evaluated */
    int64_t hard_budgets; /* how many of them stop agents */
    struct opt_int remind_hours;
    int64_t version; /* incremented by each change; 0: never set */
    int64_t updated_at;
    struct str rules; /* a JSON object; STR_NULL: never set */
};

/* Adds or replaces the tenant's row and increments its version. PostgreSQL locks the row until the
 * commit. */
int rules_store_set(struct db *db, const struct alert_rules_row *row, struct error *err) MUST_CHECK;

/* The tenant's row; version 0 when no rules were set. */
int rules_store_get(struct db *db, int64_t tenant_id, struct arena *arena,
                    struct alert_rules_row *ret, struct error *err) MUST_CHECK;

/* Locks the row until the transaction ends and returns its version; 0: no rules were set. */
int rules_store_hold(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* All tenants whose rules have a limit, by tenant: a list of struct alert_rules_row with their
 * versions only. */
int rules_store_limited(struct db *db, struct arena *arena, struct list *ret,
                        struct error *err) MUST_CHECK;

/* An open alert of an exceeded budget. */
struct budget_alert_row {
    int64_t tenant_id;
    struct str detail; /* JSON: budget_detail_shape */
    int64_t since_at;  /* start of the budget's period */
};

/* Those of tenants with hard budgets, by tenant: a list of struct budget_alert_row. */
int rules_store_budget_alerts(struct db *db, struct arena *arena, struct list *ret,
                              struct error *err) MUST_CHECK;

/* Did one of the newest 10,000 runs that started in this time complete? agent_id 0: runs of any
 * agent. */
struct completed_runs {
    int64_t tenant_id, agent_id;
    int64_t since, until; /* until is exclusive */
};

int rules_store_completed_runs(struct db *db, const struct completed_runs *which, bool *ret,
                               struct error *err) MUST_CHECK;
