/* shapes.c - the shapes of LLM usage as it is reported, and of usage and cost as they are read. */
#include "features/cost/reports.h"

#include "features/cost/usage.h"
#include "shape/table.h"
#include "shape/timerange.h"

static const char *const verdicts[] = { "accepted", "rejected", NULL };

/* clang-format off */
SHAPE(llm_usage, "LLMUsage", (.doc = "Tokens that one run used of one model.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "client_id": "acme", "model": "gpt-5-mini", "input_tokens": 18000, "output_tokens": 2400, "cache_read_tokens": 6000, "cache_write_tokens": 0, "calls": 12})),
    STR(agent_name,         .min = 1, .max = 256, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,      .max = 256, .absent = "\"\"", .doc = "Version of the agent, as it reports it."),
    STR(client_id,          .max = 256, .absent = "\"\"", .doc = "Tenant slug."),
    UUID(run_id,                        .flags = F_REQUIRED, .doc = "Identifies the run."),
    TIME(timestamp,                     .flags = F_REQUIRED, .doc = "When the tokens were used, by the clock of the agent."),
    STR(model,              .max = 256, .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    INT(input_tokens,                   .absent = "0", .doc = "Input tokens."),
    INT(output_tokens,                  .absent = "0", .doc = "Output tokens."),
    INT(cache_read_tokens,              .absent = "0", .doc = "Input tokens that were read from a cache."),
    INT(cache_write_tokens,             .absent = "0", .doc = "Input tokens that were written to a cache."),
    INT(calls,                          .absent = "0", .doc = "Calls of the model."),
    STR(workflow_run_id,    .max = 256, .flags = F_NULL, .doc = "The workflow that the run is part of. Null: none."),
    OPT_BOOL(input_includes_cache,      .flags = F_NULL, .doc = "Whether the input tokens include those that were read from a cache or written to it. Null: as the price of the model says."));

SHAPE(llm_verdict, "LLMVerdict", (.doc = "Result of a usage report.",
      .example = EXAMPLE({"model": "gpt-5-mini"})),
    STR(status,    .flags = F_REQUIRED, .choices = verdicts, .doc = "accepted: stored; rejected: not stored."),
    UUID(run_id,   .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(model,     .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    BOOL(replaced, .flags = F_REQUIRED, .doc = "Whether this report replaced an earlier one with other numbers, whose tokens no longer count."),
    STR(reason,    .flags = F_OMIT, .doc = "Why it was rejected."),
    STR(detail,    .flags = F_OMIT, .doc = "The reason as a sentence."));
/* clang-format on */

static const char *usage_rule_group_by(struct str *text, struct arena *arena)
{
    unsigned groups;

    (void)arena;
    return timerange_parse_groups(*text, &groups);
}

static void check_usage(void *value, struct arena *arena, struct problems *problems)
{
    const struct usage_query *q = value;

    if (!str_is_null(q->run_id) && !str_is_null(q->kpi))
        rule_refuse_text(problems, arena, "kpi", q->kpi,
                         "Should not be combined with run_id: a KPI is totalled over all runs");
}

/* clang-format off */
/* The sums of one group, and of all groups. */
#define SUM_ROWS \
    INT(input_tokens,       .flags = F_REQUIRED, .doc = "Input tokens."), \
    INT(output_tokens,      .flags = F_REQUIRED, .doc = "Output tokens."), \
    INT(cache_read_tokens,  .flags = F_REQUIRED, .doc = "Input tokens that were read from a cache."), \
    INT(cache_write_tokens, .flags = F_REQUIRED, .doc = "Input tokens that were written to a cache."), \
    INT(calls,              .flags = F_REQUIRED, .doc = "Calls of the model."), \
    STR(cost,               .flags = F_REQUIRED | F_NULL, .doc = "USD, as a decimal, of tokens with a price. Null: none has a price."), \
    BOOL(partial,           .flags = F_REQUIRED, .doc = "Some tokens have a price and some have none."), \
    JSON(kpi_value,         .flags = F_OMIT, .doc = "Total of the requested KPI, a number."), \
    STR(cost_per_unit,      .flags = F_OMIT, .doc = "Cost divided by kpi_value.")

STATIC_SHAPE(usage_sums, "UsageSums", (.doc = "Tokens and their cost.",
      .example = EXAMPLE({"input_tokens": 18000, "output_tokens": 2400, "cache_read_tokens": 6000, "cache_write_tokens": 0, "calls": 12, "cost": "0.00945"})),
    SUM_ROWS);

STATIC_SHAPE(usage_part, "UsageGroup", (.doc = "Tokens and cost of one group.",
      .example = EXAMPLE({"model": "gpt-5-mini", "input_tokens": 18000, "output_tokens": 2400, "cache_read_tokens": 6000, "cache_write_tokens": 0, "calls": 12, "cost": "0.00945"})),
    STR(model,      .flags = F_OMIT, .doc = "Present when grouped by model."),
    STR(agent_name, .flags = F_OMIT, .doc = "Present when grouped by agent."),
    STR(agent_version, .flags = F_OMIT, .doc = "Present when grouped by version; empty: the reports name none."),
    UUID(run_id,    .flags = F_OMIT, .doc = "Present when grouped by run."),
    STR(day,        .flags = F_OMIT, .doc = "Present when grouped by day: such as 2025-01-31, UTC."),
    EMBEDDED(sums, SUM_ROWS));

SHAPE(usage_answer, "Usage", (.doc = "LLM usage and cost over a time range.",
      .example = EXAMPLE({"since": "2025-12-16T09:30:00Z", "currency": "USD"})),
    TIME(since,                                     .flags = F_REQUIRED | F_NULL, .doc = "Null: from the beginning."),
    TIME(until,                                     .flags = F_REQUIRED, .doc = "Exclusive."),
    STR(currency,                                   .flags = F_REQUIRED, .doc = "Currency of every cost."),
    LIST(groups, usage_part_shape,                 .flags = F_REQUIRED, .doc = "By day if grouped by day, then by falling cost."),
    NESTED(total, struct usage_sums, usage_sums_shape, .flags = F_REQUIRED, .doc = "All groups together."),
    LIST_STR(unpriced,                              .flags = F_REQUIRED, .doc = "Used models that have no price."),
    BOOL(truncated,                                 .flags = F_REQUIRED, .doc = "There are more groups (these cost the most), or more models without a price."));

SHAPE(usage_query, "UsageQuery", (.row_rules = true, .rules = check_usage),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC),
    STR(group_by,   .rule = usage_rule_group_by, .pattern = "^(model|agent|version|run|day)(,(model|agent|version|run|day))*$", .absent = "\"model\"", .doc = "model, agent, version, run or day, or several separated by commas. By run or version every report is read: choose a short time_range."),
    STR(agent_name, .flags = F_NULL, .doc = "Only this agent."),
    UUID(run_id,    .flags = F_NULL, .doc = "Only this run."),
    STR(kpi,        .flags = F_NULL, .doc = "Key of a KPI aggregated by sum: adds kpi_value and cost_per_unit."));
/* clang-format on */
