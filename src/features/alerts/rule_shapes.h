/* rule_shapes.h - a tenant's alert rules, as set and shown.
 *
 * Thread-safe: tables are const, functions pure.
 */
#pragma once
#include "shape/shape.h"

enum { KPI_RULES_MAX = 50, BUDGET_RULES_MAX = 10 };

/* Amounts of a budget are whole microdollars. */
enum { BUDGET_DECIMALS = 6 };

enum budget_period { BUDGET_DAY, BUDGET_MONTH };

extern const char *const budget_period_names[]; /* in that order, ends in NULL */

/* Alerts when the total of a KPI over the last `range` leaves the bounds; at least one is set. */
struct kpi_rule {
    struct str key;
    struct str agent_name; /* null: all agents */
    struct str range;      /* a span, such as 24h */
    double below, above;   /* NaN: null */
};

/* LLM budget per day or month, UTC. */
struct budget_rule {
    struct str amount; /* USD, a decimal */
    int per;           /* enum budget_period */
};

struct alert_rules {
    bool run_failed, run_stuck;
    struct list kpis;    /* of struct kpi_rule */
    struct list budgets; /* of struct budget_rule */
};

extern const struct shape kpi_rule_shape;    /* "KpiRule" */
extern const struct shape budget_rule_shape; /* "BudgetRule" */
extern const struct shape alert_rules_shape; /* "AlertRules" */
