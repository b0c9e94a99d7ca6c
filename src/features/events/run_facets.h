/* run_facets.h - how many runs each value of a filter would leave. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct run_facets;
struct run_facets_query;
struct tenant_entry;

/* Counts the newest 10,000 runs of the query's range, with a text to search the newest 2,000, by
 * each of their values, and without one the newest 100,000 by their status; in the arena. A value
 * of one filter is counted as if the others alone were set, so that choosing it leads to as many
 * runs. */
int run_facets_read(struct db *db, const struct tenant_entry *tenant,
                    const struct run_facets_query *query, struct arena *arena,
                    struct run_facets *ret, struct error *err) MUST_CHECK;
