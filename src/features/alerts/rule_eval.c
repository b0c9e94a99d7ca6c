/* rule_eval.c - evaluates rules with a limit: what is compared, in words and as an alert's detail.
 */
#include <math.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "features/access/registry.h"
#include "features/agents/agents.h"
#include "features/alerts/rules.h"
#include "features/alerts/store.h"
#include "features/cost/money.h"
#include "features/cost/usage.h"
#include "features/kpis/kpis.h"
#include "shape/json.h"
#include "shape/timerange.h"

enum {
    NAME_BYTES = 200, /* of a name in a sentence */
    PACE_DAYS = 7,    /* full days whose average is expected of each day that is left */
    MICRO_PER_CENT = 10000
};

#define DAY_US ((int64_t)86400 * USEC_PER_SEC)

/* " of agent 'x'"; empty for the rule of all agents. */
static struct str of_agent(struct str agent_name, struct arena *arena)
{
    const struct str name = utf8_cut(agent_name, NAME_BYTES);

    if (str_is_null(agent_name))
        return STR_LIT("");
    return arena_printf(arena, " of agent '%.*s'", STR_ARG(name));
}

/* The rule as a JSON object with one more member, whose value is JSON. */
static struct str detail_of(const struct shape *identity, const void *rule, const char *name,
                            struct str value, struct arena *arena)
{
    const struct str json = alert_rules_json(identity, rule, arena);

    return arena_printf(arena, "%.*s,\"%s\":%.*s}", (int)json.len - 1, json.data, name,
                        STR_ARG(value)); /* without the closing brace */
}

/* A number as JSON, whole ones without a fraction. */
static struct str number_text(double value, struct arena *arena)
{
    BUF_SCOPED(out, KIB(1));

    if (value == floor(value) && fabs(value) < 1e15)
        buf_add_int(&out, (int64_t)value);
    else
        json_add_real(&out, value);
    return buf_take(&out, arena);
}

/* Unknown (agent_id < 0), deleted or disabled agent? */
static int is_agent_off(const struct rule_eval_reader *r, int64_t agent_id, bool *ret,
                        struct error *err)
{
    *ret = agent_id < 0;
    if (agent_id <= 0)
        return 0;
    return agents_is_off(r->db, r->tenant_id, agent_id, ret, err);
}

/* The KPI's value; *ret_known is false when there is no value. */
static int find_value(const struct rule_eval_reader *r, const struct kpi_rule *rule,
                      const struct kpi_question *question, struct kpi_value_of *figure,
                      bool *ret_known, struct error *err)
{
    struct completed_runs completed;

    if (kpis_value(&(struct kpi_reader){ r->db, r->tenant_id, r->now, r->arena, NULL }, question,
                   figure, err) != 0)
        return -1;
    *ret_known = figure->has;
    if (figure->has || !figure->is_sum)
        return 0;
    figure->value = 0;
    completed = (struct completed_runs){ r->tenant_id, figure->agent_id, question->range.since,
                                         question->range.until };
    *ret_known = isnan(rule->below);
    return *ret_known ? 0 : alert_store_rules_completed_runs(r->db, &completed, ret_known, err);
}

/* Compares the value with the limits, in words. */
static struct str kpi_verdict(const struct kpi_rule *rule, double value, struct arena *arena)
{
    const bool below = value < rule->below;
    struct str limit;

    if (!below && !(value > rule->above))
        return STR_LIT("within its limits again");
    limit = number_text(below ? rule->below : rule->above, arena);
    return arena_printf(arena, "%s %.*s", below ? "below" : "above", STR_ARG(limit));
}

static struct str kpi_summary(const struct kpi_rule *rule, double value, struct arena *arena)
{
    const struct str key = utf8_cut(rule->key, NAME_BYTES), number = number_text(value, arena);
    const struct str verdict = kpi_verdict(rule, value, arena);
    const struct str whose = of_agent(rule->agent_name, arena);

    return arena_printf(arena, "KPI '%.*s'%.*s over the last %.*s is %.*s, %.*s", STR_ARG(key),
                        STR_ARG(whose), STR_ARG(rule->range), STR_ARG(number), STR_ARG(verdict));
}

int rule_eval_kpi(const struct rule_eval_reader *r, const void *of, struct rule_eval *ret,
                  struct error *err)
{
    const struct kpi_rule *rule = of;
    struct kpi_question question = { .key = rule->key,
                                     .agent_name = rule->agent_name,
                                     .range = { .until = r->now } };
    const char *problem = timerange_parse_moment(rule->range, r->now, &question.range.since);
    const struct str name = utf8_cut(rule->agent_name, NAME_BYTES);
    struct kpi_value_of figure;
    bool off;

    *ret = (struct rule_eval){ .type = STR_LIT("kpi.crossed"),
                               .recovered = STR_LIT("kpi.recovered"),
                               .subject = alert_rules_subject(&kpi_rule_identity, rule, r->arena),
                               .since_at = r->now,
                               .until_at = TIME_NULL };
    if (problem != NULL)
        return err_set(err, ERR_INTERNAL, "invalid range in a stored KPI rule: %s", problem);
    if (find_value(r, rule, &question, &figure, &ret->known, err) != 0 ||
        is_agent_off(r, figure.agent_id, &off, err) != 0)
        return -1;
    if (off) {
        ret->known = true;
        ret->summary = arena_printf(r->arena, "Agent '%.*s' is disabled or deleted", STR_ARG(name));
        ret->detail = STR_LIT("{}");
        return 0;
    }
    /* a limit that is not set is NaN, and both comparisons are false */
    ret->crossed = figure.value < rule->below || figure.value > rule->above;
    ret->agent_id = figure.agent_id;
    ret->summary = kpi_summary(rule, figure.value, r->arena);
    ret->detail =
        detail_of(&kpi_rule_identity, rule, "value", number_text(figure.value, r->arena), r->arena);
    return 0;
}
/* Whose runs are looked at, and how many of the last ones. */
struct scope {
    struct str agent_name; /* STR_NULL: of all agents */
    int64_t n;
    int64_t agent_id; /* 0: of all agents */
    bool off;         /* the agent is unknown, deleted or disabled */
    struct str of;    /* " of agent 'x'", or empty */
    struct list runs; /* of struct finished_run */
};

static int find_scope(const struct rule_eval_reader *r, struct scope *scope, struct error *err)
{
    scope->of = of_agent(scope->agent_name, r->arena);
    if (str_is_null(scope->agent_name))
        return 0;
    if (agents_id_of(r->db, r->tenant_id, scope->agent_name, &scope->agent_id, err) != 0)
        return -1;
    return is_agent_off(r, scope->agent_id == 0 ? -1 : scope->agent_id, &scope->off, err);
}

/* Fewer runs than asked for: there is no verdict yet. When the agent is off, the verdict is that
 * nothing is wrong. */
static int read_runs(const struct rule_eval_reader *r, struct scope *scope, struct rule_eval *ret,
                     struct error *err)
{
    struct finished_runs of = { r->tenant_id, 0, scope->n, false };
    bool more;

    if (find_scope(r, scope, err) != 0)
        return -1;
    ret->since_at = r->now;
    ret->until_at = TIME_NULL;
    ret->detail = STR_LIT("{}");
    ret->known = scope->off;
    if (scope->off) {
        ret->summary = arena_printf(r->arena, "Runs%.*s are not watched: it is disabled or deleted",
                                    STR_ARG(scope->of));
        return 0;
    }
    of.agent_id = ret->agent_id = scope->agent_id;
    if (alert_store_finished(r->db, &of, r->arena, &scope->runs, &more, err) != 0)
        return -1;
    ret->known = scope->runs.n == (size_t)scope->n;
    return 0;
}

int rule_eval_failure_rate(const struct rule_eval_reader *r, const void *of, struct rule_eval *ret,
                           struct error *err)
{
    const struct failure_rate_rule *rule = of;
    const struct finished_run *runs;
    struct scope scope = { .agent_name = rule->agent_name, .n = rule->runs };
    int64_t failed = 0;
    struct str limit;

    *ret = (struct rule_eval){ .type = STR_LIT("failure_rate.exceeded"),
                               .recovered = STR_LIT("failure_rate.recovered"),
                               .subject = alert_rules_subject(&failure_rate_rule_identity, rule,
                                                              r->arena) };
    if (read_runs(r, &scope, ret, err) != 0)
        return -1;
    if (!ret->known || scope.off)
        return 0;
    runs = scope.runs.items;
    for (size_t i = 0; i < scope.runs.n; i++)
        failed += runs[i].failed;
    ret->crossed = (double)failed * 100 > rule->percent * (double)scope.runs.n;
    limit = number_text(rule->percent, r->arena);
    ret->summary =
        arena_printf(r->arena, "%lld of the last %lld runs%.*s failed (limit %.*s %%)",
                     (long long)failed, (long long)rule->runs, STR_ARG(scope.of), STR_ARG(limit));
    ret->detail = detail_of(&failure_rate_rule_identity, rule, "failed",
                            arena_printf(r->arena, "%lld", (long long)failed), r->arena);
    return 0;
}

int rule_eval_duration(const struct rule_eval_reader *r, const void *of, struct rule_eval *ret,
                       struct error *err)
{
    const struct duration_rule *rule = of;
    struct scope scope = { .agent_name = rule->agent_name, .n = rule->runs };
    struct str value, limit;
    double seconds;

    *ret = (struct rule_eval){ .type = STR_LIT("duration.exceeded"),
                               .recovered = STR_LIT("duration.recovered"),
                               .subject =
                                   alert_rules_subject(&duration_rule_identity, rule, r->arena) };
    if (read_runs(r, &scope, ret, err) != 0)
        return -1;
    if (!ret->known || scope.off)
        return 0;
    seconds = (double)finished_runs_percentile(&scope.runs, rule->percentile, r->arena) / 1000;
    ret->crossed = seconds > rule->seconds;
    value = number_text(seconds, r->arena);
    limit = number_text(rule->seconds, r->arena);
    ret->summary = arena_printf(
        r->arena, "p%lld of the duration of the last %lld runs%.*s is %.*s s (limit %.*s s)",
        (long long)rule->percentile, (long long)rule->runs, STR_ARG(scope.of), STR_ARG(value),
        STR_ARG(limit));
    ret->detail = detail_of(&duration_rule_identity, rule, "value", value, r->arena);
    return 0;
}
/* Of one model; null when it is not among them. */
static struct str cost_of_model(const struct usage_answer *usage, struct str model)
{
    const struct usage_part *parts = usage->groups.items;

    for (size_t i = 0; i < usage->groups.n; i++)
        if (str_eq(parts[i].model, model))
            return parts[i].sums.cost;
    return STR_NULL;
}

/* Cost in this time, as shown to users; usage without a price does not count. */
static int find_cost(const struct rule_eval_reader *r, const struct budget_rule *rule,
                     struct time_range range, struct str *ret, struct error *err)
{
    const struct tenant_entry tenant = { .id = r->tenant_id };
    const struct usage_request request = { .tenant = &tenant,
                                           .prices = r->prices,
                                           .range = range,
                                           .groups = GROUP_MODEL,
                                           .agent_name = rule->agent_name,
                                           .run_id = STR_NULL,
                                           .kpi = STR_NULL };
    struct usage_answer usage;
    struct str cost;

    if (usage_read(r->db, &request, r->arena, &usage, err) != 0)
        return -1;
    cost = str_is_null(rule->model) ? usage.total->cost : cost_of_model(&usage, rule->model);
    *ret = str_is_null(cost) ? STR_LIT("0.00") : cost;
    return 0;
}

/* "LLM cost", "LLM cost of agent 'x' with model 'y'" */
static struct str budget_name(const struct budget_rule *rule, struct arena *arena)
{
    const struct str whose = of_agent(rule->agent_name, arena);
    const struct str model = utf8_cut(rule->model, NAME_BYTES);
    struct str name = arena_printf(arena, "LLM cost%.*s", STR_ARG(whose));

    if (!str_is_null(rule->model))
        name = arena_printf(arena, "%.*s with model '%.*s'", STR_ARG(name), STR_ARG(model));
    return name;
}

/* An amount that overflows exceeds every budget. */
static int64_t parse_microdollars(struct str text)
{
    int64_t value;

    return money_parse_rounded(text, BUDGET_DECIMALS, &value) == NULL ? value : INT64_MAX;
}

static int find_agent(const struct rule_eval_reader *r, const struct budget_rule *rule,
                      int64_t *ret, struct error *err)
{
    *ret = 0;
    return str_is_null(rule->agent_name)
               ? 0
               : agents_id_of(r->db, r->tenant_id, rule->agent_name, ret, err);
}

/* "; agents are told to stop until 2026-02-01T00:00:00Z" */
static struct str stop_text(const struct budget_rule *rule, int64_t until, struct arena *arena)
{
    char text[DATETIME_TEXT_MAX];

    if (!rule->hard)
        return STR_LIT("");
    (void)datetime_format(until, text);
    return arena_printf(arena, "; %s told to stop until %s",
                        str_is_null(rule->agent_name) ? "agents are" : "it is", text);
}

/* The rule and these amounts; the forecast may be null. */
static struct str budget_detail_of(const struct budget_rule *rule, struct str cost,
                                   struct str forecast, struct arena *arena)
{
    const struct budget_detail detail = { rule->amount, rule->per, rule->agent_name,    rule->model,
                                          cost,         forecast,  { rule->hard, true } };

    return alert_rules_json(&budget_detail_shape, &detail, arena);
}

int rule_eval_budget(const struct rule_eval_reader *r, const void *of, struct rule_eval *ret,
                     struct error *err)
{
    const struct budget_rule *rule = of;
    enum bucket bucket = rule->per == BUDGET_DAY ? BUCKET_DAY : BUCKET_MONTH;
    int64_t since = timerange_bucket_start(bucket, r->now), agent_id;
    int64_t until = timerange_bucket_next(bucket, r->now);
    const struct str what = budget_name(rule, r->arena);
    struct str cost, stop = STR_LIT("");

    if (find_cost(r, rule, (struct time_range){ since, r->now }, &cost, err) != 0 ||
        find_agent(r, rule, &agent_id, err) != 0)
        return -1;
    *ret =
        (struct rule_eval){ .known = true,
                            .crossed = parse_microdollars(cost) > parse_microdollars(rule->amount),
                            .type = STR_LIT("budget.exceeded"),
                            .recovered = STR_LIT("budget.recovered"),
                            .subject = alert_rules_subject(&budget_rule_identity, rule, r->arena),
                            .agent_id = agent_id,
                            .since_at = since,
                            .until_at = until };
    if (ret->crossed)
        stop = stop_text(rule, until, r->arena);
    ret->summary = arena_printf(r->arena, "%.*s is %.*s USD this %s, %s %.*s USD%s%.*s",
                                STR_ARG(what), STR_ARG(cost), budget_period_names[rule->per],
                                ret->crossed ? "over the budget of" : "within the budget of",
                                STR_ARG(rule->amount), ret->crossed ? "" : " again", STR_ARG(stop));
    ret->ended = arena_printf(r->arena, "The %s is over in which %.*s was over %.*s USD",
                              budget_period_names[rule->per], STR_ARG(what), STR_ARG(rule->amount));
    ret->detail = budget_detail_of(rule, cost, STR_NULL, r->arena);
    return 0;
}

/* In microdollars. The portal computes the same: web/src/lib/forecast.ts. */
static int find_forecast(const struct rule_eval_reader *r, const struct budget_rule *rule,
                         struct str *ret_cost, wide_int *ret, struct error *err)
{
    const int64_t today = timerange_bucket_start(BUCKET_DAY, r->now);
    const int64_t left_us = timerange_bucket_next(BUCKET_MONTH, r->now) - r->now;
    const struct time_range so_far = { timerange_bucket_start(BUCKET_MONTH, r->now), r->now };
    const int64_t pace_us = PACE_DAYS * DAY_US;
    const struct time_range full_days = { today - pace_us, today };
    struct str pace;

    if (find_cost(r, rule, so_far, ret_cost, err) != 0 ||
        find_cost(r, rule, full_days, &pace, err) != 0)
        return -1;
    *ret = money_add(parse_microdollars(*ret_cost),
                     money_divide(money_multiply(parse_microdollars(pace), left_us), pace_us));
    return 0;
}

static struct str dollars_text(wide_int microdollars, struct arena *arena)
{
    const int64_t cents = money_to_int(money_divide(microdollars, MICRO_PER_CENT));

    return arena_printf(arena, "%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
}

int rule_eval_forecast(const struct rule_eval_reader *r, const void *of, struct rule_eval *ret,
                       struct error *err)
{
    const struct budget_rule *rule = of;
    const wide_int amount = parse_microdollars(rule->amount);
    const struct str what = budget_name(rule, r->arena);
    wide_int forecast;
    struct str cost, text;
    int64_t agent_id;

    *ret = (struct rule_eval){ .known = false };
    if (rule->per != BUDGET_MONTH)
        return 0;
    if (find_forecast(r, rule, &cost, &forecast, err) != 0 ||
        find_agent(r, rule, &agent_id, err) != 0)
        return -1;
    text = dollars_text(forecast, r->arena);
    /* just below the budget an open alert stays open: a forecast goes up and down with each run */
    *ret =
        (struct rule_eval){ .known = forecast > amount ||
                                     money_multiply(forecast, 100) <= money_multiply(amount, 95),
                            .crossed = forecast > amount,
                            .type = STR_LIT("budget.forecast"),
                            .recovered = STR_LIT("budget.on_track"),
                            .subject = alert_rules_subject(&budget_rule_identity, rule, r->arena),
                            .agent_id = agent_id,
                            .since_at = timerange_bucket_start(BUCKET_MONTH, r->now),
                            .until_at = timerange_bucket_next(BUCKET_MONTH, r->now),
                            .detail = budget_detail_of(rule, cost, text, r->arena) };
    ret->summary = arena_printf(
        r->arena, "%.*s will be %.*s USD at the end of this month, %s %.*s USD%s", STR_ARG(what),
        STR_ARG(text), ret->crossed ? "over the budget of" : "within the budget of",
        STR_ARG(rule->amount), ret->crossed ? "" : " again");
    ret->ended =
        arena_printf(r->arena, "The month is over for which the forecast of %.*s was over %.*s USD",
                     STR_ARG(what), STR_ARG(rule->amount));
    return 0;
}
