/* run_counts_store.h - how many runs each agent has in each state. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;

enum { RUNS_COUNTED_MAX = 10000 };

struct run_count {
    struct str agent_name;
    int status; /* enum run_status */
    int64_t n;
};

struct run_count_list {
    struct list counts; /* of struct run_count, by agent and status; in the arena */
    bool cut;           /* the range has more runs than the newest RUNS_COUNTED_MAX */
};

/* Counts the runs that started in the range. */
int store_run_counts(struct db *db, int64_t tenant_id, const struct time_range *range,
                     struct arena *arena, struct run_count_list *ret, struct error *err) MUST_CHECK;
