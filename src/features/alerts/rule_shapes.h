/* rule_shapes.h - a tenant's alert rules, as set and shown.
 *
 * Thread-safe: tables are const, functions pure.
 */
#pragma once
#include "shape/shape.h"

enum { KPI_RULES_MAX = 50, BUDGET_RULES_MAX = 50, RUN_RULES_MAX = 50 };

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
    bool paused;
};

/* LLM budget per day or month, UTC. */
struct budget_rule {
    struct str amount;     /* USD, a decimal */
    int per;               /* enum budget_period */
    struct str agent_name; /* null: all agents together */
    struct str model;      /* null: all models together */
    bool hard;             /* exceeded, it stops agents (budget_stops.h) */
    bool paused;
};

/* What an alert about a budget says: the rule, and what was spent. */
struct budget_detail {
    struct str amount;
    int per;
    struct str agent_name, model; /* null: left out */
    struct str cost;              /* USD */
    struct str forecast;          /* USD; null: left out */
    struct opt_bool hard;         /* true, or left out */
};

/* Alerts when more than `percent` of the last `runs` runs failed. */
struct failure_rate_rule {
    struct str agent_name; /* null: the runs of all agents together */
    int64_t runs;
    double percent;
    bool paused;
};

/* Alerts when this percentile of the durations of the last `runs` runs is more than `seconds`. */
struct duration_rule {
    struct str agent_name; /* null: the runs of all agents together */
    int64_t runs, percentile;
    double seconds;
    bool paused;
};

struct alert_rules {
    bool run_failed, run_stuck;
    struct list kpis;              /* of struct kpi_rule */
    struct list budgets;           /* of struct budget_rule */
    struct list failure_rates;     /* of struct failure_rate_rule */
    struct list durations;         /* of struct duration_rule */
    struct opt_int reminder_hours; /* without a value: messages are not repeated */
};

/* What identifies a rule: the same members as its shape, without `paused`. */
extern const struct shape kpi_rule_identity, budget_rule_identity, failure_rate_rule_identity,
    duration_rule_identity;

extern const struct shape alert_rules_shape, budget_detail_shape;
