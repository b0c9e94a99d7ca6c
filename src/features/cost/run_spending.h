/* run_spending.h - tells the list of runs what its runs spent. */
#pragma once
#include "base/err.h"

struct db;
struct engine;
struct run_spending;

/* A run_spending_fn (features/events/run_spending.h). Its cost is that of reading the reports of
 * these runs. */
int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of,
                 struct error *err) MUST_CHECK;
