/* usage.h - a tenant's LLM usage and its cost, by model, agent, run or day.
 *
 * Days are read as sums. A day that is only partly in the range, in which a
 * price of its model changes, or that has a number too large to add, is read
 * as hours, and such an hour as reports. So the cost of an answer depends on
 * its days and models, not on the number of reports; only runs have no sums.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/timerange.h"

struct db;
struct engine;
struct prices;
struct run_spending;
struct tenant_entry;
struct usage_answer;

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

/* A run_spending_fn (features/events/run_spending.h). Its cost is that of reading the reports of
 * these runs. */
int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of,
                 struct error *err) MUST_CHECK;
