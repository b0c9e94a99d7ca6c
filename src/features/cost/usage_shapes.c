/* usage_shapes.c - the tables of usage and cost. */
#include "features/cost/usage_shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

static void check_usage(void *value, struct arena *arena, struct problems *problems)
{
    const struct usage_query *q = value;
    unsigned groups;
    const char *sentence;

    rule_check_range(problems, arena, q->time_range);
    sentence = timerange_parse_groups(q->group_by, &groups);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "group_by", q->group_by, sentence);
    if (!str_is_null(q->run_id) && !str_is_null(q->kpi))
        rule_refuse_text(problems, arena, "kpi", q->kpi, "A KPI is summed up over all runs");
}

/* clang-format off */
/* Of a group, and of all. */
#define SUM_ROWS                                                                                                        \
    { INT(input_tokens),       .flags = F_REQUIRED },                                                                   \
    { INT(output_tokens),      .flags = F_REQUIRED },                                                                   \
    { INT(cache_read_tokens),  .flags = F_REQUIRED },                                                                   \
    { INT(cache_write_tokens), .flags = F_REQUIRED },                                                                   \
    { INT(calls),              .flags = F_REQUIRED },                                                                   \
    { STR(cost),               .flags = F_REQUIRED | F_NULL, .doc = "USD, a decimal, of what has a price; null: nothing has." }, \
    { BOOL(partial),           .flags = F_REQUIRED, .doc = "Some of it has a price and some has none." },               \
    { JSON(kpi_value),         .flags = F_OMIT, .doc = "A number: the sum of the KPI that was asked for." },          \
    { STR(cost_per_unit),      .flags = F_OMIT, .doc = "The cost divided by that sum." }

#define OWNER struct usage_sums
SHAPE_BEGIN(usage_sums_shape)
    SUM_ROWS,
SHAPE_END(usage_sums_shape, "UsageSums", .doc = "Tokens, and what they cost.");
#undef OWNER

#define OWNER struct usage_part
SHAPE_BEGIN(usage_part_shape)
    { STR(model),      .flags = F_OMIT, .doc = "This and the next three: what is grouped by." },
    { STR(agent_name), .flags = F_OMIT },
    { UUID(run_id),    .flags = F_OMIT },
    { STR(day),        .flags = F_OMIT, .doc = "Such as 2025-01-31, UTC." },
#undef MEMBER
#define MEMBER(m) sums.m
    SUM_ROWS,
SHAPE_END(usage_part_shape, "UsageGroup", .doc = "Tokens of one group, and what they cost.");
#undef MEMBER
#define MEMBER(m) m
#undef OWNER

#define OWNER struct usage_answer
SHAPE_BEGIN(usage_answer_shape)
    { TIME(since),                                     .flags = F_REQUIRED | F_NULL, .doc = "Null: the beginning." },
    { TIME(until),                                     .flags = F_REQUIRED },
    { STR(currency),                                   .flags = F_REQUIRED },
    { LIST(groups, usage_part_shape),                 .flags = F_REQUIRED, .doc = "By day where that is asked for, then the dearest first." },
    { SHAPE(total, struct usage_sums, usage_sums_shape), .flags = F_REQUIRED },
    { LIST_STR(unpriced),                              .flags = F_REQUIRED, .doc = "Models that were used without a price." },
    { BOOL(truncated),                                 .flags = F_REQUIRED, .doc = "There are more groups (these are the dearest), or more models without a price." },
SHAPE_END(usage_answer_shape, "Usage", .doc = "LLM usage of a range, and what it cost.");
#undef OWNER


#define OWNER struct usage_query
SHAPE_BEGIN(usage_query_shape)
    { STR(time_range), .absent = "\"30d\"", .doc = TIME_RANGE_DOC },
    { STR(group_by),   .absent = "\"model\"", .doc = "model, agent, run, day, or several of them separated by commas." },
    { STR(agent_name), .flags = F_NULL, .doc = "Of this agent alone." },
    { UUID(run_id),    .flags = F_NULL, .doc = "Of this run alone." },
    { STR(kpi),        .flags = F_NULL, .doc = "A KPI that is summed up: adds what one unit of it cost." },
SHAPE_END(usage_query_shape, "UsageQuery", .rules = check_usage);
#undef OWNER
/* clang-format on */
