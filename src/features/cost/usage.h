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
#include "base/map.h"
#include "features/cost/cost.h"
#include "features/kpis/kpi_state.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct prices;
struct tenant_entry;

/* Most groups of an answer, which keeps those that cost most, and most models without a price. */
enum { USAGE_GROUPS_MAX = 1000, USAGE_UNPRICED_MAX = 1000 };

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

/* A KPI next to the cost, and the cost per unit of it. Only a KPI totalled as a sum can be counted
 * in units: agents that declared it with another agg are left out, those that did not declare it
 * are included. Private to this folder. */
struct usage_kpi {
    struct arena *arena;
    bool by_agent, by_day;
    struct list series; /* of struct kpi_series, by series_no */
    struct map parts;   /* agent and day -> struct kpi_state */
    struct kpi_state total;
};

/* `agent_id` 0: all agents. Call usage_kpi_done() afterwards, also after a failure. */
int usage_kpi_read(struct usage_kpi *kpi, struct db *db, const struct usage_request *request,
                   int64_t agent_id, struct arena *arena, struct error *err) MUST_CHECK;

void usage_kpi_done(struct usage_kpi *kpi);

/* Adds the value and the cost per unit, if there is one. */
void usage_kpi_fill_total(const struct usage_kpi *kpi, const struct cost_sum *sum,
                          struct usage_sums *ret);
void usage_kpi_fill_part(const struct usage_kpi *kpi, int64_t agent_id, int64_t day,
                         const struct cost_sum *sum, struct usage_sums *ret);

extern const struct route usage_routes[];
