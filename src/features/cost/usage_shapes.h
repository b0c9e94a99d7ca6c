/* usage_shapes.h - LLM usage and cost, totalled by group.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* Most groups of an answer, which keeps those that cost most, and most models without a price. */
enum { USAGE_GROUPS_MAX = 1000, USAGE_UNPRICED_MAX = 1000 };

/* Sums saturate at 64 bits. */
struct usage_sums {
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str cost;          /* USD as a decimal; null: no token has a price */
    bool partial;             /* some tokens have no price */
    struct str kpi_value;     /* JSON number; null (left out): not requested, or no value */
    struct str cost_per_unit; /* null (left out) */
};

struct usage_part {
    struct str model, agent_name, agent_version, run_id,
        day; /* null (left out) unless grouped by it */
    struct usage_sums sums;
};

struct usage_answer {
    int64_t since; /* TIME_NULL: from the beginning */
    int64_t until;
    struct str currency;
    struct list groups; /* of struct usage_part */
    struct usage_sums *total;
    struct list unpriced; /* of struct str: models */
    bool truncated;       /* there were more groups, or more models without a price */
};

struct usage_query {
    struct str time_range;
    struct str group_by;   /* comma list; timerange_parse_groups() */
    struct str agent_name; /* null: all agents */
    struct str run_id;     /* null: all runs */
    struct str kpi;        /* null: no KPI */
};

extern const struct shape usage_answer_shape, usage_query_shape;
