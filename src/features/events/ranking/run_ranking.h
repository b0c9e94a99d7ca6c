/* run_ranking.h - runs in the order of what they spent on models.
 *
 * The database cannot sort by cost, which depends on prices: the runs that
 * match are read without their texts, sorted here, and the first ones loaded.
 * What bounds it: the newest scan_max runs are examined, and the reports of
 * those that match are read by their run ids.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct db;
struct engine;
struct run_filter;
struct run_page;
struct tenant_entry;

struct run_ranking {
    const struct engine *engine;
    const struct tenant_entry *tenant;
    const struct run_filter *filter;
};

/* Is this one of the orders that are sorted here? */
bool run_order_is_spending(int order);

/* The page, with what each of its runs spent; in the arena. Runs without a value are last, and of
 * equal ones the newest first. Call it inside a transaction. */
int run_ranking_read(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                     struct run_page *ret, struct error *err) MUST_CHECK;

/* What the runs of any page spent: reads the reports of these runs and no others. */
int run_ranking_fill(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                     struct run_page *page, struct error *err) MUST_CHECK;
