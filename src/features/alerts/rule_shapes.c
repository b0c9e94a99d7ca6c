/* rule_shapes.c - the shapes of alert rules. */
#include "features/alerts/rule_shapes.h"

#include <math.h>

#include "base/clock.h"
#include "features/cost/money.h"
#include "shape/table.h"
#include "shape/timerange.h"

/* Every rule reads the totals of all days in its range once per minute. */
#define RANGE_MAX_US ((int64_t)92 * 86400 * USEC_PER_SEC)

enum {
    RUNS_MAX = 500,            /* that a rule looks at */
    SECONDS_MAX = 366 * 86400, /* of a duration */
    REMINDER_HOURS_MAX = 720
};

const char *const budget_period_names[] = { "day", "month", NULL };

/* A span ends in the letter of its unit, which an accepted date-time never does except for z. */
static bool is_range(struct str s)
{
    int64_t back;

    if (s.len == 0 || s.data[s.len - 1] < 'a' || s.data[s.len - 1] == 'z' ||
        timerange_parse_moment(s, 0, &back) != NULL)
        return false;
    return back < 0 && back >= -RANGE_MAX_US;
}

static void check_kpi(void *value, struct arena *arena, struct problems *problems)
{
    const struct kpi_rule *rule = value;

    if (!is_range(rule->range))
        rule_refuse_text(problems, arena, "range", rule->range,
                         "Should be a span of at most 92 days such as 90m, 24h, 7d or 4w");
    if (isnan(rule->below) && isnan(rule->above))
        rule_refuse_text(problems, arena, "below", STR_NULL,
                         "Should have a bound: below, above or both");
}

static void check_budget(void *value, struct arena *arena, struct problems *problems)
{
    const struct budget_rule *rule = value;
    int64_t amount;

    if (money_parse(rule->amount, BUDGET_DECIMALS, &amount) != NULL)
        rule_refuse_text(problems, arena, "amount", rule->amount,
                         "Should be dollars as a decimal without sign, such as 10.00, with at "
                         "most six decimals");
}

static void check_failure_rate(void *value, struct arena *arena, struct problems *problems)
{
    const struct failure_rate_rule *rule = value;

    if (!(rule->percent >= 0 && rule->percent < 100))
        rule_refuse_text(problems, arena, "percent", STR_NULL,
                         "Should be at least 0 and below 100");
}

static void check_duration(void *value, struct arena *arena, struct problems *problems)
{
    const struct duration_rule *rule = value;

    if (!(rule->seconds >= 0 && rule->seconds <= (double)SECONDS_MAX))
        rule_refuse_text(problems, arena, "seconds", STR_NULL,
                         "Should be at least 0 and at most a year");
}

/* clang-format off */
#define PAUSED_DOC "The rule raises no alerts; its open alert is closed."
#define AGENT_DOC "Null: the runs of all agents together."
#define RUNS_DOC "How many of the last runs that ended are looked at; before there are as many, there is no verdict."

STATIC_SHAPE(kpi_rule, "KpiRule", (.doc = "Limits for a KPI's total; at least one of below and above.", .rules = check_kpi,
      .example = EXAMPLE({"key": "invoices", "agent_name": "invoice-reader", "range": "24h", "below": 10})),
    STR(key,        .max = 256, .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(agent_name, .min = 1, .max = 256, .flags = F_NULL, .doc = "Null: all agents."),
    STR(range,      .max = 16,  .pattern = "^[0-9]+[mhdw]$", .absent = "\"24h\"", .doc = "Span before now that is totalled."),
    NUMBER(below,   .flags = F_NULL, .doc = "Alert while the total is less than this."),
    NUMBER(above,   .flags = F_NULL, .doc = "Alert while the total is more than this."),
    BOOL(paused,    .absent = "false", .doc = PAUSED_DOC));

STATIC_SHAPE(budget_rule, "BudgetRule", (.doc = "LLM budget per day or month, for all or for one agent, one model, or both. A monthly one also raises an alert when its forecast is more.", .rules = check_budget,
      .example = EXAMPLE({"amount": "25.00", "per": "day", "agent_name": "invoice-reader"})),
    STR(amount, .max = 32, .pattern = "^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$", .flags = F_REQUIRED, .doc = "USD, as a decimal."),
    ENUM(per,    .flags = F_REQUIRED, .choices = budget_period_names, .doc = "Calendar period, UTC."),
    STR(agent_name, .min = 1, .max = 256, .flags = F_NULL, .doc = "Only what this agent costs. Null: all agents together."),
    STR(model,      .max = 256, .flags = F_NULL, .doc = "Only what this model costs, by the name that agents report. Null: all models together."),
    BOOL(hard,   .absent = "false", .doc = "While it is exceeded, agents that ask for their model are refused with 402. Reports are accepted."),
    BOOL(paused, .absent = "false", .doc = PAUSED_DOC));

STATIC_SHAPE(failure_rate_rule, "FailureRateRule", (.doc = "Limit for the share of runs that fail.", .rules = check_failure_rate,
      .example = EXAMPLE({"agent_name": "invoice-reader", "runs": 20, "percent": 25})),
    STR(agent_name, .min = 1, .max = 256, .flags = F_NULL, .doc = AGENT_DOC),
    INT(runs,       .absent = "20", .least = 1, .most = RUNS_MAX, .doc = RUNS_DOC),
    NUMBER(percent, .flags = F_REQUIRED, .doc = "Alert while more than this share of them failed. 0: while any failed."),
    BOOL(paused,    .absent = "false", .doc = PAUSED_DOC));

STATIC_SHAPE(duration_rule, "DurationRule", (.doc = "Limit for how long runs take.", .rules = check_duration,
      .example = EXAMPLE({"agent_name": "invoice-reader", "runs": 20, "percentile": 95, "seconds": 300})),
    STR(agent_name, .min = 1, .max = 256, .flags = F_NULL, .doc = AGENT_DOC),
    INT(runs,       .absent = "20", .least = 1, .most = RUNS_MAX, .doc = RUNS_DOC),
    INT(percentile, .absent = "95", .least = 1, .most = 100, .doc = "Which percentile of their durations is compared: 50 is the median, 100 the longest."),
    NUMBER(seconds, .flags = F_REQUIRED, .doc = "Alert while it is more than this."),
    BOOL(paused,    .absent = "false", .doc = PAUSED_DOC));

SHAPE(alert_rules, "AlertRules", (.doc = "Alert rules of a tenant, in addition to silent agents.",
      .example = EXAMPLE({"run_failed": true, "run_stuck": true, "reminder_hours": 6})),
    BOOL(run_failed,                 .absent = "true", .doc = "Alert once per failed run, and once per agent while many of its runs fail."),
    BOOL(run_stuck,                  .absent = "true", .doc = "Alert on runs that stay open too long."),
    LIST(kpis, kpi_rule_shape,       .max = KPI_RULES_MAX, .absent = "[]", .doc = "Limits for KPIs."),
    LIST(budgets, budget_rule_shape, .max = BUDGET_RULES_MAX, .absent = "[]", .doc = "Budgets for LLM cost."),
    LIST(failure_rates, failure_rate_rule_shape, .max = RUN_RULES_MAX, .absent = "[]", .doc = "Limits for the share of runs that fail."),
    LIST(durations, duration_rule_shape,         .max = RUN_RULES_MAX, .absent = "[]", .doc = "Limits for how long runs take."),
    OPT_INT(reminder_hours,          .flags = F_NULL, .least = 1, .most = REMINDER_HOURS_MAX, .doc = "Repeat the message of an alert that is open and not acknowledged, each time this number of hours has passed. Null: never."));

/* Alerts that are open at an upgrade are found by these members, in this order: add none to them. */
SHAPE_TABLE(, kpi_rule_identity, struct kpi_rule, "KpiRuleIdentity", (),
    STR(key), STR(agent_name), STR(range), NUMBER(below), NUMBER(above));

SHAPE_TABLE(, budget_rule_identity, struct budget_rule, "BudgetRuleIdentity", (),
    STR(amount), ENUM(per, .choices = budget_period_names),
    /* Added later: left out where they are null, so that it is the text of before. Not `hard`: a
     * budget that becomes hard keeps its alert. */
    STR(agent_name, .flags = F_OMIT | F_NULL), STR(model, .flags = F_OMIT | F_NULL));

SHAPE_TABLE(, budget_detail_shape, struct budget_detail, "BudgetDetail", (),
    STR(amount), ENUM(per, .choices = budget_period_names),
    STR(agent_name, .flags = F_OMIT | F_NULL), STR(model, .flags = F_OMIT | F_NULL),
    STR(cost), STR(forecast, .flags = F_OMIT | F_NULL), OPT_BOOL(hard, .flags = F_OMIT | F_NULL));

SHAPE_TABLE(, failure_rate_rule_identity, struct failure_rate_rule, "FailureRateRuleIdentity", (),
    STR(agent_name), INT(runs), NUMBER(percent));

SHAPE_TABLE(, duration_rule_identity, struct duration_rule, "DurationRuleIdentity", (),
    STR(agent_name), INT(runs), INT(percentile), NUMBER(seconds));
/* clang-format on */
