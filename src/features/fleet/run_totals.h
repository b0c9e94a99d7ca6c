/* run_totals.h - runs and failures over time, and the most frequent errors. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct run_totals;
struct run_totals_query;

/* The totals of a tenant's runs, in the arena. The newest 100,000 runs of the range are counted. */
int run_totals_read(struct db *db, int64_t tenant_id, const struct run_totals_query *query,
                    struct arena *arena, struct run_totals *ret, struct error *err) MUST_CHECK;
