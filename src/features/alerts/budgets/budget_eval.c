/* budget_eval.c - evaluates budgets: what was spent, and what will be at the end of the month. */
#include "base/clock.h"
#include "base/datetime.h"
#include "features/access/registry.h"
#include "features/agents/store.h"
#include "features/alerts/rule_detail.h"
#include "features/alerts/rule_eval.h"
#include "features/alerts/rules.h"
#include "features/cost/money.h"
#include "features/cost/usage.h"
#include "features/cost/usage_shapes.h"
#include "shape/timerange.h"
#include "shape/utf8.h"

enum {
    NAME_BYTES = 200, /* of a name in a sentence */
    PACE_DAYS = 7,    /* full days whose average is expected of each day that is left */
    MICRO_PER_CENT = 10000
};

#define DAY_US ((int64_t)86400 * USEC_PER_SEC)

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
static int find_cost(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                     struct time_range range, struct str *ret, struct error *err)
{
    const struct tenant_entry tenant = { .id = reader->tenant_id };
    const struct usage_request request = { .tenant = &tenant,
                                           .prices = reader->prices,
                                           .range = range,
                                           .groups = GROUP_MODEL,
                                           .agent_name = rule->agent_name,
                                           .run_id = STR_NULL,
                                           .kpi = STR_NULL };
    struct usage_answer usage;
    struct str cost;

    if (usage_read(reader->db, &request, reader->arena, &usage, err) != 0)
        return -1;
    cost = str_is_null(rule->model) ? usage.total->cost : cost_of_model(&usage, rule->model);
    *ret = str_is_null(cost) ? STR_LIT("0.00") : cost;
    return 0;
}

/* "LLM cost", "LLM cost of agent 'x' with model 'y'" */
static struct str budget_name(const struct budget_rule *rule, struct arena *arena)
{
    const struct str agent = utf8_cut(rule->agent_name, NAME_BYTES);
    const struct str model = utf8_cut(rule->model, NAME_BYTES);
    struct str name = STR_LIT("LLM cost");

    if (!str_is_null(rule->agent_name))
        name = arena_printf(arena, "%.*s of agent '%.*s'", STR_ARG(name), STR_ARG(agent));
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

static int find_agent(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                      int64_t *ret, struct error *err)
{
    *ret = 0;
    return str_is_null(rule->agent_name)
               ? 0
               : store_agent_id(reader->db, reader->tenant_id, rule->agent_name, ret, err);
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
static struct str budget_detail(const struct budget_rule *rule, struct str cost,
                                struct str forecast, struct arena *arena)
{
    struct str members = arena_printf(arena, "\"cost\":\"%.*s\"", STR_ARG(cost));

    if (!str_is_null(forecast))
        members =
            arena_printf(arena, "%.*s,\"forecast\":\"%.*s\"", STR_ARG(members), STR_ARG(forecast));
    if (rule->hard)
        members = arena_printf(arena, "%.*s,\"hard\":true", STR_ARG(members));
    return rule_detail_with(&budget_rule_identity, rule, members, arena);
}

int rule_eval_budget(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                     struct rule_eval *ret, struct error *err)
{
    enum bucket bucket = rule->per == BUDGET_DAY ? BUCKET_DAY : BUCKET_MONTH;
    int64_t since = timerange_bucket_start(bucket, reader->now), agent_id;
    int64_t until = timerange_bucket_next(bucket, reader->now);
    const struct str what = budget_name(rule, reader->arena);
    struct str cost, stop = STR_LIT("");

    if (find_cost(reader, rule, (struct time_range){ since, reader->now }, &cost, err) != 0 ||
        find_agent(reader, rule, &agent_id, err) != 0)
        return -1;
    *ret =
        (struct rule_eval){ .known = true,
                            .crossed = parse_microdollars(cost) > parse_microdollars(rule->amount),
                            .type = STR_LIT("budget.exceeded"),
                            .recovered = STR_LIT("budget.recovered"),
                            .subject =
                                alert_rules_subject(&budget_rule_identity, rule, reader->arena),
                            .agent_id = agent_id,
                            .since_at = since,
                            .until_at = until };
    if (ret->crossed)
        stop = stop_text(rule, until, reader->arena);
    ret->summary = arena_printf(reader->arena, "%.*s is %.*s USD this %s, %s %.*s USD%s%.*s",
                                STR_ARG(what), STR_ARG(cost), budget_period_names[rule->per],
                                ret->crossed ? "over the budget of" : "within the budget of",
                                STR_ARG(rule->amount), ret->crossed ? "" : " again", STR_ARG(stop));
    ret->ended = arena_printf(reader->arena, "The %s is over in which %.*s was over %.*s USD",
                              budget_period_names[rule->per], STR_ARG(what), STR_ARG(rule->amount));
    ret->detail = budget_detail(rule, cost, STR_NULL, reader->arena);
    return 0;
}

/* In microdollars. The portal computes the same: web/src/lib/forecast.ts. */
static int find_forecast(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                         struct str *ret_cost, wide_int *ret, struct error *err)
{
    const int64_t today = timerange_bucket_start(BUCKET_DAY, reader->now);
    const int64_t left_us = timerange_bucket_next(BUCKET_MONTH, reader->now) - reader->now;
    const struct time_range so_far = { timerange_bucket_start(BUCKET_MONTH, reader->now),
                                       reader->now };
    const int64_t pace_us = PACE_DAYS * DAY_US;
    const struct time_range full_days = { today - pace_us, today };
    struct str pace;

    if (find_cost(reader, rule, so_far, ret_cost, err) != 0 ||
        find_cost(reader, rule, full_days, &pace, err) != 0)
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

int rule_eval_forecast(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                       struct rule_eval *ret, struct error *err)
{
    const wide_int amount = parse_microdollars(rule->amount);
    const struct str what = budget_name(rule, reader->arena);
    wide_int forecast;
    struct str cost, text;
    int64_t agent_id;

    *ret = (struct rule_eval){ .known = false };
    if (rule->per != BUDGET_MONTH)
        return 0;
    if (find_forecast(reader, rule, &cost, &forecast, err) != 0 ||
        find_agent(reader, rule, &agent_id, err) != 0)
        return -1;
    text = dollars_text(forecast, reader->arena);
    /* just below the budget an open alert stays open: a forecast goes up and down with each run */
    *ret = (struct rule_eval){
        .known = forecast > amount || money_multiply(forecast, 100) <= money_multiply(amount, 95),
        .crossed = forecast > amount,
        .type = STR_LIT("budget.forecast"),
        .recovered = STR_LIT("budget.on_track"),
        .subject = alert_rules_subject(&budget_rule_identity, rule, reader->arena),
        .agent_id = agent_id,
        .since_at = timerange_bucket_start(BUCKET_MONTH, reader->now),
        .until_at = timerange_bucket_next(BUCKET_MONTH, reader->now),
        .detail = budget_detail(rule, cost, text, reader->arena)
    };
    ret->summary = arena_printf(
        reader->arena, "%.*s will be %.*s USD at the end of this month, %s %.*s USD%s",
        STR_ARG(what), STR_ARG(text), ret->crossed ? "over the budget of" : "within the budget of",
        STR_ARG(rule->amount), ret->crossed ? "" : " again");
    ret->ended = arena_printf(reader->arena,
                              "The month is over for which the forecast of %.*s was over %.*s USD",
                              STR_ARG(what), STR_ARG(rule->amount));
    return 0;
}
