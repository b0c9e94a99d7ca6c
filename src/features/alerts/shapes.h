/* shapes.h - alerts as they are read, what people do about them, and a tenant's alert rules.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum alert_state { ALERT_OPEN, ALERT_CLOSED };

extern const char *const alert_state_names[]; /* in that order, ends in NULL */

struct alerts_query {
    int64_t limit;
    struct str cursor;     /* null: from the newest */
    int state;             /* enum alert_state; -1: any */
    struct str type;       /* null: any */
    struct str agent_name; /* null: any */
    struct opt_bool acknowledged;
};

struct alert {
    struct str alert_id, type;
    struct str state;      /* one of alert_state_names */
    struct str agent_name; /* null: not about an agent */
    struct str run_id;     /* null: not about a run */
    int64_t since_at, opened_at;
    int64_t closed_at;    /* TIME_NULL */
    struct str closed_by; /* null */
    struct opt_int away_seconds;
    int64_t acknowledged_at;    /* TIME_NULL */
    struct str acknowledged_by; /* null */
    struct str note;            /* null */
    int64_t reminded_at;        /* TIME_NULL */
    bool muted;
    struct str detail; /* JSON object */
};

struct alert_path {
    struct str slug, alert_id;
};

struct mute_set {
    int64_t until;
};

struct mute_state {
    struct str agent_name;
    int64_t muted_until; /* TIME_NULL: not muted */
};

enum {
    ALERT_NOTE_MAX = 2000,    /* characters */
    ALERTS_AT_ONCE_MAX = 1000 /* acknowledged by one request */
};

struct alert_entry {
    struct str entry_id;
    int64_t at;
    struct str what;  /* one of alert_entry_names */
    struct str actor; /* null: the service */
    struct str note;  /* null */
};

struct alerts_acknowledge {
    struct list alert_ids; /* of struct str */
    struct str note;       /* null: none */
};

struct alerts_acknowledged {
    int64_t acknowledged; /* by this request */
};

struct alert_note_set {
    struct str note;
};

/* Open alerts of one type. */
struct alert_count {
    struct str type;
    int64_t open, unacknowledged;
};

struct alert_counts {
    int64_t open, unacknowledged;
    bool complete;
    struct list types; /* of struct alert_count */
};

extern const struct shape alerts_query_shape, alert_shape, alert_list_shape, alert_path_shape,
    mute_set_shape, mute_state_shape, alert_entry_shape, alert_history_shape,
    alerts_acknowledge_shape, alerts_acknowledged_shape, alert_note_set_shape, alert_count_shape,
    alert_counts_shape;

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
