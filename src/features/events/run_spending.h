/* run_spending.h - what runs spent on models, in the list of runs.
 *
 * Usage and prices are known to a feature above this one, which registers a
 * function that sums up what the runs of a list spent.
 */
#pragma once
#include "base/err.h"
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

struct spending_run {
    struct str run_id;
    struct run_spent *spent; /* to be filled; it is zeros */
};

/* The runs to sum up, each once. */
struct run_spending {
    const struct tenant_entry *tenant;
    const struct spending_run *runs;
    size_t n;
    struct arena *arena; /* of the texts */
};

/* Reads in the caller's transaction. */
typedef int run_spending_fn(const struct engine *e, struct db *db, struct run_spending *of,
                            struct error *err);

/* The engine's. Set once, while features are opened; no function: no run spent anything. */
void events_on_spending(const struct engine *e, run_spending_fn *fn);
int events_spending(const struct engine *e, struct db *db, struct run_spending *of,
                    struct error *err) MUST_CHECK;
