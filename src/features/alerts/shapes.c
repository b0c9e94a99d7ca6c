/* shapes.c - the shapes of alerts, of what people do about them, and of alert rules. */
#include "features/alerts/shapes.h"

#include <math.h>

#include "base/clock.h"
#include "features/cost/money.h"
#include "shape/table.h"
#include "shape/timerange.h"

const char *const alert_state_names[] = { "open", "closed", NULL };

static const char *const entry_names[] = { "acknowledged", "unacknowledged", "note", "reminded",
                                           NULL };

/* clang-format off */
SHAPE(alerts_query, "AlertsQuery", (),
    INT(limit,      .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor,     .max = 64, .flags = F_NULL, .doc = "The next of the previous page."),
    ENUM(state,     .flags = F_NULL, .choices = alert_state_names, .doc = "Only alerts in this state."),
    STR(type,       .max = 64, .flags = F_NULL, .doc = "Such as agent.silent or run.stuck."),
    STR(agent_name, .flags = F_NULL, .doc = "Only alerts of this agent."),
    OPT_BOOL(acknowledged, .flags = F_NULL, .doc = "Only alerts that are acknowledged, or only those that are not."));

SHAPE(alert, "Alert", (.doc = "A condition that needs attention.",
      .example = EXAMPLE({"alert_id": "71", "type": "agent.silent", "state": "open", "agent_name": "invoice-reader", "note": "The server is being replaced", "detail": {"interval_seconds": 3600}})),
    STR(alert_id,         .flags = F_REQUIRED, .doc = "Identifies the alert."),
    STR(type,             .flags = F_REQUIRED, .doc = "Such as agent.silent or run.stuck."),
    STR(state,            .flags = F_REQUIRED, .choices = alert_state_names, .doc = "open while the condition holds, then closed."),
    STR(agent_name,       .flags = F_REQUIRED | F_NULL, .doc = "The agent that it is about. Null: the tenant as a whole."),
    STR(run_id,           .flags = F_REQUIRED | F_NULL, .doc = "The run that it is about. Null: no single run."),
    TIME(since_at,        .flags = F_REQUIRED, .doc = "When the condition began: when the agent was last seen, or the run started."),
    TIME(opened_at,       .flags = F_REQUIRED, .doc = "When the alert was raised."),
    TIME(closed_at,       .flags = F_REQUIRED | F_NULL, .doc = "When the alert was closed. Null: it is open."),
    STR(closed_by,        .flags = F_REQUIRED | F_NULL, .doc = "Reason, such as seen, closed, disabled, deleted, interval or retention."),
    OPT_INT(away_seconds, .flags = F_REQUIRED | F_NULL, .doc = "How long the agent was silent, once it is back."),
    TIME(acknowledged_at, .flags = F_REQUIRED | F_NULL, .doc = "When a person acknowledged it. Null: not yet."),
    STR(acknowledged_by,  .flags = F_REQUIRED | F_NULL, .doc = "Who acknowledged it. Null: not yet acknowledged."),
    STR(note,             .flags = F_REQUIRED | F_NULL, .doc = "The newest note of a person. Null: no notes."),
    TIME(reminded_at,     .flags = F_REQUIRED | F_NULL, .doc = "When its message was last repeated. Null: never."),
    BOOL(muted,           .flags = F_REQUIRED, .doc = "No notification was sent because the agent has been muted since the alert opened."),
    OBJECT(detail,        .flags = F_REQUIRED, .doc = "Details, which depend on the type."));

LIST_SHAPE(alert_list, "AlertList", (.doc = "A page of alerts."),
    ITEMS("alerts", alert_shape, .flags = F_REQUIRED, .doc = "Newest first."),
    STR(next,                 .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page. Null: last page."));

SHAPE(alert_path, "AlertPath", (.example = EXAMPLE({"slug": "acme", "alert_id": "71"})),
    STR(slug,     .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(alert_id, .max = 64, .flags = F_REQUIRED, .doc = "Identifies the alert."));

SHAPE(mute_set, "MuteSet", (.doc = "How long to mute an agent's alerts.",
      .example = EXAMPLE({"until": "2026-01-16T08:00:00Z"})),
    TIME(until, .flags = F_REQUIRED, .doc = "Mute the agent's alerts until then."));

SHAPE(mute_state, "MuteState", (.doc = "Until when an agent's alerts are muted.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "muted_until": "2026-01-16T08:00:00Z"})),
    STR(agent_name,   .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    TIME(muted_until, .flags = F_REQUIRED | F_NULL, .doc = "The alerts of the agent are muted until then. Null: they are not."));

SHAPE(alert_entry, "AlertEntry", (.doc = "Something that was done about an alert.",
      .example = EXAMPLE({"entry_id": "ale_71", "what": "acknowledged", "actor": "user:ada@example.com", "note": "The server is being replaced"})),
    STR(entry_id, .flags = F_REQUIRED, .doc = "Identifies the entry."),
    TIME(at,      .flags = F_REQUIRED, .doc = "When it happened."),
    STR(what,     .flags = F_REQUIRED, .choices = entry_names, .doc = "What was done."),
    STR(actor,    .flags = F_REQUIRED | F_NULL, .doc = "Who did it. Null: the service."),
    STR(note,     .flags = F_REQUIRED | F_NULL, .doc = "What the person wrote. Null: no note."));

LIST_SHAPE(alert_history, "AlertHistory", (.doc = "What was done about an alert."),
    ITEMS("entries", alert_entry_shape, .flags = F_REQUIRED, .doc = "Oldest first, at most 100."));

SHAPE(alerts_acknowledge, "AlertsAcknowledge", (.doc = "Alerts that a person takes care of.",
      .example = EXAMPLE({"alert_ids": ["alt_71", "alt_72"], "note": "The server is being replaced"})),
    LIST_STR(alert_ids, .max = ALERTS_AT_ONCE_MAX, .flags = F_REQUIRED, .doc = "Which alerts, at most 1,000."),
    STR(note,           .max = ALERT_NOTE_MAX, .flags = F_NULL, .doc = "A note for each that this request acknowledges."));

SHAPE(alerts_acknowledged, "AlertsAcknowledged", (.doc = "What a request to acknowledge alerts has done.",
      .example = EXAMPLE({"acknowledged": 2})),
    INT(acknowledged, .flags = F_REQUIRED, .doc = "How many were acknowledged by this request. Those that were acknowledged before, and ids that are not known, do not count."));

SHAPE(alert_note_set, "AlertNoteSet", (.doc = "A note about an alert.",
      .example = EXAMPLE({"note": "The server is being replaced"})),
    STR(note, .min = 1, .max = ALERT_NOTE_MAX, .flags = F_REQUIRED, .doc = "What others should know."));

SHAPE(alert_count, "AlertCount", (.doc = "Open alerts of one type.",
      .example = EXAMPLE({"type": "agent.silent", "open": 3, "unacknowledged": 1})),
    STR(type,           .flags = F_REQUIRED, .doc = "Such as agent.silent or run.stuck."),
    INT(open,           .flags = F_REQUIRED, .doc = "How many are open."),
    INT(unacknowledged, .flags = F_REQUIRED, .doc = "How many of them are not acknowledged."));

SHAPE(alert_counts, "AlertCounts", (.doc = "How many alerts are open.",
      .example = EXAMPLE({"open": 3, "unacknowledged": 1, "complete": true})),
    INT(open,                      .flags = F_REQUIRED, .doc = "How many are open."),
    INT(unacknowledged,            .flags = F_REQUIRED, .doc = "How many of them are not acknowledged."),
    BOOL(complete,                 .flags = F_REQUIRED, .doc = "False: more than 100,000 are open, and only that many were counted."),
    LIST(types, alert_count_shape, .flags = F_REQUIRED, .doc = "By type."));
/* clang-format on */

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
