/* usage.h - a tenant's LLM usage and its cost, by model, agent, run or day.
 *
 * Days are read as sums. A day that is only partly in the range, in which a
 * price of its model changes, or that has a number too large to add, is read
 * as hours, and such an hour as reports. So the cost of an answer depends on
 * its days and models, not on the number of reports; only runs have no sums.
 */
#pragma once
#include "api/route.h"
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct engine;
struct prices;
struct run_spending;
struct tenant_entry;

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

struct usage_request {
    const struct tenant_entry *tenant;
    struct prices *prices;
    struct time_range range;
    unsigned groups;       /* set of enum usage_group */
    struct str agent_name; /* null: all agents */
    struct str run_id;     /* null: all runs */
    struct str kpi;        /* or null */
};

/* Reads one snapshot of the database; in the arena. ERR_CONFLICT: too many groups. */
int usage_read(struct db *db, const struct usage_request *request, struct arena *arena,
               struct usage_answer *ret, struct error *err) MUST_CHECK;

/* A run_spending_fn (features/events/runs.h). Its cost is that of reading the reports of
 * these runs. */
int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of,
                 struct error *err) MUST_CHECK;

extern const struct route usage_routes[];
