/* rollup_group.h - what has gathered for the totals in one transaction; private to this folder. */
#pragma once
#include "base/map.h"
#include "features/kpis/rollups.h"

struct rollup_series {
    int64_t tenant_id, agent_id, series_no; /* 0: not known yet */
    struct name_key key;
    struct str id; /* what it is found by */
};

/* One hour or day of a series. */
struct rollup_bucket {
    struct rollup_series *series;
    enum rollup_level level;
    int64_t start;
    struct str id;
    struct kpi_state added, stored;
    struct kpi_state *removed; /* NULL: none */
};

struct rollup_list {
    struct rollup_bucket **items;
    size_t n, capacity;
};

struct rollups {
    struct arena arena;
    struct map series_by_id, buckets_by_id;
    struct rollup_series **series;
    size_t n_series, series_capacity;
    struct rollup_list levels[ROLLUP_LEVELS];
};

/* Finds the number of each series, and makes what is new; in PostgreSQL also locks them, in one
 * order for everybody. The series are sorted. */
int rollup_rows_resolve(struct db *db, struct rollups *r, struct error *err) MUST_CHECK;

/* What is stored of each bucket, in `stored`. */
int rollup_rows_load(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err) MUST_CHECK;

/* Writes `stored` of each. */
int rollup_rows_save(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err) MUST_CHECK;

/* The state of an hour anew from its values, of a day from its hours. */
int rollup_rows_remake(struct db *db, const struct rollup_bucket *bucket, struct kpi_state *ret,
                       struct error *err) MUST_CHECK;
