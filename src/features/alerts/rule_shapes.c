/* rule_shapes.c - the shapes of alert rules. */
#include "features/alerts/rule_shapes.h"

#include <math.h>

#include "base/clock.h"
#include "features/cost/money.h"
#include "shape/rule.h"
#include "shape/table.h"
#include "shape/timerange.h"

/* Every rule reads the totals of all days in its range once per minute. */
#define RANGE_MAX_US ((int64_t)92 * 86400 * USEC_PER_SEC)

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

/* clang-format off */
#define OWNER struct kpi_rule
SHAPE_BEGIN(kpi_rule_shape)
    { STR(key),        .max = 256, .flags = F_REQUIRED, .doc = "Key of the KPI." },
    { STR(agent_name), .max = 256, .flags = F_NULL, .doc = "Null: all agents." },
    { STR(range),      .max = 16,  .pattern = "^[0-9]+[mhdw]$", .absent = "\"24h\"", .doc = "Span before now that is totalled." },
    { NUMBER(below),   .flags = F_NULL, .doc = "Alert while the total is less than this." },
    { NUMBER(above),   .flags = F_NULL, .doc = "Alert while the total is more than this." },
SHAPE_END(kpi_rule_shape, "KpiRule", .doc = "Limits for a KPI's total; at least one of below and above.", .rules = check_kpi,
          .example = EXAMPLE({"key": "invoices", "agent_name": "invoice-reader", "range": "24h", "below": 10}));
#undef OWNER

#define OWNER struct budget_rule
SHAPE_BEGIN(budget_rule_shape)
    { STR(amount), .max = 32, .pattern = "^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$", .flags = F_REQUIRED, .doc = "USD, as a decimal." },
    { ENUM(per),   .flags = F_REQUIRED, .choices = budget_period_names, .doc = "Calendar period, UTC." },
SHAPE_END(budget_rule_shape, "BudgetRule", .doc = "LLM budget per day or month.", .rules = check_budget,
          .example = EXAMPLE({"amount": "25.00", "per": "day"}));
#undef OWNER

#define OWNER struct alert_rules
SHAPE_BEGIN(alert_rules_shape)
    { BOOL(run_failed),                 .absent = "false", .doc = "Alert once per failed run." },
    { BOOL(run_stuck),                  .absent = "true", .doc = "Alert on runs that stay open too long." },
    { LIST(kpis, kpi_rule_shape),       .max = KPI_RULES_MAX, .absent = "[]", .doc = "Limits for KPIs." },
    { LIST(budgets, budget_rule_shape), .max = BUDGET_RULES_MAX, .absent = "[]", .doc = "Budgets for LLM cost." },
SHAPE_END(alert_rules_shape, "AlertRules", .doc = "Alert rules of a tenant, in addition to silent agents.",
          .example = EXAMPLE({"run_failed": true, "run_stuck": true}));
#undef OWNER
/* clang-format on */
