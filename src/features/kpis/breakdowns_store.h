/* breakdowns_store.h - breakdowns of KPIs as they are read. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_state.h"
#include "shape/timerange.h"

struct db;
struct list;

/* Which breakdowns. */
struct breakdown_filter {
    int64_t tenant_id;
    struct str metric;
    int64_t agent_id; /* 0: of any agent */
    struct time_range range;
};

/* A set of dimensions that an agent reported. */
struct breakdown_set {
    int64_t agent_id;
    struct str key;   /* as stored (db/name_key.h) */
    struct str names; /* JSON array, sorted by bytes */
};

/* A list of those, at most `max`, in the arena and in no order. */
int store_breakdown_sets(struct db *db, const struct breakdown_filter *filter, int64_t max,
                         struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* `cells` is a JSON array of [value of each dimension…, number]. False stops. Must not use the db.
 */
typedef bool breakdown_fn(void *ctx, const struct kpi_place *place, struct str cells);

/* By which set, of runs which have none by `others` in the range, a JSON array of sets' keys. */
struct breakdown_choice {
    struct str set_key, others;
};

int store_breakdowns(struct db *db, const struct breakdown_filter *filter,
                     const struct breakdown_choice *choice, breakdown_fn *on_breakdown, void *ctx,
                     struct error *err) MUST_CHECK;

/* For tests, which ask the database how it goes about it. */
extern const struct db_query breakdowns_query;
