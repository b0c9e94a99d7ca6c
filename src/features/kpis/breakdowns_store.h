/* breakdowns_store.h - reads the breakdowns of KPIs. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_state.h"
#include "shape/timerange.h"

struct db;
struct list;

/* The breakdowns to read. */
struct breakdown_filter {
    int64_t tenant_id;
    struct str metric;
    int64_t agent_id; /* 0: any agent */
    struct time_range range;
};

/* A set of dimensions that an agent reported. */
struct breakdown_set {
    int64_t agent_id;
    struct str key;   /* as stored (db/name_key.h) */
    struct str names; /* JSON array, sorted by bytes */
};

/* A list of struct breakdown_set, at most `max`, in the arena and in no order. */
int store_breakdown_sets(struct db *db, const struct breakdown_filter *filter, int64_t max,
                         struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* `cells` is a JSON array of [value of each dimension…, number]. False stops reading. Must not use
 * the db. */
typedef bool breakdown_fn(void *ctx, const struct kpi_stamp *place, struct str cells);

/* Reads the breakdowns by `set_key` of runs without a breakdown by one of `others` (a JSON array of
 * set keys) in the range. */
struct breakdown_choice {
    struct str set_key, others;
};

int store_breakdowns(struct db *db, const struct breakdown_filter *filter,
                     const struct breakdown_choice *choice, breakdown_fn *on_breakdown, void *ctx,
                     struct error *err) MUST_CHECK;

/* For tests of the query plan. */
extern const struct db_query breakdowns_query;
