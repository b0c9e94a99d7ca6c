/* usage_shapes.h - LLM usage and its cost, summed up by what was asked for.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* The groups of an answer at most; beyond them, those that cost most. */
enum { USAGE_GROUPS_MAX = 1000, USAGE_UNPRICED_MAX = 1000 };

/* Sums beyond 64 bits stand at their end. */
struct usage_sums {
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str cost; /* USD as a decimal; null: nothing of it has a price */
    bool partial;    /* some of it has no price */
    struct str
        kpi_value; /* JSON, a number; null (left out): none was asked for, or there is none */
    struct str cost_per_unit; /* null (left out) */
};

struct usage_part {
    struct str model, agent_name, run_id, day; /* null (left out) but for what is grouped by */
    struct usage_sums sums;
};

struct usage_answer {
    int64_t since; /* TIME_NULL: the beginning */
    int64_t until;
    struct str currency;
    struct list groups; /* of struct usage_part */
    struct usage_sums *total;
    struct list unpriced; /* of struct str: models */
    bool truncated;       /* there were more groups, or more models without a price */
};

extern const struct shape usage_sums_shape;   /* "UsageSums" */
extern const struct shape usage_part_shape;   /* "UsageGroup" */
extern const struct shape usage_answer_shape; /* "Usage" */

struct usage_query {
    struct str time_range;
    struct str group_by;   /* comma list; timerange_parse_groups() */
    struct str agent_name; /* null: of all agents */
    struct str run_id;     /* null: of all runs */
    struct str kpi;        /* null: none */
};

extern const struct shape usage_query_shape; /* "UsageQuery" */
