/* run_spending.h - what runs spent on models, in the list of runs.
 *
 * Usage and prices are known to a feature above this one, which registers a
 * function that sums up what the runs of a list spent.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "shape/shape.h"

struct db;
struct engine;
struct tenant_entry;

/* Of one run. */
struct run_spent {
    struct opt_int tokens; /* of all kinds; none: no usage was reported */
    struct opt_int cost;   /* picodollars, as far as they fit; none: no token has a price */
    struct str cost_text;  /* in dollars; null: none */
};

/* The runs to sum up, from their ids to their struct run_spent, and when they reported. */
struct run_spending {
    const struct tenant_entry *tenant;
    int64_t since, until;
    struct map runs;
    struct arena *arena; /* of the texts */
};

/* Reads in the caller's transaction. */
typedef int run_spending_fn(const struct engine *e, struct db *db, struct run_spending *of,
                            struct error *err);

/* The engine's. Set once, while features are opened; no function: no run spent anything. */
void events_on_spending(const struct engine *e, run_spending_fn *fn);
int events_spending(const struct engine *e, struct db *db, struct run_spending *of,
                    struct error *err) MUST_CHECK;
